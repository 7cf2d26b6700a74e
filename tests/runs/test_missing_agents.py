"""A run whose agent no worker has any more waits for one to come back before it is given up."""

from __future__ import annotations

import uuid
from pathlib import Path

import asyncpg
import pytest
from tests.runs.world import World, demo, opened, other, until, working

from ringi.connect import open_backend
from ringi.runs import announcements
from ringi.runs.agent import agents_by_name

REFUND = {"order": 1182, "amount": 40}
SAYS = announcements.serialize_announcement(agents_by_name(demo()))


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that several workers can share."""
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    return f"sqlite:///{tmp_path / 'ringi.db'}"


def another(world: World) -> World:
    """Return a worker on the same store that lacks the agents of the first."""
    return World(world.backend, world.inbox, [other()])


async def comes_to(world: World, id: str, status: str) -> None:
    async def is_there() -> bool:
        return (await world.thread(id)).status == status

    await until(is_there, f"{id} is {status}")


@pytest.mark.parametrize("ago", [0, 3_600])
async def test_a_run_waits_for_its_only_worker_to_come_back(shared: str, ago: int) -> None:
    async with opened(shared) as world:
        await world.backend.jobs.announce("restarts", SAYS, -ago)
        await world.start("refund", REFUND, "waits")
        async with working(another(world)):
            # A run of an agent that nobody ever announced is given up at once, and so the other was looked at too.
            world.runner.agents = {**world.runner.agents, "unheard of": demo()[0]}
            await world.start("unheard of", REFUND, "fails")
            await comes_to(world, "fails", "error")
            assert (await world.thread("fails")).attention == "no agent 'unheard of' is deployed"
            async with working(world):
                await comes_to(world, "waits", "interrupted")


async def test_nobody_waits_longer_than_a_minute(shared: str) -> None:
    async with opened(shared) as world:
        await world.backend.jobs.announce("gone", SAYS, -announcements.MISSING_SECONDS - 1)
        beside = another(world)
        beside.runner._began -= announcements.MISSING_SECONDS
        await world.start("refund", REFUND)
        async with working(beside):
            assert (await world.rest()).attention == "no agent 'refund' is deployed"


async def test_who_ended_is_not_listed_and_a_worker_that_restarts_often_leaves_one_row(shared: str) -> None:
    async with open_backend(shared) as backend:
        for n in range(3):
            await backend.jobs.announce(f"w{n}", SAYS, 60)
            assert await backend.jobs.announced() == [SAYS]
            await backend.jobs.announce(f"w{n}", SAYS, 0)
            assert await backend.jobs.announced() == []
        assert await backend.jobs.announced(60) == [SAYS]
        await backend.jobs.announce("old", "[]", -2 * 86_400)
        await backend.jobs.announce("new", SAYS, 60)
        assert await backend.jobs.announced(10 * 86_400) == [SAYS]


async def test_a_crash_of_postgres_leaves_what_workers_announced(postgres_url: str) -> None:
    schema = f"t{uuid.uuid4().hex}"
    async with open_backend(f"{postgres_url}?schema={schema}"):
        connection = await asyncpg.connect(postgres_url)
        sql = "SELECT relpersistence FROM pg_class WHERE oid = $1::text::regclass"
        assert await connection.fetchval(sql, f"{schema}.workers") == b"p"
        await connection.close()
