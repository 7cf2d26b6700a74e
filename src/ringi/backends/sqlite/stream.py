"""Numbered output in the same SQLite file, and the wakeups of the processes on it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from typing import Self

from ringi.backends.sqlite.database import SqliteDatabase
from ringi.base.canonical_json import COMPACT
from ringi.base.loops import cancel_all
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.contracts.backend import EXPIRY, STRANDED, Notifier, Stream, StreamItem
from ringi.domain.record import Key
from ringi.domain.thread import FenceError
from ringi.errors import ConflictError

TAKE_FENCE = """
INSERT INTO stream_heads (tenant, id, last, fence) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant, id) DO UPDATE SET last = last + excluded.last, fence = excluded.fence WHERE fence <= excluded.fence
RETURNING last
"""
DELETE_ITEMS = "DELETE FROM stream_items WHERE tenant = ? AND id = ?"
READ_HEAD = "SELECT last, fence FROM stream_heads WHERE tenant = ? AND id = ?"
READ_AFTER = """
SELECT event, origin, number FROM stream_items WHERE tenant = ? AND id = ? AND number > ? ORDER BY number LIMIT ?
"""
READ_BEFORE = """
SELECT event, origin, number FROM stream_items WHERE tenant = ? AND id = ? AND number < ? ORDER BY number DESC LIMIT ?
"""
NO_NUMBER = 2**62
"""Above the number of any item."""
INSERT_ITEM = "INSERT INTO stream_items (tenant, id, number, event, origin) VALUES (?, ?, ?, ?, ?)"
log = rate_limited_logger(__name__)
LOOKS_PER_INTERVAL = 10
"""A check costs microseconds, so another process's change is seen well within the poll interval."""
NOT_OF_FILES = ("request/", "thread/", EXPIRY, STRANDED)
"""Topics that are not woken by each change of the file."""


class SqliteStream(Stream):
    """Items in a table, their last number and fence in another."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        rows = stream_item_rows(items)
        return await self._database.write(lambda connection: append_stream_items(connection, key, rows, fence))

    async def delete(self, key: Key, *, fence: int) -> int:
        def forget(connection: sqlite3.Connection) -> int:
            last = raise_stream_fence(connection, key, fence)
            connection.execute(DELETE_ITEMS, key)
            return last

        last = await self._database.write(forget)
        # A repeated erasure after a killed process reaches only this code.
        await self._database.scrubber.scrub_if_owed()
        return last

    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        rows = stream_item_rows(items)

        def put_in_place(connection: sqlite3.Connection) -> int:
            number, fence = connection.execute(READ_HEAD, key).fetchone() or (0, 0)
            if number != last:
                raise ConflictError
            connection.execute(DELETE_ITEMS, key)
            return append_stream_items(connection, key, rows, fence)

        number = await self._database.write(put_in_place)
        await self._database.scrubber.scrub_if_owed()
        return number

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        return await self._read(READ_AFTER, *key, after, limit)

    async def read_last(self, key: Key, limit: int, before: int | None = None) -> list[StreamItem]:
        found = await self._read(READ_BEFORE, *key, NO_NUMBER if before is None else before, limit)
        return found[::-1]

    async def _read(self, sql: str, *values: str | int) -> list[StreamItem]:
        rows = await self._database.read(lambda connection: connection.execute(sql, values).fetchall())
        return [StreamItem(json.loads(event), origin, number) for event, origin, number in rows]


def stream_item_rows(items: Sequence[StreamItem]) -> list[tuple[str, str | None]]:
    """Return the data of items, ready for any connection."""
    return [(COMPACT.encode(item.event), item.origin) for item in items]


def append_stream_items(
    connection: sqlite3.Connection, key: Key, rows: Sequence[tuple[str, str | None]], fence: int
) -> int:
    """Append items, and return the number of the last one; raise `FenceError` for an old fence."""
    last = raise_stream_fence(connection, key, fence, len(rows))
    connection.executemany(INSERT_ITEM, [(*key, n, *row) for n, row in enumerate(rows, last - len(rows) + 1)])
    return last


def raise_stream_fence(connection: sqlite3.Connection, key: Key, fence: int, more: int = 0) -> int:
    """Raise the stream's fence and advance its last number by `more`; return the number, or raise `FenceError`."""
    row = connection.execute(TAKE_FENCE, (*key, more, fence)).fetchone()
    if row is None:
        raise FenceError(key.id, fence)
    return int(row[0])


class SqliteNotifier(Notifier):
    """Notifies this process at once, and on writes of other processes all listeners except waits for one record.

    Those waits are notified by the feed, which reads the changed records: 10,000 waits cost one query.
    """

    def __init__(self, database: SqliteDatabase, recheck_after: float) -> None:
        super().__init__(recheck_after)
        self._database = database

    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        self.wake(topic, items)

    async def __aenter__(self) -> Self:
        self._watch = asyncio.create_task(self._watch_file(await self._database.data_version()))
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_all(self._watch)

    async def _watch_file(self, seen: int) -> None:
        while True:
            await asyncio.sleep(self.recheck_after / LOOKS_PER_INTERVAL)
            now = seen
            with FailureLog(log, "cannot check the file for changes"):
                now = await self._database.data_version()
            if now != seen:
                seen = now
                self.wake_all(except_prefixes=NOT_OF_FILES)
