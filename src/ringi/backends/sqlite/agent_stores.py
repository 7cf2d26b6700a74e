"""LangGraph's SQLite store in the same file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence

from langgraph.store.base import Op, Result
from langgraph.store.sqlite import SqliteStore

from ringi.backends.sqlite.database import Database
from ringi.errors import UnavailableError


class SqliteAgentStores:
    """The stores of agents in one file: a separate connection, opened on first use."""

    def __init__(self, database: Database) -> None:
        self._database, self._opening = database, threading.Lock()
        self._inner: SqliteStore | None = None

    def batch(self, ops: Sequence[Op]) -> list[Result]:
        """Execute all operations, or raise `UnavailableError`."""
        self._database.check_files()
        try:
            results = self._opened().batch(ops)
        except sqlite3.OperationalError as error:
            raise UnavailableError(str(error)) from error
        self._database.check_files()
        return results

    def close(self) -> None:
        """Close the connection."""
        if self._inner:
            self._inner.conn.close()

    def _opened(self) -> SqliteStore:
        with self._opening:
            if self._inner is None:
                inner = SqliteStore(self._database.connect())
                inner.setup()
                self._inner = inner
            return self._inner
