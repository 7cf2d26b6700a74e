"""LangGraph's checkpoints and its agents' own store in the same SQLite file, in the same group commits."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.base import Op, Result
from langgraph.store.sqlite import SqliteStore

from ringi.backends.fenced_saver import FencedCheckpointSaver, call_saver_method
from ringi.backends.kept_checkpoints import keep_newest_in_sqlite
from ringi.backends.sqlite.database import SqliteDatabase, sqlite_read_connection, sqlite_transaction
from ringi.base.failpoints import failpoint
from ringi.domain.thread import FenceError, Thread
from ringi.errors import UnavailableError

HOLDER = "SELECT fence, json_extract(body, '$.owner') FROM threads WHERE tenant = ? AND id = ?"


class BatchedSaver(SqliteSaver):
    """LangGraph's own saver inside a transaction that the group commits."""

    def setup(self) -> None:
        """Do nothing: the tables exist, and LangGraph's script would commit the group."""

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor and leave the commit to the group."""
        with closing(self.conn.cursor()) as cursor:
            yield cursor

    def keep_newest(self, thread_id: str) -> None:
        """Delete checkpoints that no run needs: LangGraph's own saver has no `prune`."""
        keep_newest_in_sqlite(self.conn, thread_id)


class FencedSqliteSaver(FencedCheckpointSaver):
    """A saver with fence check and checkpoint in one transaction, on the file's single writer."""

    get_next_version = SqliteSaver.get_next_version

    def __init__(self, database: SqliteDatabase, held: Thread) -> None:
        super().__init__(held)
        self._database = database

    async def _read(self, method: str, *args: object, **options: object) -> Any:
        await create_checkpoint_tables(self._database)
        return await self._database.read(
            lambda connection: call_saver_method(BatchedSaver(connection, serde=self.serde), method, *args, **options)
        )

    async def _write(self, method: str, *args: object) -> Any:
        await create_checkpoint_tables(self._database)
        return await self._database.write(lambda connection: self._fenced(connection, method, *args))

    def _fenced(self, connection: sqlite3.Connection, method: str, *args: object) -> Any:
        # What `Thread.is_held_as` compares, without the rest of the thread.
        if connection.execute(HOLDER, self._held.key).fetchone() != (self._held.fence, self._held.owner):
            raise FenceError(self._held.id, self._held.fence)
        result = call_saver_method(BatchedSaver(connection, serde=self.serde), method, *args)
        failpoint("saver.between_fence_and_commit")
        return result

    def _read_now(self, method: str, *args: object, **options: object) -> Any:
        with sqlite_read_connection(self._database) as connection:
            return call_saver_method(BatchedSaver(connection, serde=self.serde), method, *args, **options)

    def _write_now(self, method: str, *args: object) -> Any:
        with sqlite_transaction(self._database) as connection:
            return self._fenced(connection, method, *args)


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
