"""Verifies that stored records match their events, and that no event was changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from ringi.base.bounded import Bounded
from ringi.base.canonical_json import digest
from ringi.contracts.backend import Stream
from ringi.contracts.store import Finding as Finding
from ringi.contracts.store import Store, find_record
from ringi.domain.journal import Journal
from ringi.domain.record import START, Event, Key, Position, Query, Record, UnreadableError, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import UnavailableError
from ringi.files.attachments import Attachments
from ringi.files.images import Images, images_in_run
from ringi.forms.field_parts import AttachedFile

KINDS: dict[str, type[Record]] = {"request": Request, "thread": Thread, "journal": Journal}
BATCH = 500
AT_ONCE = 32
"""The number of histories that are read at once."""
REMEMBERED = 20_000
"""The number of records whose existence is cached: the events of one record are usually close together."""
CUT_OFF = "its last events are missing"
RecordName = tuple[str, Key]
"""The kind of a record, and its key."""


class RecordTrail:
    """The state of one record according to its events."""

    def __init__(self, name: RecordName) -> None:
        self.name = name
        self.findings: list[Finding] = []
        self.head, self.version = "", 0
        self.is_whole, self.is_compared = True, False
        self.images: dict[int, AttachedFile] = {}
        """The images that a thread lists, as its messages name them."""
        self._state: dict[str, Any] = {}
        self._redacted: dict[int, Event] = {}
        self._explained: set[tuple[int, str]] = set()

    def take(self, event: Event, sought: Record | None = None) -> None:
        """Add an event; at the head of the record in `sought`, compare that record with the events."""
        if event.is_redacted:
            self._redacted[event.version] = event
        earlier = ((version, by) for version, by in event.redacted_versions.items() if version < event.version)
        self._explained.update(earlier)
        self.findings += [Finding(*self.name, event.position, what) for what in self._wrong(event)]
        self.head, self.version = event.hash, event.version
        self._state.update(event.changed)
        if event.record == Thread.record:
            self.images |= {file["number"]: file for file in images_in_run(event.changed.get("run"))}
            listed = self._state.get("images") or ()
            self.images = {number: file for number, file in self.images.items() if number in listed}
        if sought and sought.head == event.hash:
            self.compare(sought)

    def compare(self, record: Record) -> None:
        """Compare a record with its events so far."""
        self.is_compared = True
        if self.is_whole:
            self.findings += self._differences(record)

    def unexplained_redactions(self) -> list[Finding]:
        """Return the empty payloads that no later erasure of the record accounts for."""
        unexplained = [event for n, event in self._redacted.items() if (n, event.actor) not in self._explained]
        what = "its payload was emptied, and no erasure accounts for it"
        return [Finding(*self.name, event.position, what) for event in unexplained]

    def _wrong(self, event: Event) -> Iterator[str]:
        if not event.is_redacted and digest(event.payload) != event.payload_digest:
            yield "its payload was changed"
        if event.computed_hash() != event.hash:
            yield "it was changed"
        if self.is_whole and event.previous != self.head:
            yield "an event before it is missing, or it was inserted"
        if event.version <= self.version:
            yield "its version is out of order"

    def _differences(self, record: Record) -> list[Finding]:
        stored = record.model_dump(mode="json")
        names = (self._state.keys() | stored.keys()) - record.unchained
        differing = sorted(name for name in names if stored.get(name) != self._state.get(name))
        if isinstance(record, Journal) and not record.is_sound:
            differing.append("state")
        return [Finding(*self.name, "", f"{name} is not what its events say") for name in differing]


class EventPage(NamedTuple):
    """Some events, the next position, and the reason if the event there is unreadable."""

    events: list[Event]
    after: Position
    unreadable: str = ""


class Audit:
    """One verification of a store, in bounded memory."""

    def __init__(self, store: Store, progress: Callable[[str], None], stream: Stream | None) -> None:
        self._store, self._progress = store, progress
        self._stream = stream
        self._room = asyncio.Semaphore(AT_ONCE)
        self._known = Bounded[RecordName, bool](REMEMBERED)
        self._after = START
        self.findings: dict[Finding, None] = {}
        self.events = 0

    async def read_events(self, *, are_news: bool = False) -> None:
        """Read the feed to its present end.

        Each record is examined at its first event. For events written during the verification (`are_news`), every
        record is examined.
        """
        end = await self._store.tail()
        async for page in read_event_pages(self._store, after=self._after, end=end):
            self._after = page.after
            self.events += len(page.events)
            if page.unreadable:
                self._add([Finding("event", Key("", ""), page.after, f"it cannot be read ({page.unreadable})")])
            begun = {audited_record_name(event): None for event in page.events if are_news or event.version == 1}
            await self._examine_all(begun)
            await self._look_for({audited_record_name(event): None for event in page.events})
            self._progress(f"{self.events:,} events read")

    async def read_records(self, kind: type[Record]) -> None:
        """Examine the records that no first event has led to."""
        query, count = Query(limit=BATCH), 0
        try:
            while records := await self._store.find(kind, query):
                names = [(kind.record, record.key) for record in records]
                begun = await asyncio.gather(*(self._is_begun(name) for name in names))
                await self._examine_all([name for name, is_begun in zip(names, begun, strict=True) if not is_begun])
                count += len(records)
                self._progress(f"{self.events:,} events read, {count:,} {kind.record}s looked up")
                query = query.model_copy(update={"before": cursor_after_record(records[-1])})
        except UnavailableError as error:
            self._add([Finding(kind.record, Key("", ""), "", f"not all of them can be listed ({error})")])

    async def read_indexes(self) -> None:
        """Let the store check itself."""
        self._progress(f"{self.events:,} events read, checking the store itself")
        async for finding in self._store.inspect():
            self._add([finding])

    def _add(self, findings: Iterable[Finding]) -> None:
        self.findings |= dict.fromkeys(findings)

    async def _look_for(self, names: Iterable[RecordName]) -> None:
        unknown: dict[str, list[Key]] = {}
        for record, key in names:
            if (record, key) not in self._known:
                unknown.setdefault(record, []).append(key)
        for record, keys in unknown.items():
            found = set[Key]()
            with suppress(UnavailableError):  # The examination of each record then names the unreadable ones.
                if record in KINDS:
                    found = {each.key for each in await self._store.get_many(KINDS[record], keys)}
            await self._examine_all([(record, key) for key in keys if key not in found])
            for key in found:
                self._known[record, key] = True

    async def _is_begun(self, name: RecordName) -> bool:
        async with self._room:
            async for page in read_event_pages(self._store, name[1]):
                first = next((event for event in page.events if audited_record_name(event) == name), None)
                if first or page.unreadable:
                    return bool(first and first.version == 1)
        return False

    async def _examine_all(self, names: Iterable[RecordName]) -> None:
        for findings in await asyncio.gather(*(self._examine(name) for name in names)):
            self._add(findings)

    async def _examine(self, name: RecordName) -> list[Finding]:
        self._known[name] = True
        async with self._room:
            findings = await audit_record_and_files(self._store, name, self._stream)
            # Concurrent writes may cause a mismatch: the second examination sees them completely.
            return findings and await audit_record_and_files(self._store, name, self._stream)


def audited_record_name(event: Event) -> RecordName:
    """Return the name of the record that an event belongs to."""
    return event.record, Key(event.tenant, event.record_id)


async def read_event_pages(
    store: Store, key: Key | None = None, *, after: Position = START, end: Position | None = None
) -> AsyncGenerator[EventPage, None]:
    """Yield the events of a store, or those of one key, up to `end`; unreadable events are skipped."""
    chosen: dict[str, Any] = {"tenant": key.tenant, "record_id": key.id} if key else {}
    limit = BATCH
    while after != end:
        try:
            events = await store.events(after, limit, **chosen)
        except UnreadableError as error:
            if error.position is None:
                raise
            if limit > 1:  # The events before the unreadable one can be read.
                limit = max(1, limit // 8)
            else:
                after, limit = error.position, BATCH
                yield EventPage([], after, str(error.__cause__ or error))
            continue
        if not events:
            return
        last = next((n for n, event in enumerate(events, 1) if event.position == end), len(events))
        after = events[last - 1].position
        yield EventPage(events[:last], after)
        if key and len(events) < limit == BATCH:
            return


async def audit_record_and_files(store: Store, name: RecordName, stream: Stream | None = None) -> list[Finding]:
    """Check one record against all its events, and the files that it names; return the findings."""
    trail = RecordTrail(name)
    try:
        record = await _record(store, name)
        after = await _follow(store, trail, record)
        before = None
        while record and record.head not in (trail.head, before):
            # The record may have changed since, and its later events may be read already.
            before, record = record.head, await _record(store, name)
            after = await _follow(store, trail, record, after)
            if record and record.head == trail.head:
                trail.compare(record)
        if stream and isinstance(record, Request):
            trail.findings += [Finding(*name, "", what) async for what in Attachments(stream).misfits(record)]
        if stream and trail.images:
            found = Images(stream).misfits(name[1], list(trail.images.values()))
            trail.findings += [Finding(*name, "", what) async for what in found]
    except UnavailableError as error:
        return [*trail.findings, Finding(*name, "", f"it cannot be read ({error})")]
    findings = trail.findings + trail.unexplained_redactions()
    if record is None and trail.version:
        findings.append(Finding(*name, "", "the record is gone, its events are not"))
    elif record and record.head != trail.head and trail.is_whole:
        findings.append(Finding(*name, "", CUT_OFF if trail.version else "the record has no events"))
    return findings


async def _record(store: Store, name: RecordName) -> Record | None:
    return await find_record(store, KINDS[name[0]], name[1]) if name[0] in KINDS else None


async def _follow(store: Store, trail: RecordTrail, record: Record | None, after: Position = START) -> Position:
    async for page in read_event_pages(store, trail.name[1], after=after):
        after = page.after
        if page.unreadable:
            trail.is_whole = False  # The changes of the unreadable event are unknown.
        for event in page.events:
            if audited_record_name(event) == trail.name:
                trail.take(event, record)
    return after


def audit_record(record: Record, history: Iterable[Event]) -> list[Finding]:
    """Check one record against all its events, and return the findings."""
    trail = RecordTrail((record.record, record.key))
    for event in history:
        trail.take(event, record)
    cut_off = [] if trail.is_compared else [Finding(*trail.name, "", CUT_OFF)]
    return trail.findings + trail.unexplained_redactions() + cut_off


async def verify_store(
    store: Store, progress: Callable[[str], None] = lambda text: None, stream: Stream | None = None
) -> tuple[int, list[Finding]]:
    """Check every event and every record of a store.

    Finds events that were edited, deleted, reordered, inserted, or emptied without an erasure that accounts for it.
    Finds records that differ from the sum of their events; a record also reveals events cut off its end. Names
    unreadable data and checks the rest. The store checks itself, its index columns and its lists. Concurrent writes are
    allowed: the last ones are left to the next verification.

    Args:
        store: The store to check.
        progress: Receives one line of text now and then.
        stream: The stream of the store; with it, attached files and images are checked too.

    Returns:
        The number of events that were read, and the findings; an empty list if the store is intact.
    """
    audit = Audit(store, progress, stream)
    await audit.read_events()
    for kind in KINDS.values():
        await audit.read_records(kind)
    await audit.read_events(are_news=True)
    await audit.read_indexes()
    return audit.events, list(audit.findings)
