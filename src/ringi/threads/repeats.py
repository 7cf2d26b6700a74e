"""Whether what a step returns repeats what a model said within the step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def said_of(text: str, said: str) -> int:
    """Return how many characters at the beginning of a text are these words of a model; 0 if it begins otherwise."""
    if not said.strip():
        return 0
    return len(text) if text.split() == said.split() else len(said) if text.startswith(said) else 0


def has_all_of(text: str, said: str) -> bool:
    """Return whether a text has the words of a model in it, or some of a structured answer that is JSON."""
    words = list(_strings(said)) if said.strip().startswith("{") else [said]
    return any(_plain(each) in _plain(text) for each in words if each.strip())


def _plain(text: str) -> str:
    return " ".join(text.split())


def _strings(said: str) -> Iterator[str]:
    try:
        parts: list[Any] = [json.loads(said)]
    except ValueError:
        return
    for part in parts:
        if isinstance(part, str):
            yield part
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
