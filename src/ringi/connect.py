"""Opens the services behind a URL. Only this file names concrete backends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import unquote, urlsplit

from ringi.backends.memory.jobs import MemoryJobs
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier, MemoryStream
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.jobs import SqliteJobs
from ringi.backends.sqlite.store import SqliteStore
from ringi.backends.sqlite.stream import SqliteNotifier, SqliteStream
from ringi.base.clock import LOOK_SECONDS, Clock, SharedClock
from ringi.base.extras import raise_missing_extra
from ringi.base.loops import cancel_all
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.base.settings import SettingError, Settings, read_setting_variable
from ringi.contracts.backend import EXPIRY, AgentStores, Notifier, Stream, StreamItem, Wakeup
from ringi.contracts.backend import Backend as Backend
from ringi.contracts.store import Store
from ringi.domain.record import DEFAULT_TENANT
from ringi.domain.thread import Savers, Thread
from ringi.inbox.api import Inbox
from ringi.inbox.inbox import Limits, StoreInbox
from ringi.inbox.lifetime import opening
from ringi.inbox.people import KnownPeople, named_people
from ringi.privacy.erasure import Eraser

log = rate_limited_logger(__name__)
TOKENS = "tokens.json"
"""The file in `$RINGI_HOME` with the server's address and a token of each role."""
RETENTION_SECONDS = 600.0
"""Seconds between two searches for content that has passed its retention period."""
Notify = Literal["auto", "polling", "pubsub", "webhook"]
NOTIFY = get_args(Notify)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names of this machine."""
TEST_INBOXES: list[StoreInbox] = []
"""The inboxes of the test harnesses in use; `open` without a URL gives the newest one."""


class PollingNotifier(MemoryNotifier):
    """Sends no notifications: listeners wake only by reading the store again."""

    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        """Do nothing."""


def home_folder() -> Path:
    """Return the folder of the local files: `RINGI_HOME`, by default `.ringi`."""
    return Path(read_setting_variable("home") or ".ringi")


def resolve_inbox_url(url: str | None) -> str:
    """Return the given URL, else `RINGI_URL`, else the SQLite file in the home folder."""
    return url or read_setting_variable("url") or f"sqlite:///{home_folder().absolute() / 'ringi.db'}"


@asynccontextmanager
async def open_backend(
    url: str | None = None, *, notify: Notify = "auto", poll_interval: float = 0.5
) -> AsyncIterator[Backend]:
    """Open the services behind a URL, and close them at the end of the block."""
    url = resolve_inbox_url(url)
    if not poll_interval > 0:
        raise SettingError("poll_interval", poll_interval, "give seconds above 0")
    if notify not in NOTIFY:
        raise SettingError("notify", notify, f"use one of {', '.join(NOTIFY)}")
    opener = OPENERS.get(urlsplit(url).scheme)
    if not opener:
        if is_server_url(url):
            raise SettingError("url", url, "this needs the store itself: give its URL, not that of a server")
        examples = ", ".join("sqlite:///file.db" if name == "sqlite" else f"{name}://" for name in OPENERS)
        raise SettingError("url", url, f"use one of {examples}")
    async with AsyncExitStack() as stack:
        yield await opener(stack, url, notify, poll_interval)


@asynccontextmanager
async def open_to_verify(url: str | None = None) -> AsyncIterator[tuple[Store, Stream]]:
    """Open a store and its streams read-only: nothing is created or migrated. Raises `SettingError` if it is absent."""
    url = resolve_inbox_url(url)
    scheme = urlsplit(url).scheme
    if scheme == "sqlite":
        from ringi.backends.sqlite.inspection import DamagedSqliteStore, ReadOnlySqlite

        async with ReadOnlySqlite(_sqlite_path(url)) as database:
            yield DamagedSqliteStore(database), SqliteStream(database)
    elif scheme in ("postgresql", "postgres"):
        try:
            from ringi.backends.postgres.inspection import InspectedPostgresStore, ReadOnlyPostgres
            from ringi.backends.postgres.stream import PostgresStream
        except ModuleNotFoundError as error:
            raise_missing_extra("PostgreSQL", error)
        async with ReadOnlyPostgres(url) as postgres:
            yield InspectedPostgresStore(postgres), PostgresStream(postgres)
    else:
        async with open_backend(url, notify="polling") as backend:
            yield backend.store, backend.stream


async def _open_memory(stack: AsyncExitStack, url: str, notify: Notify, poll_interval: float) -> Backend:
    notifier = await _open_notifier(stack, notify, poll_interval, MemoryNotifier, is_pubsub=False)
    store = MemoryStore()
    parts = (store, notifier, MemoryStream(), MemoryJobs(), open_memory_savers(store))
    stores = open_agent_stores(stack, open_memory_agent_stores)
    return Backend(url, *parts, another_store=lambda: nullcontext(store), agent_stores=stores)


async def _open_sqlite(stack: AsyncExitStack, url: str, notify: Notify, poll_interval: float) -> Backend:
    database = await stack.enter_async_context(SqliteDatabase(_sqlite_path(url)))
    notifier = await _open_notifier(stack, notify, poll_interval, partial(SqliteNotifier, database), is_pubsub=False)

    def savers(held: Thread) -> Any:
        from ringi.backends.sqlite.checkpoints import FencedSqliteSaver

        return FencedSqliteSaver(database, held)

    @asynccontextmanager
    async def another_store() -> AsyncIterator[Store]:
        # Never create a new file in place of a deleted one, nor write leases to a replaced one.
        database.guard.check()
        async with SqliteDatabase(database.path) as another:
            database.guard.check()
            yield SqliteStore(another)

    jobs = SqliteJobs(database, notifier)
    store = SqliteStore(database, jobs)
    parts = (store, notifier, SqliteStream(database), jobs, savers)

    def opened() -> Any:
        from ringi.backends.sqlite.checkpoints import SqliteAgentStores

        return SqliteAgentStores(database)

    stores = open_agent_stores(stack, opened)
    return Backend(url, *parts, another_store=another_store, agent_stores=stores, put_together=store.put_together)


async def _open_postgres(stack: AsyncExitStack, url: str, notify: Notify, poll_interval: float) -> Backend:
    try:
        from ringi.backends.postgres.database import PostgresDatabase
        from ringi.backends.postgres.jobs import PostgresJobs
        from ringi.backends.postgres.notifier import PostgresNotifier, WakeupPoller
        from ringi.backends.postgres.store import PostgresStore
        from ringi.backends.postgres.stream import PostgresStream
    except ModuleNotFoundError as error:
        raise_missing_extra("PostgreSQL", error)
    database = await stack.enter_async_context(PostgresDatabase(url))
    notifier = await _open_notifier(stack, notify, poll_interval, partial(PostgresNotifier, database), is_pubsub=True)
    await stack.enter_async_context(WakeupPoller(database, notifier))
    jobs = PostgresJobs(database, notifier)
    savers, clock = open_postgres_savers(stack, database), await _open_clock(stack, database.time)

    @asynccontextmanager
    async def another_store() -> AsyncIterator[Store]:
        async with PostgresDatabase(url) as another:
            yield PostgresStore(another)

    store = PostgresStore(database, jobs)
    parts = (store, notifier, PostgresStream(database), jobs, savers, database.durability, clock)

    def opened() -> Any:
        from ringi.backends.postgres.agent_stores import PostgresAgentStores

        return PostgresAgentStores(database)

    stores = open_agent_stores(stack, opened)
    return Backend(url, *parts, another_store=another_store, agent_stores=stores, put_together=store.put_together)


async def _open_redis(stack: AsyncExitStack, url: str, notify: Notify, poll_interval: float) -> Backend:
    require_redis()
    from ringi.backends.redis.jobs import RedisJobs, refuse_redis_checkpoints
    from ringi.backends.redis.server import RedisServer, check_redis_durability
    from ringi.backends.redis.store import RedisStore
    from ringi.backends.redis.stream import RedisNotifier, RedisStream

    server = await stack.enter_async_context(RedisServer(url))
    durability = await check_redis_durability(server)
    await server.check_format()
    notifier = await _open_notifier(stack, notify, poll_interval, partial(RedisNotifier, server), is_pubsub=True)
    clock, stream = await _open_clock(stack, server.time), RedisStream(server)
    parts = (RedisStore(server), notifier, stream, RedisJobs(server, notifier), refuse_redis_checkpoints)
    return Backend(url, *parts, durability, clock, runs_agents=False)


async def _open_clock(stack: AsyncExitStack, look: Callable[[], Awaitable[datetime]]) -> Clock:
    clock = SharedClock(look)
    await clock.look()
    stack.callback(asyncio.create_task(repeat_work(clock.look, LOOK_SECONDS)).cancel)
    return clock


async def _open_notifier(
    stack: AsyncExitStack, notify: Notify, poll_interval: float, own: Callable[[float], Notifier], *, is_pubsub: bool
) -> Notifier:
    """Open a polling notifier, the Redis of `RINGI_REDIS_URL`, or the store's own notifier."""
    redis_url = Settings.load().redis_url
    if notify in ("polling", "webhook"):
        return await stack.enter_async_context(PollingNotifier(poll_interval))
    if redis_url:
        require_redis()
        from ringi.backends.redis.server import RedisServer
        from ringi.backends.redis.stream import RedisNotifier

        named = {"setting": "RINGI_REDIS_URL", "part": "the notifier of RINGI_REDIS_URL"}
        server = await stack.enter_async_context(RedisServer(redis_url, **named))
        return await stack.enter_async_context(RedisNotifier(server, poll_interval, must_listen=notify == "pubsub"))
    if notify == "pubsub" and not is_pubsub:
        raise SettingError("notify", notify, "this store sends no messages between machines; set RINGI_REDIS_URL")
    return await stack.enter_async_context(own(poll_interval))


