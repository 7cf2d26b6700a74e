"""The same measurements on Redis, compared with the driver alone at the same durability."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from tests.mortal_redis import mortal_redis
from tests.servers import redis_program

from benchmarks.inboxes import POLL, approve, ask, ask_many, spread
from benchmarks.measure import Row, percentile
from benchmarks.postgres import READ_FIRST, answers_a_second, published, rewritten
from benchmarks.wakes import BURST, WAITS, answered, listeners, until
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

CONNECTIONS = 16
ROUNDS = 5
ANSWERS = 1_000
WAKES = 300
MANY = 10_000
WATCHED_SECONDS = 5.0
WRITE = "redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) redis.call('XADD', KEYS[2], '*', 'event', ARGV[3]) return 1"


async def on_redis() -> list[Row]:
    """Measure wake-ups between two processes, answers of 16 callers, and the cost of open waits for the server."""
    with mortal_redis(redis_program()) as server:
        return [*await wakes(server.url), *await answers(server.url), *await waits(server.url), *await many(server.url)]


@asynccontextmanager
async def redis_inbox(url: str) -> AsyncIterator[StoreInbox]:
    async with open_backend(url, poll_interval=POLL) as backend, open_inbox_on_backend(backend) as inbox:
        yield inbox


@asynccontextmanager
async def bare(url: str) -> AsyncIterator[Any]:
    redis: Any = Redis.from_pool(BlockingConnectionPool.from_url(url, max_connections=CONNECTIONS, timeout=None))
    try:
        yield redis
    finally:
        await redis.aclose()


async def wakes(url: str) -> list[Row]:
    floors, ours = list[float](), list[float]()
    async with redis_inbox(url) as one, redis_inbox(url) as other:
        for _ in range(ROUNDS):
            floors.append(await bare_pubsub(url))
            ours.append(await published(one, other))
    what = "Redis: published in one process → awake in another, p50, against a bare Pub/Sub round trip"
    return [Row(what, "µs", ours, floors, at_most=2)]


async def bare_pubsub(url: str) -> float:
    times = list[float]()
    async with bare(url) as redis, redis.pubsub() as listener:
        await listener.subscribe("bare")
        await listener.get_message(timeout=30)
        for _ in range(WAKES):
            began = time.perf_counter()
            await redis.publish("bare", "request/default/0123456789abcdef0123456789abcdef")
            await listener.get_message(timeout=30)
            times.append(time.perf_counter() - began)
    return percentile(times, 50) * 1e6


async def answers(url: str) -> list[Row]:
    floors, least, ours = list[float](), list[float](), list[float]()
    async with redis_inbox(url) as inbox:
        request = await approve(inbox, await ask(inbox))
        event = (await inbox.events(request_id=request.id))[-1]
        for _ in range(ROUNDS):
            floors.append(await bare_writes(url, request, event))
            least.append(await bare_writes(url, request, event, is_read=True))
            ours.append(await answers_a_second(inbox))
    what = f"Redis, each write on disk first: respond, {CONNECTIONS} callers, against a script of one HSET and one XADD"
    return [Row(what, "1/s", ours, floors), Row(f"{what}, {READ_FIRST}", "1/s", ours, least)]


async def bare_writes(url: str, request: Request, event: Event, *, is_read: bool = False) -> float:
    """Store as many bytes as an answer, by one script; optionally read and compute them first."""
    record, note = request.model_dump_json(), event.model_dump_json()
    async with bare(url) as redis:
        script = redis.register_script(WRITE)

        async def one(n: int) -> None:
            new = rewritten(await redis.hget("bare:records", n), event) if is_read else (record, note)
            await script(keys=["bare:records", "bare:events"], args=[n, *new])

        began = time.perf_counter()
        await spread(range(ANSWERS), one, callers=CONNECTIONS)
        return ANSWERS / (time.perf_counter() - began)


async def waits(url: str) -> list[Row]:
    some, burst = list[float](), list[float]()
    async with redis_inbox(url) as inbox, redis_inbox(url) as other:
        for _ in range(3):
            some.append(percentile(await answered(inbox, callers=CONNECTIONS, count=BURST, answering=other), 99))
            burst.append(percentile(await answered(inbox, callers=CONNECTIONS, answering=other), 99))
    what = f"Redis: {WAITS:,} waits in one process, {{}} answered in another: acknowledged → awake, p99"
    return [
        Row(what.format(BURST), "ms", some, at_most=50),
        Row(what.format("all"), "ms", burst, at_most=50),
    ]


async def many(url: str) -> list[Row]:
    async with AsyncExitStack() as stack:
        inbox = await stack.enter_async_context(redis_inbox(url))
        watcher = await stack.enter_async_context(bare(url))
        requests = await ask_many(inbox, MANY)
        waits = [asyncio.create_task(inbox.wait(requests[0].id))]
        await until(lambda: listeners(inbox) >= 1)
        few = await commands_a_second(watcher)
        waits += [asyncio.create_task(inbox.wait(request.id)) for request in requests[1:]]
        await until(lambda: listeners(inbox) >= MANY)
        await all_have_read(watcher)
        all_of_them = await commands_a_second(watcher)
        for waiting in waits:
            waiting.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    what = f"Redis: commands a second while 1 → {MANY:,} waits are open"
    return [Row(what, "1/s", [all_of_them], [few], at_most=1.1)]


async def all_have_read(watcher: Any) -> None:
    """Return when the server has received fewer than a hundred commands within half a second."""
    before = await commands(watcher)
    while True:
        await asyncio.sleep(0.5)
        now = await commands(watcher)
        if now - before < 100:
            return
        before = now


async def commands_a_second(watcher: Any) -> float:
    before, began = await commands(watcher), time.monotonic()
    await asyncio.sleep(WATCHED_SECONDS)
    return float((await commands(watcher) - before) / (time.monotonic() - began))


async def commands(watcher: Any) -> int:
    return int((await watcher.info("stats"))["total_commands_processed"])
