"""Whatever is done and whatever is asked for, PostgreSQL does as memory does."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from tests.backends import listing
from tests.tiers import examples

from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.store import PostgresStore
from ringi.testing.machine import InboxMachine

TABLES = "requests, shown, texts, threads, journals, events, cursors"


@asynccontextmanager
async def emptied(url: str) -> AsyncIterator[PostgresStore]:
    """Give the store without anything in it."""
    async with PostgresDatabase(url) as database:
        await database.write(f"TRUNCATE {TABLES} RESTART IDENTITY")
        yield PostgresStore(database)


class PostgresMachine(InboxMachine):
    url = ""

    def open(self) -> listing.Opened:
        return emptied(self.url)


@pytest.fixture(scope="module")
def schema_url(postgres_url: str) -> str:
    return f"{postgres_url}?schema=t{uuid.uuid4().hex}"


@pytest.fixture(scope="module", autouse=True)
def machine_url(schema_url: str) -> None:
    PostgresMachine.url = schema_url


TestPostgresDoesAsMemoryDoes = PostgresMachine.TestCase
TestPostgresDoesAsMemoryDoes.settings = settings(
    max_examples=examples(15), stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(case=listing.CASES)
def test_postgres_lists_as_memory_does(schema_url: str, case: listing.Case) -> None:
    asyncio.run(listing.compare(emptied(schema_url), case))
