"""Records and events in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Unpack

from pydantic_core import to_json

from ringi.backends.kept_checkpoints import keep_newest_in_sqlite, log_kept_checkpoints
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
from ringi.backends.sqlite.database import MARK_PENDING, SqliteDatabase
from ringi.backends.sqlite.jobs import SqliteJobs, finish_sqlite_job, submit_sqlite_jobs
from ringi.backends.sqlite.lists import (
    count_sqlite_matches,
    find_sqlite_bodies,
    free_list_position,
    read_sqlite_body,
    sqlite_index_terms,
    sqlite_terms_of_text,
)
from ringi.backends.sqlite.stream import append_stream_items, stream_item_rows
from ringi.base.failpoints import failpoint
from ringi.contracts.backend import Moment, OtherConflictError, wake_up_jobs
from ringi.contracts.store import Change, EventBounds, R, Store, event_bounds
from ringi.domain.record import START, Event, Key, Position, Query, Record, parse_position_number, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.thread import checkpoint_thread
from ringi.domain.urgency import query_for_count
from ringi.errors import ConflictError, NotFoundError


class SqliteStore(Store):
    """The embedded store: WAL, full durability, group commit."""

    def __init__(self, database: SqliteDatabase, jobs: SqliteJobs | None = None) -> None:
        self._database, self._jobs = database, jobs
        self.saves_wake_ups = jobs is not None

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        all_changes = ((record, event), *others)
        changes = [sqlite_record_change(*each) for each in all_changes]
        jobs = wake_up_jobs(all_changes) if self._jobs else []
        worker = self._jobs.claims_new(jobs) if self._jobs else None

        def save_all(connection: sqlite3.Connection) -> set[str]:
            for change in changes:
                save_sqlite_record(connection, change)
            return submit_sqlite_jobs(connection, jobs, worker)

        claimed = await self._database.write(save_all)
        if self._jobs:
            await self._jobs.begin_new(jobs, claimed)

    async def put_together(self, moment: Moment) -> bool:
        """Save a thread with what belongs to it, atomically; see `PutTogether`."""
        thread, items = moment.thread, moment.items
        own = sqlite_record_change(thread, moment.event)
        changes = [sqlite_record_change(*other) for other in moment.others]
        output = None if items is None else stream_item_rows(items)
        jobs = [*moment.jobs, *(wake_up_jobs(moment.others) if self._jobs else ())]
        worker = self._jobs.claims_new(jobs) if self._jobs else None

        def save_all(connection: sqlite3.Connection) -> tuple[set[str], bool]:
            try:
                for change in changes:
                    save_sqlite_record(connection, change)
            except ConflictError:
                raise OtherConflictError from None
            save_sqlite_record(connection, own)
            if output is not None:
                append_stream_items(connection, thread.key, output, thread.fence)
            claimed = submit_sqlite_jobs(connection, jobs, worker)
            if moment.prunes and self._database.has_checkpoints:
                try:
                    keep_newest_in_sqlite(connection, checkpoint_thread(thread.key))
                except sqlite3.Error:
                    if not connection.in_transaction:
                        raise
                    log_kept_checkpoints(thread.id)
            return claimed, finish_sqlite_job(connection, moment.done) if moment.done else True

        claimed, has_more = await self._database.write(save_all)
        if self._jobs:
            await self._jobs.begin_new(jobs, claimed)
        return has_more

    async def erase(self, record: Record, event: Event, left: Mapping[int, dict[str, Any]]) -> None:
        change = sqlite_record_change(record, event)
        name = (*record.key, record.record)
        payloads = [(to_json(payload).decode(), *name, version) for version, payload in left.items()]

        def replace(connection: sqlite3.Connection) -> None:
            if isinstance(record, Request):
                reindex_search(connection, record)
            save_sqlite_record(connection, change)
            connection.executemany(EMPTY_EVENT, payloads)
            # In case the process is killed before the scrub.
            connection.execute(MARK_PENDING)

        await self._database.write(replace)
        failpoint("erase.after_commit")
        await self._database.scrubber.scrub()

    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        sql = f"SELECT body FROM {TABLES[kind.record]} WHERE tenant = ? AND id = ?"
        found = await self._database.look(lambda c: c.execute(sql, (tenant, id)).fetchall())
        if not found:
            raise NotFoundError(kind.record, id)
        return record_from_body(kind, found[0][0])

    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        sql = f"SELECT body FROM {TABLES[kind.record]} WHERE tenant = ? AND id = ?"
        bodies = await self._database.read(lambda c: [row for key in keys for row in c.execute(sql, key)])
        return [record_from_body(kind, body) for (body,) in bodies]

    async def find(self, kind: type[R], query: Query) -> list[R]:
        async def body_at(reference: Body) -> str | None:
            return await self._database.read(lambda c: read_sqlite_body(c, kind, int(reference)))

        return await page_of_readable_records(
            kind, query, lambda part: self._database.read(lambda c: find_sqlite_bodies(c, kind, part)), body_at
        )

    async def count(self, kind: type[R], query: Query) -> int:
        return await self._database.read(lambda c: count_sqlite_matches(c, kind, query_for_count(query)))

    async def events(self, after: Position = START, limit: int = 100, **bounds: Unpack[EventBounds]) -> list[Event]:
        tenant, record_ids, max_bytes = event_bounds(**bounds)
        values: list[str | int] = [parse_position_number(after)]
        where, order = "position > ?", "position"
        if tenant is not None:
            where, values = f"{where} AND tenant = ?", [*values, tenant]
        if record_ids is not None:
            where, values = f"{where} AND record_id IN ({', '.join('?' * len(record_ids))})", [*values, *record_ids]
            order = "+position" if len(record_ids) > 1 else order  # By the index: SQLite would read all events.
        sql = f"{SELECT_EVENT} WHERE {where} ORDER BY {order} LIMIT ?"
        values.append(limit)
        return await self._database.read(lambda c: events_of_rows(c.execute(sql, values), max_bytes))

    async def hashes(self, after: Position = START, limit: int = 100) -> list[tuple[Position, str]]:
        sql = "SELECT position, hash FROM events WHERE position > ? ORDER BY position LIMIT ?"
        values = parse_position_number(after), limit
        rows = await self._database.read(lambda c: c.execute(sql, values).fetchall())
        return [(str(position), str(hash)) for position, hash in rows]

    async def tail(self) -> Position:
        await self._database.check()
        sql = "SELECT max(position) FROM events"
        last = await self._database.read(lambda c: c.execute(sql).fetchone()[0])
        return START if last is None else str(last)

    async def cursor(self, name: str) -> Position:
        sql = "SELECT position FROM cursors WHERE name = ?"
        row = await self._database.read(lambda c: c.execute(sql, [name]).fetchone())
        return str(row[0]) if row else START

    async def move_cursor(self, name: str, old: Position, new: Position) -> None:
        def move(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO cursors (name, position) VALUES (?, ?)", [name, START])
            sql = "UPDATE cursors SET position = ? WHERE name = ? AND position = ?"
            if not connection.execute(sql, [new, name, old]).rowcount:
                raise ConflictError.cursor_moved(name, old)

        await self._database.write(move)


class SqliteRecordChange(NamedTuple):
    """The data of a record's next version: its columns, the event's row, and a new request's search columns."""

    table: str
    columns: Columns
    event: tuple[Any, ...] | None
    terms: str | None


