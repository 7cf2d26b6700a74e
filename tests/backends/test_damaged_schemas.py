"""A store whose tables are not those of its migrations is refused in one sentence, which names what is wrong."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import refused, ringi

from ringi.backends.migrations import Migration, backend_migrations
from ringi.backends.postgres.database import PostgresDatabase, migrate_postgres
from ringi.connect import open_backend
from ringi.testing import store_request

STORES = pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
KNOWN = backend_migrations("postgres")
NEXT = Migration(len(KNOWN) + 1, "CREATE TABLE next (id text);", 0)
FOREIGN_LIST = "CREATE TABLE migrations (id integer PRIMARY KEY, migration text)"
LOST_LIST = "or the table migrations was lost: give the URL of another store, or restore a backup"
RESTORE = "restore a backup, or give the URL of another store"


async def execute(url: str, *statements: str) -> None:
    """Do something with the tables, as another program would."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as file:
            for statement in statements:
                file.execute(statement)
        return
    parts = urlsplit(url)
    (schema,) = parse_qs(parts.query)["schema"]
    connection = await asyncpg.connect(parts._replace(query="").geturl())
    await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path = {schema}")
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def make(url: str) -> None:
    async with open_backend(url) as backend:
        await store_request(backend.store, "before")


@STORES
@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DROP TABLE jobs", f"the table jobs is missing: {RESTORE}"),
        ("DROP TABLE events", f"the table events is missing: {RESTORE}"),
        ("DELETE FROM migrations WHERE number = 2", f"migration 2 is missing in the table migrations: {RESTORE}"),
        ("DELETE FROM migrations WHERE number = 3", f"migration 3 is missing in the table migrations: {RESTORE}"),
    ],
)
def test_a_damaged_store_is_refused_with_what_is_missing(url: str, statement: str, why: str, tmp_path: Path) -> None:
    asyncio.run(make(url))
    asyncio.run(execute(url, statement))
    for command in ("migrate", "list", "verify"):
        assert refused(Desk(tmp_path), 2, command, "--url", url).endswith(f": {why}\n")


@STORES
@pytest.mark.parametrize(
    ("statement", "name"), [("CREATE TABLE requests (id text)", "requests"), (FOREIGN_LIST, "migrations")]
)
def test_a_store_with_tables_of_another_program_is_refused_unchanged(
    url: str, statement: str, name: str, tmp_path: Path
) -> None:
    asyncio.run(execute(url, statement, "CREATE TABLE orders (id text)"))
    for _ in range(2):
        assert refused(Desk(tmp_path), 2, "migrate", "--url", url).endswith(
            f": Ringi did not make the table {name}, {LOST_LIST}\n"
        )
    assert "holds no store of Ringi" in refused(Desk(tmp_path), 2, "verify", "--url", url)


@STORES
def test_other_tables_of_another_program_are_no_damage(url: str, tmp_path: Path) -> None:
    asyncio.run(execute(url, "CREATE TABLE orders (id text)"))
    assert ringi(Desk(tmp_path), "migrate", "--url", url).returncode == 0
    asyncio.run(make(url))


class Interrupted:
    """A connection beside which another process migrates, just after the names of the tables were read."""

    def __init__(self, connection: Any, url: str) -> None:
        self._connection, self._url, self._is_first = connection, url, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def fetch(self, sql: str) -> Any:
        rows = await self._connection.fetch(sql)
        if self._is_first:
            self._is_first = False
            await execute(self._url, NEXT.script, f"INSERT INTO migrations VALUES ({NEXT.number}, 0)")
        return rows


async def test_a_table_that_another_process_makes_meanwhile_is_no_damage(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{postgres_url}?schema=t{uuid.uuid4().hex}"
    async with PostgresDatabase(url) as database:
        monkeypatch.setattr("ringi.backends.postgres.database.backend_migrations", lambda _: [*KNOWN, NEXT])
        connection = await database.connect()
        interrupted: Any = Interrupted(connection, url)
        await migrate_postgres(interrupted, url, database.schema)
        assert await connection.fetchval("SELECT max(number) FROM migrations") == NEXT.number
        await connection.close()
