"""The journals of Ringi itself, beside requests in the audit trail: their entries, and how a process follows one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from ringi.contracts.store import Store, change_record, find_record
from ringi.domain.journal import RINGI, Journal
from ringi.domain.record import SYSTEM, Event, Key
from ringi.errors import ConflictError, NotFoundError
from ringi.inbox.feed import Feed

State = dict[str, Any]
"""The state of a journal, as JSON data."""
EntryAndState = tuple[dict[str, Any], State]
"""An entry, and the state of the journal after it."""
JournalStep = Callable[[Journal], tuple[Journal, Event | None]]
"""Returns the next version of a journal and its event; the journal itself changes nothing."""
REREAD_SECONDS = 10.0
"""Seconds after which a journal is read again even if the feed reports no change."""


async def write_entry(
    store: Store, key: Key, initial: State, make: Callable[[State], EntryAndState | None], *, by: str, now: datetime
) -> None:
    """Append an entry to a journal, which begins with the first one.

    Args:
        store: The store of the journal.
        key: The tenant and the id of the journal.
        initial: The state of a new journal.
        make: Returns the entry and the next state for the present state; None to write nothing.
        by: The author.
        now: The current time.
    """

    def step(journal: Journal) -> tuple[Journal, Event | None]:
        made = make(journal.state)
        return journal.written(*made, by=by, now=now) if made else (journal, None)

    await change_journal(store, key, initial, step, by=SYSTEM, now=now, application=key.id)


async def change_journal(
    store: Store, key: Key, initial: State, step: JournalStep, *, by: str, now: datetime, application: str = RINGI
) -> Journal:
    """Save the next version of a journal, which begins with its first change; return it.

    Args:
        store: The store of the journal.
        key: The tenant and the id of the journal.
        initial: The state of a new journal.
        step: Returns the next version and its event.
        by: Who begins a new journal.
        now: The current time.
        application: The application of a new journal.
    """
    try:
        return (await change_record(store, Journal, key, step))[1]
    except NotFoundError:
        with suppress(ConflictError):  # Another process began it.
            await store.put(*Journal.begun(key.id, application, initial, by=by, now=now, tenant=key.tenant))
        return (await change_record(store, Journal, key, step))[1]


@contextmanager
def missing_as(kind: str, id: str) -> Iterator[None]:
    """Report a missing record as a missing one of this kind: nobody learns of the records of other people."""
    try:
        yield
    except NotFoundError as error:
        raise NotFoundError(kind, id) from error


class JournalWatch:
    """Knows one journal of each tenant from one read, until the feed reports a change of it.

    Args:
        store: The store.
        feed: The feed of this process; while nothing follows it, each look reads the store.
        id: The id of the journal.
    """

    def __init__(self, store: Store, feed: Feed, id: str) -> None:
        self._store, self._feed, self._id = store, feed, id
        self._known: dict[str, tuple[float, Journal | None]] = {}
        self._changes = 0
        feed.watch(self.collect)

    def collect(self, events: Sequence[Event]) -> None:
        """Forget what has changed; a listener of the feed.

        Args:
            events: New events of the store.
        """
        for event in events:
            if event.record == Journal.record and event.record_id == self._id:
                self.forget(event.tenant)

    def forget(self, tenant: str) -> None:
        """Read the journal of a tenant again at the next look: this process knows of a change before the feed.

        Args:
            tenant: The tenant.
        """
        self._known.pop(tenant, None)
        self._changes += 1

    async def find(self, tenant: str) -> Journal | None:
        """Return the journal of a tenant as this process knows it; None if nothing was written yet.

        Args:
            tenant: The tenant.

        Raises:
            UnavailableError: The journal is not known, and cannot be read.
        """
        if not self._feed.is_read:
            self._known.pop(tenant, None)
            return await self.read(tenant)
        known_until, journal = self._known.get(tenant, (0.0, None))
        if time.monotonic() >= known_until:
            changes = self._changes
            journal = await self.read(tenant)
            # A change during the read may be missing from its result.
            if changes == self._changes:
                self._known[tenant] = time.monotonic() + REREAD_SECONDS, journal
        return journal

    async def read(self, tenant: str) -> Journal | None:
        """Return the journal of a tenant from the store; None if nothing was written yet.

        Args:
            tenant: The tenant.
        """
        return await find_record(self._store, Journal, Key(tenant, self._id))
