"""An Engrammer: models, notes and a playbook, made into the agents that Ringi runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringi.engrammer.deduplication import tidying
from ringi.engrammer.graph import conversing
from ringi.engrammer.settings import EngrammerSettings
from ringi.runs import Agent, State, no_output

LONGEST_QUERY = 10_000
QUERY = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUERY, "pattern": r"\S"}
SAID = {
    "type": "object",
    "properties": {"verdict": {"enum": ["right", "wrong"]}, "text": {"type": "string", "maxLength": LONGEST_QUERY}},
    "required": ["verdict"],
    "additionalProperties": False,
}
INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {**QUERY, "title": "Question"},
        "expected": {**QUERY, "title": "The right answer, if it is known"},
        "feedback": {**SAID, "title": "What a person says of an answer"},
        "turn": {"type": "string", "title": "The run of that answer; by default the newest"},
    },
    "oneOf": [
        {"required": ["query"], "not": {"anyOf": [{"required": ["feedback"]}, {"required": ["turn"]}]}},
        {"required": ["feedback"], "not": {"anyOf": [{"required": ["query"]}, {"required": ["expected"]}]}},
    ],
    "additionalProperties": False,
}
TIDY_INPUT: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
SHOWN = ("query", "response", "references", "phase")


@dataclass(frozen=True)
class EngrammerAgent(Agent):
    """The agent that people talk with."""

    engrammer: Engrammer | None = None


@dataclass(frozen=True)
class Engrammer(EngrammerSettings):
    """Answers questions, looks back at each answer, and learns what a person approved, word for word."""

    def agents(self) -> list[Agent]:
        """Return the agents to serve: the one that people talk with, and the one that tidies the playbook."""
        talking = EngrammerAgent(
            self.name,
            conversing(self),
            title=self.title,
            description=self.description,
            input_schema=offering(self.examples),
            input=lambda input: {"input": input},
            output=shown,
            engrammer=self,
            history=False,
        )
        internal: dict[str, Any] = {"output": no_output, "is_internal": True, "history": False}
        tidy = Agent(self.tidier, tidying(self), input_schema=TIDY_INPUT, **internal)
        return [talking, tidy]


def offering(examples: Sequence[str]) -> dict[str, Any]:
    """Return the schema of the input, with questions to begin with."""
    properties = INPUT["properties"]
    return {**INPUT, "properties": {**properties, "query": {**properties["query"], "examples": [*examples]}}}


def shown(state: State) -> dict[str, Any]:
    """Return what the thread itself shows: its newest turn, in short."""
    turns = state.get("turns") or [{}]
    return {name: turns[-1].get(name) for name in SHOWN}
