"""A worker takes the threads that its own process has just saved as they were saved, unless others changed them."""

from __future__ import annotations

import pytest
from tests.runs.world import World, demo, of_type, opened, until, working

from ringi.domain.thread import Thread


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that are read."""
    return []


def counting(world: World, reads: list[str]) -> None:
    store_get = world.backend.store.get

    async def get(kind: type[Thread], tenant: str, id: str) -> Thread:
        if kind is Thread:
            reads.append(id)
        return await store_get(kind, tenant, id)

    vars(world.backend.store)["get"] = get


async def has_rested(world: World, id: str) -> bool:
    """Return whether a thread rests, by what the inbox has: reading the thread would count."""
    return bool(await world.inbox.find(thread_id=id, status="pending"))


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_a_thread_that_was_begun_here_is_not_read_again(url: str, reads: list[str]) -> None:
    async with opened(url, demo()) as world, working(world):
        counting(world, reads)
        await world.start("two_questions", {})
        await until(lambda: has_rested(world, "t1"), "it asks")
        assert reads == []


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_one_that_was_cancelled_meanwhile_does_not_run(url: str, reads: list[str]) -> None:
    async with opened(url, demo()) as world:
        await world.start("two_questions", {})
        await world.runner.cancel("default", "t1", by="ann")
        counting(world, reads)
        async with working(world):
            await until(lambda: _is_read(reads), "the worker reads the changed thread")
            await world.start("two_questions", {}, "t2")
            await until(lambda: has_rested(world, "t2"), "another one runs")
            assert (await world.thread()).status == "idle"
            assert of_type(await world.items(), "RUN_STARTED") == []
            assert not await world.pending()


async def _is_read(reads: list[str]) -> bool:
    return "t1" in reads


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_one_that_another_worker_has_taken_is_left_to_it(url: str) -> None:
    async with opened(url, demo()) as here, opened(url, demo()) as there:
        await here.start("two_questions", {})
        async with working(there):
            await until(lambda: has_rested(there, "t1"), "the other worker runs it")
            async with working(here):
                request = (await here.pending())[0]
                thread = await here.answer(request, "respond", message="Rome")
        assert thread.fence == 2
        assert len(of_type(await here.items(), "RUN_STARTED")) == 2
