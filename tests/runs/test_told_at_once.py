"""A message that is ready while a model streams another one in the same step: both are told whole, each once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph import START, MessagesState, StateGraph
from tests.runs.test_superseded import superseded, visible_texts
from tests.runs.world import World, at_work, model

from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

STREAMED = "Two lamps are left in the hall."
INPUT: dict[str, Any] = {"messages": [{"role": "user", "content": "How many?"}]}


class Interrupted(ScriptedModel):
    """Says its first word, and the rest once it may."""

    has_begun: Any
    may_go_on: Any

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for number, chunk in enumerate(self._chunks(messages)):
            if number == 1:
                self.has_begun.set()
                await self.may_go_on.wait()
            yield chunk


def graph_of(say: Any) -> Any:
    return StateGraph(MessagesState).add_node("say", say).add_edge(START, "say").compile()


async def run(step: Any) -> list[str]:
    """Return what a reader sees of an agent with one step, and then what was taken back."""
    async with at_work("memory://", [Agent("sayer", graph_of(step), subgraphs=True)]) as world:
        await world.run("sayer", INPUT)
        return await seen(world)


async def seen(world: World) -> list[str]:
    stream_items = await world.items()
    return visible_texts(stream_items) + [f"superseded: {text}" for text in superseded(stream_items)]


READY = ["One chair is broken.", "Two chairs are broken.", "Chairs: Two in all.", "Two", "Two ", "Two lamps are left."]


@pytest.mark.parametrize("is_inner", [True, False])
@pytest.mark.parametrize("ready", READY)
async def test_a_ready_message_and_one_that_is_being_streamed_are_both_whole(ready: str, is_inner: bool) -> None:
    async def step(state: MessagesState) -> dict[str, Any]:
        has_begun, may_go_on = asyncio.Event(), asyncio.Event()
        slow = Interrupted(script=lambda _: STREAMED, has_begun=has_begun, may_go_on=may_go_on)

        async def stream(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await slow.ainvoke("?")]}

        async def tell(state: MessagesState) -> dict[str, Any]:
            await has_begun.wait()
            return {"messages": [AIMessage(ready)]}

        async def then_go_on() -> None:
            await graph_of(tell).ainvoke(state)
            may_go_on.set()

        await asyncio.gather(graph_of(stream).ainvoke(state) if is_inner else stream(state), then_go_on())
        return {}

    assert await run(step) == [STREAMED, ready]


async def test_a_ready_message_does_not_go_on_in_the_message_of_another_graph() -> None:
    async def step(state: MessagesState) -> dict[str, Any]:
        has_ended, may_return = asyncio.Event(), asyncio.Event()

        async def stream(state: MessagesState) -> dict[str, Any]:
            text = (await model(lambda _: "Two lamps.").ainvoke("?")).text
            has_ended.set()
            await may_return.wait()
            return {"messages": [AIMessage(f"{text}\n\nSource: the list.")]}

        async def tell(state: MessagesState) -> dict[str, Any]:
            await has_ended.wait()
            return {"messages": [AIMessage("Two lamps. One chair.")]}

        async def then_return() -> None:
            await graph_of(tell).ainvoke(state)
            may_return.set()

        await asyncio.gather(graph_of(stream).ainvoke(state), then_return())
        return {}

    whole = ["Two lamps. One chair.", "Two lamps.\n\nSource: the list."]
    assert await run(step) == [*whole, "superseded: Two lamps."]


async def test_a_draft_of_a_step_is_still_taken_back_by_a_graph_that_the_step_calls() -> None:
    async def step(state: MessagesState) -> dict[str, Any]:
        draft = (await model(lambda _: STREAMED).ainvoke("?")).text

        async def titled(state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage(f"**Stock**\n\n{draft}")]}

        return {"messages": [AIMessage((await graph_of(titled).ainvoke(state))["messages"][-1].text)]}

    assert await run(step) == [f"**Stock**\n\n{STREAMED}", f"superseded: {STREAMED}"]


async def test_a_stream_that_the_step_stops_reading_is_still_its_result() -> None:
    async def step(state: MessagesState) -> dict[str, Any]:
        text = ""
        async for chunk in model(lambda _: STREAMED).astream("?"):
            text += chunk.text
            if "lamps" in text:
                break
        return {"messages": [AIMessage(text)]}

    assert [each.strip() for each in await run(step)] == ["Two lamps"]


READY_ANSWERS = {
    "One chair.": ["One chair."],
    "One chair.\n": ["One chair."],
    "One chair.\n\nSource: the list.": ["One chair.", "Source: the list."],
    "So: One chair.": ["So: One chair.", "superseded: One chair."],
    "One chairlift.": ["One chair.", "One chairlift."],
}


@pytest.mark.parametrize("answer", READY_ANSWERS)
async def test_what_an_inner_graph_tells_without_a_model_is_not_told_again(answer: str) -> None:
    async def say(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("One chair.")]}

    async def step(state: MessagesState) -> dict[str, Any]:
        await graph_of(say).ainvoke(state)
        return {"messages": [AIMessage(answer)]}

    assert await run(step) == READY_ANSWERS[answer]


async def test_nor_if_it_goes_through_several_graphs() -> None:
    async def say(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("One chair.")]}

    async def between(state: MessagesState) -> dict[str, Any]:
        found = await graph_of(say).ainvoke(state)
        return {"messages": [AIMessage(found["messages"][-1].text + "\n\nSource: the list.")]}

    async def step(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage((await graph_of(between).ainvoke(state))["messages"][-1].text)]}

    assert await run(step) == ["One chair.", "Source: the list."]


async def test_nor_if_a_model_said_a_part_of_it() -> None:
    async def between(state: MessagesState) -> dict[str, Any]:
        text = (await model(lambda _: "One chair.").ainvoke("?")).text
        return {"messages": [AIMessage(f"{text} It is red.")]}

    async def step(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage((await graph_of(between).ainvoke(state))["messages"][-1].text)]}

    assert await run(step) == ["One chair. It is red."]


async def test_results_with_the_same_words_side_by_side_are_both_told() -> None:
    async def say(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("Done."), AIMessage("Done.")]}

    async def step(state: MessagesState) -> dict[str, Any]:
        await graph_of(say).ainvoke(state)
        await graph_of(say).ainvoke(state)
        return {}

    assert await run(step) == ["Done."] * 4


@pytest.mark.parametrize(
    ("message", "ready"),
    [
        ('{"ok": "Yes", "reason": "The hall is locked after six."}', "Yes"),
        ('{"status": "Done", "count": 5}', "Done."),
        ('{"answer": "closed", "code": 7}', "It is closed today."),
    ],
)
async def test_a_short_message_takes_no_structured_answer_of_another_graph_back(message: str, ready: str) -> None:
    async def step(state: MessagesState) -> dict[str, Any]:
        has_ended = asyncio.Event()

        async def hall(state: MessagesState) -> dict[str, Any]:
            answer = await model(lambda _: message).ainvoke("?")
            has_ended.set()
            return {"messages": [answer]}

        async def chairs(state: MessagesState) -> dict[str, Any]:
            await has_ended.wait()
            return {"messages": [AIMessage(ready)]}

        await asyncio.gather(graph_of(hall).ainvoke(state), graph_of(chairs).ainvoke(state))
        return {}

    assert sorted(await run(step)) == sorted([ready, message])
