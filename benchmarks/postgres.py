"""The same measurements on PostgreSQL, compared with the driver alone on as many connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg
from tests.servers import mortal_postgres

from benchmarks.inboxes import POLL, approve, ask, ask_many, spread
from benchmarks.measure import Row, percentile
from benchmarks.wakes import BURST, WAITS, answered, listeners, until
from ringi.base.canonical_json import digest
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

CONNECTIONS = 16
ROUNDS = 5
ANSWERS = 1_000
WAKES = 300
MANY = 10_000
WATCHED_SECONDS = 10.0
READ_FIRST = "after a read, and with the same canonical JSON and SHA-256"
Connection = Any
Pool = Any
Lend = Callable[[Pool], AbstractAsyncContextManager[Connection]]
CONNECTION_CACHE: list[Connection] = []


async def on_postgres() -> list[Row]:
    """Measure wake-ups between two processes, answers at 16 connections, and the cost of open waits for the server."""
    with mortal_postgres() as server:
        return [*await wakes(server.url), *await answers(server.url), *await waits(server.url), *await many(server.url)]


@asynccontextmanager
async def postgres_inbox(url: str) -> AsyncIterator[StoreInbox]:
    async with (
        open_backend(f"{url}?pool={CONNECTIONS}", poll_interval=POLL) as backend,
        open_inbox_on_backend(backend) as inbox,
    ):
        yield inbox


async def wakes(url: str) -> list[Row]:
    floors, ours = list[float](), list[float]()
    async with postgres_inbox(url) as one, postgres_inbox(url) as other:
        for _ in range(ROUNDS):
            floors.append(await bare_notify(url))
            ours.append(await published(one, other))
    what = "PostgreSQL: published in one process → awake in another, p50, against a bare NOTIFY"
    return [Row(what, "µs", ours, floors, at_most=2)]


async def bare_notify(url: str) -> float:
    """Notify by a prepared statement, and take the time in the listener's callback."""
    teller, listener = await asyncpg.connect(url), await asyncpg.connect(url)
    notified, times = asyncio.Event(), list[float]()

    def on_notification(*_: object) -> None:
        times.append(time.perf_counter() - began)
        notified.set()

    await listener.add_listener("bare", on_notification)
    for _ in range(WAKES):
        notified.clear()
        began = time.perf_counter()
        await teller.execute("SELECT pg_notify('bare', $1)", "request/default/0123456789abcdef0123456789abcdef")
        await notified.wait()
    await asyncio.gather(teller.close(), listener.close())
    return percentile(times, 50) * 1e6


async def published(one: StoreInbox, other: StoreInbox) -> float:
    times = list[float]()
    topic = "request/default/0123456789abcdef0123456789abcdef"
    async with other.notifier.subscribe(topic) as wakeup:
        for _ in range(WAKES):
            began = time.perf_counter()
            await one.notifier.publish(topic)
            await wakeup.wait(30)
            times.append(time.perf_counter() - began)
    return percentile(times, 50) * 1e6


async def answers(url: str) -> list[Row]:
    dedicated, pooled, ours, followed = list[float](), list[float](), list[float](), list[float]()
    least = list[float]()
    async with postgres_inbox(url) as inbox, postgres_inbox(url) as follower:
        request = await approve(inbox, await ask(inbox))
        event = (await inbox.events(request_id=request.id))[-1]
        for _ in range(ROUNDS):
            dedicated.append(await transactions_a_second(url, request, event, own))
            pooled.append(await transactions_a_second(url, request, event, asyncpg.Pool.acquire))
            least.append(await transactions_a_second(url, request, event, own, is_read=True))
            ours.append(await answers_a_second(inbox))
            async with follower.feed.follow():
                followed.append(await answers_a_second(inbox))
    what = f"PostgreSQL: respond, {CONNECTIONS} callers, against a transaction of one UPDATE and one INSERT"
    return [
        Row(f"{what}, each caller with a connection of its own", "1/s", ours, dedicated, at_least=0.6),
        Row(f"{what}, with asyncpg's pool", "1/s", ours, pooled),
        Row(f"{what}, {READ_FIRST}", "1/s", ours, least),
        Row(f"{what}, while another process numbers and reads the events", "1/s", followed, dedicated),
    ]


@asynccontextmanager
async def own(pool: Pool) -> AsyncIterator[Connection]:
    """Lend a connection that is reused, as a pool without any cost."""
    connection = CONNECTION_CACHE.pop() if CONNECTION_CACHE else await pool.acquire()
    yield connection
    CONNECTION_CACHE.append(connection)


