"""A run that a restored store repeats asks its questions again under the same ids, in graphs of every shape."""

from __future__ import annotations

import asyncio
import operator
import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from tests.runs.world import at_work, model

import ringi
from ringi import Agent, Approval
from ringi.backends.sqlite.backup import copy_sqlite_store
from ringi.domain.request import Request


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def ask(state: State) -> State:
    return {"log": [str(interrupt("Pay?"))]}


def graph(*nodes: tuple[str, Any]) -> Any:
    """Return a graph with these steps, one after the other."""
    built = StateGraph(State)
    for name, node in nodes:
        built.add_node(name, node)
    for before, after in zip([START, *(name for name, _ in nodes)], nodes, strict=False):
        built.add_edge(before, after[0])
    return built.compile()


def begun(rest: Any) -> Any:
    """Return a graph that asks whether to begin."""
    return graph(("begin", lambda _: {"log": [str(interrupt("Begin?"))]}), ("rest", rest))


def sends() -> Any:
    """Return a graph with two parallel calls of a graph that asks the same in two steps."""
    inner = graph(("ask", ask), ("ask_again", ask))

    async def call(state: State) -> State:
        return {"log": (await inner.ainvoke({"log": []}))["log"]}

    outer = StateGraph(State).add_node("begin", lambda _: {"log": [str(interrupt("Begin?"))]}).add_node("call", call)
    return (
        outer.add_edge(START, "begin")
        .add_conditional_edges("begin", lambda _: [Send("call", {"log": []})] * 2, ["call"])
        .compile()
    )


def at_once() -> Any:
    """Return a graph that calls a graph twice in one step, at once."""
    inner = graph(("ask", ask))

    async def call(state: State) -> State:
        found = await asyncio.gather(inner.ainvoke({"log": []}), inner.ainvoke({"log": []}), return_exceptions=True)
        logs = list[str]()
        for each in found:
            if isinstance(each, BaseException):
                raise each
            logs += each["log"]
        return {"log": logs}

    return begun(call)


def parallel() -> Any:
    """Return a graph with a nested one, whose steps ask the same at once."""
    inner = StateGraph(State).add_node("one", ask).add_node("two", ask)
    return begun(inner.add_edge(START, "one").add_edge(START, "two").compile())


def twice() -> Any:
    """Return a graph with a step that asks the same twice."""
    return begun(lambda _: {"log": [str(interrupt("Pay?")), str(interrupt("Pay?"))]})


def workflow() -> Any:
    """Return a workflow with two parallel tasks that ask the same."""

    @task
    async def pay() -> str:
        return str(interrupt("Pay?"))

    @entrypoint()
    async def work(input: Any) -> dict[str, Any]:
        first = str(interrupt("Begin?"))
        return {"log": [first, *await asyncio.gather(pay(), pay())]}

    return work


def gated() -> Any:
    """Return a graph with two calls of a gated function in steps of their own."""

    @ringi.gate()
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    async def call(state: State) -> State:
        return {"log": [await pay(100)]}

    return graph(("begin", lambda _: {"log": [str(interrupt("Begin?"))]}), ("one", call), ("two", call))


def paying(kind: str) -> Any:
    """Return a graph whose parallel steps each make two equal calls of a function, which a rule approves."""

    @ringi.gate({"rules": [{"tools": ["pay"], "auto_approve": [{"name": "all"}]}]})
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    async def call(state: State) -> State:
        return {"log": [await pay(100), await pay(100)]}

    step: Any = graph(("call", call)) if kind == "nested" else call

    async def called(state: State) -> State:
        return {"log": (await step.ainvoke({"log": []}))["log"]}

    outer = StateGraph(State).add_node("begin", lambda _: {"log": [str(interrupt("Begin?"))]})
    outer.add_node("call", called if kind == "nested" else step).add_edge(START, "begin")
    return outer.add_conditional_edges("begin", lambda _: [Send("call", {"log": []})] * 2, ["call"]).compile()


def ruled() -> Any:
    """Return a graph with calls that a rule approves in parallel steps."""
    return paying("plain")


def ruled_inside() -> Any:
    """Return a graph with calls that a rule approves in graphs within parallel steps."""
    return paying("nested")


def ruled_tools() -> Any:
    """Return an agent whose model gives other ids to its calls each time, which a rule approves."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        if any(message.type == "tool" for message in messages):
            return AIMessage("Done.")
        calls = [{"name": "pay", "args": {"amount": 100}, "id": uuid.uuid4().hex, "type": "tool_call"} for _ in "12"]
        return AIMessage("", tool_calls=calls)

    rules = {"rules": [{"tools": ["pay"], "auto_approve": [{"name": "all"}]}]}
    agent: Any = create_agent(model(script), [pay], middleware=[Approval(rules, [pay])])

    async def work(state: State) -> State:
        found = await agent.ainvoke({"messages": [("user", "Pay.")]})
        return {"log": [message.text for message in found["messages"] if message.type == "tool"]}

    return begun(work)


def restore(backup: Path, store: Path) -> None:
    """Put a backup in the place of a store that nobody has open."""
    for each in store.parent.glob(f"{store.name}*"):
        each.unlink()
    shutil.copy(backup, store)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (sends, 5),
        (at_once, 3),
        (parallel, 3),
        (twice, 3),
        (workflow, 3),
        (gated, 3),
        (ruled, 5),
        (ruled_inside, 5),
        (ruled_tools, 3),
    ],
)
async def test_a_repeated_run_asks_under_the_same_ids(tmp_path: Path, shape: Callable[[], Any], size: int) -> None:
    store, backup = tmp_path / "ringi.db", tmp_path / "backup.db"
    agent = Agent("agent", shape(), input=lambda _: {"log": []}, output=lambda state: {"log": state.get("log", [])})
    async with at_work(f"sqlite:///{store}", [agent]) as world:
        await world.run("agent", {})
        first = await world.one()
    copy_sqlite_store(store, backup, lambda *_: None)

    async def repeated(number: int) -> list[str]:
        """Restore the store, answer all questions one by one, and return the ids of all requests."""
        restore(backup, store)
        async with at_work(f"sqlite:///{store}", [agent]) as world:
            while pending := await world.pending():
                await world.answer(pending[number % len(pending)], "approve")
            assert (await world.rest()).status == "done"
            asked: list[Request] = await world.asked()
        return sorted(request.id for request in asked)

    ids = await repeated(0)
    assert first.id in ids
    assert len(ids) == size
    assert await repeated(1) == ids
