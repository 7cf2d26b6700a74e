"""Keeps the counts of all tenants complete while a server runs, so that a page of figures has nothing left to count."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic

from ringi.audit.verify import read_event_pages
from ringi.base.clock import Clock
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.contracts.backend import Notifier, Wakeup
from ringi.contracts.store import MAX_PAGE_BYTES, Store
from ringi.domain.record import Event, Position
from ringi.inbox.feed import Feed
from ringi.statistics import Statistics

log = rate_limited_logger(__name__)
CURSOR = "statistics"
"""The name of the position up to which the events of all tenants are counted."""
GATHER_SECONDS = 10.0
"""Seconds for which new events gather: a page counts the last ones itself."""
LOOK_SECONDS = 5.0
"""Seconds between two looks whether this process has become the leader; a look reads nothing."""
SLICE_SECONDS = 0.25
"""Seconds of counting before others get as much time."""
FAR = 5_000
"""Events after which the position is saved: a new leader looks through those after it."""


class StatisticsKeeper:
    """Counts new events of all tenants, in the leader of the processes on a store.

    An event costs nothing when it is written: it is counted once, from the feed, with others of some seconds.

    Args:
        store: The store.
        notifier: Says whether this process is the leader.
        feed: The events that this process reads anyway.
        clock: The clock of the counts.
    """

    def __init__(self, store: Store, notifier: Notifier, feed: Feed, clock: Clock) -> None:
        self._store, self._notifier, self._feed = store, notifier, feed
        self._statistics, self._wakeup = Statistics(store, clock), Wakeup()
        self._behind = set[str]()
        """The tenants with events that may not be counted."""
        self._seen: Position | None = None
        """The position of the last event that this process has read."""
        self._saved: Position | None = None
        """The position that is saved; None while this process is not the leader."""
        self._unsaved = 0

    async def work(self) -> None:
        """Count until the task is cancelled."""
        async with self._feed.follow(self._collect):
            while True:
                with FailureLog(log, "cannot count the requests, trying again"):
                    await self._count()
                await asyncio.sleep(GATHER_SECONDS)
                is_done = self._saved is not None and not self._behind
                await self._wakeup.wait(None if is_done else LOOK_SECONDS)

    def _collect(self, events: Sequence[Event]) -> None:
        self._behind.update(event.tenant for event in events)
        self._seen, self._unsaved = events[-1].position, self._unsaved + len(events)
        self._wakeup.set()

    async def _count(self) -> None:
        if not self._notifier.is_leader:
            self._saved = None
            return
        if self._saved is None:
            await self._look_back()
        seen, tenants, self._behind = self._seen, self._behind, set()
        try:
            for tenant in tenants:
                await self._keep_up(tenant)
        except BaseException:
            self._behind |= tenants
            raise
        if seen and self._unsaved >= FAR:
            await self._save(seen)

    async def _look_back(self) -> None:
        """Count what was written before this process read the feed, or while no process was the leader."""
        saved = position = await self._store.cursor(CURSOR)
        count, tenants, end = 0, set[str](), await self._store.tail()
        async for page in read_event_pages(self._store, after=position, end=end, max_bytes=MAX_PAGE_BYTES):
            began = monotonic()
            for tenant in {event.tenant for event in page.events} - tenants:
                await self._keep_up(tenant)
                tenants.add(tenant)  # Its events are counted to the present end.
            position, count = page.after, count + len(page.events)
            await asyncio.sleep(monotonic() - began)
        self._saved = saved
        if count >= FAR:
            await self._save(position)

    async def _keep_up(self, tenant: str) -> None:
        is_complete = False
        while not is_complete:
            began = monotonic()
            is_complete = await self._statistics.catch_up(tenant, SLICE_SECONDS)
            await asyncio.sleep(0 if is_complete else monotonic() - began)

    async def _save(self, position: Position) -> None:
        if self._saved is not None and position != self._saved:
            await self._store.move_cursor(CURSOR, self._saved, position)
            self._saved, self._unsaved = position, 0
