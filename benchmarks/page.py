"""The inbox page's first load over HTTP, with a thousand and with a million pending requests."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from benchmarks.client import Caller
from benchmarks.measure import Row, folder
from benchmarks.serving import Served, served
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteRecordChange, save_sqlite_record, sqlite_record_change
from ringi.domain.ask import Action, Ask
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.server.auth.authenticator import Keys

FEW, MANY = 1_000, 1_000_000
BATCH, COMMITTED, AHEAD = 1_000, 50, 6
ROUNDS, LOADS = 7, 15
RESTING, REST_SECONDS = 0.1, 3.0
"""The largest share of a processor that an idle server uses."""
WHOLE, CPU = "first load, p50", "first load, server CPU"
MIDNIGHT = quote(datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0).isoformat())
PENDING = "/v1/requests?status=pending"
PARTS: dict[str, list[tuple[str, str]]] = {
    "list of 50": [("ann", PENDING)],
    "counts": [("ann", f"/v1/requests/counts?since={MIDNIGHT}")],
    "one kind": [("ann", f"{PENDING}&kind=finish")],
    "search, 10 hits": [("ann", f"{PENDING}&q=perfume")],
    "search, every row hits": [("ann", f"{PENDING}&q=refund")],
    "search for 返金": [("ann", f"{PENDING}&q={quote('返金')}")],
    "a person who sees 1 %": [("eve", f"{PENDING}&limit=10"), ("eve", f"/v1/requests/counts?since={MIDNIGHT}")],
}
WORDS = ["".join(random.Random(n).choices("abcdefghijklmnopqrstuvwxyz", k=2 + n % 8)) for n in range(3_000)]
T = TypeVar("T")
PEOPLE = {"ann": ("most", "few"), "eve": ("few",)}


class Side(NamedTuple):
    """One of the two servers, and its callers."""

    server: Served
    callers: dict[str, Caller]


class Home(NamedTuple):
    """A server's folder and the URL of its store."""

    path: Path
    url: str = ""


async def first_load() -> list[Row]:
    """Measure loads from two SQLite files."""
    with ExitStack() as stack:
        homes = [Home(stack.enter_context(folder())) for _ in (FEW, MANY)]
        for home, count in zip(homes, (FEW, MANY), strict=True):
            await fill(home.path / "ringi.db", count)
        return await loads("inbox page over HTTP", homes)


async def loads(what: str, homes: list[Home]) -> list[Row]:
    """Load the page and its parts from both servers in turns."""
    async with AsyncExitStack() as stack:
        servers = [with_people(stack.enter_context(served("ringi", *home)), home.path) for home in homes]
        await at_rest(servers)
        # Not earlier: a server closes a connection that makes no call for some seconds.
        sides = [
            Side(server, {name: await stack.enter_async_context(Caller(server, name)) for name in PEOPLE})
            for server in servers
        ]
        rounds = [await one_round(sides) for _ in range(ROUNDS)]
    what = f"{what}, {MANY:,} pending requests against {FEW:,}"
    whole, cpu = [row(f"{what}: {part}", rounds, part) for part in (WHOLE, CPU)]
    parts = [row(f"{what}: {part}, p50", rounds, part) for part in PARTS]
    return [replace(whole, at_most=1.5), cpu, *parts]


async def at_rest(servers: list[Served]) -> None:
    """Return when the servers have read the million events from before their start."""
    used = [0.0]
    while sum(server.processor_seconds() for server in servers) - used[-1] > RESTING * REST_SECONDS:
        used.append(sum(server.processor_seconds() for server in servers))
        await asyncio.sleep(REST_SECONDS)


def row(what: str, rounds: list[list[dict[str, float]]], part: str) -> Row:
    few, many = ([side[part] * 1e3 for side in sides] for sides in zip(*rounds, strict=True))
    return Row(what, "ms", many, few)


