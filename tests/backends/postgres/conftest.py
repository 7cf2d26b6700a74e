"""One schema of a real PostgreSQL for each test, and the parts on it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from tests.proxy import Proxy

from ringi.backends.postgres.database import PostgresDatabase


@pytest.fixture(scope="module")
def server_url(postgres_url: str) -> str:
    """The server of a module's tests."""
    return postgres_url


@pytest.fixture
def schema_url(server_url: str) -> str:
    """The URL of a schema that nobody else uses."""
    return f"{server_url}?schema=t{uuid.uuid4().hex}"


@pytest.fixture
async def database(schema_url: str) -> AsyncIterator[PostgresDatabase]:
    """An open database."""
    async with PostgresDatabase(schema_url) as database:
        yield database


@pytest.fixture
async def second(database: PostgresDatabase, schema_url: str) -> AsyncIterator[PostgresDatabase]:
    """The same schema, opened as another process does."""
    async with PostgresDatabase(schema_url) as second:
        yield second


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[Proxy]:
    """A way to the server that can be cut."""
    async with Proxy(urlsplit(postgres_url).port or 0) as proxy:
        yield proxy


@pytest.fixture
async def behind(proxy: Proxy, schema_url: str) -> AsyncIterator[PostgresDatabase]:
    """The database by way of the proxy."""
    port = urlsplit(schema_url).port
    async with PostgresDatabase(schema_url.replace(f":{port}/", f":{proxy.port}/")) as database:
        yield database
