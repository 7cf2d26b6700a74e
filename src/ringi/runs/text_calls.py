"""Tool calls that a model writes as text: they are found and hidden, and nothing here ever runs one."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import NamedTuple

MAX_NAME = 200
MAX_BLANKS = 200
"""Maximum consecutive blanks at the start of an object: a model that writes only blanks is held back no longer."""
BLANKS = rf"\s{{0,{MAX_BLANKS}}}+"
OPENING_TAG, CLOSING_TAG = "<tool_call>", "</tool_call>"
BEGINNING = re.compile(
    rf'(?:```(?:json)?{BLANKS})?(?P<object>\{{){BLANKS}"name"{BLANKS}:{BLANKS}"(?P<name>[^"\\]{{1,{MAX_NAME}}}+)"'
    rf'{BLANKS},{BLANKS}"(?:arguments|parameters)"{BLANKS}:|{OPENING_TAG}',
    re.IGNORECASE,
)
OBJECT_IN_TAG = re.compile(rf"{BLANKS}\{{")
NAME_IN_TAG = re.compile(rf'"name"{BLANKS}:{BLANKS}"([^"\\]{{1,{MAX_NAME}}}+)"')
MAX_BEFORE_NAME = 2_000
"""The number of characters of a tag in which the name of its tool is searched."""
FENCE_END = re.compile(r"\s{0,200}+```[ \t]{0,200}+\n?")
DECODER = json.JSONDecoder(strict=False)


class TextWithCalls(NamedTuple):
    """A text without the calls that it contains."""

    text: str
    calls: tuple[str, ...] = ()
    """The names of the called tools, each once."""


def split_text_calls(text: str, tools: Collection[str]) -> TextWithCalls:
    """Return a text without calls of these tools, and their names.

    A call is an object with `name` and `arguments` or `parameters`, with or without a code fence, or an object with
    `name` in the tags `<tool_call>`. A call that is cut off goes to the end of the text.
    """
    rest, calls, done, at = list[str](), list[str](), 0, 0
    while found := BEGINNING.search(text, at):
        name = found["name"] if found["object"] else _name_in_tag(text, found.end())
        if name not in tools:
            at = found.end()
            continue
        calls.append(str(name))
        rest.append(text[done : found.start()])
        at = done = _end_of(text, found)
    return TextWithCalls("".join([*rest, text[done:]]), tuple(dict.fromkeys(calls)))


def _name_in_tag(text: str, start: int) -> str | None:
    """Return the name of the tool in a tag, or None if no object with a name follows."""
    if not OBJECT_IN_TAG.match(text, start):
        return None
    end = text.find(CLOSING_TAG, start, start + MAX_BEFORE_NAME)
    found = NAME_IN_TAG.search(text, start, end if end >= 0 else start + MAX_BEFORE_NAME)
    return found[1] if found else None


def _end_of(text: str, found: re.Match[str]) -> int:
    """Return the position after a call."""
    if found["object"] is None:
        end = text.find(CLOSING_TAG, found.end())
        return len(text) if end < 0 else end + len(CLOSING_TAG)
    try:
        _, end = DECODER.raw_decode(text, found.start("object"))
    except (ValueError, RecursionError):
        return len(text)
    fence = FENCE_END.match(text, end) if text.startswith("```", found.start()) else None
    return fence.end() if fence else end