async def one_round(sides: list[Side]) -> list[dict[str, float]]:
    """Return for each side the median seconds of each part and of the whole page, and the server's CPU time."""
    timings: list[dict[str, list[float]]] = [{part: [] for part in PARTS} for _ in sides]
    before = [side.server.processor_seconds() for side in sides]
    for n in range(LOADS):
        turns = list(zip(sides, timings, strict=True))
        for side, times in turns if n % 2 else reversed(turns):
            for part, calls in PARTS.items():
                began = time.perf_counter()
                for name, path in calls:
                    await found(side.callers[name], path)
                times[part].append(time.perf_counter() - began)
    used = [(side.server.processor_seconds() - cpu) / LOADS for side, cpu in zip(sides, before, strict=True)]
    whole = [median(map(sum, zip(*times.values(), strict=True))) for times in timings]
    return [
        {part: median(each) for part, each in times.items()} | {WHOLE: all_of_it, CPU: cpu}
        for times, all_of_it, cpu in zip(timings, whole, used, strict=True)
    ]


async def found(caller: Caller, path: str) -> bytes:
    status, reply = await caller.get(path)
    if status != 200:
        raise RuntimeError(f"status {status}: {reply[:300]!r}")
    return reply


def with_people(server: Served, path: Path) -> Served:
    """Return the server with the tokens of people in groups."""
    keys = Keys.load(path)
    tokens = {name: keys.mint(role="person", name=name, groups=groups) for name, groups in PEOPLE.items()}
    return replace(server, tokens=server.tokens | tokens)


async def fill(path: Path, count: int) -> None:
    """Write pending requests with the store's own statements, many in one transaction."""
    async with SqliteDatabase(path) as database:
        with closing(database.connect()) as connection:
            await asyncio.to_thread(fill_on, connection, count)


def fill_on(connection: sqlite3.Connection, count: int) -> None:
    began, written = time.monotonic(), 0
    connection.execute("PRAGMA synchronous = OFF")
    for changes in make_batches(count, some_changes):
        connection.execute("BEGIN IMMEDIATE")
        for n, change in enumerate(changes, 1):
            save_sqlite_record(connection, change)
            if n % COMMITTED == 0:
                connection.execute("COMMIT")
                connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
        written += len(changes)
        if written % 50_000 == 0:
            print(f"  {written:,} of {count:,} requests written, {time.monotonic() - began:.0f} s", flush=True)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def make_batches(count: int, some: Callable[[int, int], T]) -> Iterator[T]:
    """Yield a number of requests in batches, made by processes that are only a few batches ahead."""
    left = iter(range(0, count, BATCH))
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        ahead = deque(pool.submit(some, start, count) for start in islice(left, AHEAD))
        while ahead:
            yield ahead.popleft().result()
            ahead += [pool.submit(some, start, count) for start in islice(left, 1)]


def some_changes(start: int, count: int) -> list[SqliteRecordChange]:
    """Return a batch as the changes of a SQLite file."""
    return [sqlite_record_change(*each) for each in some_requests(start, count)]


def some_requests(start: int, count: int) -> Iterator[tuple[Request, Event]]:
    """Yield the next requests, a millisecond apart; the last one is from now."""
    now = datetime.now(UTC)
    for n in range(start, min(start + BATCH, count)):
        yield a_request(n, count, now + timedelta(milliseconds=n - count))


def a_request(n: int, count: int, at: datetime) -> tuple[Request, Event]:
    """Return a refund request: a tenth is in Japanese, a tenth is of another kind, ten are rare."""
    title = f"注文{n}の返金 (refund)" if n % 10 == 3 else f"Refund order {n}?"
    chance = random.Random(n)
    words = ["perfume"] if n % (count // 10) == 5 else []
    words += chance.choices(WORDS, k=12)
    ask = Ask(
        title=title,
        kind="finish" if n % 10 == 7 else None,
        description=f"The customer wrote: {' '.join(words)}.",
        action=Action("refund", {"order": f"A-{n}", "amount": 40.5, "currency": "EUR"}),
        groups=("few",) if n % 100 == 50 else ("most",),
        priority="high" if n % 20 == 0 else None,
    )
    return Request.asked(ask, id=f"{chance.getrandbits(128):032x}", now=at, by="bot")
