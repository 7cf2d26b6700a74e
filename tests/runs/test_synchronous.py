"""Graphs and agents that are called by `.invoke`, without await, inside of a node or a tool."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from tests.runs.test_interrupt_formats import State, calls, gated
from tests.runs.world import LIMIT, at_work, checked, opened, until, working

from ringi.domain.thread import FenceError, checkpoint_thread
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

Effects = list[Any]


def inner(effects: Effects, *titles: str) -> Any:
    """Return a graph that asks these questions, one in each step, and notes the answers."""

    def step(title: str) -> Any:
        def ask(state: State) -> State:
            answer = interrupt(title)
            effects.append(answer)
            return {"log": [answer]}

        return ask

    def begin(state: State) -> State:
        effects.append("begun")
        return {"log": ["begun"]}

    builder = StateGraph(State).add_node("begin", begin).add_edge(START, "begin")
    before = "begin"
    for title in titles:
        builder.add_node(title, step(title)).add_edge(before, title)
        before = title
    return builder.compile()


def outer(graph: Any, *, is_async: bool) -> Agent:
    """Return an agent whose one node calls the graph without await."""

    def call(state: State) -> State:
        return {"log": graph.invoke({"log": []})["log"]}

    async def call_on_the_loop(state: State) -> State:
        return call(state)

    node: Any = call_on_the_loop if is_async else call
    built = StateGraph(State).add_node("call", node).add_edge(START, "call").compile()
    return Agent("agent", built, input=lambda _: {"log": []}, output=dict)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_graph_that_is_invoked_in_a_node_runs(url: str, is_async: bool) -> None:
    effects: Effects = []
    async with at_work(url, [outer(inner(effects), is_async=is_async)]) as world:
        thread = await world.run("agent", {})
        assert (thread.status, thread.values["log"], effects) == ("done", ["begun"], ["begun"])


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_graph_that_is_invoked_in_a_node_asks_and_goes_on_where_it_asked(url: str, is_async: bool) -> None:
    effects: Effects = []
    async with at_work(url, [outer(inner(effects, "one?", "two?"), is_async=is_async)]) as world:
        await world.run("agent", {})
        first = await world.one()
        assert first.title == "one?"
        await world.answer(first, "respond", message="a")
        thread = await world.answer(await world.one(), "approve")
        assert (thread.status, thread.values["log"]) == ("done", ["begun", "a", True])
        assert effects == ["begun", "a", True]
        checked(await world.items())
        await world.verified()


async def test_it_goes_on_in_another_process_after_the_first_is_gone(url: str) -> None:
    if url.startswith("memory"):
        return
    effects: Effects = []
    async with at_work(url, [outer(inner(effects, "one?"), is_async=False)]) as world:
        await world.run("agent", {})
        request = await world.one()
    async with at_work(url, [outer(inner(effects, "one?"), is_async=False)]) as world:
        assert (await world.answer(request, "respond", message="a")).values["log"] == ["begun", "a"]
    assert effects == ["begun", "a"]


def subagent_as_tool(effects: Effects, *, is_gated: bool) -> Agent:
    """Return LangChain's own way to have an agent call another: a tool that invokes it."""
    made = ("pay", {"to": "ann", "amount": 1})
    within = gated(effects, {"pay": is_gated}, made).target

    @tool
    def research(query: str) -> str:
        """Let another agent do it."""
        result = within.invoke({"messages": [{"role": "user", "content": query}]})
        return str(result["messages"][-1].content)

    supervisor = create_agent(ScriptedModel(script=calls(("research", {"query": "go"}))), [research])
    return Agent("agent", supervisor, input=lambda _: {"messages": [("user", "go")]})


@pytest.mark.parametrize(("decision", "paid"), [("approve", [("ann", 1)]), ("reject", [])])
async def test_a_subagent_as_a_tool_asks_and_hears_the_decision(url: str, decision: str, paid: Effects) -> None:
    effects: Effects = []
    async with at_work(url, [subagent_as_tool(effects, is_gated=True)]) as world:
        await world.run("agent", {})
        request = await world.one()
        assert request.action
        assert request.action.args == {"to": "ann", "amount": 1}
        thread = await world.answer(request, decision)
        assert (thread.status, effects) == ("done", paid)
        assert [each["content"] for each in thread.values["messages"]] == ["done", "done"]
        checked(await world.items())


async def test_a_subagent_as_a_tool_that_asks_nothing_runs(url: str) -> None:
    effects: Effects = []
    async with at_work(url, [subagent_as_tool(effects, is_gated=False)]) as world:
        thread = await world.run("agent", {})
        assert (thread.status, effects) == ("done", [("ann", 1)])


async def test_a_worker_that_lost_the_thread_commits_nothing_without_await_either(url: str) -> None:
    effects: Effects = []
    reached, go_on = threading.Event(), threading.Event()
    refused: list[BaseException] = []

    def slow(state: State) -> State:
        reached.set()
        assert go_on.wait(LIMIT)
        return {"log": ["late"]}

    within = StateGraph(State).add_node("slow", slow).add_edge(START, "slow").compile()

    def call(state: State) -> State:
        try:
            return {"log": within.invoke({"log": []})["log"]}
        except BaseException as error:
            refused.append(error)
            raise

    built = StateGraph(State).add_node("call", call).add_edge(START, "call").compile()
    agent = Agent("agent", built, input=lambda _: {"log": []}, output=dict)
    async with at_work(url, [agent]) as world:
        await world.start("agent", {})

        async def is_reached() -> bool:
            return reached.is_set()

        await until(is_reached, "the inner step runs")
        thread = await world.runner.cancel("default", "t1", by="ann")
        before = await world.checkpoints()
        go_on.set()

        async def is_refused() -> bool:
            return bool(refused)

        await until(is_refused, "the late write is refused")
        assert isinstance(refused[0], FenceError)
        assert len(await world.checkpoints()) == len(before)
        assert thread.status == "idle"
        assert effects == []


async def test_the_synchronous_half_reads_what_the_other_wrote(url: str) -> None:
    async with opened(url, [outer(inner([], "one?"), is_async=False)]) as world:
        async with working(world):
            await world.run("agent", {})
        thread = await world.thread()
        saver = world.backend.savers(thread)
        place: Any = {"configurable": {"thread_id": checkpoint_thread(thread.key)}}
        whole = [found async for found in saver.alist(place)]
        assert list(saver.list(place)) == whole
        assert len(list(saver.list(place, limit=1))) == 1
        assert saver.get_tuple({**place, "configurable": {**place["configurable"], "checkpoint_ns": ""}})
        late = world.backend.savers(thread.model_copy(update={"fence": thread.fence - 1}))
        with pytest.raises(FenceError):
            late.put_writes(whole[0].config, [("log", ["x"])], "task")
        assert list(saver.list(place)) == whole
