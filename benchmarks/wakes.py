"""From a publication or an acknowledged answer to the waiting caller."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

from benchmarks.inboxes import POLL, approve, ask_many, spread, sqlite_inbox
from benchmarks.measure import Row, folder, percentile, resident
from ringi.backends.memory.stream import MemoryNotifier
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.jobs import SqliteJobs
from ringi.backends.sqlite.store import SqliteStore
from ringi.backends.sqlite.stream import SqliteNotifier, SqliteStream
from ringi.connect import Backend, open_inbox_on_backend
from ringi.contracts.backend import Notifier
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

ROUNDS = 7
WAKES = 2_000
WAITS = 1_000
BURST = 100
MANY = 10_000
WATCHED_SECONDS = 3.0


async def in_process() -> list[Row]:
    """Measure publish to awake, compared with a bare `asyncio.Event`."""
    floors: list[float] = []
    ours: dict[str, list[float]] = {"memory": [], "SQLite": []}
    with folder() as path:
        async with SqliteDatabase(path / "wakes.db") as database, SqliteNotifier(database, POLL) as sqlite:
            for _ in range(ROUNDS):
                floors.append(await bare_event())
                ours["memory"].append(await published(MemoryNotifier(POLL)))
                ours["SQLite"].append(await published(sqlite))
    return [Row(f"publish → awake, {name}, p50", "µs", rounds, floors, at_most=6) for name, rounds in ours.items()]


async def bare_event() -> float:
    event, awake = asyncio.Event(), asyncio.Event()
    times: list[int] = []

    async def waiter() -> None:
        while len(times) < WAKES:
            await event.wait()
            times.append(time.perf_counter_ns() - began)
            event.clear()
            awake.set()

    waiting = asyncio.create_task(waiter())
    for _ in range(WAKES):
        await asyncio.sleep(0)
        awake.clear()
        began = time.perf_counter_ns()
        event.set()
        await awake.wait()
    await waiting
    return percentile(times, 50) / 1e3


async def published(notifier: Notifier) -> float:
    awake = asyncio.Event()
    times: list[int] = []

    async def waiter() -> None:
        async with notifier.subscribe("request/tenant/id") as wakeup:
            while len(times) < WAKES:
                await wakeup.wait(30)
                times.append(time.perf_counter_ns() - began)
                awake.set()

    waiting = asyncio.create_task(waiter())
    for _ in range(WAKES):
        await asyncio.sleep(0)
        awake.clear()
        began = time.perf_counter_ns()
        await notifier.publish("request/tenant/id")
        await awake.wait()
    await waiting
    return percentile(times, 50) / 1e3


async def thousand_waits() -> list[Row]:
    """Answer a thousand awaited requests, one after another and all at once."""
    single, some, burst = list[float](), list[float](), list[float]()
    with folder() as path:
        async with sqlite_inbox(path / "waits.db") as inbox:
            for _ in range(3):
                single.append(percentile(await answered(inbox, callers=1), 99))
                some.append(percentile(await answered(inbox, callers=WAITS, count=BURST), 99))
                burst.append(percentile(await answered(inbox, callers=WAITS), 99))
    return [
        Row(f"{WAITS:,} waits, answers one after another: acknowledged → awake, p99", "ms", single, at_most=20),
        Row(f"{WAITS:,} waits, {BURST} answered at once: acknowledged → awake, p99", "ms", some, at_most=20),
        Row(f"{WAITS:,} waits, all answered at once: acknowledged → awake, p99", "ms", burst, at_most=20),
    ]


async def answered(
    inbox: StoreInbox, *, callers: int, count: int = WAITS, answering: StoreInbox | None = None
) -> list[float]:
    """Return the milliseconds from each acknowledgment until its wait has the response.

    With `answering`, the answers come through another open inbox, as from another process.
    """
    requests = await ask_many(inbox, WAITS)
    acknowledged: dict[str, float] = {}
    awake: dict[str, float] = {}

    async def wait(request: Request) -> None:
        await inbox.wait(request.id, timeout=60)
        awake[request.id] = time.perf_counter()

    async def answer(request: Request) -> None:
        await approve(answering or inbox, request)
        acknowledged[request.id] = time.perf_counter()

    waits = [asyncio.create_task(wait(request)) for request in requests]
    await until(lambda: listeners(inbox) >= WAITS)
    await spread(requests[:count], answer, callers=callers)
    await asyncio.gather(*waits[:count])
    for waiting in waits[count:]:
        waiting.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    return [max(0.0, awake[id] - acknowledged[id]) * 1e3 for id in acknowledged]


def listeners(inbox: StoreInbox) -> int:
    return len(inbox.notifier._listeners)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)  # Everybody has read once and sleeps.


class CountedDatabase(SqliteDatabase):
    """A database that counts every statement of its connections."""

    statements = 0

    def connect(self) -> sqlite3.Connection:
        connection = super().connect()
        connection.set_trace_callback(self._count)
        return connection

    def _count(self, _: str) -> None:
        self.statements += 1


def parts_on(database: SqliteDatabase, notifier: Notifier) -> Backend:
    return Backend("", SqliteStore(database), notifier, SqliteStream(database), SqliteJobs(database, notifier), None)  # type: ignore[arg-type]


async def statements_a_second(database: CountedDatabase) -> float:
    before = database.statements
    await asyncio.sleep(WATCHED_SECONDS)
    return (database.statements - before) / WATCHED_SECONDS


async def ten_thousand_waits() -> list[Row]:
    """Measure the cost of an idle wait: memory, and statements on the store."""
    async with AsyncExitStack() as stack:
        path = stack.enter_context(folder()) / "many.db"
        database = await stack.enter_async_context(CountedDatabase(path))
        notifier = await stack.enter_async_context(SqliteNotifier(database, POLL))
        inbox = await stack.enter_async_context(open_inbox_on_backend(parts_on(database, notifier)))
        requests = await ask_many(inbox, MANY)
        waits = [asyncio.create_task(inbox.wait(requests[0].id))]
        await until(lambda: listeners(inbox) >= 1)
        few = await statements_a_second(database)
        gc.collect()
        before = resident()
        waits += [asyncio.create_task(inbox.wait(request.id)) for request in requests[1:]]
        await until(lambda: listeners(inbox) >= MANY)
        gc.collect()
        each = (resident() - before) / (MANY - 1) / 1024
        many = await statements_a_second(database)
        for waiting in waits:
            waiting.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    return [
        Row(f"memory of one open wait among {MANY:,}", "KiB", [each], at_most=8),
        Row(f"statements a second of {MANY:,} open waits, beyond those of one", "1/s", [many - few], at_most=0.5),
    ]
