"""LangGraph checkpoints in the same PostgreSQL database, in the statement that checks the fence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from itertools import count
from typing import Any, Self

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ringi.backends.fenced_saver import call_saver_method
from ringi.backends.kept_checkpoints import KEEP_NEWEST_IN_POSTGRES
from ringi.backends.newest_checkpoint import KnowingCheckpointSaver
from ringi.backends.postgres.database import LOCKS, WAIT_SECONDS, PostgresDatabase
from ringi.backends.postgres.newest_checkpoint import (
    SELECT_NEWEST,
    CheckpointStatement,
    LostFence,
    NewestPostgresCheckpoint,
    fenced_checkpoint_statements,
    load_checkpoint_row,
    record_checkpoint_write,
)
from ringi.base.failpoints import failpoint
from ringi.domain.thread import FenceError, Thread, checkpoint_thread
from ringi.errors import UnavailableError

PsycopgConnection = AsyncConnection[Any]
KEEP_NEWEST = f"""
WITH held AS (
    SELECT FROM threads WHERE tenant = %(tenant)s AND id = %(id)s AND body = %(body)s
), {KEEP_NEWEST_IN_POSTGRES.format(held="held", thread="%(thread)s")}
SELECT 1 FROM held
""".encode()
LOOK_SECONDS = 2.0
LARGE_SECONDS = 0.005
"""Processor time for a checkpoint, after which the next ones of its run are serialized in a separate thread."""
LIMIT_SECONDS = 30.0
"""Seconds for a checkpoint, including the wait for a connection: some checkpoints are large."""
LOCK = "SELECT pg_try_advisory_lock(hashtext('ringi checkpoints'), hashtext(current_schema()))"
NETWORK_LIMITS: dict[str, Any] = {"connect_timeout": 10, "tcp_user_timeout": 10_000, "keepalives_idle": 10}
"""Seconds, milliseconds, seconds.

