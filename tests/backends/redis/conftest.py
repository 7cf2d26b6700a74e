"""Keys of their own on a real Redis 6.2 and a real Valkey 9, for each test."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from ringi.backends.redis.server import Server


@pytest.fixture(params=["redis_url", "valkey_url"])
def server_url(request: pytest.FixtureRequest) -> str:
    """The URL of keys that nobody else uses."""
    return f"{request.getfixturevalue(request.param)}?prefix=t{uuid.uuid4().hex}"


@pytest.fixture
async def server(server_url: str) -> AsyncIterator[Server]:
    """An open server."""
    async with Server(server_url) as server:
        yield server


@pytest.fixture
async def second(server: Server, server_url: str) -> AsyncIterator[Server]:
    """The same keys, opened as another process does."""
    async with Server(server_url) as second:
        yield second
