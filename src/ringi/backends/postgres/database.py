"""The database: its connections in a pool, a watch over a server that does not answer, and its schema."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from datetime import datetime
from typing import Any, Self, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from ringi.backends.batcher import Rows
from ringi.backends.migrations import LISTED, Migration, StoreSchema, backend_migrations, refuse_unusable_schema
from ringi.backends.silence import ServerSilence
from ringi.base.settings import SettingError
from ringi.errors import RingiError, UnavailableError

AsyncpgConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
CLOSED = "the database is closed here"
SPARE_SECONDS = 300.0
"""Seconds after which an unused connection is closed."""
PATIENCE_SECONDS = 2.0
"""Seconds of a statement without an answer, after which a new connection is asked about it."""
PROBE_SECONDS = 2.0
"""Seconds for that connection and its answer; without one the server is silent."""
IS_LOST = """
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE pid = $1 AND state = 'idle' AND state_change < clock_timestamp() - interval '1 second'
)
"""
"""Whether the session of a statement is idle: the statement never arrived, or its answer was lost on the way."""
log = logging.getLogger(__name__)
POOL = 10
"""Connections of one process for its statements; `?pool=` in the URL changes it."""
SCHEMA = "ringi"
"""The schema of the tables; `?schema=` in the URL changes it."""
WAIT_SECONDS = 10.0
"""Seconds for a statement, including the wait for a connection, before it is refused."""
CONNECT_SECONDS = PATIENCE_SECONDS + PROBE_SECONDS
"""Seconds for a new connection, and for a statement that is never slow."""
QUICK = {"jit": "off", "max_parallel_workers_per_gather": "0", "default_transaction_isolation": "read committed"}
"""Every statement is short, regardless of its estimate: compiling it or starting processes for it takes longer."""
NOT_IDLE = {"idle_in_transaction_session_timeout": "5000"}
"""Milliseconds after which an idle transaction ends: a suspended process would block the others forever."""
LOCKS = {"lock_timeout": "5000"}
"""A wait for a locked table occupies a connection that statements on other tables need."""
COMMIT = "synchronous_commit"
COMMIT_REMEDY = "set it to on for the role and in the pooler: without it a crash loses acknowledged answers"
WHICH = f"""
SELECT current_setting('{COMMIT}'), system_identifier, to_regclass('migrations')::oid FROM pg_control_system()
"""
"""How a session commits, and the identity of the tables: a copy is different, here or in another cluster."""
HAS = "SELECT pg_is_in_recovery() OR EXISTS (SELECT FROM events WHERE number = {} AND hash = '{}')"
"""Tests for an event: a cluster restored to an earlier time does not contain it yet.

