"""A backlog does not feed on itself: what is queued is submitted once, and rings for it are one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg
import pytest
from tests.runs.world import World, opened, until, working

from ringi.backends.postgres.database import PostgresDatabase
from ringi.connect import Backend
from ringi.contracts.backend import Jobs
from ringi.domain.thread import Run, Thread
from ringi.runs.reconciler import Reconciler, run_start_job

MANY = 4_000
POLL = 0.1
COUNT = """
CREATE SEQUENCE enqueued;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''enqueued''); RETURN NEW; END';
CREATE TRIGGER noting BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION note();
"""
BACKLOG = """
INSERT INTO threads (tenant, id, version, created_at, status, fence, lease_until, body)
SELECT tenant, id || '-' || n, version, created_at, status, fence, lease_until,
  replace(body, '"id":"' || id || '"', '"id":"' || id || '-' || n || '"') FROM threads, generate_series(1, $1) AS n
"""


@pytest.fixture
def postgres(postgres_url: str, request: pytest.FixtureRequest) -> str:
    return f"{postgres_url}?schema=backlog_{abs(hash(request.node.name)) % 10**9}"


@asynccontextmanager
async def database_of(url: str) -> AsyncIterator[Any]:
    base, _, schema = url.partition("?schema=")
    connection = await asyncpg.connect(base, server_settings={"search_path": schema})
    try:
        yield connection
    finally:
        await connection.close()


async def enqueued(connection: Any) -> int:
    return int(await connection.fetchval("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM enqueued"))


def looks_of(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list that grows with each look at what should go on, by how long its process is to wait then."""
    waits: list[float] = []
    lead: Callable[..., Awaitable[float]] = backend.jobs.lead

    async def noted(*asked: Any) -> float:
        wait = await lead(*asked)
        waits.append(wait)
        return wait

    monkeypatch.setattr(backend.jobs, "lead", noted)
    return waits


async def queue_many(world: World) -> None:
    """Leave so many runs that wait for a worker, each with its job."""
    thread, event = Thread.begun("t", "refund", Run(id="r", input={}), by="bot", now=world.inbox.clock())
    await world.backend.store.put(thread, event)
    jobs = [run_start_job(thread)]
    jobs += [run_start_job(thread.model_copy(update={"id": f"t-{n}"})) for n in range(1, MANY + 1)]
    await world.backend.jobs.submit_all(jobs)


