"""Storage: a playbook is kept in a journal, a conversation in the checkpoints of its threads."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

from ringi import Event
from ringi.base import failpoint, report_outages
from ringi.contracts import Backend, Store, change_record, find_record
from ringi.domain import START, SYSTEM, THREAD, Journal, JournalEntry, Key, Position, Thread, entries_in
from ringi.errors import ConflictError, NotFoundError
from ringi.runs import RunContext, graph_state
from ringi_apps.engrammer.entries import Entry, VersionedEntry
from ringi_apps.engrammer.errors import BusyPlaybookError
from ringi_apps.engrammer.playbook import Playbook

log = logging.getLogger(__name__)
APPLICATION = "engrammer"
PAGE = 500
MakeEntry = Callable[[Playbook], Entry | None]
"""Make an entry from the current playbook, or None. May be called again after a concurrent change."""
JournalStep: TypeAlias = Callable[[Journal], tuple[Journal, Event | None]]
Precheck: TypeAlias = Callable[[], Awaitable[None]] | None
MAX_WAIT_SECONDS = 30.0
"""Seconds to retry when other processes change the playbook."""
FIRST_PAUSE, MAX_PAUSE = 0.01, 1.0
"""Maximum seconds before the first and later retries."""
_entry_cache: WeakKeyDictionary[Store, dict[Key, tuple[Position, list[VersionedEntry]]]] = WeakKeyDictionary()
MAX_CACHED_PLAYBOOKS = 20
"""Number of playbooks whose entries are cached; the most recently used."""
_queues: WeakValueDictionary[tuple[int, Key], asyncio.Lock] = WeakValueDictionary()


def journal_id(name: str) -> str:
    """Return the id of a playbook's journal."""
    return f"playbook:{name}"


async def read_playbook(store: Store, tenant: str, name: str) -> Playbook:
    """Return the current playbook; empty if it does not exist yet."""
    journal = await find_record(store, Journal, Key(tenant, journal_id(name)))
    return playbook_from(journal) if journal else Playbook()


async def read_in_run(host: RunContext, name: str) -> Playbook:
    """Return a playbook for a run; raise `OutageError` if the store is unavailable."""
    with report_outages():
        return await read_playbook(host.runner.backend.store, host.key.tenant, name)


async def append_entry(
    backend: Backend,
    tenant: str,
    name: str,
    make: MakeEntry,
    *,
    by: str,
    now: datetime,
    precheck: Precheck = None,
) -> Playbook:
    """Append the entry that `make` returns and return the resulting playbook; the write is atomic.

    Whatever `make` raises ends it with nothing entered; so does `first`, which is awaited right before that
    in each try. Raises `BusyPlaybookError` where others were faster all the time.
    """

    playbook = Playbook()

    def step(journal: Journal) -> tuple[Journal, Event | None]:
        nonlocal playbook
        playbook = playbook_from(journal)
        entry = make(playbook)
        if entry is None:
            return journal, None
        playbook = playbook.apply(entry, now)
        return journal.written(dict(entry), dict(playbook), by=by, now=now)

    key = Key(tenant, journal_id(name))
    # Of hundreds that learn at once in one process, all would lose against each other again and again.
    queue = _queues.setdefault((id(backend.store), key), asyncio.Lock())
    async with queue:
        before, after = await _change_with_retry(backend.store, key, step, precheck, now)
    if after is not before:
        failpoint("playbook.entered")
        await _notify(backend, after)
    return playbook


async def append_in_run(host: RunContext, name: str, make: MakeEntry, *, precheck: Precheck = None) -> Playbook:
    """Append an entry for a run, with its thread as the author."""
    by, now = f"{THREAD}{host.key.id}", host.inbox.clock()
    return await append_entry(host.runner.backend, host.key.tenant, name, make, by=by, now=now, precheck=precheck)


async def read_entries(store: Store, tenant: str, name: str) -> list[VersionedEntry]:
    """Return all entries of a playbook, oldest first; only new ones are read from the store."""
    key, cache = Key(tenant, journal_id(name)), _entry_cache.setdefault(store, {})
    position, entries = cache.get(key, (START, []))
    events = await _events(store, key, position)
    is_complete = True
    if any(each.redacted_versions for each in events):
        # An erasure has redacted entries that are cached, or that were read a moment ago.
        last, entries, events = events[-1].position, [], await _events(store, key, START)
        is_complete = events[-1].position == last
    entries = [*entries, *await _parse_entries(entries_in(events), len(entries))]
    cache.pop(key, None)
    if is_complete:
        cache[key] = events[-1].position if events else position, entries
        for oldest in list(cache)[:-MAX_CACHED_PLAYBOOKS]:
            del cache[oldest]
    return list(entries)


async def _parse_entries(notes: Sequence[JournalEntry], offset: int) -> list[VersionedEntry]:
    parsed = list[VersionedEntry]()
    for at, (version, when, by, entry) in enumerate(notes):
        parsed.append(VersionedEntry(offset + version, when, by, Entry.model_validate(entry)))
        if at % PAGE == 0:
            # Thousands at once would hold up all that the process serves.
            await asyncio.sleep(0)
    return parsed


async def _events(store: Store, key: Key, after: Position) -> list[Event]:
    events = list[Event]()
    while page := await store.events(after, PAGE, tenant=key.tenant, record_id=key.id):
        events += page
        after = page[-1].position
    return events


async def turns_in_newest_checkpoint(backend: Backend, thread: Thread) -> list[dict[str, Any]]:
    """Return the turns of a thread's newest checkpoint, oldest first; empty if the thread was erased."""
    return (await graph_state(backend, thread)).get("turns") or []


def playbook_from(journal: Journal) -> Playbook:
    """Return the playbook stored in a journal."""
    return Playbook.model_validate(journal.state)


async def _change_with_retry(
    store: Store, key: Key, step: JournalStep, precheck: Precheck, now: datetime
) -> tuple[Journal, Journal]:
    deadline, pause = time.monotonic() + MAX_WAIT_SECONDS, FIRST_PAUSE
    while True:
        if precheck:
            await precheck()
        try:
            return await change_record(store, Journal, key, step)
        except NotFoundError:
            await _create(store, key, now)
        except ConflictError as error:
            if time.monotonic() + pause > deadline:
                raise BusyPlaybookError(key.id) from error
            await asyncio.sleep(random.uniform(0, pause))
            pause = min(2 * pause, MAX_PAUSE)


async def _create(store: Store, key: Key, now: datetime) -> None:
    state = Playbook().model_dump(mode="json")
    try:
        await store.put(*Journal.begun(key.id, APPLICATION, state, by=SYSTEM, now=now, tenant=key.tenant))
    except ConflictError:
        log.debug("%s was begun by another at the same time", key.id)


async def _notify(backend: Backend, journal: Journal) -> None:
    try:
        await backend.notifier.publish(journal.topic)
    except Exception:
        backend.notifier.lost += 1
        log.exception("nobody was told of %s: who looks at it will see it when they look again", journal.topic)