def require_redis() -> None:
    """Raise `MissingExtraError` if the driver for Redis is not installed."""
    try:
        import redis.asyncio  # noqa: F401
    except ModuleNotFoundError as error:
        raise_missing_extra("Redis", error)


def open_postgres_savers(stack: AsyncExitStack, database: Any) -> Savers:
    """Return the savers of one process: they share a few connections, which the stack closes."""
    opened: list[Any] = []

    def savers(held: Thread) -> Any:
        from ringi.backends.postgres.checkpoints import FencedPostgresSaver, PostgresCheckpoints

        if not opened:
            opened.append(PostgresCheckpoints(database))
            stack.push_async_exit(opened[0])
        return FencedPostgresSaver(opened[0], held)

    return savers


def open_memory_savers(store: Store) -> Savers:
    """Return the savers of one process: they all write to one `MemorySaver`."""
    inner: list[Any] = []

    def savers(held: Thread) -> Any:
        from ringi.backends.memory.checkpoints import FencedMemorySaver, MemorySaver

        if not inner:
            inner.append(MemorySaver())
        return FencedMemorySaver(inner[0], store, held)

    return savers


def open_memory_agent_stores() -> Any:
    """Return the stores of agents in this process."""
    from ringi.backends.agent_stores import MemoryAgentStores

    return MemoryAgentStores()