async def test_what_is_queued_is_submitted_once_however_many_servers_look(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        worlds = [await stack.enter_async_context(opened(postgres, poll=POLL)) for _ in range(3)]
        connection = await stack.enter_async_context(database_of(postgres))
        await connection.execute(COUNT)
        await queue_many(worlds[0])
        await connection.execute(BACKLOG.replace("$1", str(MANY)))
        looks = [looks_of(world.backend, monkeypatch) for world in worlds]
        looking = [
            asyncio.create_task(Reconciler(world.backend, world.inbox.clock).run(world.inbox.feed)) for world in worlds
        ]

        async def are_enough() -> bool:
            return all(len(each) >= 10 for each in looks)

        await until(are_enough, "each server looks ten times", 40)
        for each in looking:
            each.cancel()
        assert await enqueued(connection) == MANY + 1
        assert sum(not wait for each in looks for wait in each) < 3 * 10  # One at a time has the duty.


async def test_three_servers_that_run_and_resume_submit_no_job_twice(postgres: str) -> None:
    runs = 30
    async with AsyncExitStack() as stack:
        # Seldom: a check of all runs may submit again what is on its way, and a slow machine has time for many.
        worlds = [await stack.enter_async_context(opened(postgres, poll=8)) for _ in range(3)]
        connection = await stack.enter_async_context(database_of(postgres))
        await connection.execute(COUNT)
        await stack.enter_async_context(working(*worlds))
        ids = [f"t{n}" for n in range(runs)]
        await asyncio.gather(*(worlds[0].start("refund", {"order": 1, "amount": 2}, id) for id in ids))
        requests = [(await worlds[0].rest(id), await worlds[0].one(id))[1] for id in ids]
        await asyncio.gather(*(worlds[n % 3].respond(request, "approve") for n, request in enumerate(requests)))
        assert {(await worlds[1].rest(id)).status for id in ids} == {"done"}
        assert await enqueued(connection) <= 2 * 2 * runs


async def test_an_emptied_queue_is_filled_again_and_what_is_left_in_it_is_let_be(postgres: str) -> None:
    async with opened(postgres) as world, database_of(postgres) as connection:
        ids = [f"t{n}" for n in range(6)]
        for id in ids:
            await world.start("two_questions", {}, id)
        await connection.execute(COUNT)
        await connection.execute("DELETE FROM jobs WHERE lane ~ '/t[024]$'")
        await Reconciler(world.backend, world.inbox.clock).reconcile()
        assert await enqueued(connection) == 3
        assert await connection.fetchval("SELECT count(*) FROM jobs") == 6


def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each statement of Ringi."""
    queries: list[str] = []

    def noting(kind: Any, name: str) -> None:
        method = getattr(kind, name)

        async def noted(self: Any, sql: str, *values: Any) -> Any:
            queries.append(sql)
            return await method(self, sql, *values)

        monkeypatch.setattr(kind, name, noted)

    noting(PostgresDatabase, "_fetch")
    return queries


async def test_after_a_storm_an_idle_server_is_as_quiet_as_a_fresh_one(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = statements(monkeypatch)
    async with opened(postgres, poll=POLL) as world, database_of(postgres) as connection:
        looks = looks_of(world.backend, monkeypatch)

        async def in_ten_looks() -> int:
            first, before = len(looks), len(queries)
            await until(lambda: reached(looks, first + 10), "ten looks", 20)
            return len(queries) - before

        async with working(world):
            await world.run("refund", {"order": 1, "amount": 2}, "warm")
            fresh = await in_ten_looks()
            await connection.execute(COUNT)
            ids = [f"t{n}" for n in range(150)]
            await asyncio.gather(*(world.start("two_questions", {}, id) for id in ids))
            for id in ids:
                await world.rest(id, limit=40)

            async def is_as_quiet() -> bool:
                return await in_ten_looks() <= 1.5 * fresh + 10

            await until(is_as_quiet, "as quiet as before", 10)
            assert await enqueued(connection) <= 2 * len(ids)


async def reached(looks: list[float], count: int) -> bool:
    return len(looks) >= count


async def test_a_duty_is_one_processs_until_it_misses_its_time(postgres: str) -> None:
    async with opened(postgres) as world, opened(postgres) as beside:
        one: Jobs = world.backend.jobs
        two: Jobs = beside.backend.jobs
        assert await one.lead("look", "one", 60) == 0
        assert 0 < await two.lead("look", "two", 60) <= 60.1
        assert await two.lead("another", "two", 60) == 0
        # Who looks more often takes it over, or the slowest would set the pace for all.
        assert await two.lead("look", "two", 20) == 0
        assert await one.lead("look", "one", 10) == 0
        assert await one.lead("look", "one", 0.001) == 0

        async def is_taken() -> bool:
            return await two.lead("look", "two", 60) == 0

        await until(is_taken, "another takes over")
        assert await one.lead("look", "one", 60) > 0


async def test_a_lost_job_is_found_although_the_process_with_the_duty_stands_still(postgres: str) -> None:
    async with opened(postgres, poll=POLL) as still, opened(postgres, poll=POLL, notify="polling") as world:
        assert await still.backend.jobs.lead("reconcile", "stands still", POLL) == 0
        async with working(world):
            await world.start_and_lose("two_questions", {})
            assert (await world.rest()).status == "interrupted"


async def test_three_processes_on_one_file_submit_nothing_that_is_queued(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        worlds = [await stack.enter_async_context(opened(file)) for _ in range(3)]
        for n in range(50):
            await worlds[0].start("two_questions", {}, f"t{n}")
        monkeypatch.setattr(type(worlds[0].backend.jobs), "submit_all", refuse)
        for world in worlds:
            await Reconciler(world.backend, world.inbox.clock).reconcile()


async def refuse(*_: Any) -> None:
    pytest.fail("it is queued")
