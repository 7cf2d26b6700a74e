"""Pages in the order `urgent` from each store, with a thousand and with a million pending requests.

The time is that of the store alone: a page's records are not decoded, because that takes the same time on both sides.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from itertools import islice
from statistics import median
from typing import Any

from tests import servers

from benchmarks.measure import Row, folder
from ringi.backends.postgres import pages
from ringi.backends.postgres import store as postgres
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.redis.lists import redis_list_position, redis_lists_and_marks, sortable_time_digits
from ringi.backends.redis.server import RedisServer
from ringi.backends.redis.store import RedisStore
from ringi.backends.sqlite import lists
from ringi.backends.sqlite import store as sqlite
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.domain.ask import Action, Ask
from ringi.domain.record import DEFAULT_TENANT, Query, Viewer, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.urgency import UrgentPlace, urgency_rank

Values = dict[str, Any]
"""What a store writes for a request, by name; `body` is the request as JSON."""
Encode = Callable[[Request], Values]
Find = Callable[[Query], Awaitable[Sequence[Any]]]

SIZES = tuple(map(int, os.environ.get("BENCH_URGENT_SIZES", "1000,1000000").split(",")))
BATCH = 1_000
ROUNDS, LOADS, LIMIT = 7, 40, 50
RARE = 100
"""Number of requests that match a rare filter, on both sides."""
SAMPLE = 300
NOW = datetime.now(UTC).replace(microsecond=500_123)
DUE_EVERY = 10
"""One of so many requests has a deadline: from an hour ago to two hours ahead."""
ID, CREATED_AT, DUE_AT = "f" * 32, NOW - timedelta(days=40), NOW - timedelta(days=41)
"""What a copy replaces in its template."""
CREATED, DUE = unix_microseconds(CREATED_AT), unix_microseconds(DUE_AT)
PRIORITIES = ("urgent", "high", "high", "high", "low", "low", *[None] * 14)
TIERS = ("high", "medium", "medium", "low", None)
TEMPLATES, GROUPS = 199, 10


def template(n: int, *, is_due: bool, is_rare: bool) -> Request:
    """Return a request to copy."""
    chance = random.Random(n)
    ask = Ask(
        title="Refund this order?",
        description=f"The customer wrote: {' '.join(chance.choices(['box', 'parcel', 'late', 'refund'], k=20))}.",
        action=Action("rare" if is_rare else f"tool-{n % 5}", {"order": f"A-{n}", "amount": 40.5, "currency": "EUR"}),
        groups=(f"group-{n % GROUPS}",),
        priority=chance.choice(PRIORITIES),
        tier="irreversible" if is_rare else chance.choice(TIERS),
        due_at=DUE_AT if is_due else None,
    )
    by = "rare" if is_rare else f"bot-{n % 4}"
    return Request.asked(ask, id=ID, now=CREATED_AT, by=by, first_of_kind=n % 20 == 0)[0]


def copies(encode: Encode, count: int) -> Iterator[Values]:
    """Yield what a store writes for pending requests, a millisecond apart; the last one is from now."""
    encoded = {
        (is_due, is_rare): [encode(template(n, is_due=is_due, is_rare=is_rare)) for n in range(TEMPLATES)]
        for is_due in (False, True)
        for is_rare in (False, True)
    }
    ids, step = random.Random(count), count // RARE
    for n in range(count):
        is_rare = n % step == 5
        is_due = n // step % DUE_EVERY == 0 if is_rare else n % DUE_EVERY == 0
        at = NOW + timedelta(milliseconds=n - count)
        due_at = NOW + timedelta(milliseconds=n * 7_919 % 10_800_000 - 3_600_000)
        its = encoded[is_due, is_rare][n % TEMPLATES]
        yield copied(its, f"{ids.getrandbits(124):032x}", at, due_at)


def copied(values: Values, id: str, at: datetime, due_at: datetime) -> Values:
    """Return a copy with another id and other times."""
    created, due = unix_microseconds(at), unix_microseconds(due_at)
    texts = [(ID, id), (iso(CREATED_AT), iso(at)), (sortable_time_digits(CREATED_AT), sortable_time_digits(at))]
    texts += [(iso(DUE_AT), iso(due_at)), (sortable_time_digits(DUE_AT), sortable_time_digits(due_at))]
    numbers = {CREATED: created, CREATED * lists.SLOTS: created * lists.SLOTS, DUE: due}
    new: Values = {}
    for name, value in values.items():
        if isinstance(value, str):
            for before, after in texts:
                value = value.replace(before, after)
        new[name] = numbers.get(value, value) if isinstance(value, int) else value
    return new


def iso(at: datetime) -> str:
    """Return a time as in JSON."""
    return at.isoformat().replace("+00:00", "Z")


def check(encode: Encode) -> None:
    """Fail unless a copy equals what the store writes for the request that its body describes."""
    for copy in copies(encode, SAMPLE):
        if encode(Request.model_validate_json(copy["body"])) != copy:
            raise RuntimeError("a copy is not what the store writes")


async def on_sqlite() -> list[Row]:
    """Measure two SQLite files."""
    check(sqlite_values)
    async with AsyncExitStack() as stack:
        sides = [await stack.enter_async_context(sqlite_side(size)) for size in SIZES]
        return await compared("SQLite", sides)


def sqlite_values(request: Request) -> Values:
    return {"place": unix_microseconds(request.created_at) * lists.SLOTS, **sqlite.sqlite_record_columns(request)}


@asynccontextmanager
async def sqlite_side(count: int) -> AsyncIterator[Find]:
    """Yield how to read from a file with so many requests."""
    with folder() as path:
        async with SqliteDatabase(path / "ringi.db") as database:
            await asyncio.to_thread(fill_sqlite, database, count)

            async def find(query: Query) -> Sequence[Any]:
                return await database.read(lambda connection: lists.find_sqlite_bodies(connection, Request, query))

            yield find


def fill_sqlite(database: SqliteDatabase, count: int) -> None:
    """Write pending requests with the triggers, but without the index of their texts."""
    began = time.monotonic()
    with closing(database.connect()) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -1000000")
        connection.execute("PRAGMA wal_autocheckpoint = 100000")
        for some in batches(copies(sqlite_values, count)):
            sql = f"INSERT INTO requests ({', '.join(some[0])}) VALUES ({', '.join('?' * len(some[0]))})"
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(sql, [tuple(each.values()) for each in some])
            connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    written(count, began)


async def on_postgres() -> list[Row]:
    """Measure two schemas of one server."""
    check(postgres.postgres_record_columns)
    async with AsyncExitStack() as stack:
        url = stack.enter_context(servers.postgres(variable=""))
        sides = [await stack.enter_async_context(postgres_side(f"{url}?schema=urgent{size}", size)) for size in SIZES]
        return await compared("PostgreSQL", sides)


@asynccontextmanager
async def postgres_side(url: str, count: int) -> AsyncIterator[Find]:
    """Yield how to read from a schema with so many requests."""
    async with PostgresDatabase(url) as database:
        await fill_postgres(database, count)

        async def find(query: Query) -> Sequence[Any]:
            return await pages.find_postgres_bodies(database, Request, query)

        yield find


async def fill_postgres(database: PostgresDatabase, count: int) -> None:
    """Write pending requests over two connections with the triggers, but without their texts."""
    began, left = time.monotonic(), batches(copies(postgres.postgres_record_columns, count))

    async def write() -> None:
        connection = await database.connect()
        await connection.execute("SET synchronous_commit = off")
        for some in left:
            rows = [tuple(each.values()) for each in some]
            await connection.copy_records_to_table("requests", records=rows, columns=tuple(some[0]), timeout=600)
        await connection.close()

    await asyncio.gather(write(), write())
    connection = await database.connect()
    # A server does this by itself within a minute.
    await connection.execute("VACUUM ANALYZE", timeout=600)
    await connection.close()
    written(count, began)


async def on_redis() -> list[Row]:
    """Measure two sets of keys of one server."""
    check(redis_values)
    async with AsyncExitStack() as stack:
        url = stack.enter_context(servers.redis())
        sides = [await stack.enter_async_context(redis_side(f"{url}?prefix=urgent{size}", size)) for size in SIZES]
        return await compared("Redis", sides)


def redis_values(request: Request) -> Values:
    place, body = redis_list_position(request).decode(), request.model_dump_json()
    return {"body": body, "filed": redis_lists_and_marks(request), "text": request.search_text, "place": place}


@asynccontextmanager
async def redis_side(url: str, count: int) -> AsyncIterator[Find]:
    """Yield how to read from keys with so many requests."""
    async with RedisServer(url) as server:
        await fill_redis(server, count)
        store = RedisStore(server)

        async def find(query: Query) -> Sequence[Any]:
            return await store._pages[Request.record].find(query)

        yield find


async def fill_redis(server: RedisServer, count: int) -> None:
    """Write pending requests and their lists, without events."""
    began, put = time.monotonic(), server.script("put")
    keys = [server.key(Request.record, what) for what in ("bodies", "filed", "texts", "lists")]
    keys += [server.key(what) for what in ("events", "event-number", "event-lists", "events-emptied")]
    for some in batches(copies(redis_values, count)):
        changes = [(each["place"], f"1 bench {each['body']}", each["filed"], 1, each["text"]) for each in some]
        await put(keys, [part for change in changes for part in change])
    written(count, began)
    used = (await server.redis.info("memory"))["used_memory"]
    print(f"  {used / 2**30:.2f} GiB in use", flush=True)


def batches(values: Iterator[Values]) -> Iterator[list[Values]]:
    """Yield some at a time."""
    while some := list(islice(values, BATCH)):
        yield some


def written(count: int, began: float) -> None:
    print(f"  {count:,} requests written, {time.monotonic() - began:.0f} s", flush=True)


def parts(count: int) -> dict[str, list[Query]]:
    """Return the queries to measure; a later page is another one each time, so that no cache has it."""
    ranks = sorted(urgency_rank(template(n, is_due=False, is_rare=False)) for n in range(TEMPLATES))
    deadline, rank = unix_microseconds(NOW + timedelta(hours=1)) - 1, ranks[TEMPLATES // 2]
    times = [unix_microseconds(NOW - timedelta(milliseconds=count * n / LOADS / 2 + count / 4)) for n in range(LOADS)]
    pages: dict[str, list[str | None]] = {
        "first page": [None] * LOADS,
        "page with the last due soon": [cursor(UrgentPlace("due", deadline, 0, ID))] * LOADS,
        "later page": [cursor(UrgentPlace("rank", rank, at, ID)) for at in times],
    }
    person = Viewer(name="ann", groups=("group-1", "group-7"))
    order: dict[str, Any] = {"tenant": DEFAULT_TENANT, "order": "urgent", "now": NOW, "limit": LIMIT}
    found = {
        f"{who}, {page}": [Query(**order, viewer=viewer, before=before) for before in cursors]
        for who, viewer in (("admin", None), ("person in 2 of 10 groups", person))
        for page, cursors in pages.items()
    }
    rare = {"tool": "rare", "agent": "rare", "tier": "irreversible"}
    for name, value in rare.items():
        found[f"{RARE} have the {name}, first page"] = [Query(**order, **{name: value})]
    return found


def cursor(place: UrgentPlace | None) -> str | None:
    """Return the cursor of the page after a place."""
    return place and ":".join(("urgent", str(unix_microseconds(NOW)), *map(str, place)))


async def compared(what: str, sides: list[Find]) -> list[Row]:
    """Read each page from both sides in turns."""
    few, many = SIZES
    what = f"{what}: order urgent, {many:,} pending requests against {few:,}"
    rows = []
    each_side = [parts(size) for size in SIZES]
    for part in each_side[0]:
        calls = [(find, queries[part]) for find, queries in zip(sides, each_side, strict=True)]
        rounds = [await one_round(calls) for _ in range(ROUNDS)]
        floor, ours = zip(*rounds, strict=True)
        at_most = None if part.startswith(str(RARE)) else 1.5
        rows.append(Row(f"{what}: {part}, p50", "ms", ours, floor, at_most=at_most))
        print(f"  {part}: {median(floor):.2f} ms and {median(ours):.2f} ms", flush=True)
    return rows


async def one_round(calls: list[tuple[Find, list[Query]]]) -> list[float]:
    """Return the median milliseconds of each side."""
    times: list[list[float]] = [[] for _ in calls]
    for n in range(len(calls[0][1])):
        turns = list(zip(calls, times, strict=True))
        for (find, queries), its in turns if n % 2 else reversed(turns):
            began = time.perf_counter()
            found = await find(queries[n])
            its.append((time.perf_counter() - began) * 1e3)
            if len(found) != LIMIT:
                raise RuntimeError(f"{len(found)} requests on a page of {LIMIT}")
    return [median(each) for each in times]
