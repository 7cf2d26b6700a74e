"""What an Engrammer is made of: models, notes, a playbook and limits."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel

from ringi.domain import SCRIPTS_WITHOUT_SPACES
from ringi.engrammer.notes import Notes

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
LETTER = rf"[^\W{SCRIPTS_WITHOUT_SPACES}]"
WORD_START = rf"(?:(?<!{LETTER})(?<!\d[.,](?=\d))|(?!{LETTER}))"
WORD_END = rf"(?:(?!{LETTER}|['’]t)(?!(?<=\d)[.,]\d)|(?<!{LETTER}))"
"""Where words and numbers begin and end: 'no' is no part of 'know', nor '3 mm' of '1.3 mm', nor 'can' of 'can’t'."""


class Case(NamedTuple):
    """A question whose right answer is known."""

    query: str
    expected: str


class Signal(NamedTuple):
    """What the environment says of an answer: a test that ran, a price that was looked up."""

    is_right: bool | None
    """None where it cannot tell."""
    text: str


def is_same_answer(expected: str, response: str) -> bool:
    """Whether an answer says what was expected: the same last number, or else the same words somewhere in it."""
    expected_numbers, response_numbers = NUMBER.findall(expected), NUMBER.findall(response)
    if expected_numbers and NUMBER.fullmatch(expected.strip()):
        return bool(response_numbers) and math.isclose(
            parse_number(response_numbers[-1]), parse_number(expected_numbers[-1]), rel_tol=1e-3, abs_tol=5e-3
        )
    words = normalize_answer(expected)
    return (
        bool(words) and re.search(f"{WORD_START}{re.escape(words)}{WORD_END}", normalize_answer(response)) is not None
    )


def parse_number(text: str) -> float:
    """Return a number that may have commas between its thousands."""
    return float(text.replace(",", ""))


def normalize_answer(text: str) -> str:
    """Return words as they are compared."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True)
class EngrammerSettings:
    """The models, notes and limits of an Engrammer."""

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
    grade: Callable[[str, str], bool] = is_same_answer
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
    def reflector_model(self) -> BaseChatModel:
        """The model that looks back."""
        return self.reflector or self.model

    @property
    def deduplicator_name(self) -> str:
        """The name of the agent that looks for duplicates in the playbook."""
        return f"{self.name}.tidy"
