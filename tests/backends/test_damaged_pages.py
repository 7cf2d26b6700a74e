"""Records that cannot be read at all neither end a list nor keep what is overdue from being found."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from ringi.backends.redis.lists import redis_record_field
from ringi.backends.redis.server import RedisServer
from ringi.connect import Backend, open_backend
from ringi.domain.record import Query, cursor_after_record
from ringi.domain.request import Request
from ringi.testing import store_request
from ringi.testing.clock import NOON as NOW

DAMAGED = [f"d{n}" for n in range(7)]
TENANT = "tenant-1"
SQL = "UPDATE requests SET body = '{' WHERE id LIKE 'd_'"


@pytest.fixture(params=["sqlite", "postgres", "redis"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """A store whose newest requests, overdue for longest, are damaged, and four behind them are not."""
    name = f"t{uuid.uuid4().hex}"
    urls = {
        "sqlite": lambda: f"sqlite:///{tmp_path}/ringi.db",
        "postgres": lambda: f"{request.getfixturevalue('postgres_url')}?schema={name}",
        "redis": lambda: f"{request.getfixturevalue('durable_redis_url')}?prefix={name}",
    }
    url = urls[request.param]()
    async with open_backend(url) as backend:
        for n, id in enumerate([*"abcd", *DAMAGED]):
            at = NOW + timedelta(seconds=n)
            await store_request(backend.store, id, at=at, expires_at=NOW + timedelta(hours=1) - timedelta(seconds=n))
        if request.param == "sqlite":
            with closing(sqlite3.connect(tmp_path / "ringi.db")) as file, file:
                file.execute(SQL)
        elif request.param == "postgres":
            connection = await asyncpg.connect(url.partition("?")[0], server_settings={"search_path": name})
            await connection.execute(SQL)
            await connection.close()
        else:
            async with RedisServer(url) as server:
                rows = {redis_record_field(TENANT, id): b"1 token {" for id in DAMAGED}
                await server.redis.hset(server.key("request", "bodies"), mapping=rows)
        yield backend


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_a_list_goes_on_behind_a_page_of_damaged_records(backend: Backend, limit: int) -> None:
    for narrowed in ({}, {"tenant": TENANT}, {"tenant": TENANT, "statuses": ("pending",)}):
        query = Query(limit=limit, **narrowed)
        ids = []
        while page := await backend.store.find(Request, query):
            ids += [each.id for each in page]
            query = query.model_copy(update={"before": cursor_after_record(page[-1])})
        assert ids == list("dcba")


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_what_is_overdue_is_found_behind_damaged_records(backend: Backend, limit: int) -> None:
    found = await backend.store.find(Request, Query(limit=limit, expired_at=NOW + timedelta(hours=2)))
    assert [each.id for each in found] == list("dcba")[:limit]
