"""What becomes of a worker's connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from pgqueuer import Queries
from pgqueuer.core.listeners import (
    PGNoticeEventListener,
    default_event_router,
    initialize_notice_event_listener,
)
from pgqueuer.domain.errors import FailingListenerError
from pgqueuer.domain.settings import db_settings
from tests.proxy import Proxy

from ringi.backends.postgres import jobs
from ringi.backends.postgres.database import Database
from ringi.backends.postgres.jobs import PostgresJobs
from ringi.contracts.jobs import Job
from ringi.contracts.notifier import Wakeup

LIMIT = 50.0
"""A listener is probed every ten seconds, and given ten to answer."""
CHANNEL = db_settings().channel
LISTENING = "SELECT pid FROM pg_stat_activity WHERE application_name = 'ringi' AND query LIKE 'LISTEN%pgqueuer%'"

LISTENERS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'ringi' AND query = 'SELECT 1'"


async def test_a_worker_whose_listener_was_ended_listens_again_while_what_it_had_begun_goes_on(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    begun, release, next_done, stop = (asyncio.Event() for _ in range(4))
    handled: list[str] = []

    async def handle(job: Job) -> None:
        if job.key == "long":
            begun.set()
            await release.wait()
        handled.append(job.key)
        if job.key == "next":
            next_done.set()

    async def listening() -> set[int]:
        return {row["pid"] for row in await database.pool.fetch(LISTENING)}

    async with PostgresJobs(database) as queue, asyncio.timeout(LIMIT):
        work = asyncio.create_task(queue.work(handle, kinds=["k"], concurrency=4, stop=stop))
        await queue.submit(Job(kind="k", key="long", partition_key="long", payload={}))
        await begun.wait()
        lost = await listening()
        assert lost
        await database.pool.execute(f"SELECT pg_terminate_backend(pid) FROM ({LISTENING}) AS listening")

        while not await listening() - lost:
            await Wakeup().wait(0.1)
        await queue.submit(Job(kind="k", key="next", partition_key="next", payload={}))
        await next_done.wait()
        assert handled == ["next"]

        release.set()
        stop.set()
        await work
    assert handled == ["next", "long"]
    assert [message for message in caplog.messages if "lost" in message] == [
        "the connection for notifications of jobs was lost: opening another"
    ]


PROBE = timedelta(seconds=20)
"""The first tenth of it passes in the test, the rest is for a slow machine."""


@asynccontextmanager
async def overheard(database: Database) -> AsyncIterator[asyncio.Queue[str]]:
    """Collect all notifications of jobs."""
    heard, connection = asyncio.Queue[str](), await database.connect()
    await connection.add_listener(CHANNEL, lambda *message: heard.put_nowait(message[-1]))
    yield heard
    await connection.close()


async def test_a_probe_that_overtakes_the_listening_is_sent_again(database: Database) -> None:
    async with PostgresJobs(database), overheard(database) as heard, asyncio.timeout(LIMIT):
        queue = jobs.Queue(Queries.from_asyncpg_pool(database.pool))
        probing = asyncio.create_task(queue.listener_healthy(PROBE))
        assert "health_check" in await heard.get()

        async with queue.queries.driver as driver:
            router = default_event_router(
                notice_event_queue=PGNoticeEventListener(),
                canceled={},
                pending_health_check=queue.pending_health_check,
            )
            await initialize_notice_event_listener(driver, queue.channel, router)
            assert (await probing).type == "health_check_event"


async def never_done() -> None:
    await asyncio.Event().wait()


async def test_a_queue_that_nothing_reaches_goes_on_until_one_of_many_before_it_has_ended(database: Database) -> None:
    busy = {asyncio.create_task(never_done()) for _ in range(jobs.MAX_UNNOTIFIED)}
    for task in busy:
        task.add_done_callback(busy.discard)
    async with PostgresJobs(database), overheard(database) as heard, asyncio.timeout(LIMIT):
        queue = jobs.Queue(Queries.from_asyncpg_pool(database.pool), unnotified=busy)
        probing = asyncio.create_task(queue.listener_healthy(PROBE / 20))
        for _ in range(2):
            await heard.get()
        while queue.pending_health_check:
            await Wakeup().wait(0.01)
        await asyncio.wait([probing], timeout=0.05)
        assert not probing.done()

        busy.pop().cancel()
        with pytest.raises(FailingListenerError):
            await probing
    for task in busy:
        task.cancel()


async def test_lanes_keep_their_connection_alive_again_after_one_was_refused(
    behind: Database, database: Database, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "HEARTBEAT", timedelta(seconds=1))

    async def listeners() -> set[int]:
        return {row["pid"] for row in await database.pool.fetch(LISTENERS)}

    async with jobs.PartitionLocks(behind), asyncio.timeout(LIMIT):
        while not (before := await listeners()):
            await Wakeup().wait(0.01)
        proxy.is_blocked = True
        proxy.cut()
        while proxy.refused < 2:
            await Wakeup().wait(0.01)
        proxy.is_blocked = False
        while not await listeners() - before:
            await Wakeup().wait(0.01)
