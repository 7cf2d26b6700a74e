"""Connections that a firewall has forgotten: nobody closes them, and nothing comes through any more."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from tests.backends.postgres.test_postgres_accidents import until
from tests.proxy import Proxy

from ringi.backends.postgres.checkpoints import FencedPostgresSaver, PostgresCheckpoints
from ringi.backends.postgres.database import WAIT_SECONDS, PostgresDatabase, StatementWatch
from ringi.backends.postgres.store import PostgresStore
from ringi.domain.request import Request
from ringi.errors import UnavailableError
from ringi.testing import store_request
from ringi.testing.factories import a_thread

MANY = 4
SHORT = 3.0


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[Proxy]:
    async with Proxy(urlsplit(postgres_url).port or 0) as proxy:
        yield proxy


@pytest.fixture
async def behind(
    proxy: Proxy, database: PostgresDatabase, schema_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[PostgresDatabase]:
    """The database by way of the proxy, of a process that waits for a shorter time."""
    monkeypatch.setattr("ringi.backends.postgres.database.WAIT_SECONDS", SHORT)
    monkeypatch.setattr("ringi.backends.postgres.checkpoints.LIMIT_SECONDS", SHORT)
    port = urlsplit(schema_url).port
    async with PostgresDatabase(schema_url.replace(f":{port}/", f":{proxy.port}/")) as behind:
        yield behind


@pytest.fixture
async def patient(behind: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> PostgresDatabase:
    """The database by way of the proxy, of a process that waits for long and soon has a suspicion."""
    monkeypatch.setattr("ringi.backends.postgres.database.WAIT_SECONDS", 600.0)
    monkeypatch.setattr("ringi.backends.postgres.database.PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr("ringi.backends.postgres.database.PROBE_SECONDS", 1.0)
    return behind


async def at_once(work: Callable[[int], Awaitable[Any]]) -> None:
    """Do it so often at once that as many connections are there."""
    await asyncio.gather(*(work(n) for n in range(MANY)))


async def fail(work: Awaitable[Any]) -> None:
    with pytest.raises((UnavailableError, TimeoutError)):
        await work


async def closed(connections: list[Any]) -> None:
    async def are_closed() -> bool:
        return all(connection.is_closed() for connection in connections)

    await until(are_closed)


async def test_the_store_drops_them_and_goes_on_with_new_ones(behind: PostgresDatabase, proxy: Proxy) -> None:
    store = PostgresStore(behind)
    await at_once(lambda n: behind.fetch("SELECT pg_sleep(0.5)"))
    before = list(behind._sessions._free)
    assert len(before) == MANY
    proxy.forget()

    await at_once(lambda n: fail(store_request(store, f"lost-{n}")))

    await closed(before)
    await at_once(lambda n: store_request(store, f"later-{n}"))


async def test_a_server_that_does_not_answer_is_refused_long_before_the_limit_of_a_statement(
    patient: PostgresDatabase, proxy: Proxy
) -> None:
    store = PostgresStore(patient)
    await store_request(store, "before")
    proxy.drops_replies = True

    async with asyncio.timeout(50):
        await at_once(lambda n: fail(store_request(store, f"lost-{n}")))
        await fail(store.get(Request, "tenant-1", "before"))

    proxy.drops_replies = False
    proxy.cut()
    assert await until(lambda: store.get(Request, "tenant-1", "before"))


async def test_a_statement_that_never_arrived_ends_though_the_server_answers_others(
    patient: PostgresDatabase, proxy: Proxy
) -> None:
    await patient.fetch("SELECT 1")
    proxy.forget()

    async with asyncio.timeout(50):
        await fail(patient.write("SELECT 1"))
        assert await patient.fetch("SELECT 1")


async def test_a_slow_statement_is_left_alone(patient: PostgresDatabase) -> None:
    ((answer,),) = await patient.fetch("SELECT 2 FROM pg_sleep(1.5)")

    assert answer == 2


async def test_the_checkpoints_drop_them_and_go_on_with_new_ones(
    behind: PostgresDatabase, database: PostgresDatabase, proxy: Proxy
) -> None:
    thread, event = a_thread()
    await PostgresStore(database).put(thread, event)
    async with PostgresCheckpoints(behind) as connections:
        saver = FencedPostgresSaver(connections, thread)

        async def put(n: int) -> None:
            await saver.aput({"configurable": {"thread_id": str(n), "checkpoint_ns": ""}}, empty_checkpoint(), {}, {})

        await put(0)
        proxy.forget()

        await fail(put(0))

        await at_once(put)


async def test_the_network_gives_up_a_connection_of_the_checkpoints_that_nobody_confirms(
    database: PostgresDatabase,
) -> None:
    async with PostgresCheckpoints(database) as connections, connections.connection() as connection:
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as line:
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == WAIT_SECONDS * 1000
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == WAIT_SECONDS


async def test_a_server_is_silent_until_it_says_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringi.backends.silence.AGAIN_SECONDS", 0.0)
    replies = [OSError(), TimeoutError(), asyncpg.TooManyConnectionsError()]
    answered = asyncio.Event()

    async def connect() -> Any:
        if len(replies) == 1:
            answered.set()
        raise replies.pop(0)

    silence = StatementWatch(connect).silence
    silence.begin()
    with pytest.raises(UnavailableError):
        silence.refuse()
    await answered.wait()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()))
    silence.refuse()
    assert replies == []
