"""Where playbooks and conversations are kept: a playbook in its journal, a conversation in its threads' checkpoints."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

from ringi.backends import report_outages
from ringi.base import failpoint
from ringi.contracts import Backend, Store, change_record
from ringi.domain import START, SYSTEM, THREAD, Event, Journal, JournalEntry, Key, Position, Thread, entries_in
from ringi.engrammer.errors import BusyPlaybookError
from ringi.engrammer.playbook import Entry, Playbook, Written
from ringi.errors import ConflictError, NotFoundError
from ringi.runs import RunContext, graph_state

log = logging.getLogger(__name__)
APPLICATION = "engrammer"
PAGE = 500
Make = Callable[[Playbook], Entry | None]
"""From the playbook as it stands to what is entered; None for nothing. It may be called again on what others left."""
Step: TypeAlias = Callable[[Journal], tuple[Journal, Event | None]]
First: TypeAlias = Callable[[], Awaitable[None]]
PATIENCE = 30.0
"""For how many seconds an entry gives way to those of other processes."""
SHORTEST, LONGEST = 0.01, 1.0
"""How long it waits at most, the first time and the last, before it tries again."""
_known: WeakKeyDictionary[Store, dict[Key, tuple[Position, list[Written]]]] = WeakKeyDictionary()
MOST_KNOWN = 20
"""Of how many playbooks the entries are kept in memory: those that were looked at last."""
_queues: WeakValueDictionary[tuple[int, Key], asyncio.Lock] = WeakValueDictionary()


def journal_id(name: str) -> str:
    """Return the id of a playbook's journal."""
    return f"playbook:{name}"


async def read(store: Store, tenant: str, name: str) -> Playbook:
    """Return a playbook as it stands; one that nobody has begun is empty."""
    try:
        return playbook_in(await store.get(Journal, tenant, journal_id(name)))
    except NotFoundError:
        return Playbook()


async def read_in(host: RunContext, name: str) -> Playbook:
    """Return a playbook for a run; raises `OutageError` where the store is away."""
    with report_outages():
        return await read(host.runner.backend.store, host.key.tenant, name)


async def nothing() -> None:
    """Do nothing."""


async def enter(
    backend: Backend, tenant: str, name: str, make: Make, *, by: str, now: datetime, first: First = nothing
) -> Playbook:
    """Enter what `make` returns, and return the playbook after it: durable, or not at all.

    Whatever `make` raises ends it with nothing entered; so does `first`, which is awaited right before that
    in each try. Raises `BusyPlaybookError` where others were faster all the time.
    """

    left = Playbook()

    def step(journal: Journal) -> tuple[Journal, Event | None]:
        nonlocal left
        left = playbook_in(journal)
        entry = make(left)
        if entry is None:
            return journal, None
        left = left.entered(entry, now)
        return journal.written(dict(entry), dict(left), by=by, now=now)

    key = Key(tenant, journal_id(name))
    # Of hundreds that learn at once in one process, all would lose against each other again and again.
    queue = _queues.setdefault((id(backend.store), key), asyncio.Lock())
    async with queue:
        before, after = await _changed(backend.store, key, step, first, now)
    if after is not before:
        failpoint("playbook.entered")
        await _tell(backend, after)
    return left


async def enter_in(host: RunContext, name: str, make: Make, *, first: First = nothing) -> Playbook:
    """Enter, for a run, as its thread."""
    by, now = f"{THREAD}{host.key.id}", host.inbox.clock()
    return await enter(host.runner.backend, host.key.tenant, name, make, by=by, now=now, first=first)


async def entries(store: Store, tenant: str, name: str) -> list[Written]:
    """Return all that was ever entered in a playbook, oldest first; of what this process has read, only what is new."""
    key, known = Key(tenant, journal_id(name)), _known.setdefault(store, {})
    position, written = known.get(key, (START, []))
    news = await _events(store, key, position)
    is_whole = True
    if any(each.covers for each in news):
        # An erasure has emptied entries that are known, or were read a moment before it.
        last, written, news = news[-1].position, [], await _events(store, key, START)
        is_whole = news[-1].position == last
    written = [*written, *await _parsed(entries_in(news), len(written))]
    known.pop(key, None)
    if is_whole:
        known[key] = news[-1].position if news else position, written
        for oldest in list(known)[:-MOST_KNOWN]:
            del known[oldest]
    return list(written)


async def when(store: Store, tenant: str, name: str, version: int) -> datetime:
    """Return when a version of a playbook was made."""
    return next(each.at for each in await entries(store, tenant, name) if each.version == version)


async def _parsed(found: Sequence[JournalEntry], before: int) -> list[Written]:
    parsed = list[Written]()
    for at, (version, when, by, entry) in enumerate(found):
        parsed.append(Written(before + version, when, by, Entry.model_validate(entry)))
        if at % PAGE == 0:
            # Thousands at once would hold up all that the process serves.
            await asyncio.sleep(0)
    return parsed


async def _events(store: Store, key: Key, after: Position) -> list[Event]:
    found = list[Event]()
    while page := await store.events(after, PAGE, tenant=key.tenant, record_id=key.id):
        found += page
        after = page[-1].position
    return found


async def turns_of(backend: Backend, thread: Thread) -> list[dict[str, Any]]:
    """Return the turns of a thread as of its newest step, oldest first; of one that was erased, none."""
    return (await graph_state(backend, thread)).get("turns") or []


def playbook_in(journal: Journal) -> Playbook:
    """Return the playbook that a journal keeps."""
    return Playbook.model_validate(journal.state)


async def _changed(store: Store, key: Key, step: Step, first: First, now: datetime) -> tuple[Journal, Journal]:
    until, pause = time.monotonic() + PATIENCE, SHORTEST
    while True:
        await first()
        try:
            return await change_record(store, Journal, key, step)
        except NotFoundError:
            await _begin(store, key, now)
        except ConflictError as error:
            if time.monotonic() + pause > until:
                raise BusyPlaybookError(key.id) from error
            await asyncio.sleep(random.uniform(0, pause))
            pause = min(2 * pause, LONGEST)


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
