"""Immediate actions that are done at once: what each graph says is told whole and once, with a model or without."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import MessagesState
from tests.apps.assistant.talk import CHAT, ChatDriver
from tests.apps.assistant.test_streaming_workflows import URL, counting, graph_of, visible_texts
from tests.runs.test_told_at_once import Interrupted
from tests.runs.world import at_work

from ringi.testing.model import ScriptedModel, parallel_tool_calls, tool_call
from ringi_apps.assistant import ActionDefinition, Assistant, CallJob, Definitions
from ringi_apps.assistant.declare_tool import DECLARE
from ringi_apps.assistant.definitions import DefinitionError

STREAMED = "Two lamps are left."


def front(messages: Sequence[BaseMessage]) -> AIMessage:
    return parallel_tool_calls(
        tool_call(DECLARE, required_actions=[{"type": "lamps"}, {"type": "chairs"}]), text="I look."
    )


@pytest.mark.parametrize(
    "ready", ["One chair is broken.", "Two chairs are broken.", "Chairs: Two are broken.", "Two lamps"]
)
async def test_a_streamed_answer_and_a_ready_one_are_both_whole(ready: str) -> None:
    has_begun, may_go_on = asyncio.Event(), asyncio.Event()
    slow = Interrupted(script=lambda _: STREAMED, has_begun=has_begun, may_go_on=may_go_on)

    async def lamps(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await slow.ainvoke("?")]}

    async def chairs(state: MessagesState) -> dict[str, Any]:
        await has_begun.wait()
        return {"messages": [AIMessage(ready)]}

    async def then_go_on(job: CallJob) -> Any:
        answer = await graph_of(chairs)(job)
        may_go_on.set()
        return answer

    actions = tuple(ActionDefinition(name, "immediate", name, workflow=name) for name in ("lamps", "chairs"))
    workflows = {"lamps": graph_of(lamps), "chairs": then_go_on}
    assistant = Assistant("assistant", Definitions((), actions), ScriptedModel(script=front), workflows)
    async with at_work(URL, assistant.agents()) as world:
        await ChatDriver(world).say("count")
        assert (await visible_texts(world))[1:] == ["I look.", STREAMED, ready]


async def test_an_answer_that_a_graph_says_without_a_model_is_told_once() -> None:
    async def chairs(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("One chair is broken.")]}

    async with at_work(URL, counting(graph_of(chairs)).agents()) as world:
        await ChatDriver(world).say("count")
        assert (await visible_texts(world))[1:] == ["I look.", "One chair is broken."]


@pytest.mark.parametrize(("count", "left_out"), [(10, ""), (12, "a10, a11")])
async def test_the_reply_names_the_actions_beyond_the_limit_of_a_turn(count: int, left_out: str) -> None:
    ran, names = list[str](), [f"a{n}" for n in range(count)]

    def counted(name: str) -> Any:
        async def count(job: CallJob) -> str:
            ran.append(name)
            return f"{name} is done."

        return count

    front = parallel_tool_calls(tool_call(DECLARE, required_actions=[{"type": name} for name in names]), text="I look.")
    actions = tuple(ActionDefinition(name, "immediate", name, workflow=name) for name in names)
    workflows = {name: counted(name) for name in names}
    assistant = Assistant("assistant", Definitions((), actions), ScriptedModel(script=lambda _: front), workflows)
    async with at_work(URL, assistant.agents()) as world:
        await ChatDriver(world).say("count")
        texts = await visible_texts(world)
    assert sorted(ran) == sorted(names[:10])
    limit = f"I ran the first 10 actions only, and left out further ones of {left_out}. Ask me again for the rest."
    assert [text for text in texts if "left out" in text] == ([limit] if left_out else [])
    assert {f"{name} is done." for name in ran} <= set(texts)


async def test_a_workflow_that_never_answers_ends_at_the_limit_of_its_assistant() -> None:
    canceled = asyncio.Event()

    async def chairs(job: CallJob) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            canceled.set()

    async with at_work(URL, replace(counting(chairs), call_timeout=0.01).agents()) as world:
        await ChatDriver(world).say("count")
        assert canceled.is_set()
        assert (await world.thread(CHAT)).status == "done"


@pytest.mark.parametrize("limit", [0.0, -1.0, float("inf"), float("nan")])
def test_a_limit_that_ends_nothing_is_refused(limit: float) -> None:
    with pytest.raises(DefinitionError, match="call_timeout"):
        Assistant("assistant", Definitions((), ()), ScriptedModel(script=front), call_timeout=limit)
