"""Agents inside tools and functions, which may jump to their tools past a review of LangChain's own gate."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, after_model, wrap_tool_call
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import BaseTool, tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send
from tests.runs.world import model, opened, working

from ringi import Agent
from ringi.domain.thread import Thread

RAN: list[str] = []
START_INPUT = {"messages": [{"role": "user", "content": "Go."}]}


@tool
def wipe(disk: int) -> str:
    """Wipe a disk."""
    RAN.append(f"wiped {disk}")
    return "wiped"


@after_model(can_jump_to=["tools"])
def hurry(state: Any, runtime: Any) -> dict[str, Any] | None:
    return {"jump_to": "tools"} if state["messages"][-1].tool_calls else None


def calling(name: str, **args: Any) -> Any:
    """Return a script of a model that makes one call and then ends."""

    def script(messages: Any) -> Any:
        return (
            "Done."
            if messages[-1].type == "tool"
            else AIMessage("", tool_calls=[ToolCall(name=name, args=args, id="c1")])
        )

    return script


def worker(*middleware: Any) -> Any:
    """Return an agent that wipes a disk."""
    return create_agent(model(calling("wipe", disk=1)), [wipe], middleware=middleware)


def review() -> HumanInTheLoopMiddleware[Any, Any, Any]:
    return HumanInTheLoopMiddleware({"wipe": True})


async def answer(graph: Any) -> str:
    """Return the last text of an agent."""
    return str((await graph.ainvoke(START_INPUT))["messages"][-1].text)


def delegating(delegate: BaseTool) -> Any:
    """Return an agent with a tool that calls another agent."""
    return create_agent(model(calling(delegate.name)), [delegate])


def in_a_closure(inner: Any) -> Any:
    @tool
    async def delegate() -> str:
        """Delegate."""
        return await answer(inner)

    return delegating(delegate)


GLOBAL: dict[str, Any] = {}


async def help_out() -> str:
    return await answer(GLOBAL["worker"])


@tool
async def delegate_globally() -> str:
    """Delegate."""
    return await help_out()


def in_a_global_name(inner: Any) -> Any:
    GLOBAL["worker"] = inner
    return delegating(delegate_globally)


def in_a_function_node(inner: Any) -> Any:
    async def work(state: Any) -> Any:
        return {"messages": [AIMessage(await answer(inner))]}

    return StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile()


def in_a_task(inner: Any) -> Any:
    @task
    async def work() -> str:
        return await answer(inner)

    @entrypoint()
    async def begin(input: Any) -> Any:
        return {"messages": [AIMessage(await work())]}

    return begin


class Team:
    """An office whose workers are agents."""

    worker: Any = None

    @cached_property
    def lead(self) -> Any:
        """The worker of the whole office."""
        return Team.worker

    async def delegate(self) -> str:
        """Delegate."""
        return await answer(self.lead)


def in_an_attribute_of_a_class(inner: Any) -> Any:
    Team.worker = inner

    @tool
    async def delegate() -> str:
        """Delegate."""
        return await answer(Team.worker)

    return delegating(delegate)


def in_a_method(inner: Any) -> Any:
    Team.worker = inner
    return delegating(tool("delegate")(Team().delegate))


class Delegating(BaseTool):
    """A tool with a worker of its own."""

    name: str = "delegate"
    description: str = "Delegate."
    worker: Any

    def _run(self) -> str:
        raise NotImplementedError

    async def _arun(self) -> str:
        return await answer(self.worker)


def in_a_field_of_a_tool(inner: Any) -> Any:
    return delegating(Delegating(worker=inner))


def in_a_partial_function(inner: Any) -> Any:
    async def work(found: Any, state: Any) -> Any:
        return {"messages": [AIMessage(await answer(found))]}

    return StateGraph(MessagesState).add_node("work", partial(work, inner)).add_edge(START, "work").compile()


def two_levels_deep(inner: Any) -> Any:
    return in_a_closure(in_a_function_node(inner))


def in_a_tool_of_a_thread(inner: Any) -> Any:
    @tool
    def delegate() -> str:
        """Delegate."""
        return str(inner.invoke(START_INPUT)["messages"][-1].text)

    return delegating(delegate)


PLACES = [
    in_a_tool_of_a_thread,
    in_a_closure,
    in_a_global_name,
    in_a_function_node,
    in_a_task,
    in_an_attribute_of_a_class,
    in_a_method,
    in_a_field_of_a_tool,
    in_a_partial_function,
    two_levels_deep,
]


def made_in_the_run(*middleware: Any) -> Any:
    @tool
    async def delegate() -> str:
        """Delegate."""
        return await answer(worker(*middleware))

    return delegating(delegate)


@after_model
def hurry_unsaid(state: Any, runtime: Any) -> Any:
    return {"jump_to": "tools"}


@after_model
def go(state: Any, runtime: Any) -> Any:
    return None if state["messages"][-1].text == "Done." else Command(goto="tools")


@after_model(can_jump_to=["tools"])
def rush(state: Any, runtime: Any) -> Any:
    """Do as `hurry`, in agents without a review."""
    return {"jump_to": "tools"} if state["messages"][-1].tool_calls else None


@after_model
def leap(state: Any, runtime: Any) -> Any:
    """Do as `go`, in agents without a review."""
    return None if state["messages"][-1].text == "Done." else Command(goto="tools")


async def run(url: str, graph: Any, *decisions: str) -> Thread:
    """Run an agent and answer its questions with these decisions."""
    RAN.clear()
    async with opened(url, [Agent("shop", graph)]) as world, working(world):
        thread = await world.run("shop", START_INPUT)
        for decision in decisions:
            thread = await world.answer(await world.one(), decision)
        assert await world.pending() == []
        return thread


@pytest.mark.parametrize("place", PLACES)
async def test_an_inner_agent_runs_no_call_past_its_review(file: str, place: Callable[[Any], Any]) -> None:
    thread = await run(file, place(worker(review(), go)))
    assert (RAN, thread.status) == ([], "error")
    assert "past their review" in str(thread.attention)


@wrap_tool_call
async def audited(request: Any, handler: Any) -> Any:
    await audit.ainvoke({"type": "tool_call", "id": "audit-1", "name": "audit", "args": {"what": request.tool_call}})
    return await handler(request)


@tool
def audit(what: Any) -> str:
    """Note what runs."""
    RAN.append("noted")
    return "noted"


async def test_a_middleware_may_call_another_tool_beside_an_approved_call(file: str) -> None:
    thread = await run(file, worker(review(), audited), "approve")
    assert (RAN, thread.status, thread.attention) == (["noted", "wiped 1"], "done", None)


@after_model
def send(state: Any, runtime: Any) -> Any:
    calls = [] if state["messages"][-1].text == "Done." else state["messages"][-1].tool_calls
    return Command(goto=[Send("tools", each) for each in calls]) if calls else None


@pytest.mark.parametrize("place", [made_in_the_run, lambda *each: worker(*each)])
async def test_a_step_that_sends_a_call_to_the_tools_past_a_review_ends_the_run(file: str, place: Any) -> None:
    thread = await run(file, place(review(), send))
    assert (RAN, thread.status) == ([], "error")
    assert "past their review" in str(thread.attention)


async def test_an_inner_agent_is_known_beside_another_with_the_same_steps(file: str) -> None:
    @tool
    async def delegate() -> str:
        """Delegate."""
        return await answer(worker(review(), hurry))

    outer = create_agent(model(calling("delegate")), [delegate], middleware=[hurry])
    thread = await run(file, outer)
    assert (RAN, thread.status) == ([], "error")
    elsewhere = worker(review(), rush)
    thread = await run(file, made_in_the_run(rush))
    assert (set(RAN), thread.status, thread.attention) == ({"wiped 1"}, "done", None)
    assert elsewhere.nodes


async def test_the_second_agent_that_a_task_starts_runs_no_call_past_its_review(file: str) -> None:
    async def work(state: Any) -> Any:
        return {"messages": [AIMessage(await answer(worker(rush)) + await answer(worker(review(), rush)))]}

    thread = await run(file, StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile())
    assert (set(RAN), thread.status) == ({"wiped 1"}, "error")
    assert "past their review" in str(thread.attention)


@pytest.mark.parametrize("middleware", [(review, hurry), (hurry_unsaid, review), (go, review)])
async def test_an_agent_that_is_made_in_the_run_runs_no_call_past_its_review(file: str, middleware: Any) -> None:
    made = [each() if each is review else each for each in middleware]
    thread = await run(file, made_in_the_run(*made), *(["reject"] if middleware[1] is review else []))
    assert (RAN, thread.status) == ([], "error")
    assert "past their review" in str(thread.attention)


@pytest.mark.parametrize("place", [made_in_the_run, lambda *each: in_a_closure(worker(*each)), worker])
async def test_a_step_that_goes_to_the_tools_past_a_review_ends_the_run(file: str, place: Any) -> None:
    thread = await run(file, place(review(), go))
    assert (RAN, thread.status) == ([], "error")
    assert "past their review" in str(thread.attention)


@pytest.mark.parametrize("place", [made_in_the_run, lambda *each: in_a_closure(worker(*each)), worker])
@pytest.mark.parametrize("middleware", [[rush], [leap]])
async def test_without_a_review_a_jump_to_the_tools_runs_them(file: str, place: Any, middleware: Any) -> None:
    thread = await run(file, place(*middleware))
    assert (set(RAN), thread.status, thread.attention) == ({"wiped 1"}, "done", None)


@pytest.mark.parametrize("place", [made_in_the_run, lambda *each: in_a_closure(worker(*each)), worker])
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_without_a_jump_a_reviewed_call_runs_as_decided(file: str, place: Any, decision: str) -> None:
    thread = await run(file, place(review()), decision)
    assert (RAN, thread.status, thread.attention) == (["wiped 1"] if decision == "approve" else [], "done", None)