def open_agent_stores(stack: AsyncExitStack, open_all: Callable[[], Any]) -> AgentStores:
    """Return the stores of agents in one process: opened on first use, closed by the stack."""
    opened: list[Any] = []

    def store(*scope: str) -> Any:
        from ringi.backends.agent_stores import AgentStore

        if not opened:
            opened.append(open_all())
            stack.callback(opened[0].close)
        return AgentStore(opened[0].batch, *scope)

    return store


def sqlite_file(url: str | None) -> Path:
    """Return the file of a SQLite store, or raise `SettingError` for any other store."""
    url = resolve_inbox_url(url)
    if urlsplit(url).scheme != "sqlite":
        why = "only SQLite files are copied, and only to SQLite; use pg_dump, or the persistence of Redis"
        raise SettingError("url", url, why)
    return _sqlite_path(url).expanduser().absolute()


def _sqlite_path(url: str) -> Path:
    parts = urlsplit(url)
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or not path:
        raise SettingError("url", url, "use sqlite:///file.db or sqlite:////absolute/file.db")
    return Path(path)


OPENERS: dict[str, Callable[[AsyncExitStack, str, Notify, float], Awaitable[Backend]]] = {
    "memory": _open_memory,
    "sqlite": _open_sqlite,
    "postgresql": _open_postgres,
    "postgres": _open_postgres,
    "redis": _open_redis,
    "rediss": _open_redis,
}


