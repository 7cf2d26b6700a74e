"""Redis and Valkey keep every promise that they make: store, stream and notifier."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from ringi.backends.redis import pages
from ringi.backends.redis.lists import Asked
from ringi.backends.redis.server import RedisServer
from ringi.backends.redis.store import RedisStore
from ringi.backends.redis.stream import RedisNotifier, RedisStream
from ringi.contracts.backend import Notifier, Stream
from ringi.contracts.store import Store
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.testing.clock import NOON
from ringi.testing.conformance import NotifierConformance, StoreConformance, StreamConformance
from ringi.testing.conformance.urgency import UrgencyConformance
from ringi.testing.factories import a_request


class TestStore(StoreConformance):
    @pytest.fixture
    def store(self, server: RedisServer) -> Store:
        return RedisStore(server)

    @pytest.fixture
    def other(self, second: RedisServer) -> Store:
        return RedisStore(second)


class TestManyUrgent(UrgencyConformance):
    """The requests with a priority or a tier are too many to be sorted, and more than Redis reads at once."""

    @pytest.fixture
    def store(self, server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Store:
        for name, number in (("FEW", 2), ("FIRST_CHUNK", 1), ("MAX_CHUNK", 2)):
            monkeypatch.setattr(pages, name, number)
        return RedisStore(server)

    @pytest.fixture
    def other(self, store: Store) -> Store:
        return store


async def test_a_page_of_a_rare_agent_reads_only_its_requests(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, read = RedisStore(server), list[bytes]()
    for n in range(30):
        name = "rare" if n in (5, 25) else "common"
        await store.put(*a_request(f"r{n}", by=name, due_at=NOON + timedelta(minutes=n) if n % 2 else None))
    requests = store._pages[Request.record]
    pick = requests._pick

    async def counted(asked: Asked, query: Query, limit: int, places: Sequence[bytes]) -> Any:
        read.extend(places)
        return await pick(asked, query, limit, places)

    monkeypatch.setattr(requests, "_pick", counted)
    found = await store.find(Request, Query(tenant="tenant-1", order="urgent", now=NOON, agent="rare"))
    assert {request.id for request in found} == {"r5", "r25"}
    assert len(set(read)) == 2


class TestStream(StreamConformance):
    @pytest.fixture
    def stream(self, server: RedisServer) -> Stream:
        return RedisStream(server)

    @pytest.fixture
    def other(self, second: RedisServer) -> Stream:
        return RedisStream(second)


class TestNotifier(NotifierConformance):
    @pytest.fixture
    async def notifier(self, server: RedisServer) -> AsyncIterator[Notifier]:
        async with RedisNotifier(server, recheck_after=30.0) as notifier:
            yield notifier

    @pytest.fixture
    async def other(self, second: RedisServer) -> AsyncIterator[Notifier]:
        async with RedisNotifier(second, recheck_after=30.0) as other:
            yield other
