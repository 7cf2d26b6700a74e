"""Records and events in Redis: each change is one script, each page a read of lists and records."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from redis.exceptions import RedisError

from ringi.backends.audiences import has_index
from ringi.backends.batcher import Rows, StatementBatcher
from ringi.backends.redis.inspection import inspected
from ringi.backends.redis.lists import (
    DIGITS,
    EXPIRING,
    EndedPages,
    QueryPlan,
    UrgentPages,
    digits,
    field_of,
    filed,
    place_before,
    place_of,
    plan_of,
)
from ringi.backends.redis.server import Server, named, new_token
from ringi.backends.rows import page, record_of
from ringi.contracts.store import Change, Finding, R, Store
from ringi.domain.endings import EndedQuery, ended_query, is_by_end
from ringi.domain.endings import place_of as ended_place_of
from ringi.domain.journal import Journal
from ringi.domain.record import START, Event, Key, Position, Query, Record, parsed_number
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.domain.urgency import UrgentQuery, is_urgent, unordered, urgent_query
from ringi.errors import ConflictError, NotFoundError, UnreadableError

KINDS = (Request.record, Thread.record, Journal.record)
LITTLE = 1_000
"""Maximum positions read from a list by time; with more, matches are close together in the other lists."""
MOST = 10**9
"""More than any list by an index of its own has, such as the requests of a thread."""
AT_ONCE = 500
"""Maximum records read at once: a running script blocks all other clients."""


class RedisStore(Store):
    """A store in a Redis server that writes each change to its append-only file before it replies."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._put, self._move = server.script("put"), server.script("move")
        self._peek, self._pick, self._count = server.script("peek"), server.script("pick"), server.script("count")
        self._listed_events, self._turns = server.script("events"), server.script("turns")
        self._events = server.key("events")
        self._urgent = UrgentPages(server, self._keys(Request.record), self._pick_requests)
        self._ended = EndedPages(server, self._keys(Request.record)[3], self._pick_requests)
        self._by_place = [server.key("event-lists"), server.key("events-emptied")]
        self._cursors = server.key("cursors")
        self._changes = {kind: StatementBatcher(partial(self._put_all, kind)) for kind in KINDS}
        self._reads = {kind: StatementBatcher(partial(self._rows, kind)) for kind in KINDS}

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        changes = ((record, event), *others)
        parts = [change_of(*each, text_of(each[0]), has_next=each is not changes[-1]) for each in changes]
        await self._save(record, [part for change in parts for part in change])

    async def erase(self, record: Record, event: Event, left: Mapping[int, dict[str, Any]]) -> None:
        text = record.search_text if isinstance(record, Request) else ""
        redactions = [text, *[row async for row in self._redaction_rows(record, left)]]
        await self._save(record, change_of(record, event, redactions))

    async def _save(self, record: Record, change: Sequence[Any]) -> None:
        (saved,) = await self._changes[record.record].result(change)
        if isinstance(saved, RedisError):
            with self._server.refusing():
                raise saved
        if not saved:
            raise ConflictError()

    async def _put_all(self, kind: str, changes: Sequence[Sequence[Any]]) -> list[Rows]:
        keys = [*self._keys(kind), self._events, self._server.key("event-number"), *self._by_place]
        return [[saved] for saved in await self._put(keys, [part for change in changes for part in change])]

    async def _redaction_rows(self, record: Record, left: Mapping[int, dict[str, Any]]) -> AsyncIterator[str]:
        """Yield number and content of each event of a record to redact."""
        after = START
        while page := await self.events(after, AT_ONCE, tenant=record.tenant, record_id=record.id):
            for event in page:
                if event.record == record.record and event.version in left:
                    bare = event.model_copy(update={"payload": left[event.version]})
                    yield f"{parsed_number(event.position):0{DIGITS}d}"
                    yield bare.model_dump_json(exclude={"position"})
            after = page[-1].position

    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        (row,) = await self._reads[kind.record].result(field_of(tenant, id))
        if row is None:
            raise NotFoundError(kind.record, id)
        return record_of(kind, body_of(row))

    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        if not keys:
            return []
        found = await self._rows(kind.record, [field_of(*key) for key in keys])
        return [record_of(kind, body_of(row)) for (row,) in found if row is not None]

    async def _rows(self, kind: str, fields: Sequence[bytes]) -> list[Rows]:
        async with self._server.answering():
            found = await self._server.redis.hmget(self._keys(kind)[0], fields)
        return [[row] for row in found]

    async def find(self, kind: type[R], query: Query) -> list[R]:
        return await page(kind, query, partial(self._bodies, kind))

    async def _bodies(self, kind: type[Record], query: Query) -> list[bytes]:
        if is_urgent(query) and issubclass(kind, Request):
            return await self._urgent_bodies(urgent_query(query))
        if is_by_end(query) and issubclass(kind, Request):
            return await self._ended_bodies(ended_query(query))
        plan, found = plan_of(kind, query), list[bytes]()
        async for places in self._places(kind, query, plan):
            found += await self._pick(*self._choice(kind, plan, query.limit - len(found), places))
            if len(found) >= query.limit:
                break
        if query.expired_at and query.tenant is None and len(found) >= query.limit:
            turns = await self._turns(self._keys(kind.record)[3:], [EXPIRING, digits(query.expired_at), query.limit])
            found = await self._pick(*self._choice(kind, plan, query.limit, turns)) or found
        # A listed record that is missing counts as damaged: the list continues.
        return [body_of(row) if row else b"" for row in found]

    async def _urgent_bodies(self, urgent: UrgentQuery) -> list[bytes]:
        if not has_index(urgent.query):
            return [body_of(row) if row else b"" for row in await self._urgent.read(urgent)]
        every = urgent.query.model_copy(update={"order": "newest", "limit": MOST})
        rows = [(urgent.place_of(each), each.model_dump_json().encode()) for each in await self.find(Request, every)]
        return [body for place, body in sorted(rows) if urgent.is_later(place)][: urgent.query.limit]

    async def _ended_bodies(self, ended: EndedQuery) -> list[bytes]:
        if not has_index(ended.query):
            return [body_of(row) if row else b"" for row in await self._ended.read(ended)]
        found = await self.find(Request, ended.query.model_copy(update={"limit": MOST}))
        rows = [(ended_place_of(each), each.model_dump_json().encode()) for each in found]
        later = sorted((row for row in rows if ended.is_later(row[0])), reverse=True)
        return [body for _, body in later[: ended.query.limit]]

    async def count(self, kind: type[R], query: Query) -> int:
        query = unordered(query)
        plan, number = plan_of(kind, query), 0
        if plan.is_exact:
            return min(query.limit, int(await self._count([self._keys(kind.record)[3]], plan.lists)))
        async for places in self._places(kind, query, plan):
            number += await self._pick(*self._choice(kind, plan, query.limit - number, places, only_count=True))
            if number >= query.limit:
                break
        return number

    async def events(
        self, after: Position = START, limit: int = 100, *, tenant: str | None = None, record_id: str | None = None
    ) -> list[Event]:
        number = parsed_number(after)
        name = list_of_events(tenant, record_id) or ""
        found = await self._listed_events([self._events, *self._by_place], [name, f"{number:0{DIGITS}d}", limit])
        return [event_of(number, content) for number, content in zip(found[::2], found[1::2], strict=True)]

    async def tail(self) -> Position:
        async with self._server.answering():
            rows = await self._server.redis.xrevrange(self._events, count=1)
        return position_of(rows[0][0]) if rows else START

    async def cursor(self, name: str) -> Position:
        async with self._server.answering():
            stored = await self._server.redis.hget(self._cursors, name)
        return str(stored.decode().partition(" ")[2]) if stored else START

    async def move_cursor(self, name: str, old: Position, new: Position) -> None:
        if not await self._move([self._cursors], [name, new_token(), old, new]):
            raise ConflictError.cursor_moved(name, old)

    uninspected = "the lists of events and Redis' own files are not checked here: run redis-check-aof"

    async def inspect(self) -> AsyncGenerator[Finding, None]:
        async for finding in inspected(self._server):
            yield finding

    def _keys(self, kind: str) -> list[str]:
        return [self._server.key(kind, what) for what in ("bodies", "filed", "texts", "lists")]

    def _choice(
        self, kind: type[Record], plan: QueryPlan, limit: int, places: Sequence[bytes], *, only_count: bool = False
    ) -> tuple[list[str], list[Any]]:
        owners = json.dumps(plan.asked, ensure_ascii=False, separators=(",", ":"))
        fields = [place[DIGITS:] for place in places]
        return self._keys(kind.record)[:3], [owners, limit, int(only_count), *fields]

    async def _pick_requests(self, plan: QueryPlan, limit: int, places: Sequence[bytes]) -> list[bytes]:
        rows: list[bytes] = await self._pick(*self._choice(Request, plan, limit, places))
        return rows

    async def _places(self, kind: type[Record], query: Query, plan: QueryPlan) -> AsyncIterator[Sequence[bytes]]:
        """Yield the positions of possible matches in chunks, newest first (or longest overdue first)."""
        below = place_before(query)
        if query.expired_at:
            async for due in self._overdue(kind, plan):
                yield [place for place in due if place < below]
            return
        places = await self._by_time(kind, plan)
        if places is not None:
            for some in portions(sorted((place for place in places if place < below), reverse=True)):
                yield some
            return
        size = min(max(query.limit, 16), AT_ONCE)
        while below:
            merged, below = await self._walk(kind, plan, size, below)
            for some in portions(merged):
                yield some
            size = min(2 * size, AT_ONCE) if len(merged) < AT_ONCE else size

    async def _walk(self, kind: type[Record], plan: QueryPlan, size: int, below: bytes) -> tuple[list[bytes], bytes]:
        """Return the positions down to the point that every list has reached, and that point; empty at the end."""
        found = await self._peek([self._keys(kind.record)[3]], [size, below, *plan.lists])
        read = [
            [member[len(name) + 1 :] for member in members] for name, members in zip(plan.lists, found, strict=True)
        ]
        floor = max((places[-1] for places in read if len(places) == size), default=b"")
        return sorted({place for places in read for place in places if place >= floor}, reverse=True), floor

    async def _overdue(self, kind: type[Record], plan: QueryPlan) -> AsyncIterator[list[bytes]]:
        """Yield the positions on the list of deadlines, the longest overdue first."""
        for start in count(0, AT_ONCE):
            places = await self._timed(kind, plan, start, AT_ONCE)
            yield places
            if len(places) < AT_ONCE:
                return

    async def _by_time(self, kind: type[Record], plan: QueryPlan) -> list[bytes] | None:
        """Return the positions on a list by time, unless they are many."""
        places = await self._timed(kind, plan, 0, LITTLE + 1) if plan.by_time else None
        return None if places is None or len(places) > LITTLE else places

    async def _timed(self, kind: type[Record], plan: QueryPlan, start: int, size: int) -> list[bytes]:
        assert plan.by_time
        name, span = plan.by_time
        first, last = f"[{name}\0{span.first}", f"({name}\0{span.last}:"
        async with self._server.answering():
            found = await self._server.redis.zrangebylex(self._keys(kind.record)[3], first, last, start, size)
        return [member[len(name) + 1 + DIGITS :] for member in found]


