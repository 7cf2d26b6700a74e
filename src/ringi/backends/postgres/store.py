"""Records and events in PostgreSQL: writers run in parallel, and one at a time numbers their events."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import count
from typing import Any, NamedTuple, TypeAlias, Unpack

import asyncpg
from pydantic_core import to_json

from ringi.backends.batcher import Rows, StatementBatcher, split_batch_pages
from ringi.backends.kept_checkpoints import KEEP_NEWEST_IN_POSTGRES, log_kept_checkpoints
from ringi.backends.postgres import lists, pages
from ringi.backends.postgres.changes import TYPES, change_all_fenced, change_all_requests, wake_up_columns
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.jobs import (
    CLAIMED,
    FINISH_SAVED,
    HAS_MORE,
    JOB_COLUMNS,
    NEW,
    SUBMIT,
    PostgresJobs,
    submit_values,
)
from ringi.backends.postgres.stream import ADDED, stream_item_columns
from ringi.backends.rows import (
    EVENT_COLUMNS,
    TABLES,
    Body,
    Columns,
    event_to_row,
    events_of_rows,
    page_of_readable_records,
    record_columns,
    record_from_body,
    request_audiences,
)
from ringi.base.failpoints import failpoint
from ringi.contracts.backend import Job, Moment, OtherConflictError, wake_up_jobs
from ringi.contracts.store import Change, EventBounds, R, Store, event_bounds
from ringi.domain.record import (
    START,
    CutPage,
    Event,
    Key,
    Position,
    Query,
    Record,
    parse_position_number,
    unix_microseconds,
)
from ringi.domain.request import Request
from ringi.domain.thread import FenceError, checkpoint_thread
from ringi.domain.urgency import query_for_count
from ringi.errors import ConflictError, NotFoundError, UnavailableError

TEXT_COLUMNS = ("tenant", "id", "search", "terms", "created_at")
Shapes: TypeAlias = tuple[tuple[str, tuple[str, ...], bool, bool], ...]
"""Of each record the kind, the stored columns, and whether it is new and has a text to write."""
REFILE = "UPDATE texts SET search = {2}, terms = {3} FROM saved WHERE tenant = {0} AND id = {1} AND created_at = {4}"
EMPTY = """
UPDATE events SET payload = left_of.payload
FROM saved, unnest({1}::integer[], {2}::text[]) AS left_of (version, payload)
WHERE tenant = $1 AND record_id = $2 AND record = {0} AND events.version = left_of.version
"""
MOVE = f"""
INSERT INTO cursors SELECT $1, $3 WHERE $2 = '{START}' OR EXISTS (SELECT FROM cursors WHERE name = $1)
ON CONFLICT (name) DO UPDATE SET position = $3 WHERE cursors.position = $2 RETURNING 1
"""
BYTES_BEFORE = """
SELECT *, coalesce(
  sum(octet_length(payload)) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0
) AS before FROM ({}) AS listed
"""


class PostgresStore(Store):
    """A store for many machines: every change is one statement, so one transaction and one round trip."""

    _events = "events"
    """The table of numbered events."""

    def __init__(self, database: PostgresDatabase, jobs: PostgresJobs | None = None) -> None:
        self._database, self._jobs = database, jobs
        self.saves_wake_ups = jobs is not None
        self._changes = StatementBatcher(partial(change_all_requests, database))
        self._fences = StatementBatcher(partial(change_all_fenced, database))
        self._unsettled = StatementBatcher(partial(read_unsettled_requests, database))
        self._reads = {name: StatementBatcher(partial(read_bodies, database, table)) for name, table in TABLES.items()}

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        changes = ((record, event), *others)
        events = [event for _, event in changes if event]
        shapes, values, columns = records_write_values(changes, events)
        jobs = wake_up_jobs(changes) if self._jobs else []
        worker = self._jobs.claims_new(jobs) if self._jobs else None
        values += submit_values(jobs, worker) if jobs else ()
        sql = records_write_statement(shapes, StatementParts(bool(events), has_jobs=bool(jobs)))
        columns |= wake_up_columns(jobs, worker)
        alone = partial(self._database.write, sql, *values)
        is_batched = isinstance(record, Request) and event and record.version > 1 and not others
        try:
            saved = await self._write(record, self._changes.result(columns, alone) if is_batched else alone())
        except asyncpg.InvalidArgumentForLogarithmError:
            raise ConflictError() from None
        await self._begin_new(jobs, saved)

    async def put_together(self, moment: Moment) -> bool:
        """Save a thread with what belongs to it, in one statement; see `PutTogether`."""
        thread, own = moment.thread, (moment.thread, moment.event)
        events = [event for _, event in (*moment.others, own) if event]
        shapes, values, columns = records_write_values((own, *moment.others), events)
        values += () if moment.items is None else (thread.fence, *stream_item_columns(moment.items))
        jobs = [*moment.jobs, *(wake_up_jobs(moment.others) if self._jobs else ())]
        values += submit_values(jobs, self._jobs.claims_new(jobs) if self._jobs else None) if jobs else ()
        values += [moment.done.key] if moment.done else ()
        if moment.prunes:
            values.append(checkpoint_thread(thread.key))
            failpoint("prune.before_commit")
        parts = StatementParts(bool(events), moment.items is not None, bool(jobs))
        sql = records_write_statement(shapes, parts._replace(has_done=bool(moment.done), prunes=moment.prunes))
        alone = partial(self._database.write, sql, *values)
        is_batched = moment == Moment(*own, items=()) and moment.event and thread.version > 1
        try:
            saved = await self._write(thread, self._fences.result(columns, alone) if is_batched else alone())
        except asyncpg.DivisionByZeroError:
            raise FenceError(thread.id, thread.fence) from None
        except asyncpg.InvalidArgumentForLogarithmError:
            raise OtherConflictError from None
        except asyncpg.PostgresError:
            if not moment.prunes:
                raise
            log_kept_checkpoints(thread.id)
            return await self.put_together(moment._replace(prunes=False))
        await self._begin_new(jobs, saved)
        return saved is None or not moment.done or bool(saved[0]["has_more"])

    async def _begin_new(self, jobs: Sequence[Job], saved: Any) -> None:
        """Begin the jobs that this process has claimed with a statement; without its rows, nobody knows which."""
        if jobs and self._jobs:
            await self._jobs.begin_new(jobs, saved and saved[0]["claimed"])

    async def erase(self, record: Record, event: Event, left: Mapping[int, dict[str, Any]]) -> None:
        await self.tail()  # Written events are first moved to the table that is redacted.
        shapes, values, _ = records_write_values([(record, event)], [event], is_erasure=True)
        payloads = [to_json(payload).decode() for payload in left.values()]
        sql = records_write_statement(shapes, StatementParts(has_events=True, is_erasure=True))
        await self._write(record, self._database.write(sql, *values, record.record, list(left), payloads))

    async def _write(self, record: Record, writing: Awaitable[Any]) -> Any:
        """Return the rows of a statement; None if only the stored record tells that it has succeeded."""
        try:
            saved = await writing
        except UnavailableError:
            # The connection may have been lost after the commit and before its reply.
            sql = f"SELECT 1 FROM {TABLES[record.record]} WHERE tenant = $1 AND id = $2 AND version = $3 AND body = $4"
            if await self._database.fetch(sql, *record.key, record.version, record.model_dump_json()):
                return None
            raise
        if not saved:
            raise ConflictError()
        return saved

    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        body = await self._body(kind, tenant, id)
        if body is None:
            raise NotFoundError(kind.record, id)
        return record_from_body(kind, body)

    async def _body(self, kind: type[Record], tenant: str, id: str) -> str | None:
        sql = f"SELECT body FROM {TABLES[kind.record]} WHERE tenant = $1 AND id = $2"
        alone = partial(self._database.fetch, sql, tenant, id)
        found = await self._reads[kind.record].result(Key(tenant, id), alone)
        return str(found[0][0]) if found else None

    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        wanted = "unnest($1::text[], $2::text[]) AS wanted (tenant, id)"
        sql = f"SELECT body FROM {TABLES[kind.record]} JOIN {wanted} USING (tenant, id)"
        rows = await self._database.fetch(sql, [key.tenant for key in keys], [key.id for key in keys])
        return [record_from_body(kind, body) for (body,) in rows]

    async def find(self, kind: type[R], query: Query) -> list[R]:
        async def body_at(reference: Body) -> str | None:
            return await self._body(kind, *json.loads(reference))

        return await page_of_readable_records(kind, query, partial(self._bodies, kind), body_at)

    async def _bodies(self, kind: type[R], query: Query) -> list[str]:
        if kind is Request and query.expired_at:
            found = await pages.read_postgres_bodies(self._database, lists.overdue_records_statement(query))
            if query.tenant is None and len(found) >= query.limit:
                return await pages.read_postgres_bodies(self._database, lists.tenant_shares_statement(query)) or found
            return found
        if kind is Request and is_first_of_thread(query):
            return [body for (body,) in await self._unsettled.result(query)]
        return await pages.find_postgres_bodies(self._database, kind, query)

    async def count(self, kind: type[R], query: Query) -> int:
        return await pages.count_postgres_matches(self._database, kind, query_for_count(query))

    async def events(self, after: Position = START, limit: int = 100, **bounds: Unpack[EventBounds]) -> list[Event]:
        tenant, record_ids, max_bytes = event_bounds(**bounds)
        number = parse_position_number(after)
        chosen = {"tenant = ": tenant, "record_id = ANY ": record_ids}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        if not chosen and max_bytes is None:
            return await self._feed(number, limit)
        where = " AND ".join(["number > $1", *(f"{name}(${n})" for n, name in enumerate(chosen, 3))])
        names = ", ".join(EVENT_COLUMNS)
        sql = f"SELECT number, {names} FROM {self._events} WHERE {where} ORDER BY number LIMIT $2"
        if max_bytes is not None:
            sql = f"SELECT * FROM ({BYTES_BEFORE.format(sql)}) AS sized WHERE before < {max_bytes:d} ORDER BY number"
        while True:
            has_more, _ = await self._seal_batch()
            rows = await self._database.fetch(sql, number, limit, *chosen.values())
            found = events_of_rows((tuple(row)[: 1 + len(EVENT_COLUMNS)] for row in rows), max_bytes)
            if len(found) >= limit or isinstance(found, CutPage) or not has_more:
                return found

    async def _feed(self, after: int, limit: int) -> list[Event]:
        while True:
            rows = await self._database.fetch("SELECT * FROM read_feed($1, $2)", after, limit)
            has_more, last, last_hash, *first = rows[0]
            self._database.saw(last, last_hash)
            found = [] if first[0] is None else [tuple(row)[3:] for row in rows]
            if len(found) >= limit or not has_more:
                return events_of_rows(found, None)

    async def tail(self) -> Position:
        has_more = True
        while has_more:
            has_more, last = await self._seal_batch()
        return START if last is None else str(last)

    async def _seal_batch(self) -> tuple[bool, int | None]:
        """Number a batch of written events; return whether there may be more, and the last number."""
        ((has_more, last, hash),) = await self._database.fetch("SELECT * FROM seal_batch()")
        self._database.saw(last, hash)
        return has_more, last

    async def cursor(self, name: str) -> Position:
        rows = await self._database.fetch("SELECT position FROM cursors WHERE name = $1", name)
        return str(rows[0][0]) if rows else START

    async def move_cursor(self, name: str, old: Position, new: Position) -> None:
        if not await self._database.write(MOVE, name, old, new):
            raise ConflictError.cursor_moved(name, old)


async def read_bodies(database: PostgresDatabase, table: str, keys: Sequence[Key]) -> list[Rows | None]:
    """Return the stored body of each key as a row; None if there is none."""
    sql = (
        f"SELECT (SELECT body FROM {table} WHERE tenant = wanted.tenant AND id = wanted.id)"
        " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (tenant, id, n) ORDER BY n"
    )
    rows = await database.fetch(sql, [key.tenant for key in keys], [key.id for key in keys])
    return [None if row[0] is None else [row] for row in rows]


def is_first_of_thread(query: Query) -> bool:
    """Return whether a query is for the first page of a thread's unsettled requests, and for nothing else."""
    if not (query.unsettled and query.tenant and query.thread_id):
        return False
    return query == Query(tenant=query.tenant, thread_id=query.thread_id, unsettled=True, limit=query.limit)


