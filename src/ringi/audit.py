"""Proof that the stored records are what their events made them, and that no event was touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ringi.canonical import digest
from ringi.record import START, Event, Key, Query, Record, cursor_of
from ringi.request import Request
from ringi.store import Store
from ringi.thread import Thread

KINDS: dict[str, type[Record]] = {"request": Request, "thread": Thread}
BATCH = 500


class Finding(NamedTuple):
    """One thing that does not fit."""

    record: str
    key: Key
    position: str
    what: str


class Chain(NamedTuple):
    """What the events so far say of one record."""

    head: str
    version: int
    state: dict[str, Any]


async def verify(store: Store, progress: Callable[[int], None] = lambda count: None) -> tuple[int, list[Finding]]:
    """Check every event and every record; return how many events there were, and what is wrong.

    Finds an event that was edited, deleted, reordered or inserted, and a record that is not
    the sum of its events. Events cut off the end of a record are found by the record itself.
    `progress` is told how many events were read so far.
    """
    chains: dict[tuple[str, Key], Chain] = {}
    findings: list[Finding] = []
    position, count = START, 0
    while events := await store.events(position, BATCH):
        for event in events:
            findings += _check(event, chains)
        position, count = events[-1].position, count + len(events)
        progress(count)
    for name in KINDS:
        findings += await _compare(store, name, chains)
    return count, findings


def _check(event: Event, chains: dict[tuple[str, Key], Chain]) -> list[Finding]:
    key = Key(event.tenant, event.record_id)
    chain = chains.get((event.record, key), Chain("", 0, {}))
    wrong = [
        "its payload was changed" if digest(event.payload) != event.payload_digest else "",
        "it was changed" if event.computed_hash() != event.hash else "",
        "an event before it is missing, or it was inserted" if event.previous != chain.head else "",
        "its version is out of order" if event.version <= chain.version else "",
    ]
    state = {**chain.state, **event.payload.get("changed", {})}
    chains[event.record, key] = Chain(event.hash, event.version, state)
    return [Finding(event.record, key, event.position, what) for what in wrong if what]


async def _compare(store: Store, name: str, chains: dict[tuple[str, Key], Chain]) -> list[Finding]:
    kind, query, seen = KINDS[name], Query(limit=BATCH), set()
    findings: list[Finding] = []
    before: str | None = None
    while records := await store.find(kind, query.model_copy(update={"before": before})):
        for record in records:
            seen.add(record.key)
            findings += _fits(record, chains.get((name, record.key)))
        before = cursor_of(records[-1])
    missing = [key for record, key in chains if record == name and key not in seen]
    return findings + [Finding(name, key, "", "the record is gone, its events are not") for key in missing]


def _fits(record: Record, chain: Chain | None) -> list[Finding]:
    if not chain:
        return [Finding(record.record, record.key, "", "the record has no events")]
    if record.head != chain.head:
        return [Finding(record.record, record.key, "", "its last events are missing")]
    stored = record.model_dump(mode="json")
    names = (chain.state.keys() | stored.keys()) - record.unchained
    differing = sorted(name for name in names if stored.get(name) != chain.state.get(name))
    return [Finding(record.record, record.key, "", f"{name} is not what its events say") for name in differing]