def portions(places: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yield the positions in chunks of the size read at once."""
    return (places[n : n + AT_ONCE] for n in range(0, len(places), AT_ONCE))


def body_of(row: bytes) -> bytes:
    """Return the body stored behind its version and write token; empty if it is damaged."""
    return b" ".join(row.split(b" ", 2)[2:])


def change_of(record: Record, event: Event | None, texts: Sequence[str], *, has_next: bool = False) -> list[Any]:
    """Return the arguments of the script that saves a change; with `has_next` it saves it with the one after it."""
    row = f"{record.version} {new_token()} {record.model_dump_json()}"
    content = [filed(record)]
    if event:
        content += [event.model_dump_json(exclude={"position"}), *lists_of(event)]
    return [place_of(record), row, "\0".join(content), f"{len(texts)}{'+' if has_next else ''}", *texts]


def text_of(record: Record) -> list[str]:
    """Return the searchable text that is written with a record: only a new request has one."""
    return [record.search_text] if isinstance(record, Request) and record.version == 1 else []


def lists_of(event: Event) -> list[str]:
    """Return the event lists that contain an event."""
    owners = [(event.tenant, None), (None, event.record_id), (event.tenant, event.record_id)]
    return [name for tenant, id in owners if (name := list_of_events(tenant, id))]


def list_of_events(tenant: str | None, record_id: str | None) -> str | None:
    """Return the event list of a tenant, of a record, or of a tenant's record."""
    parts = {"tenant": tenant, "record": record_id}
    filters = {name: value for name, value in parts.items() if value is not None}
    return named(*filters, *filters.values()) if filters else None


def position_of(id: bytes) -> Position:
    """Return the position of an event by its id in the stream."""
    return id.decode().partition("-")[0]


def event_of(number: bytes, content: bytes) -> Event:
    """Return an event, or raise `UnreadableError`; its content is not checked here."""
    try:
        return _event_of(number, content)
    except ValueError as error:
        raise UnreadableError.of_event(int(number), error) from error


def _event_of(number: bytes, content: bytes) -> Event:
    return Event.model_validate_json(content).model_copy(update={"position": str(int(number))})
