"""Follows the events from a stored cursor, and creates a job for each event that has receivers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta

from ringi.base.clock import Clock
from ringi.base.failpoints import failpoint
from ringi.base.log_limit import FailureLog, rate_limited_logger
from ringi.contracts.backend import Backend, Job, Wakeup
from ringi.domain.record import START, Event, Key, Position, parsed_number
from ringi.domain.request import Request
from ringi.errors import ConflictError, InvalidError
from ringi.inbox.feed import Feed

log = rate_limited_logger(__name__)
BATCH = 200
CURSOR_SAVE_EVERY = 1_000
"""The number of events without receivers between two saves of the cursor."""
INITIAL_LOOKBACK = timedelta(hours=1)
"""The age limit of events at the start of a store's first follower: older events are not delivered."""
JobsOf = Callable[[Event, Request], AsyncIterator[Job]]


class Follower:
    """Submits the jobs of each event at least once, even if processes are killed; several may run concurrently."""

    def __init__(self, backend: Backend, feed: Feed, clock: Clock, jobs_of: JobsOf, cursor: str) -> None:
        self._backend, self._feed, self._clock, self._jobs_of, self._cursor = backend, feed, clock, jobs_of, cursor
        self._saved = self._position = START
        self._unsaved = 0
        self._new: list[Event] = []
        self._wakeup = Wakeup()

    async def run(self) -> None:
        """Follow without end; after a failure, begin again at the stored cursor."""
        while True:
            with FailureLog(log, "cannot read events for delivery, trying again"):
                async with self._feed.follow(self._collect):
                    await self._follow()
            await asyncio.sleep(self._backend.notifier.recheck_after)

    async def _follow(self) -> None:
        """Read the store up to the newest event, then take what the feed reads."""
        self._new = []
        await self._begin()
        await self._catch_up()
        while True:
            events, self._new = self._new[:BATCH], self._new[BATCH:]
            # Some were read before, or another server has moved the cursor past them.
            if events := [event for event in events if is_after(event.position, self._position)]:
                await self._submit(events)
            if not self._new:
                await self._wakeup.wait(None)

    def _collect(self, events: Sequence[Event]) -> None:
        self._new += events
        self._wakeup.set()

    async def _begin(self) -> None:
        store = self._backend.store
        self._saved = self._position = await store.cursor(self._cursor)
        if self._position != START:
            return
        oldest = self._clock() - INITIAL_LOOKBACK
        while (events := await store.events(self._position, BATCH)) and events[-1].at < oldest:
            self._position = events[-1].position
        await self._save_cursor()

    async def _catch_up(self) -> None:
        has_more = True
        while has_more and (events := await self._backend.store.events(self._position, BATCH)):
            has_more = len(events) == BATCH
            await self._submit(events)

    async def _submit(self, events: Sequence[Event]) -> None:
        jobs = await self._jobs(events)
        if jobs:
            await self._backend.jobs.submit_all(jobs)
        failpoint("follower.after_submit")
        self._position, self._unsaved = events[-1].position, self._unsaved + len(events)
        if jobs or self._unsaved >= CURSOR_SAVE_EVERY:
            await self._save_cursor()

    async def _save_cursor(self) -> None:
        if self._position == self._saved:
            return
        try:
            await self._backend.store.move_cursor(self._cursor, self._saved, self._position)
            self._saved = self._position
        except ConflictError:
            # Another server follows too. A job that both submit is delivered once: the second worker sees that it is
            # done.
            self._saved = self._position = await self._backend.store.cursor(self._cursor)
        self._unsaved = 0

    async def _jobs(self, events: Sequence[Event]) -> list[Job]:
        request_events = [event for event in events if event.record == Request.record]
        requests = {each.key: each for each in await self._feed.requests(request_events)}
        event_requests = ((event, requests.get(Key(event.tenant, event.record_id))) for event in request_events)
        return [job for event, request in event_requests if request async for job in self._jobs_of(event, request)]


def is_after(position: Position, other: Position) -> bool:
    """Return False if a position is not after another; True if the store's positions are not numbers.

    An event that is taken twice creates the same jobs, and each is done once.
    """
    try:
        return parsed_number(position) > parsed_number(other)
    except InvalidError:
        return True