async def read_unsettled_requests(database: PostgresDatabase, queries: Sequence[Query]) -> list[Rows | None]:
    """Return the first page of each thread's unsettled requests; None for a page of another size than the first."""
    sql = lists.UNSETTLED_OF_THREADS.format(limit=queries[0].limit)
    rows = await database.fetch(sql, [query.tenant for query in queries], [query.thread_id for query in queries])
    return split_batch_pages(rows, [query.limit for query in queries])


class StatementParts(NamedTuple):
    """What a statement writes together with its records."""

    has_events: bool
    has_items: bool = False
    has_jobs: bool = False
    has_done: bool = False
    """Whether it finishes a job."""
    prunes: bool = False
    """Whether it deletes checkpoints that no run needs."""
    is_erasure: bool = False


@cache
def records_write_statement(shapes: Shapes, included: StatementParts) -> str:
    """Return the single statement that writes a record, which comes first, and all that belongs to it, or nothing."""
    numbers, parts, found = count(1), list[str](), ["1"]

    def marks(columns: Iterable[object]) -> list[str]:
        return [f"${n}" for _, n in zip(columns, numbers, strict=False)]

    for place, (record, columns, is_new, has_text) in enumerate(shapes):
        name, source = f"saved_{place}" if place else "saved", "FROM saved" if place else ""
        parts.append(f"{name} AS ({record_version_statement(record, columns, marks(columns), is_new, source)})")
        if has_text and included.is_erasure:
            parts.append(f"filed AS ({REFILE.format(*marks(TEXT_COLUMNS))})")
        elif has_text:
            parts.append(f"filed_{place} AS (INSERT INTO texts SELECT {', '.join(marks(TEXT_COLUMNS))} FROM {name})")
        if place:
            # A refused version must undo the whole statement: the logarithm of 0 is an error.
            found.append(f"ln((SELECT count(*) FROM {name}))")
    if included.has_events:
        types = [TYPES.get(name, "text") for name in EVENT_COLUMNS]
        arrays = ", ".join(f"{mark}::{type}[]" for mark, type in zip(marks(types), types, strict=True))
        names = ", ".join(EVENT_COLUMNS)
        events = f"unnest({arrays}) WITH ORDINALITY AS noted_events ({names}, n)"
        parts.append(f"noted AS (INSERT INTO unsealed ({names}) SELECT {names} FROM saved, {events} ORDER BY n)")
    if included.has_items:
        fence, items, origins = marks(range(3))
        parts.append(ADDED.format("$1::text", "$2::text", f"{fence}::integer", items, origins, "FROM saved"))
        # So must a refused fence.
        found[0] = "1 / (SELECT count(*) FROM head)"
    more, has_more = job_and_checkpoint_parts(included, marks)
    parts += more
    found += has_more
    if included.is_erasure:
        parts.append(f"emptied AS ({EMPTY.format(*marks(range(3)))})")
    return f"WITH {', '.join(parts)} SELECT {', '.join(found)} FROM saved"


