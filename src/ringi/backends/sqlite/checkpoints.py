"""LangGraph's checkpoints and its agents' own store in the same SQLite file, in the same group commits."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.base import Op, Result
from langgraph.store.sqlite import SqliteStore

from ringi.backends.fenced_saver import call_saver_method
from ringi.backends.kept_checkpoints import keep_newest_in_sqlite
from ringi.backends.newest_checkpoint import KnowingCheckpointSaver
from ringi.backends.sqlite.database import SqliteDatabase, sqlite_read_connection, sqlite_transaction
from ringi.backends.sqlite.newest_checkpoint import (
    NewestSqliteCheckpoint,
    NotingCursor,
    WrittenRows,
    load_newest_rows,
    read_newest_rows,
)
from ringi.base.failpoints import failpoint
from ringi.domain.thread import FenceError, Thread, checkpoint_thread
from ringi.errors import UnavailableError

HOLDER = "SELECT fence, json_extract(body, '$.owner') FROM threads WHERE tenant = ? AND id = ?"


class BatchedSaver(SqliteSaver):
    """LangGraph's own saver inside a transaction that the group commits; it notes the rows that it writes."""

    def __init__(self, connection: sqlite3.Connection, serde: SerializerProtocol) -> None:
        super().__init__(connection, serde=serde)
        self.written: list[WrittenRows] = []

    def setup(self) -> None:
        """Do nothing: the tables exist, and LangGraph's script would commit the group."""

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor and leave the commit to the group."""
        with closing(self.conn.cursor(lambda connection: NotingCursor(connection, self.written))) as cursor:
            yield cursor

    def keep_newest(self, thread_id: str) -> None:
        """Delete checkpoints that no run needs: LangGraph's own saver has no `prune`."""
        keep_newest_in_sqlite(self.conn, thread_id)


class FencedSqliteSaver(KnowingCheckpointSaver):
    """A saver with fence check and checkpoint in one transaction, on the file's single writer."""

    get_next_version = SqliteSaver.get_next_version

    def __init__(self, database: SqliteDatabase, held: Thread) -> None:
        super().__init__(held, NewestSqliteCheckpoint(checkpoint_thread(held.key)))
        self._database = database

    async def _read_stored(self, method: str, *args: Any, **options: object) -> Any:
        await create_checkpoint_tables(self._database)
        return await self._database.read(
            lambda connection: call_saver_method(BatchedSaver(connection, self.serde), method, *args, **options)
        )

    async def _read_newest(self, config: RunnableConfig) -> CheckpointTuple | None:
        await create_checkpoint_tables(self._database)
        with self._newest.reading() as found:
            thread_id = config["configurable"]["thread_id"]
            rows = await self._database.read(lambda connection: read_newest_rows(connection, thread_id))
            found.append(rows)
        return load_newest_rows(rows, config, self.serde)

    async def _write(self, method: str, *args: object) -> Any:
        await create_checkpoint_tables(self._database)
        with self._newest.writing(method, args) as written:
            result, rows = await self._database.write(lambda connection: self._fenced(connection, method, *args))
            written += rows
        return result

    def _fenced(self, connection: sqlite3.Connection, method: str, *args: object) -> tuple[Any, list[WrittenRows]]:
        # What `Thread.is_held_as` compares, without the rest of the thread.
        if connection.execute(HOLDER, self._held.key).fetchone() != (self._held.fence, self._held.owner):
            raise FenceError(self._held.id, self._held.fence)
        saver = BatchedSaver(connection, self.serde)
        result = call_saver_method(saver, method, *args)
        failpoint("saver.between_fence_and_commit")
        return result, saver.written

    def _read_now(self, method: str, *args: object, **options: object) -> Any:
        with sqlite_read_connection(self._database) as connection:
            return call_saver_method(BatchedSaver(connection, self.serde), method, *args, **options)

    def _write_now(self, method: str, *args: object) -> Any:
        self._newest.skip(method, args)
        with sqlite_transaction(self._database) as connection:
            return self._fenced(connection, method, *args)[0]


async def create_checkpoint_tables(database: SqliteDatabase) -> None:
    """Create LangGraph's tables, once; its set-up script commits, so it never runs in a group."""
    if not database.has_checkpoints:
        await asyncio.to_thread(_make_tables, database)
        database.has_checkpoints = True


def _make_tables(database: SqliteDatabase) -> None:
    with closing(database.connect()) as connection:
        SqliteSaver(connection).setup()


class SqliteAgentStores:
    """The stores of agents in one file: a separate connection, opened on first use."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database, self._opening = database, threading.Lock()
        self._inner: SqliteStore | None = None

    def batch(self, ops: Sequence[Op]) -> list[Result]:
        """Execute all operations, or raise `UnavailableError`."""
        self._database.guard.check()
        try:
            with self._opening:
                if self._inner is None:
                    inner = SqliteStore(self._database.connect())
                    inner.setup()
                    self._inner = inner
            results = self._inner.batch(ops)
        except sqlite3.OperationalError as error:
            raise UnavailableError(str(error)) from error
        self._database.guard.check()
        return results

    def close(self) -> None:
        """Close the connection."""
        if self._inner:
            self._inner.conn.close()