@opening
@asynccontextmanager
async def open(
    url: str | None = None,
    *,
    token: str | None = None,
    tenant: str = DEFAULT_TENANT,
    notify: Notify = "auto",
    poll_interval: float = 0.5,
    clock: Clock | None = None,
    limits: Limits | None = None,
    retry_for: float = 30.0,
) -> AsyncIterator[Inbox]:
    """Open an inbox with `async with` or `await`: on a store, or behind the URL of a server.

    On a store, overdue requests expire while it is open. In a test with a `TestHarness`, without a URL, it is the inbox
    of the harness.

    Args:
        url: `memory://`, `sqlite:///file.db`, `postgresql://…`, `redis://…` or `https://…`; by default `RINGI_URL`.
        token: The token of the caller, for a server; by default `RINGI_TOKEN`.
        tenant: The tenant of an inbox on a store; a token has its own.
        notify: How waits on a store wake up. `"auto"`: messages and polling; `"pubsub"`: the same, but messages are
            required; `"polling"`: polling only; `"webhook"`: polling, and this process delivers webhooks.
        poll_interval: Seconds between two polls of a store.
        clock: The clock for deadlines; by default the time of the store.
        limits: The limits of an inbox on a store; by default `Limits()`.
        retry_for: Seconds for which a call to a server is retried.

    Raises:
        SettingError: The URL or a setting is invalid.
        MissingExtraError: The store's driver is not installed.
        UnavailableError: The store cannot be reached.
    """
    if url is None and TEST_INBOXES:
        yield TEST_INBOXES[-1].for_tenant(tenant)
        return
    url = resolve_inbox_url(url)
    if is_server_url(url):
        of_store = {"tenant": tenant != DEFAULT_TENANT, "notify": notify != "auto", "clock": clock, "limits": limits}
        if wrong := next((name for name, is_given in of_store.items() if is_given), None):
            server = urlsplit(url).netloc.rpartition("@")[2]  # Without a password.
            raise SettingError(wrong, "given", f"is for a store; {server} has its own: omit it")
        from ringi.client.client import connected  # It imports an HTTP client, which programs on a store do not need.

        client = connected(url, find_server_token(url, token), retry_for=retry_for)
        try:
            yield client
        finally:
            await client.transport.close()
        return
    if token is not None and urlsplit(url).scheme in OPENERS:
        raise SettingError("token", "given", "is for a server: give its https:// URL, or omit the token")
    more: dict[str, Any] = {"notify": notify, "poll_interval": poll_interval, "clock": clock, "limits": limits}
    async with store_inbox(url, tenant=tenant, **more) as inbox:
        yield inbox