A standby may also lack it briefly; it refuses writes by itself.
"""
DOWN = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,
    OSError,
    TimeoutError,
)
"""Errors that mean a temporary outage, after which a retry makes sense."""
LATE = (asyncpg.LockNotAvailableError, TimeoutError)
"""Errors for which an immediate retry does not help."""
WRONG = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
"""Permanent errors."""
WRONG_URL = (asyncpg.ClientConfigurationError, asyncpg.DataError, asyncpg.SyntaxOrAccessError)
"""Errors of a connection that asks for something that the driver or the server does not know."""
WRONG_FOR_POOLER = re.compile(r"unsupported startup parameter|no such (database|user)")
"""The same from PgBouncer, whose errors all have one code."""
POOLED = "a pooler gives each transaction another session: set its `pool_mode` to `session`, or connect without it"
IS_DIRECT = "DO $$ BEGIN IF pg_backend_pid() <> {} THEN RAISE 'pooled'; END IF; END $$"
"""Fails behind a pooler, which makes up the process that it names. Such a statement needs no preparation."""
MARK = "SELECT set_config('ringi.session', '{}', false)"
IS_OTHER = "DO $$ BEGIN IF current_setting('ringi.session', true) {} '{}' THEN RAISE 'changed'; END IF; END $$"
"""Fails in a session with the mark, or in one without it."""
T = TypeVar("T")
FetchRow = Callable[[str], Awaitable[Any]]
"""Returns the first row of a statement, if any."""
IN_USE = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)
"""Errors of a migration that meets a long-running transaction."""
NAMES = """
SELECT relname::text FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = current_schema()
UNION SELECT 'migrations.' || attname FROM pg_attribute WHERE attrelid = to_regclass('migrations')
"""
MIGRATION_LOCK = 2000
"""Milliseconds for which a migration may block the other servers at a time."""
MIGRATION_TRIES, MIGRATION_PAUSE = 20, 1.0
MIGRATION_SECONDS = 3600.0
OLDEST = 14
"""The first supported version of PostgreSQL."""


class ConnectionPool:
    """A bounded pool that opens connections on demand. asyncpg's own pool costs twice as much as a statement."""

    def __init__(self, connect: Callable[[], Awaitable[AsyncpgConnection]], size: int) -> None:
        self._connect, self._size = connect, size
        self._room = asyncio.Semaphore(size)
        self._free: list[AsyncpgConnection] = []
        self._unused = 0
        self._is_closed = False
        self._trimming = asyncio.create_task(self._trim())

    @asynccontextmanager
    async def one(self) -> AsyncIterator[AsyncpgConnection]:
        """Lend a connection as soon as one is free; the borrower must leave its session unchanged."""
        async with self._room:
            connection = self._taken() or await self._connect()
            place = 0  # The statement may still be ending after an error: its connection is reused last.
            try:
                yield connection
                place = len(self._free)
            finally:
                if connection.is_closed() or self._is_closed:
                    connection.terminate()
                else:
                    self._free.insert(place, connection)

    async def close(self, seconds: float) -> None:
        """Close all connections once they are returned, or after `seconds`."""
        self._is_closed = True
        self._trimming.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for _ in range(self._size):
                    await self._room.acquire()
        while self._free:
            await close_postgres_connection(self._free.pop())

    def _taken(self) -> AsyncpgConnection | None:
        if self._is_closed:
            raise asyncpg.InterfaceError(CLOSED)
        while self._free:
            connection = self._free.pop()
            self._unused = min(self._unused, len(self._free))
            if not connection.is_closed():
                return connection
        return None

    async def _trim(self) -> None:
        while True:
            self._unused = len(self._free)
            await asyncio.sleep(SPARE_SECONDS)
            spare, self._free = self._free[: self._unused], self._free[self._unused :]
            for connection in spare:
                await close_postgres_connection(connection)


async def close_postgres_connection(connection: AsyncpgConnection) -> None:
    """Close a connection, with a limit on the wait."""
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        await connection.close(timeout=1)
    connection.terminate()


async def finish_connecting(opening: Coroutine[Any, Any, AsyncpgConnection]) -> AsyncpgConnection:
    """Return a new connection; a canceled caller waits for it briefly, and closes it.

    asyncpg leaves a future with an error that nobody reads if it is canceled just after it reached the server.
    """
    task = asyncio.create_task(opening)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(terminate_unused)
        await asyncio.wait([task], timeout=1)
        task.cancel()
        raise


def terminate_unused(opening: asyncio.Task[AsyncpgConnection]) -> None:
    """Terminate a connection that nobody waits for any more, if it was opened."""
    if not opening.cancelled() and not opening.exception():
        opening.result().terminate()


