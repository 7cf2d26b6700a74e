"""Records and events in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ringi.backends.sqlite.database import Database
from ringi.canonical import PLAIN
from ringi.errors import ConflictError, NotFoundError
from ringi.record import (
    START,
    Event,
    Key,
    Position,
    Query,
    Record,
    microseconds,
    parsed_cursor,
    parsed_number,
    searchable,
)
from ringi.request import Request
from ringi.store import R, Store
from ringi.thread import Thread

TABLES: dict[str, str] = {"request": "requests", "thread": "threads"}
Columns = dict[str, Any]


class SqliteStore(Store):
    """The embedded truth: WAL, full durability, group commit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, record: Record, event: Event | None) -> None:
        columns, row = columns_of(record), event_row(event) if event else None

        def save(connection: sqlite3.Connection) -> None:
            save_record(connection, TABLES[record.record], columns)
            if row:
                connection.execute(INSERT_EVENT, row)

        await self._database.write(save)

    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        sql = f"SELECT body FROM {TABLES[kind.record]} WHERE tenant = ? AND id = ?"
        found = await self._database.look(lambda c: c.execute(sql, (tenant, id)).fetchall())
        if not found:
            raise NotFoundError(kind.record, id)
        return kind.model_validate_json(found[0][0])

    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        sql = f"SELECT body FROM {TABLES[kind.record]} WHERE tenant = ? AND id = ?"
        bodies = await self._database.read(lambda c: [row for key in keys for row in c.execute(sql, key)])
        return [kind.model_validate_json(body) for (body,) in bodies]

    async def find(self, kind: type[R], query: Query) -> list[R]:
        where, values = conditions(query)
        order = "created_at DESC, id DESC, tenant DESC"
        sql = f"SELECT body FROM {TABLES[kind.record]} WHERE {where} ORDER BY {order} LIMIT ?"
        bodies = await self._database.read(lambda c: c.execute(sql, [*values, query.limit]).fetchall())
        return [kind.model_validate_json(body) for (body,) in bodies]

    async def count(self, kind: type[R], query: Query) -> int:
        where, values = conditions(query)
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {TABLES[kind.record]} WHERE {where} LIMIT ?)"
        return await self._database.read(lambda c: int(c.execute(sql, [*values, query.limit]).fetchone()[0]))

    async def events(
        self, after: Position = START, limit: int = 100, *, tenant: str | None = None, record_id: str | None = None
    ) -> list[Event]:
        chosen = {"tenant": tenant, "record_id": record_id}
        extra = [f"AND {name} = ?" for name, value in chosen.items() if value is not None]
        values = [parsed_number(after), *(value for value in chosen.values() if value is not None), limit]
        sql = f"{SELECT_EVENT} WHERE position > ? {' '.join(extra)} ORDER BY position LIMIT ?"
        return [event_of(row) for row in await self._database.read(lambda c: c.execute(sql, values).fetchall())]

    async def tail(self) -> Position:
        sql = "SELECT max(position) FROM events"
        last = await self._database.read(lambda c: c.execute(sql).fetchone()[0])
        return START if last is None else str(last)

    async def cursor(self, name: str) -> Position:
        sql = "SELECT position FROM cursors WHERE name = ?"
        row = await self._database.read(lambda c: c.execute(sql, [name]).fetchone())
        return str(row[0]) if row else START

    async def move_cursor(self, name: str, old: Position, new: Position) -> None:
        def move(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO cursors VALUES (?, ?)", [name, START])
            moved = connection.execute(
                "UPDATE cursors SET position = ? WHERE name = ? AND position = ?", [new, name, old]
            )
            if not moved.rowcount:
                raise ConflictError.moved(name, old)

        await self._database.write(move)


def save_record(connection: sqlite3.Connection, table: str, columns: Columns) -> None:
    """Insert version 1 or replace the version before, or raise `ConflictError`."""
    saved = insert(connection, table, columns) if columns["version"] == 1 else update(connection, table, columns)
    if not saved.rowcount:
        raise ConflictError()


def insert(connection: sqlite3.Connection, table: str, columns: Columns) -> sqlite3.Cursor:
    """Insert a record unless its key is taken."""
    sql = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"
    return connection.execute(sql, list(columns.values()))


def update(connection: sqlite3.Connection, table: str, columns: Columns) -> sqlite3.Cursor:
    """Replace the version before."""
    tenant, id, version, *values = columns.values()
    sets = ", ".join(f"{name} = ?" for name in list(columns)[2:])
    sql = f"UPDATE {table} SET {sets} WHERE tenant = ? AND id = ? AND version = ?"
    return connection.execute(sql, [version, *values, tenant, id, version - 1])


def columns_of(record: Record) -> Columns:
    """Return what is stored of a record: the columns that are searched, and all of it as JSON.

    What a record keeps for life is written with its first version only: the indexes over it stay untouched.
    """
    columns = {"tenant": record.tenant, "id": record.id, "version": record.version, "body": record.model_dump_json()}
    if record.version == 1:
        columns["created_at"] = microseconds(record.created_at)
    if isinstance(record, Request):
        return columns | changing_columns(record) | (lasting_columns(record) if record.version == 1 else {})
    if isinstance(record, Thread):
        lease = microseconds(record.lease_until) if record.lease_until else None
        return columns | {"status": record.status, "fence": record.fence, "lease_until": lease}
    raise TypeError(type(record))


def changing_columns(request: Request) -> Columns:
    """Return the columns by which requests are found and that each version sets anew."""
    return {
        "status": request.status,
        "assignee": request.assignee,
        "candidate_groups": json.dumps(request.candidate_groups),
        "unacknowledged": int(request.is_unacknowledged),
        "attention": int(request.needs_attention),
    }


def lasting_columns(request: Request) -> Columns:
    """Return the columns by which requests are found and that a request keeps for life."""
    return {
        "kind": request.kind,
        "thread_id": request.thread_id,
        "asked_by": request.asked_by,
        "expires_at": microseconds(request.expires_at) if request.expires_at else None,
        "search": request.search_text,
    }


def conditions(query: Query) -> tuple[str, list[Any]]:
    """Return the WHERE clause of a query and its values."""
    parts = [(sql, values) for sql, values in possible_conditions(query) if values]
    parts += [(f"{name} = 1", []) for name in ("unacknowledged", "attention") if getattr(query, name)]
    return " AND ".join(sql for sql, _ in parts) or "1", [value for _, values in parts for value in values]


def possible_conditions(query: Query) -> list[tuple[str, list[Any]]]:
    """Return every condition that a query can set; those without values do not count."""
    equal = {name: getattr(query, name) for name in ("tenant", "kind", "assignee", "thread_id", "asked_by")}
    expired, unleased = _us(query.expired_at), _us(query.unleased_at)
    return [
        *((f"{name} = ?", [value] if value is not None else []) for name, value in equal.items()),
        (f"status IN ({', '.join('?' for _ in query.statuses)})", list(query.statuses)),
        ("instr(search, ?) > 0", [searchable(query.text)] if query.text else []),
        ("status = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?", expired),
        ("status = 'running' AND (lease_until IS NULL OR lease_until <= ?)", unleased),
        ("(created_at, id, tenant) < (?, ?, ?)", list(parsed_cursor(query.before)) if query.before else []),
        viewer_condition(query),
    ]


def viewer_condition(query: Query) -> tuple[str, list[Any]]:
    """Return the condition that lets a person see what is open to them, and no more."""
    if not query.viewer:
        return "1", []
    marks = ", ".join("?" for _ in query.viewer.groups)
    sql = (
        "((assignee IS NULL AND candidate_groups = '[]') OR assignee = ? OR EXISTS"
        f" (SELECT 1 FROM json_each(candidate_groups) WHERE value IN ({marks})))"
    )
    return sql, [query.viewer.name, *query.viewer.groups]


def _us(at: datetime | None) -> list[Any]:
    return [microseconds(at)] if at else []


EVENT_COLUMNS = "tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash"
INSERT_EVENT = f"INSERT INTO events ({EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SELECT_EVENT = f"SELECT position, {EVENT_COLUMNS} FROM events"


def event_row(event: Event) -> tuple[Any, ...]:
    """Return an event as the values of its row."""
    payload = PLAIN.encode(event.payload)
    chain = (event.payload_digest, event.previous, event.hash)
    at = microseconds(event.at)
    return (event.tenant, event.record, event.record_id, event.version, event.type, at, payload, *chain)


def event_of(row: Sequence[Any]) -> Event:
    """Return the event of a row; what it says is not checked here."""
    position, tenant, record, record_id, version, type, at, payload, *chain = row
    fields = dict(zip(("payload_digest", "previous", "hash"), chain, strict=True))
    return Event(
        position=str(position),
        tenant=tenant,
        record=record,
        record_id=record_id,
        version=version,
        type=type,
        at=datetime.fromtimestamp(at // 1_000_000, UTC).replace(microsecond=at % 1_000_000),
        payload=json.loads(payload),
        **fields,
    )
