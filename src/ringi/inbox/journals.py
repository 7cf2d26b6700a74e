"""Entries in the journals of Ringi itself, which stand beside requests in the audit trail."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from ringi.contracts.store import Store, change_record
from ringi.domain.journal import Journal
from ringi.domain.record import SYSTEM, Event, Key
from ringi.errors import ConflictError, NotFoundError

Entry = tuple[dict[str, Any], dict[str, Any]]
"""An entry, and the state of the journal after it."""


async def write_entry(
    store: Store,
    key: Key,
    initial: dict[str, Any],
    make: Callable[[dict[str, Any]], Entry | None],
    *,
    by: str,
    now: datetime,
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

    begun = Journal.begun(key.id, key.id, initial, by=SYSTEM, now=now, tenant=key.tenant)
    await change_journal(store, key, begun, step)


async def change_journal(
    store: Store, key: Key, begun: tuple[Journal, Event], step: Callable[[Journal], tuple[Journal, Event | None]]
) -> Journal:
    """Save the next version of a journal, which begins with its first change; return it.

    Args:
        store: The store of the journal.
        key: The tenant and the id of the journal.
        begun: The journal before its first change, and its event.
        step: Returns the next version and its event.
    """
    try:
        return (await change_record(store, Journal, key, step))[1]
    except NotFoundError:
        with suppress(ConflictError):  # Another process began it.
            await store.put(*begun)
        return (await change_record(store, Journal, key, step))[1]
