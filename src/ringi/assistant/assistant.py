"""An assistant: definitions, a front model and workflows, made into the agents that Ringi runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ringi.assistant.background import build_ask_graph, build_execute_graph, build_plan_graph
from ringi.assistant.catalog import in_language
from ringi.assistant.conversation_graph import build_conversation_graph
from ringi.assistant.settings import AssistantSettings
from ringi.runs import Agent, State, no_output

MESSAGE_SCHEMA = {
    "type": "object",
    "properties": {"role": {"enum": ["user"]}, "content": {"type": "string"}, "id": {"type": "string"}},
    "required": ["role", "content"],
    "additionalProperties": False,
}
INPUT_SCHEMA = {
    "type": "object",
    "properties": {
        "messages": {"type": "array", "title": "Messages", "minItems": 1, "items": MESSAGE_SCHEMA},
        "event": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "args": {"type": "object"}},
            "required": ["type"],
        },
    },
    "oneOf": [{"required": ["messages"]}, {"required": ["event"]}],
    "additionalProperties": False,
}
JOB_SCHEMA = {
    "type": "object",
    "properties": {"job": {"type": "object"}},
    "required": ["job"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class AssistantAgent(Agent):
    """The agent that holds the conversation of an assistant."""

    assistant: Assistant | None = None


@dataclass(frozen=True)
class Assistant(AssistantSettings):
    """Talks, gathers what its actions need, plans beside the talk, and carries out what a person approved.

    Raises `DefinitionError` for an action that needs a workflow and has none.
    """

    def agents(self) -> list[Agent]:
        """Return the agents to serve: the conversation, and those that work in threads beside it."""
        front = AssistantAgent(
            self.name,
            build_conversation_graph(self),
            title=in_language(self.title, "en"),
            description=in_language(self.description, "en"),
            input_schema=INPUT_SCHEMA,
            input=build_input,
            output=thread_values,
            assistant=self,
            subgraphs=True,
            history=False,
        )
        builders = {"plan": build_plan_graph, "ask": build_ask_graph, "execute": build_execute_graph}
        return [front, *(self._background_agent(kind, build(self)) for kind, build in builders.items())]

    def _background_agent(self, kind: str, graph: Any) -> Agent:
        return Agent(
            f"{self.name}.{kind}",
            graph,
            input_schema=JOB_SCHEMA,
            output=no_output,
            is_internal=True,
            subgraphs=True,
            history=False,
        )


def build_input(input: dict[str, Any]) -> dict[str, Any]:
    """Return a run's input as what the conversation's graph takes."""
    events, messages = [input["event"]] if "event" in input else [], input.get("messages", [])
    return {
        "messages": messages,
        "words": messages[-1]["content"] if messages else None,
        "events": events,
        "reply": "",
        "tried": [],
        "todo": {},
    }


def thread_values(state: State) -> dict[str, Any]:
    """Return what the thread itself shows; the memory is not among it: each event of the thread would keep it anew."""
    return {"version": (state.get("memory") or {}).get("version", 0), "language": state.get("language") or "en"}
