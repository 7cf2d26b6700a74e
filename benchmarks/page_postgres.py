"""The inbox page's first load from PostgreSQL, with a thousand and with a million pending requests."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from tests.servers import mortal_postgres

from benchmarks.measure import Row, folder
from benchmarks.page import FEW, MANY, Home, a_request, loads, made, some_requests
from ringi.backends.postgres.database import Database
from ringi.backends.postgres.store import EVENT_COLUMNS, TEXT_COLUMNS, PostgresStore, columns_of, event_row, text_row
from ringi.record import EPOCH, Event
from ringi.request import Request

Rows = dict[str, list[tuple[Any, ...]]]
SAMPLE = 100
COLUMNS = tuple(columns_of(a_request(0, SAMPLE, EPOCH)[0]))
TABLES = {"requests": "tenant, id", "shown": "tenant, audience, shelf, id", "texts": "tenant, id", "events": "number"}
"""The tables that are filled, and an order of their rows."""


async def first_load() -> list[Row]:
    """Loads from two schemas of one server."""
    with ExitStack() as stack:
        server = stack.enter_context(mortal_postgres())
        await compare(server.url)
        homes = []
        for count in (FEW, MANY):
            homes.append(Home(stack.enter_context(folder()), f"{server.url}?schema=page{count}"))
            async with Database(homes[-1].url) as database:
                await fill(database, count)
        return await loads("PostgreSQL: inbox page over HTTP", homes)


async def compare(url: str) -> None:
    """Fail unless what is filled in is what Ringi itself writes."""
    async with Database(f"{url}?schema=bulk") as bulk, Database(f"{url}?schema=written") as written:
        store = PostgresStore(written)
        asked = list(some_requests(0, SAMPLE))
        await copy(bulk, rows_of(asked), 0)
        for each in asked:
            await store.put(*each)
        await store.tail()
        for table, order in TABLES.items():
            sql = f"SELECT * FROM {table} ORDER BY {order}"
            if await bulk.fetch(sql) != await written.fetch(sql):
                raise RuntimeError(f"the table {table} is not filled as Ringi fills it")


async def fill(database: Database, count: int) -> None:
    """Write pending requests into the tables, past the statements of the store but not past the triggers."""
    began, numbered = time.monotonic(), 0
    # An index of terms that is made at the end is the same, and sooner there.
    ((index,),) = await database.fetch("SELECT pg_get_indexdef('texts_terms'::regclass)")
    await database.write("DROP INDEX texts_terms")
    for rows in made(count, some_rows):
        await copy(database, rows, numbered)
        numbered += len(rows["events"])
        if numbered % 50_000 == 0:
            print(f"  {numbered:,} of {count:,} requests written, {time.monotonic() - began:.0f} s", flush=True)
    connection = await database.connect()
    await connection.execute("SET maintenance_work_mem = '512MB'", timeout=None)
    await connection.execute(index, timeout=600)
    # As a server does by itself within a minute.
    await connection.execute("VACUUM ANALYZE", timeout=600)
    await connection.close()
    print(f"  {count:,} requests written, {time.monotonic() - began:.0f} s", flush=True)


async def copy(database: Database, rows: Rows, numbered: int) -> None:
    events = [(n, *row) for n, row in enumerate(rows["events"], numbered + 1)]
    columns = {"requests": COLUMNS, "texts": TEXT_COLUMNS, "events": ("number", *EVENT_COLUMNS)}
    async with database.pool.acquire() as connection, connection.transaction():
        for table, names in columns.items():
            records = events if table == "events" else rows[table]
            await connection.copy_records_to_table(table, records=records, columns=names)


def some_rows(start: int, count: int) -> Rows:
    """Return a batch as rows."""
    return rows_of(some_requests(start, count))


def rows_of(asked: Iterable[tuple[Request, Event]]) -> Rows:
    rows: Rows = {"requests": [], "texts": [], "events": []}
    for request, event in asked:
        rows["requests"].append(tuple(columns_of(request).values()))
        rows["texts"].append(tuple(text_row(request)))
        rows["events"].append(tuple(event_row(event)))
    return rows
