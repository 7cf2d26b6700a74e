"""Redis and Valkey keep every promise that they make: store, stream and notifier."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ringi.backends.redis import urgent
from ringi.backends.redis.notifier import RedisNotifier
from ringi.backends.redis.server import Server
from ringi.backends.redis.store import RedisStore
from ringi.backends.redis.stream import RedisStream
from ringi.contracts.notifier import Notifier
from ringi.contracts.store import Store
from ringi.contracts.stream import Stream
from ringi.testing.conformance import NotifierConformance, StoreConformance, StreamConformance
from ringi.testing.conformance.urgency import UrgencyConformance


class TestStore(StoreConformance):
    @pytest.fixture
    def store(self, server: Server) -> Store:
        return RedisStore(server)

    @pytest.fixture
    def other(self, second: Server) -> Store:
        return RedisStore(second)


class TestManyUrgent(UrgencyConformance):
    """The requests with a priority or a tier are too many to be sorted, and more than Redis reads at once."""

    @pytest.fixture
    def store(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> Store:
        for name, number in (("FEW", 2), ("FIRST_CHUNK", 1), ("MAX_CHUNK", 2)):
            monkeypatch.setattr(urgent, name, number)
        return RedisStore(server)

    @pytest.fixture
    def other(self, store: Store) -> Store:
        return store


class TestStream(StreamConformance):
    @pytest.fixture
    def stream(self, server: Server) -> Stream:
        return RedisStream(server)

    @pytest.fixture
    def other(self, second: Server) -> Stream:
        return RedisStream(second)


class TestNotifier(NotifierConformance):
    @pytest.fixture
    async def notifier(self, server: Server) -> AsyncIterator[Notifier]:
        async with RedisNotifier(server, recheck_after=30.0) as notifier:
            yield notifier

    @pytest.fixture
    async def other(self, second: Server) -> AsyncIterator[Notifier]:
        async with RedisNotifier(second, recheck_after=30.0) as other:
            yield other
