"""A PostgreSQL store of ten million ended and a hundred thousand pending requests, beside one of ten thousand.

The rows are copied; `compare` fails unless they equal what Ringi writes, with their events and their chain. It needs
about a gigabyte for each 120,000 requests, and hours: `RINGI_BENCH_ENDED` takes fewer.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from statistics import median
from typing import NamedTuple

from tests.servers import mortal_postgres

from benchmarks import page_postgres
from benchmarks.client import Caller
from benchmarks.measure import Row, folder
from benchmarks.page import BATCH, Home, a_request, at_rest, found, with_people
from benchmarks.page_postgres import History
from benchmarks.serving import Served, served
from ringi.audit.verify import audit_record_and_files
from ringi.backends.postgres.database import PostgresDatabase
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.record import DEFAULT_TENANT, Key
from ringi.domain.request import Request
from ringi.domain.voting import Decider
from ringi.testing.factories import answer_to

ENDED = int(os.environ.get("RINGI_BENCH_ENDED", "10_000_000"))
PENDING, SMALLER = ENDED // 100, max(1, ENDED // 10_000)
ROUNDS, LOADS, ERASED = 7, 15, 50
VERIFIED = min(10_000, ENDED // 10)
LEAST_SHOWN = 10
CYCLES, CALLERS = 500, 16
LONGEST_AGE = timedelta(days=730)
PATHS = {
    "pending, list of 50": "/v1/requests?status=pending",
    "pending, most urgent": "/v1/requests?status=pending&order=urgent",
    "pending, search": "/v1/requests?status=pending&q=perfume",
    "ended, list of 50": "/v1/requests?status=completed",
    "ended, search, 10 hits": "/v1/requests?status=completed&q=perfume",
    "ended, search, every row hits": "/v1/requests?status=completed&q=refund",
    "ended, of a tool": "/v1/requests?status=completed&tool=refund",
    "ended, of an agent without any": "/v1/requests?status=completed&agent=nobody&order=ended",
    "counts of the inbox": "/v1/requests/counts",
    "audit trail, newest": "/v1/audit?limit=50",
}


async def beside_ten_thousand() -> list[Row]:
    """Measure a large and a small schema of one server, in turns."""
    with ExitStack() as stack:
        server = stack.enter_context(mortal_postgres())
        await page_postgres.compare(server.url, list(some_histories(0, 0, 20)))
        homes = []
        for share in (SMALLER, 1):
            url = f"{server.url}?schema=of{share}"
            homes.append(Home(stack.enter_context(folder()), url))
            await page_postgres.fill(url, (ENDED + PENDING) // share, partial(write, share))
        disk = await disk_of_a_request(homes[-1].url)
        return [*await over_http(homes), *disk, *await erasures(homes), await verified(homes[-1].url)]


def some_histories(start: int, pending: int, count: int) -> Iterator[History]:
    """Yield the next requests of `count`, over two years; all but the newest `pending` have ended a day later."""
    now = datetime.now(UTC)
    for n in range(start, min(start + BATCH, count)):
        at = now - LONGEST_AGE * ((count - n) / count)
        first = a_request(n, count, at)
        end = at + timedelta(days=1)
        ended = first[0].completed(answer_to(first[0]), by=Decider("ann", first[0].groups), channel="page", now=end)
        yield [first] if n >= count - pending else [first, ended]


def write(share: int, url: str, start: int, count: int) -> int:
    """Write a batch, in one of several processes, and return its number of requests."""
    pending = PENDING // share
    events = start + min(start, count - pending)
    histories = list(some_histories(start, pending, count))
    asyncio.run(page_postgres.copy_histories(url, histories, events))
    return len(histories)


async def over_http(homes: list[Home]) -> list[Row]:
    """Return the time of each path, the time of the start, and the memory, of the large store and the small one."""
    sizes = [f"{ENDED // share:,} ended and {PENDING // share:,} pending" for share in (1, SMALLER)]
    what = f"PostgreSQL, {' against '.join(sizes)}"
    starts, servers = list[float](), list[Served]()
    async with AsyncExitStack() as stack:
        for home in homes:
            began = time.perf_counter()
            servers.append(with_people(stack.enter_context(served("ringi", *home)), home.path))
            starts.append(time.perf_counter() - began)
        await at_rest(servers)
        callers = [await stack.enter_async_context(Caller(server, "ann")) for server in servers]
        times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in PATHS}
        for _ in range(ROUNDS):
            for name, path in PATHS.items():
                for caller, rounds in zip(callers, times[name], strict=True):
                    rounds.append(median([await timed(caller, path) for _ in range(LOADS)]))
        cycles = [[await asked_and_answered(server) for server in servers] for _ in range(ROUNDS)]
        memory = [server.resident() / 1e6 for server in servers]
    rows = [Row(f"{what}: {name}, p50", "ms", large, small, at_most=1.5) for name, (small, large) in times.items()]
    (few_paces, few_costs), (paces, costs) = (zip(*side, strict=True) for side in zip(*cycles, strict=True))
    cycle = f"{what}: asked and answered, {CALLERS} callers"
    rows.append(Row(cycle, "1/s", paces, few_paces))
    rows.append(Row(f"{cycle}, processor time of the server", "ms", costs, few_costs, at_most=1.5))
    rows.append(Row(f"{what}: memory of the server after it", "MB", memory[1:], memory[:1], at_most=1.5))
    return [*rows, Row(f"{what}: start of a server", "s", starts[1:], starts[:1])]


async def timed(caller: Caller, path: str) -> float:
    began = time.perf_counter()
    await found(caller, path)
    return (time.perf_counter() - began) * 1e3


class Cycles(NamedTuple):
    """How fast a server takes questions and their answers."""

    pace: float
    """A second."""
    cost: float
    """The processor time of the server for each, in milliseconds."""


async def asked_and_answered(server: Served) -> Cycles:
    """Let some callers ask over HTTP and answer, one question after another each."""
    action = {"name": "refund", "args": {"order": "A-1", "amount": 40}}

    async def cycle(agent: Caller, person: Caller) -> None:
        for _ in range(CYCLES // CALLERS):
            _, asked = await agent.post("/v1/requests", {"title": "Run refund?", "action": action})
            request = json.loads(asked)
            answer = {"decision": "approve", "digest": request["digest"]}
            status, reply = await person.post(f"/v1/requests/{request['id']}/respond", answer)
            if status != 200:
                raise RuntimeError(f"status {status}: {reply[:300]!r}")

    async with AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(Caller(server, role)) for role in ("agent", "ann") * CALLERS]
        cpu, began = server.processor_seconds(), time.perf_counter()
        await asyncio.gather(*map(cycle, callers[::2], callers[1::2]))
        took = time.perf_counter() - began
    count = CYCLES // CALLERS * CALLERS
    return Cycles(count / took, (server.processor_seconds() - cpu) / count * 1e3)


async def disk_of_a_request(url: str) -> list[Row]:
    """Return the size of each table with its indexes, for one of the requests."""
    sql = """SELECT relname, pg_total_relation_size(oid), pg_indexes_size(oid) FROM pg_class
        WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY 2 DESC"""
    async with PostgresDatabase(url) as database:
        tables = await database.fetch(sql)
    count = ENDED + PENDING
    parts = [
        Row(f"disk of a request: {name}, with indexes of {indexes / count:,.0f} B", "B", [size / count])
        for name, size, indexes in tables
        if size / count >= LEAST_SHOWN
    ]
    return [Row("disk of a request", "B", [sum(size for _, size, _ in tables) / count]), *parts]


async def erasures(homes: list[Home]) -> list[Row]:
    """Return the time to erase one ended request by its id."""
    samples: list[list[float]] = []
    for home, size in zip(homes, (ENDED // SMALLER, ENDED), strict=True):
        async with open_backend(home.url) as backend, open_inbox_on_backend(backend, sweeps=False) as inbox:
            samples.append([])
            for id in await sampled_ids(home.url, size, ERASED):
                began = time.perf_counter()
                await inbox.erase(id, by="root")
                samples[-1].append((time.perf_counter() - began) * 1e3)
    small, large = samples
    return [Row("erasure of an ended request, p50", "ms", [median(large)], [median(small)], at_most=1.5)]


async def verified(url: str) -> Row:
    """Return the number of findings in a random sample of the requests, which must be none."""
    async with open_backend(url) as backend:
        ids = await sampled_ids(url, ENDED, VERIFIED)
        names = [(Request.record, Key(DEFAULT_TENANT, id)) for id in ids]
        findings = [found for name in names for found in await audit_record_and_files(backend.store, name)]
    return Row(f"findings of verify in {len(ids):,} random requests", "", [len(findings)], at_most=0)


async def sampled_ids(url: str, size: int, count: int) -> list[str]:
    """Return the ids of so many random ones of `size` ended requests; all of a small store."""
    async with PostgresDatabase(url) as database:
        percent = min(100.0, 300 * count / size)
        sql = f"SELECT id FROM requests TABLESAMPLE SYSTEM ({percent}) WHERE status = 'completed'"
        ids = [id for (id,) in await database.fetch(sql)]
    return random.Random(1).sample(ids, min(count, len(ids)))
