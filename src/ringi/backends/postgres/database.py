"""One PostgreSQL database: a pool of connections, and the tables in a schema of their own."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from ringi.backends.migrations import Migration, migrations, refuse_if_too_new
from ringi.backends.postgres.pool import Connection, ConnectionPool
from ringi.errors import SettingError, UnavailableError

log = logging.getLogger(__name__)

POOL = 10
"""Connections of one process for its statements; `?pool=` in the URL changes it."""
JOBS = 16
"""Connections of one process for its jobs, opened as they are needed: each of up to three workers keeps one to listen,
and two more after a network that fell silent, for jobs that were begun before."""
SCHEMA = "ringi"
"""Where the tables are; `?schema=` in the URL changes it."""
WAIT_SECONDS = 10.0
"""How long a statement may take, together with the way to a connection, before it is refused."""
QUICK = {"jit": "off", "max_parallel_workers_per_gather": "0"}
"""Every statement is short, however long its guess says: to compile one, or to start processes for it, takes longer."""
NOT_IDLE = {"idle_in_transaction_session_timeout": "5000"}
"""A process that stands still inside a transaction would hold up the others for ever; in milliseconds."""
LOCKS = {"lock_timeout": "5000"}
"""Who waits for a table that somebody else has locked keeps a connection of the pool from those who need none of it."""
WHICH = "SELECT system_identifier, to_regclass('migrations')::oid FROM pg_control_system()"
"""Which tables these are: a copy of them is others, here or in another cluster."""
HAS = "SELECT pg_is_in_recovery() OR EXISTS (SELECT FROM events WHERE number = {} AND hash = '{}')"
"""Whether an event is there: the same tables as they were before, a cluster set back in time, do not have it yet.

A standby does not either, for a moment; it refuses to write by itself.
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
"""What means that the database cannot serve now, and that trying again is sensible."""
LATE = (asyncpg.LockNotAvailableError, TimeoutError)
"""What trying again at once does not mend."""
WRONG = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
"""What no waiting mends."""
T = TypeVar("T")
Ask = Callable[[str], Awaitable[Any]]
"""From a statement to its first row, if it has one."""
IN_USE = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)
"""What a change of the tables runs into beside a transaction that is held open."""
MIGRATION_LOCK = 2000
"""How long a change of the tables may keep the other servers waiting at a time, in milliseconds."""
MIGRATION_TRIES, MIGRATION_PAUSE = 20, 1.0
MIGRATION_SECONDS = 3600.0
OLDEST = 14
"""The first PostgreSQL that ends a session which says nothing."""


class Database:
    """The connections of a process; every statement of Ringi goes through them. `pool` is for PGQueuer."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,50}", options.get("schema", SCHEMA)):
            raise SettingError("url", url, "give schema= a name of small letters, digits and _")
        self.schema, self.size = options.pop("schema", SCHEMA), _size(url, options.pop("pool", str(POOL)))
        self.url = urlunsplit(parts._replace(query=urlencode(options)))
        self._which: tuple[Any, ...] | None = None
        self._newest: tuple[int, str] | None = None
        self._is_replaced = False
        self._late = set[asyncio.Task[Any]]()

    async def __aenter__(self) -> Self:
        with refusing():
            first = await self.connect()
            try:
                await migrate(first, self.schema)
                self._which = tuple(await first.fetchrow(WHICH) or ())
            finally:
                await first.close()
            # With a floor it would tell of every failure to keep it while the database is away.
            size: dict[str, Any] = {"min_size": 0, "max_size": JOBS}
            self.pool = await asyncpg.create_pool(self.url, **size, reset=leave, init=self._recognise, **self._settings)
            self._sessions = ConnectionPool(self.connect, self.size)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._sessions.close(WAIT_SECONDS)
        try:
            await asyncio.wait_for(self.pool.close(), WAIT_SECONDS)
        except TimeoutError:
            self.pool.terminate()

    @property
    def _settings(self) -> dict[str, Any]:
        settings = {"search_path": self.schema, "application_name": "ringi", **QUICK, **NOT_IDLE, **LOCKS}
        # Without a limit of its own a connection that the network forgot stays among those that are lent.
        return {"server_settings": settings, "command_timeout": WAIT_SECONDS, "timeout": WAIT_SECONDS}

    async def connect(self, **settings: str) -> Connection:
        """Return a connection for who keeps it, with settings for it alone."""
        own = {"server_settings": {**self._settings["server_settings"], **settings}}
        connection: Connection = await asyncpg.connect(self.url, **{**self._settings, **own})
        try:
            await self._recognise(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _recognise(self, connection: Connection) -> None:
        if self._which:
            await self.recognise(connection.fetchrow)

    async def recognise(self, ask: Ask) -> None:
        """Raise `UnavailableError`, from now on, for a database that was restored under this process.

        It is behind what the process knows: fences and positions are given out a second time there, to others.
        """
        newest = self._newest
        is_ours = tuple(await ask(WHICH) or ()) == self._which
        if not is_ours or (newest and not (await ask(HAS.format(*newest)) or (False,))[0]):
            self._is_replaced = True
            await self.pool.expire_connections()
        self.refuse_if_replaced()

    def refuse_if_replaced(self) -> None:
        """Raise `UnavailableError` once the database was found to be another, on connections from before too."""
        if self._is_replaced:
            raise UnavailableError.replaced()

    def saw(self, number: int | None, hash: str | None) -> None:
        """Remember the newest event, by which the database is known again."""
        if number and hash and number > (self._newest or (0,))[0]:
            self._newest = (number, hash)

    async def fetch(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        """Return the rows of a statement; a connection that was lost in between is replaced and asked once more."""
        try:
            return await self._fetch(sql, values)
        except UnavailableError as error:
            if isinstance(error.__cause__, LATE):
                raise
            return await self._fetch(sql, values)

    async def write(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        """Run a changing statement once, in a transaction of its own, and return its rows."""
        return await self._fetch(sql, values)

    async def time(self) -> datetime:
        """Return the time of the server, once it is known again."""
        ((now,),) = await self.fetch("SELECT clock_timestamp()")
        await self.recognise(self._first)
        return now  # type: ignore[no-any-return]

    async def _first(self, sql: str) -> asyncpg.Record:
        return (await self.fetch(sql))[0]

    async def soonest(self, *ways: Coroutine[Any, Any, T]) -> T:
        """Return what the way returns that is at its end first; the others, which find the same, are cancelled."""
        running = {asyncio.create_task(way) for way in ways}
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            # Nobody waits for the end of a cancelled one: PostgreSQL is asked for it on a connection of its own.
            for task in running:
                task.cancel()
                self._late.add(task)
                task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._late.discard(task)
        if not task.cancelled():
            task.exception()  # It was told to whoever asked, or is that of the slower one.

    async def _fetch(self, sql: str, values: Sequence[Any]) -> list[asyncpg.Record]:
        self.refuse_if_replaced()
        with refusing():
            async with asyncio.timeout(WAIT_SECONDS), self._sessions.one() as connection:
                return await connection.fetch(sql, *map(storable, values))


async def leave(connection: object) -> None:
    """Leave a session as it is: no statement changes it, and asyncpg's own reset is another way to the server."""


