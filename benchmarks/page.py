"""The inbox page's first load over HTTP, with a thousand and with a million pending requests."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import sqlite3
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from urllib.parse import quote

from benchmarks.client import Caller
from benchmarks.measure import Row, folder
from benchmarks.serving import Served, served
from ringi.ask import Action, Ask
from ringi.backends.sqlite.database import Database
from ringi.backends.sqlite.store import Change, change_of, save
from ringi.record import Event
from ringi.request import Request
from ringi.server.auth import Keys

FEW, MANY = 1_000, 1_000_000
BATCH, COMMITTED = 1_000, 50
ROUNDS, LOADS = 7, 15
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
PEOPLE = {"ann": ("most", "few"), "eve": ("few",)}


async def first_load() -> list[Row]:
    """Loads of the whole page, and of its parts, in turns on both files."""
    async with AsyncExitStack() as stack:
        callers = []
        for count in (FEW, MANY):
            path = stack.enter_context(folder())
            await fill(path / "ringi.db", count)
            server = with_people(stack.enter_context(served("ringi", path)), path)
            callers.append({name: await stack.enter_async_context(Caller(server, name)) for name in PEOPLE})
        rounds = [await one_round(callers) for _ in range(ROUNDS)]
    what = f"page at {MANY:,} pending requests, against {FEW:,}"
    few, many = [[sum(each.values()) * 1e3 for each in sides] for sides in zip(*rounds, strict=True)]
    rows = [Row(f"{what}: first load, all of it", "ms", many, few, at_most=1.5)]
    for part in PARTS:
        few, many = ([each[part] * 1e3 for each in sides] for sides in zip(*rounds, strict=True))
        rows.append(Row(f"{what}: {part}, p50", "ms", many, few))
    return rows


async def one_round(sides: list[dict[str, Caller]]) -> list[dict[str, float]]:
    """Return for each side the median of each part's times."""
    times: list[dict[str, list[float]]] = [{part: [] for part in PARTS} for _ in sides]
    for _ in range(LOADS):
        for callers, taken in zip(sides, times, strict=True):
            for part, calls in PARTS.items():
                began = time.perf_counter()
                for name, path in calls:
                    await found(callers[name], path)
                taken[part].append(time.perf_counter() - began)
    return [{part: median(each) for part, each in taken.items()} for taken in times]


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
    """Write pending requests as the store writes them, many in one transaction."""
    async with Database(path) as database:
        with closing(database.connect()) as connection:
            await asyncio.to_thread(fill_on, connection, count)


def fill_on(connection: sqlite3.Connection, count: int) -> None:
    began = time.monotonic()
    connection.execute("PRAGMA synchronous = OFF")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        starts = range(0, count, BATCH)
        ahead = [pool.submit(some_changes, start, count) for start in starts[:2]]
        for start in starts:
            changes = ahead.pop(0).result()
            if start + 2 * BATCH < count:
                ahead.append(pool.submit(some_changes, start + 2 * BATCH, count))
            for some in (changes[n : n + COMMITTED] for n in range(0, BATCH, COMMITTED)):
                connection.execute("BEGIN IMMEDIATE")
                for change in some:
                    save(connection, change)
                connection.execute("COMMIT")
            if start % 50_000 == 0 and start:
                print(f"  {start:,} of {count:,} requests written, {time.monotonic() - began:.0f} s", flush=True)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def some_changes(start: int, count: int) -> list[Change]:
    """Return the next requests, a millisecond apart, the last of all as of now."""
    now = datetime.now(UTC)
    return [
        change_of(*a_request(n, count, now + timedelta(milliseconds=n - count))) for n in range(start, start + BATCH)
    ]


def a_request(n: int, count: int, at: datetime) -> tuple[Request, Event]:
    """Return one of many: each names a refund, a tenth say so in Japanese, a tenth is of another kind, ten are rare."""
    title = f"注文{n}の返金 (refund)" if n % 10 == 3 else f"Refund order {n}?"
    chance = random.Random(n)
    words = ["perfume"] if n % (count // 10) == 5 else []
    words += chance.choices(WORDS, k=12)
    ask = Ask(
        title=title,
        kind="finish" if n % 10 == 7 else None,
        description=f"The customer wrote: {' '.join(words)}.",
        action=Action("refund", {"order": f"A-{n}", "amount": 40.5, "currency": "EUR"}),
        candidate_groups=("few",) if n % 100 == 50 else ("most",),
        priority="high" if n % 20 == 0 else None,
    )
    return Request.asked(ask, id=f"{chance.getrandbits(128):032x}", now=at, by="bot")