Without them, a connection dropped by the network would block a caller for a quarter of an hour.
"""


class PostgresCheckpoints:
    """The connections of all savers of a process, opened on first use."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._opening = asyncio.Lock()
        self._pool: AsyncConnectionPool[PsycopgConnection] | None = None
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._looking:
            self._looking.cancel()
            await asyncio.wait([self._looking], timeout=LOOK_SECONDS)
        if self._pool:
            await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PsycopgConnection]:
        """Yield a connection that commits each statement."""
        self._database.refuse_if_replaced()
        with driver_errors_as_unavailable():
            pool = self._pool or await self._opened()
            try:
                async with asyncio.timeout(LIMIT_SECONDS), pool.connection() as connection:
                    yield connection
            except (psycopg.OperationalError, TimeoutError):
                # A failure that ended one connection ended most: each dead one left in the pool would fail a run's
                # turn.
                if not self._looking or self._looking.done():
                    self._looking = asyncio.create_task(pool.check())
                raise

    @contextmanager
    def transaction_now(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection of the caller's own thread in a transaction, for synchronous callers."""
        self._database.refuse_if_replaced()
        with (
            driver_errors_as_unavailable(),
            psycopg.connect(self._database.url, **NETWORK_LIMITS) as connection,
        ):
            connection.execute(self._database.session_sql(**LOCKS).encode())
            yield connection

    async def _opened(self) -> AsyncConnectionPool[PsycopgConnection]:
        async with self._opening:
            if not self._pool:
                await self._make_tables()
                pool = AsyncConnectionPool[PsycopgConnection](
                    self._database.url,
                    min_size=0,
                    max_size=self._database.size,
                    timeout=WAIT_SECONDS,
                    kwargs={"autocommit": True, **NETWORK_LIMITS},
                    configure=self._configure,
                    open=False,
                )
                await pool.open()
                self._pool = pool
        return self._pool

    async def _configure(self, connection: PsycopgConnection) -> None:
        await connection.execute(self._database.session_sql(**LOCKS).encode())

        async def first(sql: str) -> Sequence[Any] | None:
            return await (await connection.execute(sql.encode())).fetchone()

        await self._database.recognise(first)

    async def _make_tables(self) -> None:
        connect = AsyncConnection.connect(self._database.url, autocommit=True, **NETWORK_LIMITS)
        async with await connect as connection:
            await connection.execute(self._database.session_sql().encode())
            for _ in count():
                # A session that waits inside a statement would delay the indexes that LangGraph creates concurrently.
                row = await (await connection.execute(LOCK)).fetchone()
                if row and row[0]:
                    break
                await asyncio.sleep(0.1)
            await AsyncPostgresSaver(connection).setup()


class FencedPostgresSaver(KnowingCheckpointSaver):
    """A saver with fence check and checkpoint in one transaction."""

    get_next_version = AsyncPostgresSaver.get_next_version

    def __init__(self, checkpoints: PostgresCheckpoints, held: Thread) -> None:
        super().__init__(held, NewestPostgresCheckpoint(checkpoint_thread(held.key)))
        self._checkpoints, self._is_large = checkpoints, False

    async def _read_stored(self, method: str, *args: Any, **options: Any) -> Any:
        async with self._checkpoints.connection() as connection:
            return await call_async_saver(connection, self.serde, method, *args, **options)

    async def _read_newest(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self._newest.reading() as found:
            async with self._checkpoints.connection() as connection:
                cursor = connection.cursor(binary=True, row_factory=dict_row)
                await cursor.execute(SELECT_NEWEST.encode(), (config["configurable"]["thread_id"], ""))
                found.append(await cursor.fetchone())
        return load_checkpoint_row(found[0], config, self.serde)

    async def _write(self, method: str, *args: Any) -> Any:
        result, statements = await self._recorded(method, *args)
        fenced = fenced_checkpoint_statements(statements, self._held)
        failpoint("saver.before_commit")
        with lost_thread_as_fence_error(self._held), self._newest.writing(method, args) as written:
            async with (
                self._checkpoints.connection() as connection,
                connection.transaction() if len(fenced) > 1 else nullcontext(),
            ):
                for sql, parameters, _ in fenced:
                    await connection.execute(sql.encode(), parameters)
            written += statements
        failpoint("saver.after_commit")
        return result

    async def _recorded(self, method: str, *args: Any) -> tuple[Any, list[CheckpointStatement]]:
        """Serialize in a separate thread if it takes long; for a small state, the thread itself takes longer."""
        if self._is_large:
            return await asyncio.to_thread(record_checkpoint_write, self.serde, method, *args)
        began = time.thread_time()
        serialized = record_checkpoint_write(self.serde, method, *args)
        self._is_large = time.thread_time() - began > LARGE_SECONDS
        return serialized

    async def _keep_newest(self, thread_id: str) -> None:
        held = self._held
        named = {"tenant": held.tenant, "id": held.id, "body": held.model_dump_json(), "thread": thread_id}
        failpoint("prune.before_commit")
        async with self._checkpoints.connection() as connection:
            if not await (await connection.execute(KEEP_NEWEST, named)).fetchone():
                raise FenceError(held.id, held.fence)

    def _read_now(self, method: str, *args: Any, **options: Any) -> Any:
        with self._checkpoints.transaction_now() as connection:
            return call_saver_method(PostgresSaver(connection, serde=self.serde), method, *args, **options)

    def _write_now(self, method: str, *args: Any) -> Any:
        self._newest.skip(method, args)
        result, statements = record_checkpoint_write(self.serde, method, *args)
        fenced = fenced_checkpoint_statements(statements, self._held)
        with lost_thread_as_fence_error(self._held), self._checkpoints.transaction_now() as connection:
            for sql, parameters, _ in fenced:
                connection.execute(sql.encode(), parameters)
        return result


async def call_async_saver(
    connection: PsycopgConnection, serde: SerializerProtocol, method: str, *args: Any, **options: Any
) -> Any:
    """Call a method of LangGraph's own saver on this connection; return an iterator as a list."""
    saver = AsyncPostgresSaver(connection, serde=serde)
    if method == "list":
        return [item async for item in saver.alist(*args, **options)]
    return await getattr(saver, f"a{method}")(*args, **options)


@contextmanager
def lost_thread_as_fence_error(held: Thread) -> Iterator[None]:
    """Raise `FenceError` if a statement finds that the thread is not held."""
    try:
        yield
    except LostFence as error:
        raise FenceError(held.id, held.fence) from error


@contextmanager
def driver_errors_as_unavailable() -> Iterator[None]:
    """Raise the driver's failures as `UnavailableError`."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, OSError) as error:
        raise UnavailableError(str(error)) from error
