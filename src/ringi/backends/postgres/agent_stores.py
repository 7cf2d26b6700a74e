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

from ringi.backends.postgres.checkpoints import NETWORK_LIMITS, driver_errors_as_unavailable
from ringi.backends.postgres.database import LOCKS, WAIT_SECONDS, PostgresDatabase

MOST = 4
"""Maximum connections of a process for the stores of its agents."""
OPTIONS: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, **NETWORK_LIMITS}
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
            self._pool = ConnectionPool(
                self._database.url,
                min_size=0,
                max_size=MOST,
                timeout=WAIT_SECONDS,
                kwargs=OPTIONS,
                configure=lambda connection: self._set_up(connection, **LOCKS),
                open=True,
            )
            return self._pool

    def _make_tables(self) -> None:
        with Connection.connect(self._database.url, **OPTIONS) as connection:
            self._set_up(connection)
            # A session that waits inside a statement would delay the index that LangGraph creates concurrently.
            while not (connection.execute(LOCK).fetchone() or {}).get("is_ours"):
                time.sleep(0.1)
            PostgresStore(connection).setup()

    def _set_up(self, connection: Connection[Any], **settings: str) -> None:
        connection.execute(self._database.session_sql(**settings).encode())
