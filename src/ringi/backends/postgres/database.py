"""One PostgreSQL database: a pool of connections, and the tables in a schema of their own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from importlib.resources import files
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from ringi.backends.postgres.sessions import Connection, Sessions
from ringi.errors import SettingError, UnavailableError

POOL = 10
"""Connections of one process for its statements; `?pool=` in the URL changes it."""
JOBS = 10
"""Connections of one process for its jobs, opened as they are needed: each kind of work keeps one to listen."""
SCHEMA = "ringi"
"""Where the tables are; `?schema=` in the URL changes it."""
WAIT_SECONDS = 10.0
"""How long a statement may take, together with the way to a connection, before it is refused."""
QUICK = {"jit": "off"}
"""Every statement is short, however long its guess says; compiling one would take longer than running it."""
NOT_IDLE = {"idle_in_transaction_session_timeout": "5000"}
"""A process that stands still inside a transaction would hold up the others for ever; in milliseconds."""
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
WRONG = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
"""What no waiting mends."""
T = TypeVar("T")
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
        self._late = set[asyncio.Task[Any]]()

    async def __aenter__(self) -> Self:
        with refusing():
            first = await self.connect()
            try:
                await migrate(first, self.schema)
            finally:
                await first.close()
            # With a floor it would tell of every failure to keep it while the database is away.
            size: dict[str, Any] = {"min_size": 0, "max_size": JOBS}
            self.pool = await asyncpg.create_pool(self.url, **size, reset=leave, **self._settings)
            # One clock for a statement and the way to it is enough.
            self._sessions = Sessions(partial(self.connect, limit=None), self.size)
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
        settings = {"search_path": self.schema, "application_name": "ringi", **QUICK, **NOT_IDLE}
        return {"server_settings": settings, "command_timeout": WAIT_SECONDS, "timeout": WAIT_SECONDS}

    async def connect(self, limit: float | None = WAIT_SECONDS, **settings: str) -> Connection:
        """Return a connection for who keeps it, with a limit of its statements and settings for it alone."""
        server_settings = {**self._settings["server_settings"], **settings}
        own = {"server_settings": server_settings, "command_timeout": limit}
        return await asyncpg.connect(self.url, **{**self._settings, **own})

    async def fetch(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        """Return the rows of a statement; a connection that was lost in between is replaced and asked once more."""
        try:
            return await self._fetch(sql, values)
        except UnavailableError:
            return await self._fetch(sql, values)

    async def write(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        """Run a changing statement once, in a transaction of its own, and return its rows."""
        return await self._fetch(sql, values)

    async def time(self) -> datetime:
        """Return the time of the server."""
        ((now,),) = await self.fetch("SELECT clock_timestamp()")
        return now  # type: ignore[no-any-return]

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
    """Bring the tables up to date, wholly or not at all; of several servers that start at once, one does it."""
    if connection.get_server_version().major < OLDEST:
        raise SettingError("postgresql", connection.get_server_version().major, f"Ringi needs {OLDEST} or newer")
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext('ringi migrate'), hashtext($1))", schema)
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        await connection.execute("CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY)")
        done = await connection.fetchval("SELECT coalesce(max(number), 0) FROM migrations")
        for number, script in migrations()[done:]:
            await connection.execute(script)
            await connection.execute("INSERT INTO migrations VALUES ($1)", number)


def migrations() -> list[tuple[int, str]]:
    """Return the numbered SQL files in order."""
    folder = files("ringi.backends.postgres") / "sql"
    scripts = sorted((file.name, file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(int(name[:3]), script) for name, script in scripts]


def _size(url: str, given: str) -> int:
    if not (given.isascii() and given.isdigit() and 2 <= int(given) <= 1000):
        # A worker keeps one to listen for jobs.
        raise SettingError("url", url, "give pool=2 to pool=1000")
    return int(given)