def reindex_search(connection: sqlite3.Connection, request: Request) -> None:
    """Index a request by its current text, and remove its earlier text."""
    sql = "SELECT place, search FROM requests WHERE tenant = ? AND id = ?"
    for place, search in connection.execute(sql, request.key).fetchall():
        old = sqlite_terms_of_text(request.tenant, search)
        connection.execute("INSERT INTO search (search, rowid, terms) VALUES ('delete', ?, ?)", (place, old))
        connection.execute("INSERT INTO search (rowid, terms) VALUES (?, ?)", (place, sqlite_index_terms(request)))
        connection.execute("UPDATE requests SET search = ? WHERE place = ?", (request.search_text, place))


def sqlite_record_change(record: Record, event: Event | None) -> SqliteRecordChange:
    """Return the data to write, ready for any connection."""
    terms = sqlite_index_terms(record) if isinstance(record, Request) and record.version == 1 else None
    noted = event_to_row(event) if event else None
    return SqliteRecordChange(TABLES[record.record], sqlite_record_columns(record), noted, terms)


def save_sqlite_record(connection: sqlite3.Connection, change: SqliteRecordChange) -> None:
    """Write the next version and its event, or raise `ConflictError`."""
    write = insert_sqlite_record if change.columns["version"] == 1 else update_sqlite_record
    saved = write(connection, change.table, change.columns)
    if not saved.rowcount:
        raise ConflictError()
    if change.terms is not None:
        connection.execute("INSERT INTO search (rowid, terms) VALUES (?, ?)", (saved.lastrowid, change.terms))
    if change.event:
        connection.execute(INSERT_EVENT, change.event)


def insert_sqlite_record(connection: sqlite3.Connection, table: str, columns: Columns) -> sqlite3.Cursor:
    """Insert a record unless its key is taken."""
    if table == "requests":
        columns = {"place": free_list_position(connection, columns["created_at"]), **columns}
    names, marks = ", ".join(columns), ", ".join("?" for _ in columns)
    sql = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (tenant, id) DO NOTHING"
    return connection.execute(sql, list(columns.values()))


def update_sqlite_record(connection: sqlite3.Connection, table: str, columns: Columns) -> sqlite3.Cursor:
    """Replace the previous version."""
    tenant, id, version, *values = columns.values()
    sets = ", ".join(f"{name} = ?" for name in list(columns)[2:])
    sql = f"UPDATE {table} SET {sets} WHERE tenant = ? AND id = ? AND version = ?"
    return connection.execute(sql, [version, *values, tenant, id, version - 1])


def sqlite_record_columns(record: Record) -> Columns:
    """Return the stored columns of a record."""
    if not isinstance(record, Request):
        return record_columns(record)
    columns = record_columns(record) | {"audiences": to_json(request_audiences(record)).decode()}
    # The time of a request without a hold or an escalation never changes, and its index only has pending requests.
    if record.version == 1 or record.hold or record.escalation:
        at = record.next_time or record.expires_at
        columns |= {"expires_at": unix_microseconds(at) if at else None}
    return columns | {"search": record.search_text} if record.version == 1 else columns


NAMES = ", ".join(EVENT_COLUMNS)
INSERT_EVENT = f"INSERT INTO events ({NAMES}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
EMPTY_EVENT = "UPDATE events SET payload = ? WHERE tenant = ? AND record_id = ? AND record = ? AND version = ?"
SELECT_EVENT = f"SELECT position, {NAMES} FROM events"
