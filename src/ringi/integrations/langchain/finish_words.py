"""What a person's words at the finish gate mean: three things, and everything else is unclear."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

COMPLETE = frozenset({"yes", "y", "はい", "是"})
UPDATE = frozenset({"update", "u", "更新"})
MARKS = ".!。"
"""What may stand after a word without changing it; a question mark does."""


class Said(NamedTuple):
    """A decision, and the new task if it was named in the same breath."""

    decision: Literal["complete", "update", "unclear"]
    task: str | None = None


def read(text: str) -> Said:
    """Return what was said; only a word of consent that stands alone completes."""
    word = plain(text)
    if word in COMPLETE:
        return Said("complete")
    if word in UPDATE:
        return Said("update")
    first, *rest = re.split("[:：]", text, maxsplit=1)
    task = rest[0].strip() if rest and plain(first) in UPDATE else ""
    return Said("update", task) if task else Said("unclear")


def plain(text: str) -> str:
    """Return a text without what does not change a word: width, case, blanks, and marks after it."""
    return unicodedata.normalize("NFKC", text).casefold().strip().rstrip(MARKS).strip()
