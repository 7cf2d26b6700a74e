"""What becomes of a worker's connections."""

from __future__ import annotations

import asyncio

from ringi.backends.postgres.database import Database
from ringi.backends.postgres.jobs import PostgresJobs
from ringi.jobs import Job
from ringi.notifier import Wakeup

LIMIT = 50.0
"""A listener is probed every ten seconds, and given ten to answer."""
LISTENING = "SELECT pid FROM pg_stat_activity WHERE application_name = 'ringi' AND query LIKE 'LISTEN%pgqueuer%'"


async def test_a_worker_whose_listener_was_ended_listens_again_while_what_it_had_begun_goes_on(
    database: Database,
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

    async with PostgresJobs(database) as jobs, asyncio.timeout(LIMIT):
        work = asyncio.create_task(jobs.work(handle, kinds=["k"], concurrency=4, stop=stop))
        await jobs.submit(Job(kind="k", key="long", lane="long", payload={}))
        await begun.wait()
        lost = await listening()
        assert lost
        await database.pool.execute(f"SELECT pg_terminate_backend(pid) FROM ({LISTENING}) AS listening")

        while not await listening() - lost:
            await Wakeup().wait(0.1)
        await jobs.submit(Job(kind="k", key="next", lane="next", payload={}))
        await next_done.wait()
        assert handled == ["next"]

        release.set()
        stop.set()
        await work
    assert handled == ["next", "long"]
