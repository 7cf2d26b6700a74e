"""Whose absence it was: that of a run's own store costs it nothing for long, what its agent cannot reach fails it."""

from __future__ import annotations

import asyncio
import itertools
import socket
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from tests.runs.test_stream import Log
from tests.runs.world import at_work, checked

from ringi.backends.memory import jobs
from ringi.backends.memory.checkpoints import FencedMemorySaver
from ringi.connect import open
from ringi.domain.record import UnreadableError
from ringi.errors import UnavailableError
from ringi.runs import executor, operations
from ringi.runs.agent import Agent


def one_step(step: Any, **more: Any) -> Agent:
    """Return an agent of one node."""
    graph = StateGraph(Log)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_edge("step", END)
    return Agent("agent", graph.compile(), **{"input": lambda _: {"log": []}, "output": dict, **more})


def free_port() -> int:
    """Return a port where nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def test_an_agent_that_reaches_no_other_ringi_fails_as_with_every_error_of_its_own(url: str) -> None:
    begun = itertools.count(1)

    async def step(state: Log) -> Log:
        assert next(begun) == 1
        async with open(f"http://127.0.0.1:{free_port()}", token="token", retry_for=0.0) as client:
            await client.get("elsewhere")
        return state

    async with at_work(url, [one_step(step)]) as world:
        thread = await world.run("agent", {})
        assert thread.status == "error"
        assert thread.error
        assert thread.error.code == "UnavailableError"
        checked(await world.items())


async def unreadable(*_: Any) -> Any:
    raise UnreadableError("request", "elsewhere", "damaged")


async def cancelled(*_: Any) -> Any:
    raise asyncio.CancelledError


def unavailable(*_: Any) -> Any:
    raise UnavailableError("elsewhere")


async def fine(state: Log) -> Log:
    return {"log": ["fine"]}


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        (one_step(unreadable), "UnreadableError"),
        (one_step(cancelled), "NodeCancelledError"),
        (one_step(fine, input=unavailable), "UnavailableError"),
        (one_step(fine, output=unavailable), "UnavailableError"),
    ],
    ids=["a step", "a cancel of its own", "its input", "its values"],
)
async def test_all_of_an_agents_code_fails_its_run(agent: Agent, code: str) -> None:
    async with at_work("memory://", [agent]) as world:
        thread = await world.run("agent", {})
        assert thread.error
        assert (thread.status, thread.error.code) == ("error", code)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let that many of the next checkpoints find their store away."""
    left, write = [0], FencedMemorySaver._write
    monkeypatch.setattr(jobs, "RETRY_SECONDS", (0.01,))

    async def shaky(saver: FencedMemorySaver, method: str, *args: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise UnavailableError("no room")
        return await write(saver, method, *args)

    monkeypatch.setattr(FencedMemorySaver, "_write", shaky)
    return left


async def test_a_run_whose_checkpoints_find_no_room_goes_on_when_there_is_some(away: list[int]) -> None:
    away[0] = 2 * executor.MAX_ATTEMPTS
    async with at_work("memory://", [one_step(fine)]) as world:
        thread = await world.run("agent", {})
        assert (thread.status, thread.values) == ("done", {"log": ["fine"]})
        assert (thread.attempts, thread.outages) == (0, None)
        await world.verified()


async def test_a_run_that_its_store_fails_again_and_again_calls_for_an_operator_who_may_retry_it(
    away: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "MAX_OUTAGES", 8)
    away[0] = 1_000_000
    async with at_work("memory://", [one_step(fine)]) as world:
        thread = await world.run("agent", {})
        assert (thread.status, thread.outages) == ("error", 9)
        assert "8 times" in str(thread.attention)
        away[0] = 0
        await operations.retry_failed_run(world.backend, world.inbox, "t1", by="root")
        thread = await world.rest()
        assert (thread.status, thread.outages) == ("done", None)
        await world.verified()