def job_and_checkpoint_parts(
    included: StatementParts, marks: Callable[[Iterable[object]], list[str]]
) -> tuple[list[str], list[str]]:
    """Return the parts of a statement that submit and finish jobs and delete checkpoints, and its further results."""
    parts, found = list[str](), list[str]()
    if included.has_jobs:
        worker, seconds, *columns = marks(["worker", "seconds", *JOB_COLUMNS])
        parts.append(f"queued AS ({SUBMIT.format(NEW.format(worker, seconds, 'saved, ', *columns))})")
        found.append(CLAIMED)
    if included.has_done:
        (key,) = marks(["key"])
        parts.append(f"finished AS ({FINISH_SAVED.format(key)})")
        found.append(f"{HAS_MORE.format(key)} AS has_more")
    if included.prunes:
        (thread,) = marks(["thread"])
        parts.append(KEEP_NEWEST_IN_POSTGRES.format(held="saved", thread=f"{thread}::text"))
    return parts, found


def record_version_statement(
    record: str, columns: Sequence[str], marks: Sequence[str], is_new: bool, source: str
) -> str:
    """Return the statement that inserts a new record unless its key is taken, or replaces the previous version."""
    table, own = TABLES[record], dict(zip(columns, marks, strict=True))
    if is_new:
        row = f"SELECT {', '.join(marks)} {source}"
        return f"INSERT INTO {table} ({', '.join(columns)}) {row} ON CONFLICT DO NOTHING RETURNING 1"
    sets = ", ".join(f"{name} = {mark}" for name, mark in own.items() if name not in Key._fields)
    where = f"tenant = {own['tenant']} AND id = {own['id']} AND version = {own['version']} - 1"
    return f"UPDATE {table} SET {sets} WHERE {where} {source and f'AND EXISTS (SELECT {source})'} RETURNING 1"


