"""What an immediate action answers is told whole and once, whatever was said before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import MessagesState
from tests.apps.assistant.talk import ChatDriver
from tests.apps.assistant.test_streaming_workflows import URL, counting, graph_of, visible_texts
from tests.runs.world import at_work

from ringi.testing.model import ScriptedModel, parallel_tool_calls, tool_call
from ringi_apps.assistant import Assistant, CallJob
from ringi_apps.assistant.declare_tool import DECLARE

REMARK = "I do not know “sing”. This is what I can do here: Count."


@pytest.mark.parametrize(
    ("text", "answer"),
    [("2", "25 lamps are left."), ("No", "Nothing is left."), ("ランプ", "ランプは二個あります。")],
)
async def test_an_answer_that_begins_with_a_part_of_the_same_word_is_told_whole(text: str, answer: str) -> None:
    async def sort(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await ScriptedModel(script=lambda messages: text).ainvoke("sort")]}

    async def workflow(job: CallJob) -> str:
        await graph_of(sort)(job)
        return answer

    async with at_work(URL, counting(workflow).agents()) as world:
        await ChatDriver(world).say("count")
        assert (await visible_texts(world))[1:] == ["I look.", text, answer]


def remarking(workflow: Any) -> Assistant:
    """Return an assistant whose conversation has a word of its own to say between its front model and the action."""

    def front(messages: Sequence[BaseMessage]) -> AIMessage:
        return parallel_tool_calls(
            tool_call(DECLARE, required_actions=[{"type": "sing"}, {"type": "count"}]), text="I look."
        )

    return replace(counting(workflow), model=ScriptedModel(script=front))


async def test_an_answer_is_the_front_models_own_also_behind_a_word_of_the_conversation() -> None:
    async def known(job: CallJob) -> str:
        return "I look."

    async with at_work(URL, remarking(known).agents()) as world:
        await ChatDriver(world).say("count")
        assert await visible_texts(world) == ["count", "I look.", REMARK]


async def test_an_answer_that_equals_a_word_of_the_conversation_is_told() -> None:
    async def same(job: CallJob) -> str:
        return REMARK

    async with at_work(URL, remarking(same).agents()) as world:
        await ChatDriver(world).say("count")
        assert await visible_texts(world) == ["count", "I look.", REMARK, REMARK]