class StatementWatch:
    """Closes the connections of statements that are not answered.

    Args:
        connect: Opens a connection.
    """

    def __init__(self, connect: Callable[[], Awaitable[AsyncpgConnection]]) -> None:
        self._connect = connect
        self.silence = ServerSilence(self._is_heard)

    @contextmanager
    def over(self, connection: AsyncpgConnection) -> Iterator[None]:
        """Close a connection as soon as the answer to its statement is known to be missing."""
        probes = list[asyncio.Task[None]]()

        def probe() -> None:
            probes.append(asyncio.create_task(self._close_if_lost(connection)))

        suspect = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, probe)
        try:
            yield
        finally:
            suspect.cancel()
            for task in probes:
                task.cancel()

    async def _close_if_lost(self, connection: AsyncpgConnection) -> None:
        is_lost: bool | None = False
        while is_lost is False:
            is_lost = await self._ask(connection.get_server_pid())
            if is_lost is False:
                await asyncio.sleep(PATIENCE_SECONDS)
        if is_lost is None:
            self.silence.begin()
        connection.terminate()

    async def _is_heard(self) -> bool:
        return await self._ask(0) is not None

    async def _ask(self, pid: int) -> bool | None:
        """Return whether a session has lost its statement; None if the server does not answer."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                connection = await self._connect()
                try:
                    return bool(await connection.fetchval(IS_LOST, pid))
                finally:
                    connection.terminate()
        except (OSError, TimeoutError):
            return None
        except (asyncpg.PostgresError, asyncpg.InterfaceError, RingiError):
            return False  # It refuses the connection: that is an answer.


class PostgresDatabase:
    """The connections of a process; every statement of Ringi uses them."""

    _settings: Mapping[str, str] = {**QUICK, **LOCKS}
    _command_seconds: float | None = WAIT_SECONDS

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,50}", options.get("schema", SCHEMA)):
            raise SettingError("url", url, "give schema= a name of small letters, digits and _")
        size = options.pop("pool", str(POOL))
        if not (size.isascii() and size.isdigit() and 2 <= int(size) <= 1000):
            # A worker keeps one to listen for jobs.
            raise SettingError("url", url, "give pool=2 to pool=1000")
        self.schema, self.size = options.pop("schema", SCHEMA), int(size)
        self.url = urlunsplit(parts._replace(query=urlencode(options)))
        self._commit: dict[str, str] = {}
        self.durability = ""
        """How this process commits, and whether the server writes to its disk at all."""
        self._watch = StatementWatch(self.connect)
        self._which: list[Any] = []
        self._newest: tuple[int, str] | None = None
        self._is_replaced = False
        self._late = set[asyncio.Task[Any]]()

    async def __aenter__(self) -> Self:
        with postgres_errors_as_own():
            first = await self._open_connection()
            try:
                await self._refuse_changing_sessions(first)
                await self._set_up(first)
                await self._prepare(first)
            finally:
                first.terminate()
            self._sessions = ConnectionPool(self.connect, self.size)
        return self

    async def _prepare(self, connection: AsyncpgConnection) -> None:
        await migrate_postgres(connection, self.url, self.schema)
        commit, *self._which = await connection.fetchrow(WHICH) or ("",)
        # A role may ask for more than `on`, such as an answer of the standby.
        self._commit = {COMMIT: "on" if commit == "off" else commit}
        fsync = await connection.fetchval("SHOW fsync")
        self.durability = self._commit[COMMIT] + ("" if fsync == "on" else f", fsync {fsync}")
        if commit == "off":  # A pooler may not pass on the setting.
            (await self.connect()).terminate()

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._watch.silence.close()
        await self._sessions.close(WAIT_SECONDS)

    def session_sql(self, **more: str) -> str:
        """Return the SQL that sets up a session of any driver; a pooler refuses most settings of a new connection.

        Args:
            more: More settings.
        """
        settings = {"search_path": self.schema, **NOT_IDLE, **self._commit, **more}
        return "; ".join(f"SET {name} = '{value}'" for name, value in settings.items())

    async def connect(self) -> AsyncpgConnection:
        """Return a dedicated connection."""
        connection = await self._open_connection()
        try:
            await self._set_up(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _set_up(self, connection: AsyncpgConnection) -> None:
        await connection.execute(self.session_sql(**self._settings), timeout=CONNECT_SECONDS)
        if self._which:
            await self.recognise(connection.fetchrow)

    async def _open_connection(self) -> AsyncpgConnection:
        named = {"application_name": "ringi"}
        try:
            # Without its own timeout, a connection dropped by the network would stay among those in use.
            return await finish_connecting(
                asyncpg.connect(
                    self.url, timeout=CONNECT_SECONDS, command_timeout=self._command_seconds, server_settings=named
                )
            )
        except (*WRONG_URL, asyncpg.ProtocolViolationError) as error:
            if isinstance(error, WRONG_URL) or WRONG_FOR_POOLER.search(str(error)):
                raise SettingError("url", "postgresql://…", f"correct it: {error}") from error
            raise

    async def _refuse_changing_sessions(self, one: AsyncpgConnection) -> None:
        """Raise `SettingError` behind a pooler in whose mode a connection does not keep its session."""
        other, mark = None, uuid.uuid4().hex
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                with suppress(asyncpg.RaiseError):
                    await one.execute(IS_DIRECT.format(one.get_server_pid()))
                    return
                await one.execute(MARK.format(mark))
                await one.execute(IS_OTHER.format("IS DISTINCT FROM", mark))  # For a pooler that takes turns.
                other = await self._open_connection()
                # Either the other connection now has the session of the first one, or it takes it away.
                async with other.transaction():
                    await other.execute(IS_OTHER.format("=", mark))
                    await one.execute(IS_OTHER.format("IS DISTINCT FROM", mark))
        except asyncpg.PostgresError as error:
            if isinstance(error, asyncpg.RaiseError) or "statement pooling" in str(error):
                raise SettingError("url", "postgresql://…", POOLED) from error
            raise
        finally:
            if other is not None:
                other.terminate()

    async def recognise(self, ask: FetchRow) -> None:
        """Raise `UnavailableError`, now and on later calls, for a database that was restored under this process.

        It is older than this process's data: it would assign fences and positions a second time.
        """
        newest = self._newest
        commit, *which = await ask(WHICH) or ("",)
        if commit == "off":
            raise SettingError(COMMIT, commit, COMMIT_REMEDY)
        if which != self._which or (newest and not (await ask(HAS.format(*newest)) or (False,))[0]):
            self._is_replaced = True
        self.refuse_if_replaced()

    def refuse_if_replaced(self) -> None:
        """Raise `UnavailableError` once the database was found to be replaced, even on earlier connections."""
        if self._is_replaced:
            what = "the database was replaced while this process ran"
            raise UnavailableError(f"{what}: restore the database and restart the process")

    def saw(self, number: int | None, hash: str | None) -> None:
        """Remember the newest event, which identifies the database."""
        if number and hash and number > (self._newest or (0,))[0]:
            self._newest = (number, hash)

    async def fetch(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        """Return the rows of a statement; after a lost connection the statement is repeated once on a new one."""
        try:
            return await self._fetch(sql, values)
        except UnavailableError as error:
            if isinstance(error.__cause__, LATE):
                raise
            return await self._fetch(sql, values)

    async def write(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        """Run a write statement once, in its own transaction, and return its rows."""
        return await self._fetch(sql, values)

    async def write_each(self, sql: str, columns: Sequence[list[Any]]) -> list[Rows | None]:
        """Run a statement on the columns of changes, and return its row for each change; none if it fails.

        Args:
            sql: The statement; each of its rows begins with the place of a change, from 1.
            columns: The values of the changes; the first column has one value for each.
        """
        try:
            rows = await self.write(sql, *columns)
        except asyncpg.PostgresError:
            rows = []
        made = {row[0]: [row] for row in rows}
        return [made.get(n) for n, _ in enumerate(columns[0], 1)]

    async def time(self) -> datetime:
        """Return the time of the server, after identifying the database."""
        ((now,),) = await self.fetch("SELECT clock_timestamp()")
        await self.recognise(self._first)
        return now  # type: ignore[no-any-return]

    async def _first(self, sql: str) -> asyncpg.Record:
        return (await self.fetch(sql))[0]

    async def first_result(self, *ways: Coroutine[Any, Any, T]) -> T:
        """Return the first result of several equivalent ways, and cancel the others."""
        running = {asyncio.create_task(way) for way in ways}
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            # Do not wait for canceled ones: PostgreSQL cancels them over a separate connection.
            for task in running:
                task.cancel()
                self._late.add(task)
                task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._late.discard(task)
        if not task.cancelled():
            task.exception()  # It was reported to its caller, or belongs to the slower way.

    async def _fetch(self, sql: str, values: Sequence[Any]) -> list[asyncpg.Record]:
        self.refuse_if_replaced()
        self._watch.silence.refuse()
        with postgres_errors_as_own():
            async with asyncio.timeout(WAIT_SECONDS), self._sessions.one() as connection:
                self._watch.silence.refuse()
                with self._watch.over(connection):
                    return await connection.fetch(sql, *map(replace_nul_characters, values))


def replace_nul_characters(value: Any) -> Any:
    """Return a value with NUL replaced, which PostgreSQL cannot store; the replacement is otherwise unused."""
    if isinstance(value, list):
        return [replace_nul_characters(each) for each in value]
    return value.replace("\0", "\U0010ffff") if isinstance(value, str) else value


@contextmanager
def postgres_errors_as_own() -> Iterator[None]:
    """Raise PostgreSQL's failures as `UnavailableError`, or as `SettingError` if they are permanent."""
    try:
        yield
    except DOWN as error:
        raise UnavailableError(str(error) or type(error).__name__) from error
    except WRONG as error:
        raise SettingError("url", "postgresql://…", f"correct it: {error}") from error


