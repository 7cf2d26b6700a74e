"""Read-only PostgreSQL for `ringi verify`: it creates, migrates, numbers and writes nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import asyncpg

from ringi.backends.migrations import backend_migrations, refuse_other_schema
from ringi.backends.postgres import lists
from ringi.backends.postgres.database import (
    AsyncpgConnection,
    PostgresDatabase,
    at_one_moment,
    postgres_errors_as_own,
    read_postgres_schema,
    replace_nul_characters,
)
from ringi.backends.postgres.store import PostgresStore, postgres_record_columns
from ringi.backends.rows import EVENT_COLUMNS, TABLES, Columns, events_of_rows, find_wrong_columns
from ringi.contracts.store import Finding
from ringi.domain.journal import Journal
from ringi.domain.record import START, Event, Key, Position, Record
from ringi.domain.request import Request
from ringi.domain.thread import Thread

CHUNK = 500
NAMES = ", ".join(EVENT_COLUMNS)
UNSEALED = (
    f"SELECT (SELECT coalesce(max(number), 0) FROM events) + row_number() OVER (ORDER BY seq), {NAMES} FROM unsealed"
)
ALL = f"(SELECT number, {NAMES} FROM events UNION ALL {UNSEALED}) AS every"
"""All events: those not numbered yet come last, in the order of their writing."""
UNLISTED = """
SELECT r.tenant, r.id FROM requests r, unnest(lists_of(r.audiences, r.tool)) AS a WHERE NOT EXISTS (
  SELECT FROM shown s WHERE s.tenant = r.tenant AND s.audience = a AND s.shelf = r.shelf
  AND s.created_at = r.created_at AND s.id = r.id AND s.ended_at IS NOT DISTINCT FROM r.ended_at
  AND (r.status <> 'pending' OR (s.rank, s.deadline) IS NOT DISTINCT FROM (r.rank, r.deadline))
) LIMIT 1000
"""
MISLISTED = """
SELECT s.tenant, s.id FROM shown s LEFT JOIN requests r USING (tenant, id)
WHERE r.id IS NULL OR r.shelf <> s.shelf OR NOT s.audience = ANY (lists_of(r.audiences, r.tool))
  OR (r.status <> 'pending' AND (s.rank, s.deadline) IS DISTINCT FROM (NULL, NULL)) LIMIT 1000
"""
WRONG_LISTS = {UNLISTED: "it is missing in a list", MISLISTED: "it stands in a list that is not its own"}


class ReadOnlyPostgres(PostgresDatabase):
    """Read-only connections to existing tables of this version."""

    _settings = {**PostgresDatabase._settings, "default_transaction_read_only": "on"}
    _command_seconds = None

    async def _prepare(self, connection: AsyncpgConnection) -> None:
        async with at_one_moment(connection):
            schema = await read_postgres_schema(connection)
        refuse_other_schema(self.url, schema, backend_migrations("postgres"))

    async def _fetch(self, sql: str, values: Sequence[Any]) -> list[asyncpg.Record]:
        # Reading the lists of a million requests takes time.
        with postgres_errors_as_own():
            async with self._sessions.one() as connection:
                return await connection.fetch(sql, *map(replace_nul_characters, values))


class InspectedPostgresStore(PostgresStore):
    """Reads events unchanged, numbered or not, and checks redundant data of the tables."""

    uninspected = "PostgreSQL's own pages and indexes are not checked here: run pg_amcheck"

    _events = ALL

    async def _feed(self, after: int, limit: int) -> list[Event]:
        sql = f"SELECT * FROM {ALL} WHERE number > $1 ORDER BY number LIMIT $2"
        return events_of_rows(map(tuple, await self._database.fetch(sql, after, limit)), None)

    async def _seal_batch(self) -> tuple[bool, int | None]:
        return False, None

    async def tail(self) -> Position:
        ((last,),) = await self._database.fetch(f"SELECT max(number) FROM {ALL}")
        return START if last is None else str(last)

    async def inspect(self) -> AsyncGenerator[Finding, None]:
        sql = "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
        ((failures,),) = await self._database.fetch(sql)
        if failures:
            yield Finding("store", Key("", ""), "", f"PostgreSQL has counted {failures} pages with a wrong checksum")
        for kind in (Request, Thread, Journal):
            async for finding in self._compared(kind):
                yield finding
        for sql, what in WRONG_LISTS.items():
            for tenant, id in await self._database.fetch(sql):
                yield Finding("request", Key(tenant, id), "", what)

    async def _compared(self, kind: type[Record]) -> AsyncGenerator[Finding, None]:
        join = ", t.search, t.terms FROM requests r LEFT JOIN texts t USING (tenant, id, created_at)"
        source = join if kind is Request else f" FROM {TABLES[kind.record]} r"
        sql = f"SELECT r.*{source} WHERE (r.tenant, r.id) > ($1, $2) ORDER BY r.tenant, r.id LIMIT {CHUNK}"
        place = ("", "")
        while rows := await self._database.fetch(sql, *place):
            for row in rows:
                for finding in find_wrong_columns(kind, dict(row), expected_columns, postgres_column_differs):
                    yield finding
            place = rows[-1]["tenant"], rows[-1]["id"]


def expected_columns(record: Record) -> Columns:
    """Return the columns of a record with those of its searchable text."""
    columns = postgres_record_columns(record)
    if isinstance(record, Request):
        columns |= {"search": record.search_text, "terms": lists.postgres_index_terms(record)}
    return columns


def postgres_column_differs(found: Any, expected: Any) -> bool:
    """Return whether a column differs; NUL, which PostgreSQL cannot store, matches its replacement."""
    if isinstance(expected, list):
        return sorted(found or []) != sorted(expected)
    return bool(found != (expected.replace("\0", "\U0010ffff") if isinstance(expected, str) else expected))
