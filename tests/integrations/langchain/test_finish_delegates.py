"""Agents with gates that delegate to agents with gates, and many at once: each has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from tests.integrations.langchain.finishing import Heard, answered, gated, hearing, results
from tests.integrations.langchain.test_finish_stops import look, looking
from tests.runs.world import World, at_work, checked, of_type, opened, working

from ringi.domain.request import Request
from ringi.integrations.langchain import FinishGate, delegate
from ringi.runs.agent import Agent
from ringi.testing.model import parallel_tool_calls, tool_call

TASK = {"task": "make a book"}


def worker(heard: Heard, name: str = "writer", gate: FinishGate | None = None) -> BaseTool:
    """Return an agent with a gate as a tool."""
    agent = create_agent(hearing(heard), middleware=[gate or FinishGate()], name=name)
    return delegate(agent, name=name, description=f"Have the {name} do something.")


def manager(heard: Heard, *workers: BaseTool) -> Agent:
    """Return an agent that gives each worker one task, and then says what they reported."""

    def managing(messages: Sequence[BaseMessage]) -> AIMessage:
        if reports := results(messages):
            return AIMessage(" | ".join(reports))
        return parallel_tool_calls(*(tool_call(one.name, task=f"be a {one.name}") for one in workers))

    return gated(hearing(heard, managing), agent_name="manager", tools=list(workers))


async def asking(world: World, agent: str, id: str = "t1") -> Request:
    """Return what one of the agents asks."""
    return next(request for request in await world.pending(id) if request.context.get("agent") == agent)


async def test_a_report_reaches_its_delegator_when_it_is_completed_and_not_before(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [manager(heard, worker([]))]) as world:
        await world.run("manager", TASK)
        request = await asking(world, "writer")
        assert (request.context["task"], len(heard)) == ("be a writer", 1)
        await world.answer(request, "approve")
        assert heard[-1][-1] == "Did: be a writer"
        assert (await world.one()).context["summary"] == "Did: be a writer"
        assert (await answered(world, "yes")).values["outcome"] == "completed"
        checked(await world.items())


async def test_each_change_of_a_delegates_task_is_told_at_once_and_in_its_report(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [manager(heard, worker([]))]) as world:
        await world.run("manager", TASK)
        for number in range(3):
            await world.answer(await asking(world, "writer"), "edit", {"task": f"verse {number}"})
            values = [event["value"] for event in of_type(await world.items(), "CUSTOM")]
            assert [one["next"] for one in values if one["agent"] == "writer"][-1] == f"verse {number}"
        await world.answer(await asking(world, "writer"), "reject", message="it does not rhyme")
        await world.answer(await asking(world, "writer"), "approve")
        report = heard[-1][-1]
        assert "- ann changed the task “verse 1” to “verse 2”." in report
        assert "- ann sent it on: it does not rhyme" in report
        assert len(of_type(await world.items(), "CUSTOM")) == 5


async def test_two_delegates_at_once_have_a_gate_each(file: str) -> None:
    heard, writing, drawing = Heard(), Heard(), Heard()
    async with at_work(file, [manager(heard, worker(writing, "writer"), worker(drawing, "painter"))]) as world:
        await world.run("manager", TASK)
        assert len(await world.pending()) == 2
        await world.answer(await asking(world, "painter"), "edit", {"task": "paint a cat"})
        assert (len(writing), len(drawing)) == (1, 2)
        await world.answer(await asking(world, "writer"), "approve")
        assert len(heard) == 1
        await world.answer(await asking(world, "painter"), "approve")
        assert "Did: be a writer" in heard[-1][-2]
        assert "“paint a cat”" in heard[-1][-1]
        assert (await answered(world, "yes")).values["outcome"] == "completed"
        await world.verified()


async def test_a_delegate_without_a_limit_reaches_its_gate_by_the_gates_own(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringi.integrations.langchain.finish_gate.DEFAULT_CALLS", 3)
    heard: Heard = []
    agent = create_agent(hearing(heard, looking), [look], middleware=[FinishGate()], name="writer")
    writer = delegate(agent, name="writer", description="Have the writer do something.")
    async with at_work(file, [manager([], writer)]) as world:
        await world.run("manager", TASK)
        request = await asking(world, "writer")
        assert request.context["reason"].startswith("the default limit of 3 model calls was reached;")
        assert len(heard) == 3


async def test_a_delegate_that_is_refused_stops_its_delegator_at_the_gate(file: str) -> None:
    async with at_work(file, [manager([], worker([], gate=FinishGate(max_rounds=1)))]) as world:
        await world.run("manager", TASK)
        for _ in range(2):
            await world.answer(await asking(world, "writer"), "reject", message="bad")
        request = await world.one()
        assert request.title == "Stopped before its end: make a book"
        assert (
            "NotFinishedError: the task 'be a writer' is not finished: rejected after 1 rounds: bad"
            in (request.context["reason"])
        )


async def test_the_same_worker_may_be_asked_again_after_its_delegator_was_sent_on(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [manager(heard, worker([]))]) as world:
        await world.run("manager", TASK)
        for _ in range(2):
            await world.answer(await asking(world, "writer"), "approve")
            await answered(world, "update: make another")
        await world.answer(await asking(world, "writer"), "approve")
        assert (await answered(world, "yes")).values["history"] == ["update", "update", "complete"]


async def test_a_delegate_of_the_conservative_kind_begins_anew_and_reports_both(file: str) -> None:
    heard, writing = Heard(), Heard()
    async with at_work(file, [manager(heard, worker(writing, gate=FinishGate(anew=True)))]) as world:
        await world.run("manager", TASK)
        await world.answer(await asking(world, "writer"), "edit", {"task": "be a poet"})
        await world.answer(await world.one(), "approve")
        assert len(writing[-1]) == 1
        await world.answer(await asking(world, "writer"), "approve")
        assert "- ann completed the task “be a writer” and began “be a poet” with its hand-over." in heard[-1][-1]


async def test_many_threads_at_once_keep_their_tasks_apart(file: str) -> None:
    names = [f"t{number}" for number in range(6)]
    async with opened(file, [gated(hearing([]))]) as world, working(world, world):
        await asyncio.gather(*(world.run("worker", {"task": f"task of {id}"}, id) for id in names))
        await asyncio.gather(*(answered(world, f"update: second of {id}", id=id) for id in names))
        requests = [await world.one(id) for id in names]
        assert [request.context["task"] for request in requests] == [f"second of {id}" for id in names]
        threads = await asyncio.gather(*(answered(world, "yes", id=id) for id in names))
        assert {thread.values["outcome"] for thread in threads} == {"completed"}


async def test_a_graph_outside_of_threads_shows_the_plain_interrupt() -> None:
    graph = create_agent(hearing([]), middleware=[FinishGate()], checkpointer=InMemorySaver())
    result = await graph.ainvoke({"messages": [HumanMessage("begin")]}, {"configurable": {"thread_id": "t1"}})
    (question,) = result["__interrupt__"]
    assert question.value["ringi"]["kind"] == "finish"


def test_without_async_it_stops_at_the_same_interrupt_with_the_reason() -> None:
    @tool
    def look(place: str) -> str:
        """Look somewhere."""
        raise PermissionError(f"you may not look in {place}")

    def looking(messages: Sequence[BaseMessage]) -> AIMessage:
        if "model" in messages[-1].text:
            raise TimeoutError("the provider is away")
        return tool_call("look", place="the cellar")

    graph = create_agent(hearing([], looking), [look], middleware=[FinishGate()], checkpointer=InMemorySaver())
    for task, reason in {
        "look": "look: PermissionError: you may not look in the cellar",
        "the model": "Timeout",
    }.items():
        result = graph.invoke({"messages": [HumanMessage(task)]}, {"configurable": {"thread_id": task}})
        (question,) = result["__interrupt__"]
        assert question.value["ringi"]["context"]["reason"].startswith(reason)