def records_write_values(
    changes: Sequence[Change], events: Sequence[Event], *, is_erasure: bool = False
) -> tuple[Shapes, list[Any], Columns]:
    """Return the shapes of records, all values for `records_write_statement`, and the first record with its event.

    Args:
        changes: The records in their order.
        events: Their events in the order in which they are numbered.
        is_erasure: Whether the searchable text of a stored request is replaced.
    """
    rows: list[tuple[Record, Columns, list[Any]]] = []
    for record, _ in changes:
        is_filed = record.version == 1 or is_erasure
        text = request_text_row(record) if is_filed and isinstance(record, Request) else []
        rows.append((record, postgres_record_columns(record), text))
    shapes = tuple((record.record, (*columns,), record.version == 1, bool(text)) for record, columns, text in rows)
    values: list[Any] = [value for _, columns, text in rows for value in (*columns.values(), *text)]
    noted = list(map(event_to_row, events))
    values += map(list, zip(*noted, strict=True))
    first = dict(zip(EVENT_COLUMNS, noted[0], strict=True)) if noted else {}
    return shapes, values, first | rows[0][1]


def postgres_record_columns(record: Record) -> Columns:
    """Return the stored columns of a record."""
    if not isinstance(record, Request):
        return record_columns(record)
    ends = unix_microseconds(record.next_time) if record.next_time else None
    return record_columns(record) | {"audiences": request_audiences(record), "expires_at": ends}


def request_text_row(request: Request) -> list[Any]:
    """Return the searchable text of a request as the values of its row."""
    created_at = unix_microseconds(request.created_at)
    return [*request.key, request.search_text, lists.postgres_index_terms(request), created_at]
