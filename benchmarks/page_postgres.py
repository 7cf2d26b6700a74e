"""The inbox page's first load from PostgreSQL, with a thousand and with a million pending requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from tests.servers import mortal_postgres

from benchmarks.measure import Row, folder
from benchmarks.page import FEW, MANY, Home, a_request, loads, make_batches, some_requests
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.store import TEXT_COLUMNS, PostgresStore, postgres_record_columns, request_text_row
from ringi.backends.rows import EVENT_COLUMNS, event_to_row
from ringi.base.clock import EPOCH
from ringi.domain.record import Event
from ringi.domain.request import Request

Rows = dict[str, list[tuple[Any, ...]]]
History = Sequence[tuple[Request, Event | None]]
"""All versions of a request."""
SAMPLE = 100
LONG = 3600.0
COLUMNS = tuple(postgres_record_columns(a_request(0, SAMPLE, EPOCH)[0]))
TABLES = {"requests": "tenant, id", "shown": "tenant, audience, shelf, id", "texts": "tenant, id", "events": "number"}
"""The tables to fill, each with an order of its rows."""


async def first_load() -> list[Row]:
    """Measure loads from two schemas of one server."""
    with ExitStack() as stack:
        server = stack.enter_context(mortal_postgres())
        await compare(server.url, [[each] for each in some_requests(0, SAMPLE)])
        homes = []
        for count in (FEW, MANY):
            homes.append(Home(stack.enter_context(folder()), f"{server.url}?schema=page{count}"))
            await fill(homes[-1].url, count, write)
        return await loads("PostgreSQL: inbox page over HTTP", homes)


async def compare(url: str, histories: Sequence[History]) -> None:
    """Fail unless the copied rows equal the rows that Ringi writes."""
    async with PostgresDatabase(f"{url}?schema=bulk") as bulk, PostgresDatabase(f"{url}?schema=written") as written:
        store = PostgresStore(written)
        await copy(bulk, rows_of(histories, 0))
        for each in histories:
            for version in each:
                await store.put(*version)
                await store.tail()
        await store.tail()
        for table, order in TABLES.items():
            sql = f"SELECT * FROM {table} ORDER BY {order}"
            if await bulk.fetch(sql) != await written.fetch(sql):
                raise RuntimeError(f"the table {table} is not filled as Ringi fills it")


async def fill(url: str, count: int, write: Callable[[str, int, int], int]) -> None:
    """Write requests into the tables, without the store's statements but with the triggers.

    Args:
        url: The store.
        count: The number of requests.
        write: Writes a batch to the store, from its number of so many, and returns how many it wrote.
    """
    async with PostgresDatabase(url) as database:
        began, written = time.monotonic(), 0
        # It is faster to create the index of terms at the end.
        ((index,),) = await database.fetch("SELECT pg_get_indexdef('texts_terms'::regclass)")
        await database.write("DROP INDEX texts_terms")
        for some in make_batches(count, partial(write, url)):
            written += some
            if written % 50_000 == 0:
                print(f"  {written:,} of {count:,} requests written, {time.monotonic() - began:.0f} s", flush=True)
        connection = await database.connect()
        await connection.execute("SET maintenance_work_mem = '512MB'")
        await connection.execute(index, timeout=LONG)
        # A server does this by itself within a minute.
        await connection.execute("VACUUM ANALYZE", timeout=LONG)
        await connection.close()
        print(f"  {count:,} requests written and indexed, {time.monotonic() - began:.0f} s", flush=True)


def write(url: str, start: int, count: int) -> int:
    """Write a batch, in one of several processes, and return its number of requests."""
    histories = [[each] for each in some_requests(start, count)]
    asyncio.run(copy_histories(url, histories, start))
    return len(histories)


async def copy_histories(url: str, histories: Iterable[History], numbered: int) -> None:
    async with PostgresDatabase(url) as database:
        await copy(database, rows_of(histories, numbered))


async def copy(database: PostgresDatabase, rows: Rows) -> None:
    columns = {"requests": COLUMNS, "texts": TEXT_COLUMNS, "events": ("number", *EVENT_COLUMNS)}
    connection = await database.connect()
    await connection.execute("SET synchronous_commit = off")
    async with connection.transaction():
        for table, names in columns.items():
            await connection.copy_records_to_table(table, records=rows[table], columns=names, timeout=LONG)
    await connection.close()


def rows_of(histories: Iterable[History], numbered: int) -> Rows:
    """Return requests and their events as rows; the events are numbered in this order."""
    rows: Rows = {"requests": [], "texts": [], "events": []}
    for history in histories:
        first, last = history[0][0], history[-1][0]
        columns = postgres_record_columns(first) | postgres_record_columns(last)
        rows["requests"].append(tuple(columns[name] for name in COLUMNS))
        rows["texts"].append(tuple(request_text_row(first)))
        for event in (each for _, each in history if each):
            rows["events"].append((numbered + len(rows["events"]) + 1, *event_to_row(event)))
    return rows
