"""More events than one statement may number: somebody wrote for long, and nobody read."""

from __future__ import annotations

import pytest

from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.store import PostgresStore

MANY, BATCH = 25_000, 10_000
WRITE = """
INSERT INTO unsealed (tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash)
SELECT 'tenant-1', 'request', 'request-' || n, 1, 'request.created', n, '{}', '', '', ''
FROM generate_series(1, $1) AS n
"""


@pytest.fixture
async def store(database: PostgresDatabase) -> PostgresStore:
    """A store with many events that nobody has read."""
    await database.write(WRITE, MANY)
    return PostgresStore(database)


async def left(database: PostgresDatabase) -> int:
    ((count,),) = await database.fetch("SELECT count(*) FROM unsealed")
    return int(count)


async def test_a_page_numbers_no_more_than_a_batch_when_that_fills_it(
    store: PostgresStore, database: PostgresDatabase
) -> None:
    assert [event.position for event in await store.events(limit=3)] == ["1", "2", "3"]
    assert await left(database) == MANY - BATCH


async def test_a_page_is_full_while_there_is_anything_to_fill_it_with(store: PostgresStore) -> None:
    page = await store.events(limit=MANY + 1)

    assert [event.record_id for event in page] == [f"request-{n}" for n in range(1, MANY + 1)]
    assert [event.position for event in page] == [str(n) for n in range(1, MANY + 1)]


async def test_what_was_written_last_is_found_by_who_looks_for_it_alone(store: PostgresStore) -> None:
    (last,) = await store.events(tenant="tenant-1", record_id=f"request-{MANY}")

    assert last.position == str(MANY)


async def test_the_end_is_behind_all_that_was_written(store: PostgresStore, database: PostgresDatabase) -> None:
    assert (await store.tail(), await left(database)) == (str(MANY), 0)
