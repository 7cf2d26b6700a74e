"""Agents with a finish gate, and models that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from tests.runs.world import World

from ringi.integrations.langchain import FinishGate
from ringi.runs.agent import Agent, State
from ringi.testing.model import ModelOutput, ModelScript, ScriptedModel

Heard = list[list[str]]


def hearing(heard: Heard, script: ModelScript | None = None) -> ScriptedModel:
    """Return a model that notes what it was told; without a script it says what its last task was."""

    def say(messages: Sequence[BaseMessage]) -> ModelOutput:
        heard.append([message.text for message in messages])
        return script(messages) if script else f"Did: {last_said(messages)}"

    return ScriptedModel(script=say)


def last_said(messages: Sequence[BaseMessage]) -> str:
    """Return what a person said last."""
    return [message.text for message in messages if isinstance(message, HumanMessage)][-1]


def results(messages: Sequence[BaseMessage]) -> list[str]:
    """Return what tools said since a person spoke."""
    spoke = max(place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
    return [message.text for message in messages[spoke:] if message.type == "tool"]


def gated(model: ScriptedModel, *middleware: Any, gate: FinishGate | None = None, **rest: Any) -> Agent:
    """Return an agent whose end is gated."""
    name, gate = rest.pop("agent_name", "worker"), gate or FinishGate()
    both = gate.around(*middleware) if rest.pop("is_around", False) else [gate, *middleware]
    return Agent(name, create_agent(model, middleware=both, **rest), input=build_input, output=build_output)


def build_input(input: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [HumanMessage(input["task"])]}


def build_output(state: State) -> dict[str, Any]:
    return {
        "messages": [message.text for message in state.get("messages", [])],
        "task": state.get("task"),
        "outcome": state.get("finish_outcome"),
        "history": [step["decision"] for step in state.get("finish_history", [])],
    }


async def answered(world: World, *answers: Callable[..., Any] | str, id: str = "t1") -> Any:
    """Say these words to one question after another, and return the thread at rest."""
    for words in answers:
        await world.answer(await world.one(id), "respond", message=words)
    return await world.rest(id)
