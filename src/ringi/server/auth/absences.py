"""The people who are away, in memory: lists and streams need them at each call."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from ringi.base.loops import SingleFlight, cancel_all
from ringi.base.outages import FailureLog
from ringi.contracts.backend import ABSENCES, Backend, StreamItem, Wakeup
from ringi.contracts.store import skip_unreadable_records
from ringi.domain import absence
from ringi.domain.absence import Absence
from ringi.domain.journal import Journal
from ringi.domain.record import Key, Viewer

log = logging.getLogger(__name__)
NOBODY: tuple[Viewer, ...] = ()


class AbsenceTable(Wakeup):
    """The absences of the tenants that have called, read again after each change.

    An answer reads the store, so the table only decides what is listed.

    Args:
        backend: The store, and its notifications and clock.
        on_change: Called after the deputies of some people have changed.
    """

    def __init__(self, backend: Backend, on_change: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._store, self._notifier, self._clock = backend.store, backend.notifier, backend.clock
        self._on_change = on_change
        self._read_at: dict[str, float] = {}
        self._changes = 0
        self._tenants: set[str] = set()
        self._absences: dict[str, list[Absence]] = {}
        """Only tenants in which somebody is away."""
        self._flight = SingleFlight()
        self._following: asyncio.Task[None] | None = None
        self._ending: asyncio.TimerHandle | None = None

    def deputy_for(self, tenant: str, person: str) -> tuple[Viewer, ...]:
        """Return the people for whom a person stands now."""
        if tenant not in self._absences:
            return NOBODY
        now = self._clock()
        return tuple(each.viewer for each in self._absences[tenant] if each.deputy == person and now < each.until)

    def is_fresh(self, tenant: str) -> bool:
        """Return whether the absences of a tenant have been read within the interval of lost notifications."""
        read_at = self._read_at.get(tenant)
        return read_at is not None and time.monotonic() - read_at < self._notifier.pulse_after

    async def load(self, tenant: str) -> None:
        """Read the absences of a tenant."""
        if self._following is None:
            # Subscribed before the first read: a change after it is noticed.
            await self._notifier.subscribe(ABSENCES, self).__aenter__()
            self._following = asyncio.create_task(self._follow())
        for _ in range(2):  # A read in progress may be older than the newest change.
            if not self.is_fresh(tenant):
                await self._flight.read(tenant, partial(self._read, [tenant]))

    async def close(self) -> None:
        """Stop following the changes."""
        if self._ending:
            self._ending.cancel()
        await self._flight.close()
        await cancel_all(self._following)

    def set(self, items: Sequence[StreamItem] = ()) -> None:
        """Forget at once, before a call reads it, that the table is fresh, and wake the reader."""
        self._changes += 1
        self._read_at.clear()
        super().set(items)

    async def _follow(self) -> None:
        while True:
            await self.wait(None)
            await self._read(list(self._tenants))

    async def _read(self, tenants: list[str]) -> None:
        self._tenants.update(tenants)
        changes, keys = self._changes, [Key(tenant, absence.JOURNAL) for tenant in tenants]
        found: list[Journal] | None = None
        with FailureLog(log, "the absences cannot be read, trying again at the next call"):
            found = await skip_unreadable_records(self._store, Journal, keys)
        if found is None:
            return
        if changes == self._changes:
            self._read_at |= dict.fromkeys(tenants, time.monotonic())
        now, journals = self._clock(), {journal.tenant: journal for journal in found}
        read = {tenant: absence.active_absences(journals.get(tenant), now) for tenant in tenants}
        before = self._absences
        self._absences = {tenant: each for tenant, each in (before | read).items() if each}
        if before != self._absences:
            self._on_change()
            self._end_later(now)

    def _end_later(self, now: datetime) -> None:
        """Report the change when the next absence ends."""
        if self._ending:
            self._ending.cancel()
        ends = [each.until for absences in self._absences.values() for each in absences if each.until > now]
        if ends:
            seconds = (min(ends) - now).total_seconds()
            self._ending = asyncio.get_running_loop().call_later(seconds, self._ended)

    def _ended(self) -> None:
        self._on_change()
        self._end_later(self._clock())
