"""Whatever is done and whatever is asked for, Redis and Valkey do as memory does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.backends import listing
from tests.tiers import examples

from ringi.backends.redis import pages
from ringi.backends.redis.server import RedisServer
from ringi.backends.redis.store import RedisStore
from ringi.testing.machine import InboxMachine

URLS: dict[str, str] = {}


@pytest.fixture(autouse=True, scope="module")
def urls(redis_url: str, valkey_url: str) -> None:
    URLS.update(redis=redis_url, valkey=valkey_url)


@asynccontextmanager
async def emptied(name: str) -> AsyncIterator[RedisStore]:
    """Give a store without anything in it."""
    async with RedisServer(f"{URLS[name]}?prefix=m{uuid4().hex}") as server:
        yield RedisStore(server)


class RedisMachine(InboxMachine):
    server = "redis"

    def open(self) -> listing.Opened:
        return emptied(self.server)


class ValkeyMachine(RedisMachine):
    server = "valkey"


TestRedisDoesAsMemoryDoes = RedisMachine.TestCase
TestValkeyDoesAsMemoryDoes = ValkeyMachine.TestCase
TestRedisDoesAsMemoryDoes.settings = TestValkeyDoesAsMemoryDoes.settings = settings(
    max_examples=examples(15), stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("server", ["redis", "valkey"])
@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(case=listing.CASES, little=st.sampled_from([0, 2, 1_000]), at_once=st.sampled_from([1, 2, 500]))
def test_redis_lists_as_memory_does(server: str, case: listing.Case, little: int, at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "LITTLE", little)
        patch.setattr(pages, "MAX_CHUNK", at_once)
        asyncio.run(listing.compare(emptied(server), case))
