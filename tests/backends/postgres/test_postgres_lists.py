"""How PostgreSQL finds a page: with no more work where there is more to choose from."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import asyncpg
import pytest
import pytest_asyncio

from ringi.backends.postgres import lists
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.store import PostgresStore
from ringi.domain.record import Query, Viewer, index_terms, unix_microseconds
from ringi.domain.request import Request
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request

FEW, MANY, PAGE = 2_000, 40_000, 5
PROBES = 200
"""Blocks that it takes to find out which of a person's lists are empty. Among many an index is a level deeper."""
FILL = """
INSERT INTO requests (tenant, id, version, created_at, status, kind, priority, audiences, ended_at, unacknowledged,
  attention, unexecuted, agent, tier, rank, body)
SELECT 'tenant-1', 'request-' || n, 1, $2::bigint + n * 1000, CASE WHEN n % 4 = 0 THEN 'cancelled' ELSE 'pending' END,
  CASE WHEN n % $1 = 9 THEN 'finish' ELSE 'approval' END, CASE WHEN n % $1 = 7 THEN 'high' ELSE 'normal' END,
  ARRAY['*', CASE WHEN n % $1 = 5 THEN 'group:few' ELSE 'group:most' END],
  CASE WHEN n % 4 = 0 THEN $2::bigint + n * 1000 END, false, false, n % $1 = 3,
  CASE WHEN n % $1 = 11 THEN 'rare' ELSE 'common' END, CASE WHEN n % $1 = 13 THEN 'high' ELSE 'low' END,
  CASE WHEN n % $1 = 7 THEN 15 ELSE 23 END, $4
FROM generate_series($3::integer, $5::integer) AS n
"""
TEXTS = """
INSERT INTO texts SELECT 'tenant-1', 'request-' || n, CASE WHEN n % $1 = 7 THEN $2 ELSE $3 END,
  CASE WHEN n % $1 = 7 THEN $4::integer[] ELSE $5::integer[] END, $7::bigint + n * 1000
FROM generate_series($6::integer, $8::integer) AS n
"""
BATCH = 2_000
RARE, COMMON = " 交換 perfume", " 返金 refund"
BODY = a_request()[0].model_dump_json()
EVE = Viewer(name="eve", groups=("few",))
ADA = Viewer(name="ada", groups=("few", "most"))
PENDING = Query(tenant="tenant-1", statuses=("pending",), limit=PAGE)
RARELY: list[dict[str, Any]] = [
    *({"agent": "rare"}, {"agent": "nobody"}, {"tier": "high"}, {"kind": "finish"}, {"priority": "high"})
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"statuses": ()},
    {"statuses": ("completed", "cancelled")},
    {"statuses": (), "unexecuted": True},
    {"statuses": (), "unexecuted": True, "viewer": ADA},
    {"viewer": ADA},
    {"viewer": EVE},
    {"viewer": EVE, "kind": "finish"},
    {"viewer": ADA, "assigned_or_claimed_by": "ada"},
    {"assignee": "ada"},
    {"asked_by": "bot"},
    {"text": "refund"},
    {"text": "返金"},
    {"text": "perfume"},
    {"text": "交換"},
    {"text": "nowhere"},
    {"text": "返金", "viewer": EVE},
    *({**some, **more} for some in RARELY for more in ({}, {"statuses": ()}, {"order": "ended", "statuses": ()})),
    {"agent": "common"},
    {"agent": "rare", "text": "返金"},
]


class Explained(PostgresDatabase):
    """Counts the blocks that its statements look at; of several ways, those of the cheapest."""

    blocks = 0

    async def fetch(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        ((explained,),) = await super().fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", *values)
        plan = json.loads(explained)[0]["Plan"]
        self.blocks += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        return await super().fetch(sql, *values)

    async def first_result(self, *ways: Coroutine[Any, Any, Any]) -> Any:
        before, costs = self.blocks, list[int]()
        for way in ways:
            self.blocks = 0
            found = await way
            costs.append(self.blocks)
        self.blocks = before + min(costs)
        return found


class Filled(NamedTuple):
    """A schema with requests, a page of them rare in each way; a quarter has ended."""

    database: Explained
    size: int

    async def fill(self) -> None:
        every = self.size // PAGE
        terms = [[lists.index_term_number("tenant-1", term) for term in index_terms(text)] for text in (RARE, COMMON)]
        # A statement has ten seconds, even on a busy machine.
        for first in range(1, self.size + 1, BATCH):
            last = min(first + BATCH - 1, self.size)
            await self.database.write(FILL, every, unix_microseconds(NOON), first, BODY, last)
            await self.database.write(TEXTS, every, RARE, COMMON, *terms, first, unix_microseconds(NOON), last)
        for table in ("requests", "shown", "texts"):
            await self.database.write(f"VACUUM ANALYZE {table}")

    async def blocks_found_in(self, query: Query) -> int:
        """Return how many blocks it takes to find a page."""
        self.database.blocks = 0
        await PostgresStore(self.database).find(Request, query)
        return self.database.blocks

    async def blocks_counted_in(self, query: Query) -> int:
        """Return how many blocks it takes to count."""
        self.database.blocks = 0
        await PostgresStore(self.database).count(Request, query)
        return self.database.blocks

    def middle(self) -> str:
        """Return the cursor of the request in the middle."""
        return f"{unix_microseconds(NOON) + self.size // 2 * 1000}:tenant-1:request-{self.size // 2}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(postgres_url: str) -> AsyncIterator[list[Filled]]:
    """A schema with few requests, and one with many."""
    opened = [Filled(Explained(f"{postgres_url}?schema=t{uuid.uuid4().hex}"), count) for count in (FEW, MANY)]
    async with AsyncExitStack() as stack:
        for each in opened:
            await stack.enter_async_context(each.database)
            await each.fill()
        yield opened


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("filters", FILTERS, ids=str)
async def test_a_page_looks_at_no_more_blocks_among_many_than_among_few(
    filled: list[Filled], filters: dict[str, Any]
) -> None:
    query = PENDING.model_copy(update=filters)
    few, many = [await each.blocks_found_in(query) for each in filled]
    assert many <= 2 * max(few, PROBES)
    few, many = [await each.blocks_counted_in(query) for each in filled]
    assert many <= 2 * max(few, PROBES)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("filters", [{}, {"viewer": ADA}, {"text": "返金"}], ids=str)
async def test_a_page_from_the_middle_looks_at_no_more_blocks_among_many(
    filled: list[Filled], filters: dict[str, Any]
) -> None:
    few, many = [
        await each.blocks_found_in(PENDING.model_copy(update={**filters, "before": each.middle()})) for each in filled
    ]
    assert many <= 2 * max(few, PROBES)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("filters", [{}, {"viewer": ADA}, {"assigned_or_claimed_by": "ada"}], ids=str)
async def test_what_ended_is_counted_in_no_more_blocks_among_many(
    filled: list[Filled], filters: dict[str, Any]
) -> None:
    query = Query(tenant="tenant-1", ended_since=NOON, limit=PAGE, **filters)
    few, many = [await each.blocks_counted_in(query) for each in filled]
    assert many <= 2 * max(few, PROBES)
