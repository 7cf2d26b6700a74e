"""What a model streamed within a step is not said again by what the step returns."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from tests.runs.world import at_work, model

from ringi import ask
from ringi.runs.agent import Agent

ANSWER = "Two lamps are left."
INPUT: dict[str, Any] = {"messages": [{"role": "user", "content": "How many?"}]}


def agent(node: Any, *, subgraphs: bool = False) -> Agent:
    graph = StateGraph(MessagesState).add_node("say", node).add_edge(START, "say").compile()
    return Agent("sayer", graph, subgraphs=subgraphs)


async def say(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage((await model(lambda _: ANSWER).ainvoke("?")).text)]}


async def say_before_and_after_a_question(state: MessagesState) -> dict[str, Any]:
    text = (await model(lambda _: ANSWER).ainvoke("?")).text
    ask("Order more?")
    return {"messages": [AIMessage(text)]}


async def test_a_step_that_returns_its_models_words_in_a_message_of_its_own_says_them_once() -> None:
    async with at_work("memory://", [agent(say)]) as world:
        await world.run("sayer", INPUT)
        assert await world.texts() == [ANSWER]


async def test_also_when_the_step_runs_again_after_a_question() -> None:
    async with at_work("memory://", [agent(say_before_and_after_a_question)]) as world:
        await world.run("sayer", INPUT)
        await world.answer(await world.one(), "respond", message="no")
        assert await world.texts() == [ANSWER]


async def test_another_text_of_the_step_is_said() -> None:
    async def other(state: MessagesState) -> dict[str, Any]:
        await model(lambda _: ANSWER).ainvoke("?")
        return {"messages": [AIMessage("Two."), AIMessage("Two.")]}

    async with at_work("memory://", [agent(other)]) as world:
        await world.run("sayer", INPUT)
        assert await world.texts() == [ANSWER, "Two.", "Two."]


async def test_the_same_words_in_a_later_step_are_said_again() -> None:
    graph = StateGraph(MessagesState).add_node("first", say).add_node("second", say)
    graph.add_edge(START, "first").add_edge("first", "second")
    async with at_work("memory://", [Agent("sayer", graph.compile())]) as world:
        await world.run("sayer", INPUT)
        assert await world.texts() == [ANSWER, ANSWER]


@pytest.mark.parametrize("subgraphs", [False, True])
async def test_a_graph_that_a_node_calls_is_streamed_where_the_agent_says_so(subgraphs: bool) -> None:
    inner: Any = StateGraph(MessagesState).add_node("say", say).add_edge(START, "say").compile()

    async def call(state: MessagesState) -> dict[str, Any]:
        await inner.ainvoke({"messages": state["messages"]})
        return {}

    async with at_work("memory://", [agent(call, subgraphs=subgraphs)]) as world:
        await world.run("sayer", INPUT)
        assert await world.texts() == ([ANSWER] if subgraphs else [])
