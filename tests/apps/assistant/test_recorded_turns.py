"""Recorded answers of a small real model, some of them wrong, are replayed: nothing that nobody said is taken.

`recorded_turns.jsonl` has a turn in each line: the agent of the demo, what the person said, and the model's answer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from tests.runs.world import at_work

from ringi import demo
from ringi.testing.model import ScriptedModel, tool_call
from ringi_apps.assistant.assistant import AssistantAgent
from ringi_apps.assistant.declare_tool import DECLARE
from ringi_apps.assistant.demo import say
from ringi_apps.assistant.memory_cache import memory_of
from ringi_apps.assistant.model_context import STATE, person_text

TURNS = [json.loads(line) for line in Path(__file__).with_name("recorded_turns.jsonl").read_text("utf-8").splitlines()]
PARTS = 8
NUMBER = re.compile(r"\d+")


class Replay:
    """The demo's model, with a recorded answer to the newest message of the present turn."""

    def __init__(self) -> None:
        self.turn: dict[str, Any] = {}

    def __call__(self, messages: Sequence[BaseMessage]) -> Any:
        if STATE not in messages[-1].text:
            return say(messages)
        if person_text(messages[-1]) != self.turn["said"][-1]:
            return tool_call(DECLARE, ops=[], required_actions=[], choice_context=[], reply="I see.")
        calls = [ToolCall(name=call["name"], args=call["args"], id=None) for call in self.turn["calls"]]
        return AIMessage(self.turn["text"], tool_calls=calls)


def test_two_hundred_turns_are_recorded() -> None:
    assert len(TURNS) >= 200


@pytest.mark.parametrize("part", range(PARTS))
async def test_a_recorded_turn_neither_fails_nor_records_what_nobody_said(part: int) -> None:
    replay = Replay()
    agents = demo.agents(ScriptedModel(script=replay, delay=0.0))
    assistants = {agent.name: agent.assistant for agent in agents if isinstance(agent, AssistantAgent)}
    async with at_work("memory://", agents) as world:
        for number, turn in enumerate(TURNS[part::PARTS]):
            replay.turn, id = turn, f"t{number}"
            for text in turn["said"]:
                messages = [{"role": "user", "content": text}]
                thread = await world.run(turn["agent"], {"messages": messages}, id)
                assert thread.status != "error", (turn, thread.error)
            assistant = assistants[turn["agent"]]
            memory = await memory_of(world.backend, await world.thread(id))
            answers = {
                key: item.value
                for key, item in memory.items.items()
                if assistant.definitions.info(key).kind == "ask" and isinstance(item.value, str)
            }
            for key, value in answers.items():
                assert numbers_in(value) <= numbers_in(*turn["said"]), (key, turn)
            assert not any(plan.status in ("executing", "completed") for plan in memory.plans.values()), turn


def numbers_in(*texts: str) -> set[str]:
    """Return the numbers in texts, in which 15 % is 0.15."""
    return {number for text in texts for number in NUMBER.findall(unicodedata.normalize("NFKC", text))} - {"0"}
