"""Durable writes of one process and of three on one file, and wake-ups across processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import aiosqlite

from benchmarks.inboxes import CALLERS, approve, ask, ask_many, spread, sqlite_inbox
from benchmarks.measure import Row, folder, percentile
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

ROUNDS = 5
ANSWERS = 2_000
BUSY_SECONDS = 4.0
BUSY_CALLERS = 4
PASSED_ON = 60


Insert = Callable[[aiosqlite.Connection, int, str], Awaitable[None]]


async def respond() -> list[Row]:
    """Measure the answers a second at 64 callers, compared with equally durable one-row transactions of aiosqlite."""
    spelt_out, committed, autocommitted, ours, rows, flushes = (list[float]() for _ in range(6))
    with folder() as path:
        async with sqlite_inbox(path / "ringi.db") as inbox:
            text = await stored_text(inbox)
            for n in range(ROUNDS):
                spelt_out.append(await one_row_transactions(path / f"spelt-{n}.db", text, None, begin_insert_commit))
                ours.append(await answers_a_second(inbox))
                committed.append(await one_row_transactions(path / f"commit-{n}.db", text, "IMMEDIATE", insert_commit))
                rows.append(await grouped_rows(path / f"grouped-{n}.db", text))
                autocommitted.append(await one_row_transactions(path / f"auto-{n}.db", text, None, insert))
                flushes.append(flush_milliseconds(path / "flushed"))
    what = f"respond, {CALLERS} callers, against aiosqlite, one row a transaction"
    return [
        Row(f"{what}: begin, insert, commit", "1/s", ours, spelt_out, at_least=2),
        Row(f"{what}: execute, commit", "1/s", ours, committed),
        Row(f"{what}: autocommit", "1/s", ours, autocommitted),
        Row("the same bare row through Ringi's group commit, against execute, commit", "1/s", rows, committed),
        Row("one fdatasync of 4 KiB on this disk, p50", "ms", flushes),
    ]


async def begin_insert_commit(connection: aiosqlite.Connection, n: int, text: str) -> None:
    """An explicit transaction: three trips to the connection's thread and back."""
    await connection.execute("BEGIN IMMEDIATE")
    await insert(connection, n, text)
    await connection.execute("COMMIT")


async def insert_commit(connection: aiosqlite.Connection, n: int, text: str) -> None:
    """The same with the driver's own begin."""
    await insert(connection, n, text)
    await connection.commit()


async def insert(connection: aiosqlite.Connection, n: int, text: str) -> None:
    await connection.execute("INSERT INTO rows VALUES (?, ?)", (n, text))


def flush_milliseconds(path: Path) -> float:
    times = []
    with path.open("wb", buffering=0) as file:
        for _ in range(100):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - began) * 1e3)
    return percentile(times, 50)


async def stored_text(inbox: StoreInbox) -> str:
    """Return as many bytes as one answer stores: the record and its event."""
    request = await approve(inbox, await ask(inbox))
    event = (await inbox.events(request_id=request.id))[-1]
    return request.model_dump_json() + event.model_dump_json()


async def one_row_transactions(path: Path, text: str, isolation: Any, transact: Insert) -> float:
    """Insert rows for 64 callers, one transaction at a time on one connection."""
    async with aiosqlite.connect(path, isolation_level=isolation) as connection:
        await connection.execute("PRAGMA journal_mode = WAL")
        await connection.execute("PRAGMA synchronous = FULL")
        await connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")
        turn = asyncio.Lock()

        async def one(n: int) -> None:
            async with turn:
                await transact(connection, n, text)

        began = time.perf_counter()
        await spread(range(ANSWERS), one)
        return ANSWERS / (time.perf_counter() - began)


async def grouped_rows(path: Path, text: str) -> float:
    async with SqliteDatabase(path) as database:
        await database.write(lambda c: c.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)"))

        async def insert(n: int) -> None:
            await database.write(lambda c: c.execute("INSERT INTO rows VALUES (?, ?)", (n, text)))

        began = time.perf_counter()
        await spread(range(ANSWERS), insert)
        return ANSWERS / (time.perf_counter() - began)


async def answers_a_second(inbox: StoreInbox) -> float:
    """Answer 2,000 requests and keep no objects, like a server, because the garbage collector visits kept objects."""

    async def answer(request: Request) -> None:
        await approve(inbox, request)

    requests = await ask_many(inbox, ANSWERS)
    began = time.perf_counter()
    await spread(requests, answer)
    return ANSWERS / (time.perf_counter() - began)


async def three_processes() -> list[Row]:
    """Measure the tail latency of three processes that answer as fast as they can on one file."""
    asks: list[float] = []
    answers: list[float] = []
    for _ in range(3):
        with folder() as path:
            times = await in_processes(3, busy, path / "busy.db")
        asks += [tail([t for each in times for t in each[0]])]
        answers += [tail([t for each in times for t in each[1]])]
    what = "three busy processes on one file, p99 ÷ median"
    return [
        Row(f"{what}, ask (put)", "×", asks, at_most=10),
        Row(f"{what}, respond", "×", answers, at_most=10),
    ]


def tail(times: list[float]) -> float:
    return percentile(times, 99) / percentile(times, 50)


async def in_processes(count: int, work: Callable[[Path], Any], path: Path) -> list[Any]:
    async with sqlite_inbox(path):
        pass
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(pool, work, path) for _ in range(count)))


def busy(path: Path) -> tuple[list[float], list[float]]:
    return asyncio.run(ask_and_answer(path))


async def ask_and_answer(path: Path) -> tuple[list[float], list[float]]:
    asks: list[float] = []
    answers: list[float] = []
    async with sqlite_inbox(path) as inbox:
        ends_at = time.monotonic() + BUSY_SECONDS

        async def caller() -> None:
            while time.monotonic() < ends_at:
                began = time.perf_counter()
                request = await ask(inbox)
                between = time.perf_counter()
                await approve(inbox, request)
                answers.append(time.perf_counter() - between)
                asks.append(between - began)

        await asyncio.gather(*(caller() for _ in range(BUSY_CALLERS)))
    return asks, answers


async def across_processes() -> list[Row]:
    """Measure from an answer acknowledged in another process to the wait in this one."""
    with folder() as path:
        async with sqlite_inbox(path / "across.db") as inbox:
            requests = await ask_many(inbox, PASSED_ON)
            awake: dict[str, float] = {}

            async def wait(request: Request) -> None:
                await inbox.wait(request.id, timeout=60)
                awake[request.id] = time.time()

            waits = [asyncio.create_task(wait(request)) for request in requests]
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
                loop = asyncio.get_running_loop()
                acknowledged = await loop.run_in_executor(pool, answer_slowly, path / "across.db", requests)
            await asyncio.gather(*waits)
    times = [(awake[id] - at) * 1e3 for id, at in acknowledged.items()]
    what = "answered in another process (poll interval 0.5 s) → awake"
    return [Row(f"{what}, p{p}", "ms", [percentile(times, p)], at_most=most) for p, most in ((50, None), (99, 500.0))]


def answer_slowly(path: Path, requests: list[Request]) -> dict[str, float]:
    return asyncio.run(answer_one_by_one(path, requests))


async def answer_one_by_one(path: Path, requests: list[Request]) -> dict[str, float]:
    acknowledged: dict[str, float] = {}
    async with sqlite_inbox(path) as inbox:
        for request in requests:
            await approve(inbox, request)
            acknowledged[request.id] = time.time()
            await asyncio.sleep(0.083)  # Out of step with the looks of the other process.
    return acknowledged
