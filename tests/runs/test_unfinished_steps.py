"""Steps side by side, one of which asks: a worker that dies before the others end leaves them to the next worker."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from tests.runs.test_stream import Log
from tests.runs.world import World, at_work, checked, until

from ringi import ask
from ringi.backends.fenced_saver import FencedCheckpointSaver
from ringi.base.clock import utc_now
from ringi.contracts.store import Store, change_record
from ringi.domain.record import Key
from ringi.domain.thread import Thread, checkpoint_thread
from ringi.runs import operations
from ringi.runs.agent import Agent
from ringi.runs.executor import LeasedRun
from ringi.runs.lease import Lease
from ringi.runtimes.langgraph.graph_run import INTERRUPTS

KEY = Key("default", "t1")


class Halting:
    """A step that halts its worker the first time."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def __call__(self) -> None:
        if not self.begun.is_set():
            self.begun.set()
            await asyncio.wait_for(asyncio.Event().wait(), 20)


def side_by_side(first: Any, second: Any) -> Agent:
    """Return an agent whose two steps run at once."""
    graph = StateGraph(Log)
    for name, step in (("first", first), ("second", second)):
        graph.add_node(name, step)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return Agent("agent", graph.compile(), input=lambda _: {"log": []}, output=dict)


def answer_to(question: str) -> Log:
    """Ask, and return the answer as a step's result."""
    response = ask(question).response
    return {"log": [f"{question} {response and response.message}"]}


async def has_asked(world: World) -> bool:
    """Return whether the checkpointer has stored an interrupt of the thread."""
    place = {"configurable": {"thread_id": checkpoint_thread(KEY), "checkpoint_ns": ""}}
    saved = await world.backend.savers(await world.thread()).aget_tuple(place)
    return bool(saved and any(channel == INTERRUPTS for _, channel, _ in saved.pending_writes or ()))


async def end_lease(world: World) -> None:
    """Take the thread from its worker, and die."""
    later = utc_now() + timedelta(hours=1)
    await change_record(world.backend.store, Thread, KEY, lambda t: t.acquired("dead", later, timedelta(seconds=-3599)))


@pytest.mark.parametrize("is_last", [False, True])
async def test_all_questions_of_a_moment_are_asked_though_a_worker_died_between_them(url: str, is_last: bool) -> None:
    halting = Halting()

    async def asks_late(state: Log) -> Log:
        await halting()
        return answer_to("late?")

    def asks(state: Log) -> Log:
        return answer_to("soon?")

    steps = (asks, asks_late) if is_last else (asks_late, asks)
    async with at_work(url, [side_by_side(*steps)]) as world:
        await world.start("agent", {})
        await asyncio.wait_for(halting.begun.wait(), 20)
        await until(lambda: has_asked(world), "the question is stored")
        await end_lease(world)
        await world.rest()
        late, soon = await world.pending()
        assert (late.title, soon.title) == ("late?", "soon?")
        await world.answer(soon, "respond", message="a")
        thread = await world.answer(late, "respond", message="b")
        assert (thread.status, sorted(thread.values["log"])) == ("done", ["late? b", "soon? a"])
        checked(await world.items())


async def test_an_answered_step_ends_though_a_worker_died_in_it_and_another_still_asks(url: str) -> None:
    halting, ended = Halting(), list[str]()

    async def acts_on_answer(state: Log) -> Log:
        answer = answer_to("soon?")
        await halting()
        ended.append("acted")
        return answer

    def asks(state: Log) -> Log:
        return answer_to("late?")

    async with at_work(url, [side_by_side(acts_on_answer, asks)]) as world:
        await world.run("agent", {})
        late, soon = await world.pending()
        await world.respond(soon, "respond", message="a")
        await asyncio.wait_for(halting.begun.wait(), 20)
        await end_lease(world)
        await world.rest()
        assert ended == ["acted"]
        assert [request.id for request in await world.pending()] == [late.id]
        thread = await world.answer(late, "respond", message="b")
        assert (thread.status, ended) == ("done", ["acted"])
        checked(await world.items())


async def test_a_plain_step_ends_though_a_worker_died_in_it_and_another_still_asks(url: str) -> None:
    halting, ended = Halting(), list[str]()

    async def acts(state: Log) -> Log:
        await halting()
        ended.append("acted")
        return {"log": ["acted"]}

    def asks(state: Log) -> Log:
        return answer_to("late?")

    async with at_work(url, [side_by_side(acts, asks)]) as world:
        await world.start("agent", {})
        await asyncio.wait_for(halting.begun.wait(), 20)
        await until(lambda: has_asked(world), "the question is stored")
        await end_lease(world)
        await world.rest()
        assert ended == ["acted"]
        thread = await world.answer(await world.one(), "respond", message="b")
        assert (thread.status, ended) == ("done", ["acted"])


def choosing(choose: Any) -> Agent:
    """Return an agent with a second step, which the function chooses after the first one."""
    graph = StateGraph(Log)
    graph.add_node("first", lambda _: {"log": ["first"]})
    graph.add_node("second", lambda _: {"log": ["second"]})
    graph.add_edge(START, "first")
    graph.add_conditional_edges("first", choose, ["second", END])
    graph.add_edge("second", END)
    return Agent("agent", graph.compile(), input=lambda _: {"log": []}, output=dict)


async def test_a_step_whose_worker_loses_its_lease_before_the_next_step_is_chosen_runs_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    halting, stored = Halting(), asyncio.Event()
    renew, put, release = Lease.renew, FencedCheckpointSaver.aput_writes, LeasedRun.release

    async def choose(state: Log) -> str:
        await halting()
        return "second"

    async def renew_later_ones(lease: Lease, *stores: Store) -> None:
        await (renew(lease, *stores) if lease.fence > 1 else asyncio.Event().wait())

    async def put_first(saver: FencedCheckpointSaver, config: Any, writes: Any, *task: str) -> None:
        await put(saver, config, writes, *task)
        if any(isinstance(value, asyncio.CancelledError) for _, value in writes):
            stored.set()

    async def release_then(run: LeasedRun, *, is_outage: bool) -> None:
        await asyncio.wait_for(stored.wait(), 20)
        await release(run, is_outage=is_outage)

    monkeypatch.setattr("ringi.runs.lease.LEASE_SECONDS", 2.0)
    monkeypatch.setattr(Lease, "renew", renew_later_ones)
    monkeypatch.setattr(FencedCheckpointSaver, "aput_writes", put_first)
    monkeypatch.setattr(LeasedRun, "release", release_then)
    async with at_work(url, [choosing(choose)]) as world:
        thread = await world.run("agent", {})
        assert stored.is_set()
        assert (thread.status, thread.values) == ("done", {"log": ["first", "second"]})
        checked(await world.items())


async def test_a_retry_repeats_a_step_whose_next_step_could_not_be_chosen(url: str) -> None:
    choices = iter([KeyError("nobody"), "second"])

    def choose(state: Log) -> str:
        chosen = next(choices)
        if isinstance(chosen, Exception):
            raise chosen
        return str(chosen)

    async with at_work(url, [choosing(choose)]) as world:
        assert (await world.run("agent", {})).status == "error"
        await operations.retry_failed_run(world.backend, world.inbox, "t1", by="root")
        thread = await world.rest()
        assert (thread.status, thread.values) == ("done", {"log": ["first", "second"]})
