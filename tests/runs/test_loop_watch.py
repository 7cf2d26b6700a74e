"""An agent whose code blocks the event loop keeps its thread, and is named."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable

import pytest
from langgraph.graph import END, START, StateGraph
from tests.runs.test_stream import Log
from tests.runs.world import World, checked, of_type, opened, until, working

from ringi.domain.thread import Thread
from ringi.runs import lease as leases
from ringi.runs.agent import Agent

LIMIT = 20.0


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr(leases, "TICK", 0.1)


class Blocks:
    """A step that stands in its loop's way the first time, until it is let go."""

    def __init__(self) -> None:
        self.runs, self.begun, self.let_go = 0, threading.Event(), threading.Event()

    async def __call__(self, state: Log) -> Log:
        self.runs += 1
        if self.runs == 1:
            self.begun.set()
            self.let_go.wait(LIMIT)
        return {"log": [f"run {self.runs}"]}

    @property
    def agent(self) -> Agent:
        graph = StateGraph(Log)
        graph.add_node("blocks", self.__call__)
        graph.add_edge(START, "blocks")
        graph.add_edge("blocks", END)
        return Agent("stubborn", graph.compile(), input=lambda _: {"log": []}, output=dict)


class Beside(threading.Thread):
    """A second worker on the same store, with a loop of its own, that may take the thread when it is free."""

    def __init__(self, url: str, blocks: Blocks, is_over: Callable[[Thread, Thread], bool]) -> None:
        super().__init__()
        self._url, self._blocks, self._is_over = url, blocks, is_over
        self.error: BaseException | None = None
        self.seen: Thread | None = None
        """The thread as it was when the agent was let go."""

    def run(self) -> None:
        try:
            asyncio.run(self._watch())
        except BaseException as error:
            self.error = error
        finally:
            self._blocks.let_go.set()

    async def _watch(self) -> None:
        assert await asyncio.to_thread(self._blocks.begun.wait, LIMIT)
        async with opened(self._url, [self._blocks.agent]) as world, working(world):
            first = await world.thread()

            async def is_over() -> bool:
                self.seen = await world.thread()
                return self._is_over(first, self.seen)

            await until(is_over, "the thread is held past its first lease, or taken", LIMIT)


def held_for_long_or_lost(first: Thread, now: Thread) -> bool:
    assert first.lease_until
    if now.fence != first.fence or now.owner != first.owner:
        return True
    assert now.lease_until
    return (now.lease_until - first.lease_until).total_seconds() > 2 * leases.LEASE_SECONDS


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_code_that_blocks_the_loop_keeps_its_thread_and_is_named(
    request: pytest.FixtureRequest, file: str, store: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = file if store == "sqlite" else f"{request.getfixturevalue('postgres_url')}?schema=leases"
    blocks = Blocks()
    beside = Beside(url, blocks, held_for_long_or_lost)
    async with opened(url, [blocks.agent]) as world, working(world):
        beside.start()
        await world.start("stubborn", {})
        thread = await world.rest(limit=LIMIT)
        await asyncio.to_thread(beside.join)
        assert beside.error is None
        # A block of seconds may break a transaction off, and the run goes on from there under a new lease.
        assert beside.seen
        assert (blocks.runs, thread.status, beside.seen.fence) == (1, "done", 1)
        items = await world.items()
        checked(items)
        assert len(of_type(items, "RUN_STARTED")) == 1
    messages = [r.getMessage() for r in caplog.records if r.name == leases.__name__]
    (named,) = [each for each in messages if each.startswith(f"agent 'stubborn' blocks the event loop at {__file__}:")]
    assert " in __call__: " in named


async def test_the_loop_of_a_store_in_memory_may_be_blocked_for_longer_than_a_lease(
    caplog: pytest.LogCaptureFixture,
) -> None:
    blocks = Blocks()
    async with opened("memory://", [blocks.agent]) as world, working(world):
        held = world.runner._held_leases
        letting_go = threading.Thread(target=let_go_after_renewals, args=(blocks, held))
        letting_go.start()
        await world.start("stubborn", {})
        thread = await world.rest(limit=LIMIT)
        await asyncio.to_thread(letting_go.join)
        assert (blocks.runs, thread.status) == (1, "done")
    assert any("'stubborn'" in record.getMessage() for record in caplog.records)


def let_go_after_renewals(blocks: Blocks, held: set[leases.Lease]) -> None:
    blocks.begun.wait(LIMIT)
    (lease,) = held
    over, give_up = lease.valid_until + leases.LEASE_SECONDS, time.monotonic() + LIMIT
    while lease.valid_until < over and time.monotonic() < give_up:
        threading.Event().wait(0.01)
    blocks.let_go.set()


async def test_nothing_of_the_watch_is_left(file: str) -> None:
    async with opened(file) as world, working(world):
        await world.run("two_questions", {})
        assert any(thread.name == "ringi-loop-watch" for thread in threading.enumerate())
    assert not any(thread.name == "ringi-loop-watch" for thread in threading.enumerate())


def test_what_blocks_is_named_by_the_line_of_the_agent_and_not_by_that_of_a_library() -> None:
    frame = sys._getframe()
    assert leases.agent_code_location(frame) == f"{__file__}:{frame.f_lineno} in {frame.f_code.co_name}"
    assert not leases.is_agent_code(threading.__file__)
    assert not leases.is_agent_code(pytest.__file__)
    assert not leases.is_agent_code(str(leases.__file__))


async def test_a_process_without_another_store_works_as_before() -> None:
    async with opened("memory://") as world:
        object.__setattr__(world.backend, "another_store", None)
        async with working(World(world.backend, world.inbox, world.runner.agents.values())):
            assert (await world.run("two_questions", {})).status == "interrupted"
