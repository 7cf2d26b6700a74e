"""Requests of versions that knew one order are listed in both, and verify, also while such a version writes on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio.connection import AbstractConnection

from ringi.audit.verify import verify
from ringi.backends import migrations, rows
from ringi.backends.memory.store import MemoryStore
from ringi.backends.postgres import changes
from ringi.backends.postgres import database as postgres
from ringi.backends.redis import lists as redis
from ringi.backends.redis.store import RedisStore
from ringi.backends.sqlite import database as sqlite
from ringi.base.clock import utc_now
from ringi.connect import open_backend
from ringi.contracts.store import Store
from ringi.domain import request as domain
from ringi.domain.ask import Action
from ringi.domain.record import Event, Query
from ringi.domain.request import Request
from ringi.testing.factories import a_request, answer_to

NOW = utc_now().replace(microsecond=123_400)
LAST = {"sqlite": 6, "postgres": 10}
"""The last migration of these versions."""
ASKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "urgent": {"priority": "urgent", "action": Action("pay", {"note": "\u0000'\"返金"})},
    "due": {"due_at": NOW + timedelta(minutes=5), "expires_at": NOW + timedelta(microseconds=1)},
    "zone": {"due_at": (NOW + timedelta(hours=9)).isoformat().replace("+00:00", "+09:00"), "tier": "high"},
    "second": {"expires_at": NOW.replace(microsecond=0) + timedelta(hours=3), "tier": "irreversible"},
    "question": {"action": None, "by": "ann"},
    "parked": {"parked": True},
}


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """A store that nobody has opened yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ringi.db"
    if request.param == "redis":
        return f"{request.getfixturevalue('durable_redis_url')}?prefix=t{uuid.uuid4().hex}"
    return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"


@contextmanager
def older(*, schema: bool) -> Iterator[None]:
    """Write as these versions did; with `schema`, on their tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "order_columns", lambda request: {})
        patch.setattr(changes, "CHANGE", changes.CHANGE.replace(", stored.tier", "").replace(", tier", ""))
        patch.setattr(domain, "agent_of", lambda *about: None)
        listed = redis.of_request
        patch.setattr(redis, "of_request", lambda request: redis.older_part(*listed(request)))
        for module in (sqlite, postgres) if schema else ():
            patch.setattr(module, "migrations", lambda name: migrations.migrations(name)[: LAST[name]])
        yield


async def write(store: Store, memory: MemoryStore, prefix: str) -> None:
    """Ask, answer and claim."""
    for n, (name, fields) in enumerate(ASKS.items()):
        for what in ("", "-ended", "-claimed", "-long-ago"):
            at = NOW - timedelta(days=90 if what == "-long-ago" else 1, microseconds=n)
            request, event = a_request(f"{prefix}-{name}{what}", **{"at": at, **fields})
            made: list[tuple[Request, Event | None]] = [(request, event)]
            if what in ("-ended", "-long-ago"):
                made.append(request.completed(answer_to(request, "reject"), by="bob", channel="test", now=at))
            if what == "-claimed":
                made.append(request.claimed("bob", at, timedelta(hours=1)))
            for version in made:
                await store.put(*version)
                await memory.put(*version)


async def compare(store: Store, memory: MemoryStore, *, ended_by_tool: bool = True) -> None:
    """Check that all lists are those of memory, and that everything verifies."""
    urgent: dict[str, Any] = {"order": "urgent", "now": NOW}
    for query in (
        *({}, urgent, {"statuses": ("pending",)}, {"tool": "pay", **urgent}, {"tool": "pay", "statuses": ("pending",)}),
        *({"tier": "high", **urgent}, {"agent": "agent", **urgent}, {"priority": "urgent", **urgent}),
        {"tool": "refund", "statuses": ("completed",), "ended_since": NOW - timedelta(days=30)},
    ):
        if "ended_since" in query and not ended_by_tool:
            continue
        asked = Query(tenant="tenant-1", limit=500, **query)
        found = [request.id for request in await store.find(Request, asked)]
        assert found == [request.id for request in await memory.find(Request, asked)]
        assert await store.count(Request, asked) == len(found)
    assert (await verify(store))[1] == []


async def test_requests_of_an_older_version_are_listed_in_both_orders_and_verify(url: str) -> None:
    memory = MemoryStore()
    with older(schema=True):
        async with open_backend(url) as backend:
            await write(backend.store, memory, "before")
    async with open_backend(url) as newer:
        # In Redis an older version's ended requests are not listed by their tool, and its pending ones from the first
        # page in the order `urgent` on.
        is_redis = url.startswith("redis")
        await newer.store.find(Request, Query(tenant="tenant-1", order="urgent", now=NOW))
        await compare(newer.store, memory, ended_by_tool=not is_redis)
        with older(schema=False):
            await write(newer.store, memory, "beside")
            request = await newer.store.get(Request, "tenant-1", "before-due-claimed")
            ended = request.cancelled("ann", NOW, None)
            await newer.store.put(*ended)
            await memory.put(*ended)
        await newer.store.find(Request, Query(tenant="tenant-1", order="urgent", now=NOW))
        await compare(newer.store, memory, ended_by_tool=not is_redis)
        await write(newer.store, memory, "after")
        await compare(newer.store, memory, ended_by_tool=not is_redis)


@contextmanager
def without_agents() -> Iterator[None]:
    """Write to Redis as versions did that had no lists of agents."""
    listed = redis.of_request

    def of_request(request: Request) -> tuple[list[str], redis.Marks]:
        lists, marks = listed(request)
        return [name for name in lists if '"agent:' not in name or name.startswith('["shown"')], marks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redis, "of_request", of_request)
        yield


async def test_requests_of_a_version_without_lists_of_agents_are_listed_by_their_agent_and_verify(
    durable_redis_url: str,
) -> None:
    memory = MemoryStore()
    async with open_backend(f"{durable_redis_url}?prefix=t{uuid.uuid4().hex}") as newer:
        with without_agents():
            await write(newer.store, memory, "before")
        assert (await verify(newer.store))[1] == []
        await compare(newer.store, memory)
        await write(newer.store, memory, "after")
        with without_agents():
            await write(newer.store, memory, "beside")
        await compare(newer.store, memory)


@pytest.mark.parametrize("at", range(6))
async def test_a_request_that_ends_while_it_is_added_to_the_lists_of_agents_is_not_pending(
    durable_redis_url: str, at: int
) -> None:
    """It ends before the first command of the page that adds it, before the second, and so on."""
    urgent = Query(tenant="tenant-1", order="urgent", now=NOW)
    request, event = a_request("r1", at=NOW)
    async with open_backend(f"{durable_redis_url}?prefix=t{uuid.uuid4().hex}") as newer:
        store = newer.store
        assert isinstance(store, RedisStore)
        with without_agents():
            await store.put(request, event)
        ended = request.completed(answer_to(request, "reject"), by="bob", channel="test", now=NOW)
        send, commands = AbstractConnection.send_packed_command, list[Any]()

        async def sent(self: AbstractConnection, command: Any, check_health: bool = True) -> None:
            commands.append(command)
            if len(commands) == at + 1:
                await store.put(*ended)
            await send(self, command, check_health)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AbstractConnection, "send_packed_command", sent)
            await store.find(Request, urgent)
        assert len(commands) > at
        assert await store.find(Request, urgent) == []
        assert await store.find(Request, Query(tenant="tenant-1", statuses=("pending",))) == []
        assert (await verify(store))[1] == []
