"""Keys of their own on a real Redis 6.2 and a real Valkey 9, for each test."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from ringi.backends.redis.server import RedisServer


@pytest.fixture(params=["redis_url", "valkey_url"])
def server_url(request: pytest.FixtureRequest) -> str:
    """The URL of keys that nobody else uses."""
    return f"{request.getfixturevalue(request.param)}?prefix=t{uuid.uuid4().hex}"


@pytest.fixture
async def server(server_url: str) -> AsyncIterator[RedisServer]:
    """An open server."""
    async with RedisServer(server_url) as server:
        yield server


@pytest.fixture
async def second(server: RedisServer, server_url: str) -> AsyncIterator[RedisServer]:
    """The same keys, opened as another process does."""
    async with RedisServer(server_url) as second:
        yield second