async def migrate_postgres(connection: AsyncpgConnection, url: str, schema: str) -> None:
    """Migrate the tables completely or not at all; of several servers that start at once, one migrates.

    Raises `SettingError` for damaged tables, and for those of a newer version that this version would damage.
    """
    if connection.get_server_version().major < OLDEST:
        raise SettingError("postgresql", connection.get_server_version().major, f"Ringi needs {OLDEST} or newer")
    for left in reversed(range(MIGRATION_TRIES)):
        try:
            return await _migrate(connection, url, schema)
        except IN_USE as error:
            if not left:
                raise
            log.warning("the tables are in use, trying again to change them: %s", error)
            await asyncio.sleep(MIGRATION_PAUSE)


async def _migrate(connection: AsyncpgConnection, url: str, schema: str) -> None:
    known = backend_migrations("postgres")
    async with at_one_moment(connection):
        if await _applied(connection, url, known) >= len(known):
            # Without a lock: a running dump of the database holds one on each table.
            return
    async with connection.transaction():
        # A session that waits for a table lock blocks all later sessions, including those of old servers.
        await connection.execute(f"SET LOCAL lock_timeout = {MIGRATION_LOCK}")
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext('ringi migrate'), hashtext($1))", schema)
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        columns = "number integer PRIMARY KEY, oldest integer NOT NULL"
        await connection.execute(f"CREATE TABLE IF NOT EXISTS migrations ({columns})")
        for number, script, oldest in known[await _applied(connection, url, known) :]:
            await connection.execute(script, timeout=MIGRATION_SECONDS)
            await connection.execute("INSERT INTO migrations (number, oldest) VALUES ($1, $2)", number, oldest)


async def _applied(connection: AsyncpgConnection, url: str, known: list[Migration]) -> int:
    schema = await read_postgres_schema(connection)
    refuse_unusable_schema(url, schema, known)
    return schema.number


def at_one_moment(connection: AsyncpgConnection) -> AbstractAsyncContextManager[Any]:
    """Return a transaction whose statements all see the same tables, while another process may migrate them."""
    return connection.transaction(isolation="repeatable_read", readonly=True)


async def read_postgres_schema(connection: AsyncpgConnection) -> StoreSchema:
    """Return what a schema holds."""
    names = {name for (name,) in await connection.fetch(NAMES)}
    rows = await connection.fetch("SELECT number, oldest FROM migrations") if LISTED in names else []
    applied = {row["number"]: row["oldest"] for row in rows}
    return StoreSchema(max(applied, default=0), applied, names)
