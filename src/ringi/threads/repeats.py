"""Whether what a step returns repeats what a model said within the step, by whole words and numbers."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

FEW = 3
"""A text of a structured answer with so few characters is a mark: an answer has it by chance."""
_BLANK_LINE = re.compile(r"[ \t]*\r?\n(?:[ \t]*\r?\n)+")
_LETTER = r"[^\W_]\0*"
_JOINT = (
    r"(?:['\u2019\u2010\u2011\-/@&_]|\.(?=[a-z\d])|(?<=\d)[.,:\u066b\u066c\uff0e\uff0c\uff1a](?=\d)"
    r"|(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d)))"
)
"""What may stand within a word or a number: in `don't`, `well-known`, `example.com`, `2.5`, `10:30`, `2 500`."""
_TOKEN = re.compile(rf"(?:(?<!\w)[-+.\u2212](?=\d))?(?:{_LETTER})+(?:{_JOINT}(?:{_LETTER})+)*|\S\0*")
"""A word, a number with its sign, or any other character; each with the marks (`\\0`) that belong to it."""


class _Marks(dict[int, str]):
    """Accents, vowel signs, joiners and skin tones as one character: `re` takes them for the end of a word."""

    def __missing__(self, code: int) -> str:
        is_mark = unicodedata.category(chr(code)) in ("Mn", "Mc", "Me", "Cf") or 0x1F3FB <= code <= 0x1F3FF
        self[code] = "\0" if is_mark else chr(code)
        return self[code]


_MARKS = _Marks()


def said_of(text: str, said: str) -> int:
    """Return how many characters at the beginning of a text are these words of a model; 0 if it begins otherwise."""
    if not said.strip():
        return 0
    if text.split() == said.split():
        return len(text)
    words = _tokens(said)
    return len(said) if text.startswith(said) and _tokens(text)[: len(words)] == words else 0


def paragraphs_of(left: str) -> str:
    """Return what is left of an answer if it can stand by itself, behind a blank line; else an empty text."""
    behind = _BLANK_LINE.match(left)
    return left[behind.end() :] if behind else ""


def has_all_of(text: str, said: str) -> bool:
    """Return whether a text has the words of a model in it, or all texts of a structured answer that is JSON."""
    words = [said]
    if said.strip().startswith("{"):
        words = [each for each in _strings(said) if len(each.strip()) > FEW]
    within = _line(text)
    return any(each.strip() for each in words) and all(_line(each) in within for each in words)


def _tokens(text: str) -> list[str]:
    return [text[found.start() : found.end()] for found in _TOKEN.finditer(text.translate(_MARKS))]


def _line(text: str) -> str:
    return "\n".join(["", *_tokens(text), ""])


def _strings(said: str) -> Iterator[str]:
    try:
        parts: list[Any] = [json.loads(said)]
    except ValueError:
        return
    for part in parts:
        if isinstance(part, str):
            yield part
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
