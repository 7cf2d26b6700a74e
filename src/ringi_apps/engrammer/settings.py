"""Settings of an Engrammer: models, notes, playbook and limits."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel

from ringi.domain import SCRIPTS_WITHOUT_SPACES
from ringi_apps.engrammer.note_search import normalize_text
from ringi_apps.engrammer.notes import Notes

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
LETTER = rf"[^\W{SCRIPTS_WITHOUT_SPACES}]"
WORD_START = rf"(?:(?<!{LETTER})(?<!\d[.,](?=\d))|(?!{LETTER}))"
WORD_END = rf"(?:(?!{LETTER}|['’]t)(?!(?<=\d)[.,]\d)|(?<!{LETTER}))"
"""Boundaries of words and numbers: 'no' does not match in 'know', '3 mm' in '1.3 mm', or 'can' in 'can’t'."""


class Case(NamedTuple):
    """A test question.

    Attributes:
        query: The question.
        expected: The right answer, for comparison by `grade`.
    """

    query: str
    expected: str


class Signal(NamedTuple):
    """The result of a `check`: a judgement of an answer by a test or a data source.

    Attributes:
        is_right: Whether the answer is right; None if the check cannot tell.
        text: The reason, shown to people and to the reflector.
    """

    is_right: bool | None
    """None where it cannot tell."""
    text: str


def is_same_answer(expected: str, response: str) -> bool:
    """Compare an answer with the expected one.

    If a number is expected, the last number of the answer must match within 0.1 %, or 0.005 if that is more. Otherwise
    the expected words must occur in the answer as whole words.

    Args:
        expected: The right answer.
        response: The answer to grade.

    Returns:
        Whether the answer is right.
    """
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
    """Parse a number that may have commas as thousands separators."""
    return float(text.replace(",", ""))


def normalize_answer(text: str) -> str:
    """Normalize a text for comparison."""
    return " ".join(normalize_text(text).split())


@dataclass(frozen=True)
class EngrammerSettings:
    """Settings of an Engrammer: models, notes, playbook and limits."""

    model: BaseChatModel
    name: str = "engrammer"
    notes: Notes = field(default_factory=Notes)
    reflector: BaseChatModel | None = None
    """Model of the reflector; by default `model`."""
    prompt: str = ""
    """Instructions at the start of the generator's prompt."""
    title: str = "Engrammer"
    description: str = ""
    examples: tuple[str, ...] = ()
    """Example questions offered on the page."""
    budget: int = 8_000
    """Maximum size of the playbook in estimated tokens; an insight that does not fit is not learned."""
    check: Callable[[str, str], Awaitable[Signal | None]] | None = None
    """Async function from question and answer to a `Signal`, or None if it does not apply."""
    grade: Callable[[str, str], bool] = is_same_answer
    """Function from expected answer and answer to whether it is right."""
    cases: tuple[Case, ...] = ()
    """Test questions; each proposal is evaluated on them before a person decides."""
    playbook: str = ""
    """Name of the playbook; by default `name`. Engrammers with the same playbook share what they learn."""
    assignee: str | None = None
    """Person who decides on proposals; by default every person of the tenant may."""
    groups: tuple[str, ...] = ()
    expires_in: float | None = None
    """Seconds until a proposal expires; an expired proposal is not learned."""

    @property
    def playbook_name(self) -> str:
        """The name of the playbook."""
        return self.playbook or self.name

    @property
    def reflector_model(self) -> BaseChatModel:
        """The model of the reflector."""
        return self.reflector or self.model

    @property
    def deduplicator_name(self) -> str:
        """The name of the agent that looks for duplicates in the playbook."""
        return f"{self.name}.tidy"