def storable(value: Any) -> Any:
    """Return a value without NUL, which PostgreSQL cannot hold; nobody writes what stands for it."""
    if isinstance(value, list):
        return [storable(each) for each in value]
    return value.replace("\0", "\U0010ffff") if isinstance(value, str) else value


@contextmanager
def refusing() -> Iterator[None]:
    """Raise PostgreSQL's own failures as ours: `UnavailableError`, or `SettingError` for what no waiting mends."""
    try:
        yield
    except DOWN as error:
        raise UnavailableError(str(error) or type(error).__name__) from error
    except WRONG as error:
        raise SettingError("url", "postgresql://…", f"correct it: {error}") from error


async def migrate(connection: Connection, schema: str) -> None:
    """Bring the tables up to date, wholly or not at all; of several servers that start at once, one does it.

    Raises `SettingError` for tables of a newer version that this one would do harm to.
    """
    if connection.get_server_version().major < OLDEST:
        raise SettingError("postgresql", connection.get_server_version().major, f"Ringi needs {OLDEST} or newer")
    for left in reversed(range(MIGRATION_TRIES)):
        try:
            return await _migrate(connection, schema)
        except IN_USE as error:
            if not left:
                raise
            log.warning("the tables are in use, trying again to change them: %s", error)
            await asyncio.sleep(MIGRATION_PAUSE)


async def _migrate(connection: Connection, schema: str) -> None:
    known = migrations("postgres")
    if await _applied(connection, known) >= len(known):
        # Without a lock: a copy of the database that is being made holds one on each table.
        return
    async with connection.transaction():
        # Who waits for a lock on a table holds up everybody who comes to it later, the old servers too.
        await connection.execute(f"SET LOCAL lock_timeout = {MIGRATION_LOCK}")
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext('ringi migrate'), hashtext($1))", schema)
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        columns = "number integer PRIMARY KEY, oldest integer NOT NULL"
        await connection.execute(f"CREATE TABLE IF NOT EXISTS migrations ({columns})")
        for number, script, oldest in known[await _applied(connection, known) :]:
            await connection.execute(script, timeout=MIGRATION_SECONDS)
            await connection.execute("INSERT INTO migrations (number, oldest) VALUES ($1, $2)", number, oldest)


async def _applied(connection: Connection, known: list[Migration]) -> int:
    if not await connection.fetchval("SELECT to_regclass('migrations') IS NOT NULL"):
        return 0
    sql = "SELECT coalesce(max(number), 0), coalesce(max(oldest), 0) FROM migrations"
    done, oldest = await connection.fetchrow(sql) or (0, 0)
    refuse_if_too_new(oldest, known)
    return int(done)


def _size(url: str, given: str) -> int:
    if not (given.isascii() and given.isdigit() and 2 <= int(given) <= 1000):
        # A worker keeps one to listen for jobs.
        raise SettingError("url", url, "give pool=2 to pool=1000")
    return int(given)
