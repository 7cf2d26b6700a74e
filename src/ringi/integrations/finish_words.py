"""Interpretation of a person's text at the finish gate: three meanings, and everything else is unclear."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

COMPLETE = frozenset({"yes", "y", "はい", "是"})
UPDATE = frozenset({"update", "u", "更新"})
MARKS = ".!。"
"""Marks that may follow a word without changing its meaning; a question mark changes it."""


class FinishDecision(NamedTuple):
    """A decision, and the new task if the same text names it."""

    decision: Literal["complete", "update", "unclear"]
    task: str | None = None


def parse_finish_decision(text: str) -> FinishDecision:
    """Return the decision in a text; only a single word of consent completes the task."""
    word = normalize_finish_words(text)
    if word in COMPLETE:
        return FinishDecision("complete")
    if word in UPDATE:
        return FinishDecision("update")
    first, *rest = re.split("[:：]", text, maxsplit=1)
    task = rest[0].strip() if rest and normalize_finish_words(first) in UPDATE else ""
    return FinishDecision("update", task) if task else FinishDecision("unclear")


def normalize_finish_words(text: str) -> str:
    """Return a text without irrelevant differences: width, case, blanks, and trailing marks."""
    return unicodedata.normalize("NFKC", text).casefold().strip().rstrip(MARKS).strip()
