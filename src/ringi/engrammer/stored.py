"""Where playbooks and conversations are kept: a playbook in its journal, a conversation in its threads' checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from ringi.backend import Backend
from ringi.engrammer.playbook import Entry, Playbook, Written
from ringi.errors import ConflictError, NotFoundError
from ringi.failpoint import failpoint
from ringi.inbox import change
from ringi.journal import Journal, entries_in
from ringi.record import START, SYSTEM, Event, Key
from ringi.store import Store
from ringi.thread import Thread, checkpoint_thread

log = logging.getLogger(__name__)
APPLICATION = "engrammer"
PAGE = 500
Make = Callable[[Playbook], Entry | None]
"""From the playbook as it stands to what is entered; None for nothing. It may be called again on what others left."""


def journal_id(name: str) -> str:
    """Return the id of a playbook's journal."""
    return f"playbook:{name}"


async def read(store: Store, tenant: str, name: str) -> Playbook:
    """Return a playbook as it stands; one that nobody has begun is empty."""
    try:
        return playbook_in(await store.get(Journal, tenant, journal_id(name)))
    except NotFoundError:
        return Playbook()


async def enter(backend: Backend, tenant: str, name: str, make: Make, *, by: str, now: datetime) -> Playbook:
    """Enter what `make` returns, and return the playbook after it: durable, or not at all.

    Whatever `make` raises ends it with nothing entered.
    """

    def step(journal: Journal) -> tuple[Journal, Event | None]:
        playbook = playbook_in(journal)
        entry = make(playbook)
        if entry is None:
            return journal, None
        after = playbook.entered(entry, now)
        return journal.written(entry.model_dump(mode="json"), after.model_dump(mode="json"), by=by, now=now)

    key = Key(tenant, journal_id(name))
    try:
        before, after = await change(backend.store, Journal, key, step)
    except NotFoundError:
        await _begin(backend.store, key, now)
        before, after = await change(backend.store, Journal, key, step)
    if after is not before:
        failpoint("playbook.entered")
        await _tell(backend, after)
    return playbook_in(after)


async def entries(store: Store, tenant: str, name: str) -> list[Written]:
    """Return all that was ever entered in a playbook, oldest first."""
    found, after = list[Event](), START
    while page := await store.events(after, PAGE, tenant=tenant, record_id=journal_id(name)):
        found += page
        after = page[-1].position
    return [Written(each.version, each.at, each.by, Entry.model_validate(each.entry)) for each in entries_in(found)]


async def turns_of(backend: Backend, thread: Thread) -> list[dict[str, Any]]:
    """Return the turns of a thread as of its newest step, oldest first; of one that was erased, none."""
    place = {"thread_id": checkpoint_thread(thread.key), "checkpoint_ns": ""}
    saved = await backend.savers(thread).aget_tuple({"configurable": place})
    turns: list[dict[str, Any]] = (saved.checkpoint["channel_values"].get("turns") if saved else None) or []
    return turns


def playbook_in(journal: Journal) -> Playbook:
    """Return the playbook that a journal keeps."""
    return Playbook.model_validate(journal.state)


async def _begin(store: Store, key: Key, now: datetime) -> None:
    state = Playbook().model_dump(mode="json")
    try:
        await store.put(*Journal.begun(key.id, APPLICATION, state, by=SYSTEM, now=now, tenant=key.tenant))
    except ConflictError:
        log.debug("%s was begun by another at the same time", key.id)


async def _tell(backend: Backend, journal: Journal) -> None:
    try:
        await backend.notifier.publish(journal.topic)
    except Exception:
        backend.notifier.lost += 1
        log.exception("nobody was told of %s: who looks at it will see it when they look again", journal.topic)
