"""Verifies that stored records match their events, and that no event was changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ringi.base.canonical_json import digest
from ringi.contracts.backend import Stream
from ringi.contracts.store import EventBounds, Store, find_record
from ringi.contracts.store import Finding as Finding
from ringi.domain.journal import Journal
from ringi.domain.record import (
    START,
    CutPage,
    Event,
    Key,
    Position,
    Query,
    Record,
    UnreadableError,
    cursor_after_record,
)
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
TOGETHER = 100
"""The number of records whose histories are read together."""
MAX_TOGETHER_BYTES = 4_000_000
"""Stored bytes of histories that are read together; records with more are read one by one."""
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

    def is_whole_record(self, record: Record) -> bool:
        """Return whether a record agrees with all its events, which are read."""
        is_compared = self.is_compared and record.head == self.head
        return is_compared and not self.findings and not self.unexplained_redactions()

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
        differing = list[str]()
        if {name: value for name, value in stored.items() if name not in record.unchained} != self._state:
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
    """One verification of a store, in bounded memory, of all events or of those after a position."""

    def __init__(
        self, store: Store, progress: Callable[[str], None], stream: Stream | None, after: Position = START
    ) -> None:
        self._store, self._progress = store, progress
        self._stream = stream
        self._room = asyncio.Semaphore(AT_ONCE)
        self._examined = set[int]()
        """The hashes of the names of all records that were examined: 80 MB for a million."""
        self._after = after
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
            names = dict.fromkeys(map(audited_record_name, page.events))
            await self._examine_all([name for name in names if are_news or hash(name) not in self._examined])
            self._progress(f"{self.events:,} events read")

    async def read_records(self, kind: type[Record], since: datetime | None = None) -> None:
        """Examine the records that no event has led to; with `since`, only those that were created after it."""
        query, count = Query(limit=BATCH), 0
        try:
            while records := await self._store.find(kind, query):
                names = [(kind.record, each.key) for each in records if since is None or each.created_at > since]
                await self._examine_all([name for name in names if hash(name) not in self._examined])
                count += len(records)
                self._progress(f"{self.events:,} events read, {count:,} {kind.record}s looked up")
                if since and records[-1].created_at < since:
                    return
                query = query.model_copy(update={"before": cursor_after_record(records[-1])})
        except UnavailableError as error:
            self._add([Finding(kind.record, Key("", ""), "", f"not all of them can be listed ({error})")])

    async def read_indexes(self, inspecting: Awaitable[Sequence[Finding]] | None) -> None:
        """Let the store check itself, unless another process does."""
        self._progress(f"{self.events:,} events read, checking the store itself")
        self._add(await inspecting if inspecting else [finding async for finding in self._store.inspect()])

    def _add(self, findings: Iterable[Finding]) -> None:
        self.findings |= dict.fromkeys(findings)

    async def _examine_all(self, names: Sequence[RecordName]) -> None:
        self._examined.update(map(hash, names))
        of_tenant: dict[str, list[RecordName]] = {}
        for name in names:
            of_tenant.setdefault(name[1].tenant, []).append(name)
        for tenant, own in of_tenant.items():
            for start in range(0, len(own), TOGETHER):
                chunk = own[start : start + TOGETHER]
                whole = await self._whole_records(tenant, chunk)
                for findings in await asyncio.gather(*(self._examine(name) for name in chunk if name not in whole)):
                    self._add(findings)

    async def _whole_records(self, tenant: str, names: Sequence[RecordName]) -> set[RecordName]:
        """Return the records among these that certainly agree with their events, which are read together."""
        found, trails = dict[RecordName, Record](), {name: RecordTrail(name) for name in names}
        try:
            for kind, record_type in KINDS.items():
                if keys := [key for record, key in names if record == kind]:
                    records = await self._store.get_many(record_type, keys)
                    found |= {(kind, record.key): record for record in records}
            ids = list({key.id for _, key in names})
            bounds: EventBounds = {"tenant": tenant, "record_id": ids, "max_bytes": MAX_TOGETHER_BYTES}
            events = await self._store.events(START, BATCH * 2, **bounds)
        except UnavailableError:
            return set()  # Each alone names what is unreadable.
        if len(events) == BATCH * 2 or isinstance(events, CutPage):
            return set()
        for event in events:
            if trail := trails.get(name := audited_record_name(event)):
                trail.take(event, found.get(name))
        whole = [name for name, trail in trails.items() if name in found and trail.is_whole_record(found[name])]
        return {name for name in whole if not await self._has_wrong_files(found[name], trails[name])}

    async def _has_wrong_files(self, record: Record, trail: RecordTrail) -> bool:
        if self._stream is None or not (trail.images or isinstance(record, Request)):
            return False
        return [what async for what in misfits_of_files(self._stream, record, trail)] != []

    async def _examine(self, name: RecordName) -> list[Finding]:
        async with self._room:
            findings = await audit_record_and_files(self._store, name, self._stream)
            # Concurrent writes may cause a mismatch: the second examination sees them completely.
            return findings and await audit_record_and_files(self._store, name, self._stream)


def audited_record_name(event: Event) -> RecordName:
    """Return the name of the record that an event belongs to."""
    return event.record, Key(event.tenant, event.record_id)


async def read_event_pages(
    store: Store,
    key: Key | None = None,
    *,
    after: Position = START,
    end: Position | None = None,
    max_bytes: int | None = None,
) -> AsyncGenerator[EventPage, None]:
    """Yield the events of a store, or those of one key, up to `end`; unreadable events are skipped."""
    chosen: EventBounds = {"max_bytes": max_bytes}
    if key:
        chosen |= {"tenant": key.tenant, "record_id": key.id}
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
        if stream:
            trail.findings += [Finding(*name, "", what) async for what in misfits_of_files(stream, record, trail)]
    except UnavailableError as error:
        return [*trail.findings, Finding(*name, "", f"it cannot be read ({error})")]
    findings = trail.findings + trail.unexplained_redactions()
    if record is None and trail.version:
        findings.append(Finding(*name, "", "the record is gone, its events are not"))
    elif record and record.head != trail.head and trail.is_whole:
        findings.append(Finding(*name, "", CUT_OFF if trail.version else "the record has no events"))
    return findings


async def misfits_of_files(stream: Stream, record: Record | None, trail: RecordTrail) -> AsyncGenerator[str, None]:
    """Yield the faults of the files that a record names."""
    if isinstance(record, Request):
        async for what in Attachments(stream).misfits(record):
            yield what
    if trail.images:
        async for what in Images(stream).misfits(trail.name[1], list(trail.images.values())):
            yield what


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


class VerifiedPart(NamedTuple):
    """The part of a store that an earlier verification found intact."""

    position: Position
    """The position of its last event."""
    at: datetime
    """The time of the seal that covers it."""


async def verify_store(
    store: Store,
    progress: Callable[[str], None] = lambda text: None,
    stream: Stream | None = None,
    *,
    verified: VerifiedPart | None = None,
    inspecting: Awaitable[Sequence[Finding]] | None = None,
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
        verified: What an earlier verification found intact: only later events, and their records, are checked, and the
            store does not check itself. A record that was changed and has no later event is not found.
        inspecting: Returns the findings of the store about itself, if another process looks for them meanwhile.

    Returns:
        The number of events that were read, and the findings; an empty list if the store is intact.
    """
    audit = Audit(store, progress, stream, verified.position if verified else START)
    await audit.read_events()
    for kind in KINDS.values():
        await audit.read_records(kind, verified.at if verified else None)
    await audit.read_events(are_news=True)
    if verified is None:
        await audit.read_indexes(inspecting)
    return audit.events, list(audit.findings)
