"""PostgreSQL keeps every promise, the newest version and the oldest that is supported."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.jobs import PostgresJobs
from ringi.backends.postgres.notifier import PostgresNotifier
from ringi.backends.postgres.store import PostgresStore
from ringi.backends.postgres.stream import PostgresStream
from ringi.contracts.backend import Jobs, Notifier, Stream
from ringi.contracts.store import Store
from ringi.testing.conformance import JobsConformance, NotifierConformance, StoreConformance, StreamConformance


@pytest.fixture(scope="module", params=["postgres_url", "postgres_16_url"])
def server_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(request.param)
    return url


class TestStore(StoreConformance):
    @pytest.fixture
    def store(self, database: PostgresDatabase) -> Store:
        return PostgresStore(database)

    @pytest.fixture
    def other(self, second: PostgresDatabase) -> Store:
        return PostgresStore(second)


class TestStream(StreamConformance):
    @pytest.fixture
    def stream(self, database: PostgresDatabase) -> Stream:
        return PostgresStream(database)

    @pytest.fixture
    def other(self, second: PostgresDatabase) -> Stream:
        return PostgresStream(second)


class TestNotifier(NotifierConformance):
    @pytest.fixture
    async def notifier(self, database: PostgresDatabase) -> AsyncIterator[Notifier]:
        async with PostgresNotifier(database, recheck_after=30.0) as notifier:
            yield notifier

    @pytest.fixture
    async def other(self, second: PostgresDatabase) -> AsyncIterator[Notifier]:
        async with PostgresNotifier(second, recheck_after=30.0) as other:
            yield other


class TestJobs(JobsConformance):
    @pytest.fixture
    async def jobs(self, database: PostgresDatabase) -> AsyncIterator[Jobs]:
        async with PostgresNotifier(database, recheck_after=0.5) as notifier:
            yield PostgresJobs(database, notifier)

    @pytest.fixture
    async def other(self, second: PostgresDatabase) -> AsyncIterator[Jobs]:
        async with PostgresNotifier(second, recheck_after=0.5) as notifier:
            yield PostgresJobs(second, notifier)
