"""An Engrammer: models, notes and a playbook, made into the agents that Ringi runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ringi import Agent
from ringi.runs import State, no_output
from ringi_apps.engrammer.deduplication import build_deduplication_graph
from ringi_apps.engrammer.graph import build_conversation_graph
from ringi_apps.engrammer.settings import EngrammerSettings

MAX_QUERY_LENGTH = 10_000
QUESTION_SCHEMA = {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_LENGTH, "pattern": r"\S"}
FEEDBACK_SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["right", "wrong"]}, "text": {"type": "string", "maxLength": MAX_QUERY_LENGTH}},
    "required": ["verdict"],
    "additionalProperties": False,
}
INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {**QUESTION_SCHEMA, "title": "Question"},
        "expected": {**QUESTION_SCHEMA, "title": "The right answer, if it is known"},
        "feedback": {**FEEDBACK_SCHEMA, "title": "What a person says of an answer"},
        "turn": {"type": "string", "title": "The run of that answer; by default the newest"},
    },
    "oneOf": [
        {"required": ["query"], "not": {"anyOf": [{"required": ["feedback"]}, {"required": ["turn"]}]}},
        {"required": ["feedback"], "not": {"anyOf": [{"required": ["query"]}, {"required": ["expected"]}]}},
    ],
    "additionalProperties": False,
}
EMPTY_INPUT_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
OUTPUT_FIELDS = ("query", "response", "references", "phase")


@dataclass(frozen=True)
class EngrammerAgent(Agent):
    """The agent that answers questions in conversations."""

    engrammer: Engrammer = field(kw_only=True)


@dataclass(frozen=True)
class Engrammer(EngrammerSettings):
    """Agent that answers questions, reflects on each answer, and learns what a person approved, word for word.

    A proposed insight changes the playbook only after a person approves or edits it. The fields are the settings.

    Attributes:
        model: The chat model that answers; it also reflects unless `reflector` is set.
        name: The name of the agent.
        notes: The notes that answers can use.
        check: Async function from question and answer to a `Signal`, or None if it does not apply.
        grade: Function from expected answer and answer to whether it is right.
        cases: Test questions; each proposal is evaluated on them.
        budget: Maximum size of the playbook in estimated tokens.
        assignee: The person who decides on proposals; by default any person of the tenant.
        expires_in: Seconds until a proposal expires; None for never.
    """

    def agents(self) -> list[Agent]:
        """Return the agents to serve.

        Returns:
            The conversation agent, called `name`, and the internal agent that finds duplicates, called `name.tidy`.
        """
        conversation = EngrammerAgent(
            self.name,
            build_conversation_graph(self),
            title=self.title,
            description=self.description,
            input_schema=input_schema_with_questions(self.examples),
            input=lambda input: {"input": input},
            output=thread_output,
            engrammer=self,
        )
        internal: dict[str, Any] = {"output": no_output, "is_internal": True}
        deduplication = Agent(
            self.deduplicator_name, build_deduplication_graph(self), input_schema=EMPTY_INPUT_SCHEMA, **internal
        )
        return [conversation, deduplication]


def input_schema_with_questions(examples: Sequence[str]) -> dict[str, Any]:
    """Return the input schema with example questions."""
    properties = INPUT_SCHEMA["properties"]
    return {**INPUT_SCHEMA, "properties": {**properties, "query": {**properties["query"], "examples": [*examples]}}}


def thread_output(state: State) -> dict[str, Any]:
    """Return the output of a thread: a summary of its newest turn."""
    turns = state.get("turns") or [{}]
    return {name: turns[-1].get(name) for name in OUTPUT_FIELDS}
