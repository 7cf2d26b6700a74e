"""What a thread shows of an agent that does not say what: its final messages, else its output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ringi.runs.interrupt_formats import as_text
from ringi.runs.json_values import cleaned, written

MAX_SHOWN = 64_000
"""Characters of JSON that are shown; an agent with more says what matters by `output=`."""
MAX_TEXT = 8_000
"""Characters of one message."""
ROLES = {"ai": "assistant", "AIMessageChunk": "assistant", "tool": "tool", "system": "system"}


def output_of(state: Any, channels: str | Iterable[str]) -> Any:
    """Return what of a state is the graph's output."""
    if isinstance(channels, str) or not isinstance(state, Mapping):
        return state
    return {name: state[name] for name in channels if name in state}


def final_values(output: Any) -> dict[str, Any]:
    """Return the messages since a person last said something, else all of the output."""
    messages = output.get("messages") if isinstance(output, Mapping) else None
    if isinstance(messages, list) and any(hasattr(message, "type") for message in messages):
        shown: Any = {"messages": final_messages(messages)}
    else:
        shown = as_text(cleaned(json.loads(written(output))))
    if len(json.dumps(shown)) > MAX_SHOWN:
        return {"omitted": f"more than {MAX_SHOWN} characters: say by output= what of it is shown"}
    return shown if isinstance(shown, dict) else {} if shown is None else {"output": shown}


def final_messages(messages: list[Any]) -> list[dict[str, str]]:
    """Return in words what was said since a person last spoke."""
    said: list[dict[str, str]] = []
    for message in reversed(messages):
        kind = getattr(message, "type", "")
        if kind == "human":
            break
        text = cleaned(str(getattr(message, "text", "") or ""))
        if text and kind in ROLES:
            cut = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text) - MAX_TEXT} more characters)"
            said.append({"role": ROLES[kind], "content": cut})
    return said[::-1]
