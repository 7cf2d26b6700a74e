"""Records and events in Redis: each change is one script, each page a read of lists and records."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from redis.exceptions import RedisError

from ringi.backends.batcher import Rows, StatementBatcher
from ringi.backends.redis.inspection import inspect_redis_records
from ringi.backends.redis.lists import DIGITS, redis_list_position, redis_lists_and_marks, redis_record_field
from ringi.backends.redis.pages import RedisPages, redis_record_body
from ringi.backends.redis.server import RedisServer, join_redis_name, new_redis_write_token
from ringi.backends.rows import page_of_readable_records, record_from_body
from ringi.contracts.store import Change, EventBounds, Finding, R, Store, event_bounds, read_record_history
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
    parse_position_number,
)
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.domain.urgency import query_for_count
from ringi.errors import ConflictError, NotFoundError


class RedisStore(Store):
    """A store in a Redis server that writes each change to its append-only file before it replies."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._put, self._move = server.script("put"), server.script("move")
        self._listed_events = server.script("events")
        self._events = server.key("events")
        self._pages = {kind.record: RedisPages(server, kind) for kind in (Request, Thread, Journal)}
        self._by_place = [server.key("event-lists"), server.key("events-emptied")]
        self._cursors = server.key("cursors")
        self._changes = {kind: StatementBatcher(partial(self._put_all, kind)) for kind in self._pages}
        self._reads = {kind: StatementBatcher(partial(self._rows, kind)) for kind in self._pages}

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        changes = ((record, event), *others)
        parts = [redis_change_arguments(*each, has_next=each is not changes[-1]) for each in changes]
        await self._save(record, [argument for part in parts for argument in part])

    async def erase(self, record: Record, event: Event, left: Mapping[int, dict[str, Any]]) -> None:
        texts = [record.search_text if isinstance(record, Request) else ""]
        for each in await read_record_history(self, record):
            if each.version in left:
                bare = each.model_copy(update={"payload": left[each.version]})
                number = f"{parse_position_number(each.position):0{DIGITS}d}"
                texts += [number, bare.model_dump_json(exclude={"position"})]
        await self._save(record, redis_change_arguments(record, event, texts))

    async def _save(self, record: Record, change: Sequence[Any]) -> None:
        (saved,) = await self._changes[record.record].result(change)
        if isinstance(saved, RedisError):
            with self._server.refusing():
                raise saved
        if not saved:
            raise ConflictError()

    async def _put_all(self, kind: str, changes: Sequence[Sequence[Any]]) -> list[Rows]:
        keys = [*self._server.record_keys(kind), self._events, self._server.key("event-number"), *self._by_place]
        return [[saved] for saved in await self._put(keys, [part for change in changes for part in change])]

    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        (row,) = await self._reads[kind.record].result(redis_record_field(tenant, id))
        if row is None:
            raise NotFoundError(kind.record, id)
        return record_from_body(kind, redis_record_body(row))

    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        if not keys:
            return []
        found = await self._rows(kind.record, [redis_record_field(*key) for key in keys])
        return [record_from_body(kind, redis_record_body(row)) for (row,) in found if row is not None]

    async def _rows(self, kind: str, fields: Sequence[bytes]) -> list[Rows]:
        async with self._server.answering():
            found = await self._server.redis.hmget(self._server.record_keys(kind)[0], fields)
        return [[row] for row in found]

    async def find(self, kind: type[R], query: Query) -> list[R]:
        pages = self._pages[kind.record]
        return await page_of_readable_records(kind, query, pages.find, pages.body_at)

    async def count(self, kind: type[R], query: Query) -> int:
        return await self._pages[kind.record].count(query_for_count(query))

    async def events(self, after: Position = START, limit: int = 100, **bounds: Unpack[EventBounds]) -> list[Event]:
        tenant, record_ids, max_bytes = event_bounds(**bounds)
        if record_ids is not None and len(record_ids) > 1:
            return await self._events_of_several(after, limit, record_ids, bounds)
        first = f"{parse_position_number(after):0{DIGITS}d}"
        arguments = [redis_event_list_name(tenant, record_ids[0] if record_ids else None), first, limit, max_bytes or 0]
        found = await self._listed_events([self._events, *self._by_place], arguments)
        events = [event_from_redis(number, content) for number, content in zip(found[::2], found[1::2], strict=True)]
        is_cut = max_bytes is not None and sum(map(len, found[1::2])) >= max_bytes
        return CutPage(events) if is_cut else events

    async def _events_of_several(
        self, after: Position, limit: int, record_ids: Sequence[str], bounds: EventBounds
    ) -> list[Event]:
        most = bounds.get("max_bytes")
        share, tenant = most and max(1, most // len(record_ids)), bounds.get("tenant")
        # One after another: each of many at once would have a connection of its own.
        pages = [await self.events(after, limit, tenant=tenant, record_id=id, max_bytes=share) for id in record_ids]
        # What follows the end of a cut page may be before the end of another one.
        cut = [parse_position_number(page[-1].position) for page in pages if isinstance(page, CutPage)]
        events = sorted((event for page in pages for event in page), key=lambda e: parse_position_number(e.position))
        whole = [event for event in events if not cut or parse_position_number(event.position) <= min(cut)]
        return CutPage(whole) if cut else whole[:limit]

    async def tail(self) -> Position:
        async with self._server.answering():
            rows = await self._server.redis.xrevrange(self._events, count=1)
        return rows[0][0].decode().partition("-")[0] if rows else START

    async def cursor(self, name: str) -> Position:
        async with self._server.answering():
            stored = await self._server.redis.hget(self._cursors, name)
        return str(stored.decode().partition(" ")[2]) if stored else START

    async def move_cursor(self, name: str, old: Position, new: Position) -> None:
        if not await self._move([self._cursors], [name, new_redis_write_token(), old, new]):
            raise ConflictError.cursor_moved(name, old)

    uninspected = "the lists of events and Redis' own files are not checked here: run redis-check-aof"

    def inspect(self) -> AsyncGenerator[Finding, None]:
        return inspect_redis_records(self._server)


def redis_change_arguments(
    record: Record, event: Event | None, texts: Sequence[str] | None = None, *, has_next: bool = False
) -> list[Any]:
    """Return the arguments of the script that saves a change.

    Args:
        record: The record.
        event: Its event, if any.
        texts: The searchable text, and what replaces earlier events; by default the text of a new request.
        has_next: Whether it is saved together with the next change.
    """
    if texts is None:
        texts = [record.search_text] if isinstance(record, Request) and record.version == 1 else []
    row = f"{record.version} {new_redis_write_token()} {record.model_dump_json()}"
    content = [redis_lists_and_marks(record)]
    if event:
        content += [event.model_dump_json(exclude={"position"}), *redis_event_lists(event)]
    return [redis_list_position(record), row, "\0".join(content), f"{len(texts)}{'+' if has_next else ''}", *texts]


def redis_event_lists(event: Event) -> list[str]:
    """Return the event lists that contain an event."""
    owners = [(event.tenant, None), (None, event.record_id), (event.tenant, event.record_id)]
    return [redis_event_list_name(tenant, id) for tenant, id in owners]


def redis_event_list_name(tenant: str | None, record_id: str | None) -> str:
    """Return the event list of a tenant, of a record, or of a tenant's record; empty for all events."""
    parts = {"tenant": tenant, "record": record_id}
    filters = {name: value for name, value in parts.items() if value is not None}
    return join_redis_name(*filters, *filters.values()) if filters else ""


def event_from_redis(number: bytes, content: bytes) -> Event:
    """Return an event, or raise `UnreadableError`; its content is not checked here."""
    position = str(int(number))
    try:
        return Event.model_validate_json(content).model_copy(update={"position": position})
    except ValueError as error:
        raise UnreadableError("event", position, str(error)) from error
