"""LangGraph's PostgreSQL store in the same database and schema."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from langgraph.store.base import Op, Result
from langgraph.store.postgres import PostgresStore
from psycopg import Connection
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from ringi.backends.postgres.checkpoints import driver_errors_as_unavailable, saver_connection_options
from ringi.backends.postgres.database import LOCKS, WAIT_SECONDS, PostgresDatabase

MOST = 4
"""Maximum connections of a process for the stores of its agents."""
LOCK = "SELECT pg_try_advisory_lock(hashtext('ringi agent stores'), hashtext(current_schema())) AS is_ours"


class PostgresAgentStores:
    """The stores of agents in one database: separate connections, opened on first use."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database, self._opening = database, threading.Lock()
        self._pool: ConnectionPool[Any] | None = None

    def batch(self, ops: Sequence[Op]) -> list[Result]:
        """Execute all operations, or raise `UnavailableError`."""
        self._database.refuse_if_replaced()
        with driver_errors_as_unavailable():
            # One for each batch: the store has a lock around its connections.
            return PostgresStore(self._opened()).batch(ops)

    def close(self) -> None:
        """Close the connections."""
        if self._pool:
            self._pool.close(WAIT_SECONDS)

    def _opened(self) -> ConnectionPool[Any]:
        with self._opening:
            if self._pool:
                return self._pool
            self._make_tables()
            options = self._options(**LOCKS)
            self._pool = ConnectionPool(
                self._database.url, min_size=0, max_size=MOST, timeout=WAIT_SECONDS, kwargs=options, open=True
            )
            return self._pool

    def _make_tables(self) -> None:
        with Connection.connect(self._database.url, **self._options()) as connection:
            # A session that waits inside a statement would delay the index that LangGraph creates concurrently.
            while not (connection.execute(LOCK).fetchone() or {}).get("is_ours"):
                time.sleep(0.1)
            PostgresStore(connection).setup()

    def _options(self, **more: str) -> dict[str, Any]:
        return {"autocommit": True, "row_factory": dict_row, **saver_connection_options(self._database, **more)}
