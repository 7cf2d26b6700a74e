"""An Engrammer: models, notes and a playbook, made into the agents that Ringi runs."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel

from ringi.engrammer.graph import conversing
from ringi.engrammer.notes import Notes
from ringi.engrammer.tidying import tidying
from ringi.engrammer.trying import Case
from ringi.record import WORDLESS
from ringi.threads.agent import Agent, State, nothing

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
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
LETTER = rf"[^\W{WORDLESS}]"
BEFORE = rf"(?:(?<!{LETTER})(?<!\d[.,](?=\d))|(?!{LETTER}))"
AFTER = rf"(?:(?!{LETTER}|['’]t)(?!(?<=\d)[.,]\d)|(?<!{LETTER}))"
"""Where words and numbers begin and end: 'no' is no part of 'know', nor '3 mm' of '1.3 mm', nor 'can' of 'can’t'."""
SHOWN = ("query", "response", "references", "phase")


class Signal(NamedTuple):
    """What the environment says of an answer: a test that ran, a price that was looked up."""

    is_right: bool | None
    """None where it cannot tell."""
    text: str


def same_answer(expected: str, response: str) -> bool:
    """Whether an answer says what was expected: the same last number, or else the same words somewhere in it."""
    wanted, said = NUMBER.findall(expected), NUMBER.findall(response)
    if wanted and NUMBER.fullmatch(expected.strip()):
        return bool(said) and math.isclose(as_number(said[-1]), as_number(wanted[-1]), rel_tol=1e-3, abs_tol=5e-3)
    words = plain(expected)
    return bool(words) and re.search(f"{BEFORE}{re.escape(words)}{AFTER}", plain(response)) is not None


def as_number(text: str) -> float:
    """Return a number that may have commas between its thousands."""
    return float(text.replace(",", ""))


def plain(text: str) -> str:
    """Return words as they are compared."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True)
class EngrammerAgent(Agent):
    """The agent that people talk with."""

    engrammer: Engrammer | None = None


@dataclass(frozen=True)
class Engrammer:
    """Answers questions, looks back at each answer, and learns what a person approved, word for word."""

    model: BaseChatModel
    name: str = "engrammer"
    notes: Notes = field(default_factory=Notes)
    reflector: BaseChatModel | None = None
    """Another model to look back; by default the same."""
    prompt: str = ""
    """What the generator is told of its work, before everything else."""
    title: str = "Engrammer"
    description: str = ""
    examples: tuple[str, ...] = ()
    """Questions that people are offered to begin with."""
    budget: int = 8_000
    """How many tokens the playbook may have: what has no room is not learned."""
    check: Callable[[str, str], Awaitable[Signal | None]] | None = None
    """From a question and its answer to what the environment says of it, if anything."""
    grade: Callable[[str, str], bool] = same_answer
    """Whether an answer, the second, is the right one, the first: where a run is told the right one."""
    cases: tuple[Case, ...] = ()
    """Questions whose right answers are known: each proposal is tried on them before a person decides."""
    playbook: str = ""
    """The name of the playbook; by default that of the Engrammer. Two of one name learn together."""
    assignee: str | None = None
    """Who is asked whether to learn; by default everybody may answer."""
    candidate_groups: tuple[str, ...] = ()
    expires_in: float | None = None
    """Seconds until nobody may answer any more; what nobody approved is not learned."""

    @property
    def playbook_name(self) -> str:
        """The name of the playbook."""
        return self.playbook or self.name

    @property
    def reflects(self) -> BaseChatModel:
        """The model that looks back."""
        return self.reflector or self.model

    @property
    def tidier(self) -> str:
        """The name of the agent that looks for duplicates in the playbook."""
        return f"{self.name}.tidy"

    def agents(self) -> list[Agent]:
        """Return the agents to serve: the one that people talk with, and the one that tidies the playbook."""
        talking = EngrammerAgent(
            self.name,
            conversing(self),
            title=self.title,
            description=self.description,
            input_schema=offering(self.examples),
            prepare=lambda input: {"input": input},
            values=shown,
            engrammer=self,
            history=False,
        )
        internal: dict[str, Any] = {"values": nothing, "is_internal": True, "history": False}
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