def rewritten(stored: str, event: Event) -> tuple[str, str]:
    """Return a record and an event decoded, digested and encoded again: the least that an answer computes."""
    digest(event.payload)
    event.computed_hash()
    return Request.model_validate_json(stored).model_dump_json(), event.model_dump_json()


async def transactions_a_second(
    url: str, request: Request, event: Event, lend: Lend, *, is_read: bool = False
) -> float:
    """Update a row and insert one, with as many bytes as an answer stores; optionally read and compute it first."""
    record, note = request.model_dump_json(), event.model_dump_json()
    async with asyncpg.create_pool(url, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
        await pool.execute("DROP TABLE IF EXISTS bare_records, bare_events")
        await pool.execute("CREATE TABLE bare_records (id int PRIMARY KEY, version int, body text)")
        await pool.execute("CREATE TABLE bare_events (id bigserial PRIMARY KEY, body text)")
        rows = [(n, record) for n in range(ANSWERS)]
        await pool.executemany("INSERT INTO bare_records VALUES ($1, 1, $2)", rows)

        async def one(n: int) -> None:
            async with lend(pool) as connection:
                new = (record, note)
                if is_read:
                    new = rewritten(await connection.fetchval("SELECT body FROM bare_records WHERE id = $1", n), event)
                async with connection.transaction():
                    changed = "UPDATE bare_records SET version = 2, body = $2 WHERE id = $1 AND version = 1"
                    await connection.execute(changed, n, new[0])
                    await connection.execute("INSERT INTO bare_events (body) VALUES ($1)", new[1])

        began = time.perf_counter()
        await spread(range(ANSWERS), one, callers=CONNECTIONS)
        seconds = time.perf_counter() - began
        while CONNECTION_CACHE:
            await pool.release(CONNECTION_CACHE.pop())
        return ANSWERS / seconds


async def answers_a_second(inbox: StoreInbox) -> float:
    async def answer(request: Request) -> None:
        await approve(inbox, request)

    requests = await ask_many(inbox, ANSWERS)
    began = time.perf_counter()
    await spread(requests, answer, callers=CONNECTIONS)
    return ANSWERS / (time.perf_counter() - began)


async def waits(url: str) -> list[Row]:
    some, burst = list[float](), list[float]()
    async with postgres_inbox(url) as inbox, postgres_inbox(url) as other:
        for _ in range(3):
            some.append(percentile(await answered(inbox, callers=CONNECTIONS, count=BURST, answering=other), 99))
            burst.append(percentile(await answered(inbox, callers=CONNECTIONS, answering=other), 99))
    what = f"PostgreSQL: {WAITS:,} waits in one process, {{}} answered in another: acknowledged → awake, p99"
    return [
        Row(what.format(BURST), "ms", some, at_most=50),
        Row(what.format("all"), "ms", burst, at_most=50),
    ]


async def many(url: str) -> list[Row]:
    async with AsyncExitStack() as stack:
        inbox = await stack.enter_async_context(postgres_inbox(url))
        watcher = await asyncpg.connect(url)
        stack.push_async_callback(watcher.close)
        requests = await ask_many(inbox, MANY)
        waits = [asyncio.create_task(inbox.wait(requests[0].id))]
        await until(lambda: listeners(inbox) >= 1)
        few = await commits_a_second(watcher)
        waits += [asyncio.create_task(inbox.wait(request.id)) for request in requests[1:]]
        await until(lambda: listeners(inbox) >= MANY)
        await all_have_read(watcher)
        all_of_them = await commits_a_second(watcher)
        for waiting in waits:
            waiting.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    what = f"PostgreSQL: transactions a second while 1 → {MANY:,} waits are open"
    return [Row(what, "1/s", [all_of_them], [few], at_most=1.1)]


async def all_have_read(watcher: asyncpg.Connection[asyncpg.Record]) -> None:
    """Return when no wait has read its request for two seconds, because ten thousand first reads take a while."""
    recent = "query LIKE '%tenant = $1 AND id = $2%' AND query_start > now() - interval '2 seconds'"
    while await watcher.fetchval(f"SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND {recent}"):
        await asyncio.sleep(0.2)


async def commits_a_second(watcher: asyncpg.Connection[asyncpg.Record]) -> float:
    before, began = await transactions(watcher), time.monotonic()
    await asyncio.sleep(WATCHED_SECONDS)
    return (await transactions(watcher) - before) / (time.monotonic() - began)


async def transactions(watcher: asyncpg.Connection[asyncpg.Record]) -> int:
    # An idle session reports its statistics up to ten seconds late.
    await asyncio.sleep(11)
    sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    return int(await watcher.fetchval(sql))
