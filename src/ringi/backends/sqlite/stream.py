"""Numbered output in the same SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from ringi.backends.sqlite.database import Database
from ringi.base.canonical_json import COMPACT
from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Key
from ringi.errors import ConflictError, FenceError

TAKE_FENCE = """
INSERT INTO stream_heads (tenant, id, last, fence) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant, id) DO UPDATE SET last = last + excluded.last, fence = excluded.fence WHERE fence <= excluded.fence
RETURNING last
"""
DELETE_ITEMS = "DELETE FROM stream_items WHERE tenant = ? AND id = ?"
READ_HEAD = "SELECT last, fence FROM stream_heads WHERE tenant = ? AND id = ?"
INSERT_ITEM = "INSERT INTO stream_items (tenant, id, number, event, origin) VALUES (?, ?, ?, ?, ?)"


class SqliteStream(Stream):
    """Items in a table, their last number and fence in another."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        rows = rows_of(items)
        return await self._database.write(lambda connection: save_items(connection, key, rows, fence))

    async def delete(self, key: Key, *, fence: int) -> int:
        def forget(connection: sqlite3.Connection) -> int:
            last = take_fence(connection, key, fence)
            connection.execute(DELETE_ITEMS, key)
            return last

        last = await self._database.write(forget)
        # A repeated erasure after a killed process reaches only this code.
        await self._database.scrubber.scrub_if_owed()
        return last

    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        rows = rows_of(items)

        def put_in_place(connection: sqlite3.Connection) -> int:
            number, fence = connection.execute(READ_HEAD, key).fetchone() or (0, 0)
            if number != last:
                raise ConflictError
            connection.execute(DELETE_ITEMS, key)
            return save_items(connection, key, rows, fence)

        number = await self._database.write(put_in_place)
        await self._database.scrubber.scrub_if_owed()
        return number

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        where = "tenant = ? AND id = ? AND number > ?"
        sql = f"SELECT event, origin, number FROM stream_items WHERE {where} ORDER BY number LIMIT ?"
        rows = await self._database.read(lambda c: c.execute(sql, [*key, after, limit]).fetchall())
        return [StreamItem(json.loads(event), origin, number) for event, origin, number in rows]


def rows_of(items: Sequence[StreamItem]) -> list[tuple[str, str | None]]:
    """Return the data of items, ready for any connection."""
    return [(COMPACT.encode(item.event), item.origin) for item in items]


def save_items(connection: sqlite3.Connection, key: Key, rows: Sequence[tuple[str, str | None]], fence: int) -> int:
    """Append items, and return the number of the last one; raise `FenceError` for an old fence."""
    last = take_fence(connection, key, fence, len(rows))
    connection.executemany(INSERT_ITEM, [(*key, n, *row) for n, row in enumerate(rows, last - len(rows) + 1)])
    return last


def take_fence(connection: sqlite3.Connection, key: Key, fence: int, more: int = 0) -> int:
    """Raise the stream's fence and advance its last number by `more`; return the number, or raise `FenceError`."""
    row = connection.execute(TAKE_FENCE, (*key, more, fence)).fetchone()
    if row is None:
        raise FenceError(key.id, fence)
    return int(row[0])
