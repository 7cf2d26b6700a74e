"""The default output of a thread: its final messages, else the graph's output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ringi.runs.calls import as_text
from ringi.runs.run_states import clean_json, json_text

MAX_OUTPUT = 64_000
"""Maximum characters of JSON shown; an agent with more output selects a part with `output=`."""
MAX_TEXT = 8_000
"""Maximum characters of one message."""
ROLES = {"ai": "assistant", "AIMessageChunk": "assistant", "tool": "tool", "system": "system"}


def output_of(state: Any, channels: str | Iterable[str]) -> Any:
    """Return the part of a state that is the graph's output."""
    if isinstance(channels, str) or not isinstance(state, Mapping):
        return state
    return {name: state[name] for name in channels if name in state}


def final_values(output: Any) -> dict[str, Any]:
    """Return the messages since the last user message, else the whole output."""
    messages = output.get("messages") if isinstance(output, Mapping) else None
    if isinstance(messages, list) and any(hasattr(message, "type") for message in messages):
        values: Any = {"messages": final_messages(messages)}
    else:
        values = as_text(clean_json(json.loads(json_text(output))))
    if len(json.dumps(values)) > MAX_OUTPUT:
        return {"omitted": f"more than {MAX_OUTPUT} characters: select a part with output="}
    return values if isinstance(values, dict) else {} if values is None else {"output": values}


def final_messages(messages: list[Any]) -> list[dict[str, str]]:
    """Return the text of the messages since the last user message."""
    contents: list[dict[str, str]] = []
    for message in reversed(messages):
        kind = getattr(message, "type", "")
        if kind == "human":
            break
        text = clean_json(str(getattr(message, "text", "") or ""))
        if text and kind in ROLES:
            cut = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text) - MAX_TEXT} more characters)"
            contents.append({"role": ROLES[kind], "content": cut})
    return contents[::-1]