@asynccontextmanager
async def store_inbox(
    url: str | None = None,
    *,
    tenant: str = DEFAULT_TENANT,
    notify: Notify = "auto",
    poll_interval: float = 0.5,
    clock: Clock | None = None,
    limits: Limits | None = None,
) -> AsyncIterator[StoreInbox]:
    """Open an inbox on a store, with the operations of workers; see `open`."""
    async with (
        open_backend(url, notify=notify, poll_interval=poll_interval) as backend,
        open_inbox_on_backend(backend, tenant=tenant, clock=clock, limits=limits) as inbox,
        _delivering(backend, inbox) if notify == "webhook" else nullcontext(),
    ):
        yield inbox


def is_server_url(url: str) -> bool:
    """Return whether a URL is that of a server."""
    return urlsplit(url).scheme in ("https", "http")


def find_server_token(url: str, token: str | None = None) -> str:
    """Return the token for a server, or raise `SettingError`.

    Args:
        url: The URL of the server.
        token: The given token; None takes `RINGI_TOKEN`.
    """
    settings, parts = Settings.load(), urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not settings.insecure:
        remedy = "shows the token to the network: give an https:// address, or set RINGI_INSECURE=1 if you trust it"
        raise SettingError("RINGI_URL", url, remedy)
    found = token or settings.token
    if not found:
        remedy = "set the token of an agent, from `ringi token create --role agent --name NAME`"
        raise SettingError("RINGI_TOKEN", "", remedy)
    return found


@asynccontextmanager
async def _delivering(backend: Backend, inbox: StoreInbox) -> AsyncIterator[None]:
    from ringi.delivery.deliveries import run_deliveries

    async with run_deliveries(backend, inbox):
        yield


@asynccontextmanager
async def open_inbox_on_backend(
    backend: Backend,
    *,
    tenant: str = DEFAULT_TENANT,
    clock: Clock | None = None,
    limits: Limits | None = None,
    sweeps: bool = True,
) -> AsyncIterator[StoreInbox]:
    """Open an inbox on services that are already open; with `sweeps`, overdue requests expire, old ones are erased."""
    settings = Settings.load()
    eraser = Eraser(backend.store, backend.stream, savers_without_langgraph(backend.savers))
    time, people = clock or backend.clock, KnownPeople(backend.stream, named_people(settings))
    inbox = StoreInbox(
        backend.store,
        backend.notifier,
        tenant=tenant,
        clock=time,
        limits=limits,
        eraser=eraser,
        people=people,
        admin_groups=settings.admin_groups,
    )
    works = [_keep_expiring(inbox, backend.notifier, is_own_clock=clock is not None)] if sweeps else []
    if sweeps and settings.retain_days is not None:
        works.append(repeat_work(partial(inbox.retain, settings.retain_days), RETENTION_SECONDS))
    sweeping = [asyncio.create_task(work) for work in works]
    try:
        async with inbox.feed:
            yield inbox
    finally:
        inbox.abort()
        await cancel_all(*sweeping)


async def _keep_expiring(inbox: StoreInbox, notifier: Notifier, *, is_own_clock: bool) -> None:
    """Expire overdue requests; the notifier looks for them by the store's clock only."""
    seconds = notifier.recheck_after if is_own_clock else notifier.pulse_after
    async with notifier.subscribe(EXPIRY) as wakeup:
        await repeat_work(inbox.expire_due, seconds, wakeup)


def savers_without_langgraph(savers: Savers) -> Savers:
    """Return savers that raise `MissingExtraError` if LangGraph is not installed."""

    def opened(held: Thread) -> Any:
        try:
            return savers(held)
        except ModuleNotFoundError as error:
            raise_missing_extra("erasure", error)

    return opened


async def repeat_work(work: Callable[[], Awaitable[object]], seconds: float, wakeup: Wakeup | None = None) -> None:
    """Repeat the work after a time or a signal; a failure is logged, and the next round tries again."""
    wakeup = wakeup or Wakeup()
    while True:
        with FailureLog(log, "%s failed, trying again", getattr(work, "__qualname__", work)):
            await work()
        await wakeup.wait(seconds)
