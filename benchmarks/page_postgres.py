"""The inbox page's first load from PostgreSQL, with a thousand and with a million pending requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
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
SAMPLE = 100
LONG = 3600.0
COLUMNS = tuple(postgres_record_columns(a_request(0, SAMPLE, EPOCH)[0]))
TABLES = {"requests": "tenant, id", "shown": "tenant, audience, shelf, id", "texts": "tenant, id", "events": "number"}
"""The tables to fill, each with an order of its rows."""


async def first_load() -> list[Row]:
    """Measure loads from two schemas of one server."""
    with ExitStack() as stack:
        server = stack.enter_context(mortal_postgres())
        await compare(server.url)
        homes = []
        for count in (FEW, MANY):
            homes.append(Home(stack.enter_context(folder()), f"{server.url}?schema=page{count}"))
            await fill(homes[-1].url, count)
        return await loads("PostgreSQL: inbox page over HTTP", homes)


async def compare(url: str) -> None:
    """Fail unless the copied rows equal the rows that Ringi writes."""
    asked = list(some_requests(0, SAMPLE))
    async with PostgresDatabase(f"{url}?schema=bulk") as bulk, PostgresDatabase(f"{url}?schema=written") as written:
        store = PostgresStore(written)
        await copy(bulk, rows_of(asked, 0))
        for each in asked:
            await store.put(*each)
        await store.tail()
        for table, order in TABLES.items():
            sql = f"SELECT * FROM {table} ORDER BY {order}"
            if await bulk.fetch(sql) != await written.fetch(sql):
                raise RuntimeError(f"the table {table} is not filled as Ringi fills it")


async def fill(url: str, count: int) -> None:
    """Write pending requests into the tables, without the store's statements but with the triggers."""
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
    return asyncio.run(write_some(url, start, count))


async def write_some(url: str, start: int, count: int) -> int:
    rows = rows_of(some_requests(start, count), start)
    async with PostgresDatabase(url) as database:
        await copy(database, rows)
    return len(rows["requests"])


async def copy(database: PostgresDatabase, rows: Rows) -> None:
    columns = {"requests": COLUMNS, "texts": TEXT_COLUMNS, "events": ("number", *EVENT_COLUMNS)}
    connection = await database.connect()
    await connection.execute("SET synchronous_commit = off")
    async with connection.transaction():
        for table, names in columns.items():
            await connection.copy_records_to_table(table, records=rows[table], columns=names, timeout=LONG)
    await connection.close()


def rows_of(asked: Iterable[tuple[Request, Event]], numbered: int) -> Rows:
    """Return requests and their events as numbered rows."""
    rows: Rows = {"requests": [], "texts": [], "events": []}
    for number, (request, event) in enumerate(asked, numbered + 1):
        rows["requests"].append(tuple(postgres_record_columns(request).values()))
        rows["texts"].append(tuple(request_text_row(request)))
        rows["events"].append((number, *event_to_row(event)))
    return rows
