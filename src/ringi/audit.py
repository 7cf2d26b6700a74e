"""Proof that the stored records are what their events made them, and that no event was touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ringi.canonical import digest
from ringi.journal import Journal
from ringi.record import START, Event, Key, Query, Record, cursor_of
from ringi.request import Request
from ringi.store import Store
from ringi.thread import Thread

KINDS: dict[str, type[Record]] = {"request": Request, "thread": Thread, "journal": Journal}
BATCH = 500
CUT_OFF = "its last events are missing"
Name = tuple[str, Key]
"""The kind of a record, and its key."""


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


class Trail:
    """What the events say of each record."""

    def __init__(self) -> None:
        self.chains: dict[Name, Chain] = {}
        self.findings: list[Finding] = []
        self._emptied: dict[tuple[Name, int], Event] = {}
        self._covered: set[tuple[tuple[Name, int], str]] = set()

    def take(self, event: Event, sought: dict[Name, Record]) -> None:
        """Add an event; a record that is sought is compared, and crossed off, at its own head."""
        name = (event.record, Key(event.tenant, event.record_id))
        if event.is_emptied:
            self._emptied[name, event.version] = event
        self._covered |= {((name, version), left) for version, left in event.covers.items() if version < event.version}
        self.findings += _check(event, self.chains)
        if name in sought and sought[name].head == event.hash:
            self.findings += _fits(sought.pop(name), self.chains[name])

    def emptied(self) -> list[Finding]:
        """Return the payloads that are empty and that no later erasure of their record tells of."""
        untold = {place: event for place, event in self._emptied.items() if (place, event.actor) not in self._covered}
        what = "its payload was emptied, and no erasure tells of it"
        return [Finding(*name, event.position, what) for (name, _), event in untold.items()]


class Reading(Trail):
    """The trail of a store, as far as it was read."""

    def __init__(self, store: Store, progress: Callable[[int], None]) -> None:
        super().__init__()
        self._store, self._progress = store, progress
        self._position, self.count = START, 0

    async def read(self, sought: dict[Name, Record]) -> bool:
        """Read on to what is the end now, and return whether there was anything new."""
        count, end = self.count, await self._store.tail()
        # Not until there are no more: writers may be as quick as this reader.
        is_there = self._position == end
        while not is_there and (events := await self._store.events(self._position, BATCH)):
            for event in events:
                self.take(event, sought)
            is_there = any(event.position == end for event in events)
            self._position, self.count = events[-1].position, self.count + len(events)
            self._progress(self.count)
        return self.count > count


def misfits(record: Record, history: Iterable[Event]) -> list[Finding]:
    """Check one record against all its events, and return what is wrong."""
    trail, name = Trail(), (record.record, record.key)
    sought = {name: record}
    for event in history:
        trail.take(event, sought)
    cut_off = [Finding(*name, "", CUT_OFF)] if sought else []
    return trail.findings + trail.emptied() + cut_off


async def verify(store: Store, progress: Callable[[int], None] = lambda count: None) -> tuple[int, list[Finding]]:
    """Check every event and every record; return how many events there were, and what is wrong.

    Finds an event that was edited, deleted, reordered or inserted, or emptied with no erasure that tells of it,
    and a record that is not the sum of its events. Events cut off the end of a record are found by the
    record itself.
    Others may write meanwhile: what they add last is left to the next time.
    `progress` is told how many events were read so far.
    """
    trail = Reading(store, progress)
    await trail.read({})
    ahead: dict[Name, Record] = {}
    for name in KINDS:
        ahead |= await _compare(store, name, trail)
    # A record was read after the events: what it is ahead of them by came in between, unless they were cut off.
    await trail.read(ahead)
    # What is erased meanwhile is seen empty before its erasure is, which is the last of its events.
    while trail.emptied() and await trail.read(ahead):
        pass
    found = [(name, CUT_OFF if name in trail.chains else "the record has no events") for name in ahead]
    return trail.count, trail.findings + trail.emptied() + [Finding(*name, "", what) for name, what in found]


def _check(event: Event, chains: dict[Name, Chain]) -> list[Finding]:
    key = Key(event.tenant, event.record_id)
    chain = chains.get((event.record, key), Chain("", 0, {}))
    wrong = [
        "its payload was changed" if not event.is_emptied and digest(event.payload) != event.payload_digest else "",
        "it was changed" if event.computed_hash() != event.hash else "",
        "an event before it is missing, or it was inserted" if event.previous != chain.head else "",
        "its version is out of order" if event.version <= chain.version else "",
    ]
    state = {**chain.state, **event.changed}
    chains[event.record, key] = Chain(event.hash, event.version, state)
    return [Finding(event.record, key, event.position, what) for what in wrong if what]


async def _compare(store: Store, name: str, trail: Reading) -> dict[Name, Record]:
    """Compare the records of a kind with the events that were read, and return those that are ahead of them."""
    query, ahead, seen = Query(limit=BATCH), dict[Name, Record](), set[Key]()
    while records := await store.find(KINDS[name], query):
        for record in records:
            seen.add(record.key)
            chain = trail.chains.get((name, record.key))
            if chain and chain.head == record.head:
                trail.findings += _fits(record, chain)
            else:
                ahead[name, record.key] = record
        query = query.model_copy(update={"before": cursor_of(records[-1])})
    gone = [key for record, key in trail.chains if record == name and key not in seen]
    trail.findings += [Finding(name, key, "", "the record is gone, its events are not") for key in gone]
    return ahead


def _fits(record: Record, chain: Chain) -> list[Finding]:
    stored = record.model_dump(mode="json")
    names = (chain.state.keys() | stored.keys()) - record.unchained
    differing = sorted(name for name in names if stored.get(name) != chain.state.get(name))
    if isinstance(record, Journal) and not record.is_sound:
        differing.append("state")
    return [Finding(record.record, record.key, "", f"{name} is not what its events say") for name in differing]
