"""What the front model reads: the definitions, which never change, and the state of the conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage

from ringi.base import canonical, jsonable
from ringi_apps.assistant.declarations import ANY, ActionDefinition, Info, in_language
from ringi_apps.assistant.declare_tool import is_tellable
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.freshness import Freshness
from ringi_apps.assistant.memory import ContextMemory, shorten
from ringi_apps.assistant.sentences import LANGUAGES
from ringi_apps.assistant.settings import RESULT_LIMIT

MAX_VALUE_BYTES = 4_000
"""The maximum number of bytes of a value in the prompt."""
MAX_ROWS = 20
"""The maximum number of rows of a fetched value: it is read again in each turn."""
STATE = "\n\n[State, written by the program and not by the person]\n"
"""Separates a person's words from the state of the conversation in the newest message."""
ACTION_KINDS = {
    "plan": "makes a plan",
    "apply": "only the person can start it, with its button",
    "selector": "shows a list, if the person wants to choose",
    "immediate": "shows the result at once",
    "cancel": "forgets everything",
}
LANGUAGE_NAMES = {"en": "English", "ja": "Japanese", "zh": "Chinese"}


def infos_and_actions_text(definitions: Definitions, language: str) -> str:
    """Return the infos and actions as text, the same in each turn.

    Args:
        definitions: The definitions of the assistant.
        language: The language of their texts.
    """
    lines = [_info_line(info, language) for info in definitions.infos if is_tellable(info, definitions)]
    infos = "\n".join(lines)
    for heading, kind in (
        ("Infos that the program fetches; require one to fetch it again", "handler"),
        ("Facts", "static"),
    ):
        if others := [_info_line(info, language) for info in definitions.infos if info.kind == kind]:
            infos += f"\n\n{heading}:\n" + "\n".join(others)
    actions = "\n".join(_action_line(action, language) for action in definitions.actions)
    return f"Infos that a person can tell:\n{infos or '(none)'}\n\nActions:\n{actions or '(none)'}"


def state_text(
    definitions: Definitions, memory: ContextMemory, now: datetime, language: str, limit: int = RESULT_LIMIT
) -> str:
    """Return the state of a conversation as JSON: values, what is missing, and the plans.

    It does not list the actions that are possible: small models then declare one of them whatever the person says.

    Args:
        definitions: The definitions of the assistant.
        memory: The memory of the conversation.
        now: The time at which actions must be possible.
        language: The language of the person.
        limit: The maximum number of characters of a fetched value.
    """
    parts = _state(definitions, memory, now, language, limit)
    return json.dumps({name: value for name, value in parts if value}, **COMPACT)


COMPACT: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}


def with_state(message: BaseMessage, state: str) -> BaseMessage:
    """Return a person's message with the state of the conversation after it."""
    content = message.content
    text = f"{STATE}{state}"
    with_text = content + text if isinstance(content, str) else [*content, {"type": "text", "text": text}]
    return message.model_copy(update={"content": with_text})


def person_text(message: BaseMessage) -> str:
    """Return the words of a person's message, without the state that the model receives after the newest one.

    Args:
        message: A message that the front model receives.
    """
    return message.text.partition(STATE)[0]


def _state(
    definitions: Definitions, memory: ContextMemory, now: datetime, language: str, limit: int
) -> Iterator[tuple[str, object]]:
    known = Freshness(definitions, memory, now)
    items = {key: item for key, item in memory.items.items() if key in definitions.infos_by_key}
    yield "language", LANGUAGE_NAMES.get(language, language)
    values = {
        key: _value_view(item.value, definitions.info(key), language, limit)
        for key, item in items.items()
        # Constants stand in the definitions, and plans below.
        if item.status == "collected" and definitions.info(key).kind != "static" and key not in definitions.plan_actions
    }
    yield "known", {key: value for key, value in values.items() if not items[key].is_default}
    yield "defaults", {key: value for key, value in values.items() if items[key].is_default}
    yield (
        "missing",
        [
            info.key
            for info in definitions.infos
            if definitions.required_by(info.key)
            and is_tellable(info, definitions)
            and known.state(info.key) == "missing"
        ],
    )
    yield "failed", {key: item.error for key, item in items.items() if item.error}
    yield "being_asked", [key for key in memory.asks if key in definitions.infos_by_key]
    yield (
        "plans",
        [
            {
                "action": plan.action_id,
                "version": plan.version,
                "status": plan.status,
                "plan": shorten(plan.plan, MAX_VALUE_BYTES),
                "steps": [step.title for step in plan.steps],
            }
            for plan in memory.plans.values()
        ],
    )


def _info_line(info: Info, language: str) -> str:
    parts = [info.name_in(language), in_language(info.description, language)]
    if info.kind == "static":
        parts.append(json.dumps(shorten(one_language(jsonable(info.value), language), MAX_VALUE_BYTES), **COMPACT))
    if info.may_be_any:
        parts.append(f'"{ANY}" if the person does not mind')
    return f"- {info.key}: {'. '.join(part for part in parts if part)}"


def _action_line(action: ActionDefinition, language: str) -> str:
    parts = [action.name_in(language), in_language(action.description, language)]
    return f"- {action.id}: {'. '.join(part for part in parts if part)} ({ACTION_KINDS[action.kind]})"


def _value_view(value: object, info: Info, language: str, limit: int) -> object:
    if info.kind != "handler":
        return shorten(one_language(value, language), MAX_VALUE_BYTES)
    table = as_table(one_language(value, language))
    text = table if isinstance(table, str) else canonical(jsonable(table)).decode()
    return table if len(text) <= limit else f"{text[:limit]}…"


def as_table(value: Any) -> Any:
    """Return a list of objects as lines with one heading, which take a third of the space of JSON."""
    rows = [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
    if not rows:
        return value
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [" | ".join(str(row.get(name, "")) for name in names) for row in rows]
    more = [str(row) for row in value if not isinstance(row, Mapping)]
    return "\n".join([" | ".join(names), *lines, *more])


def one_language(value: Any, language: str) -> Any:
    """Return a value with texts of one language, and lists cut to 20 rows.

    Args:
        value: A JSON value. An object whose fields are all language tags becomes the text of one of them.
        language: A language tag, such as `en`, `ja` or `zh`.
    """
    if isinstance(value, Mapping):
        if value and value.keys() <= set(LANGUAGES) and all(isinstance(text, str) for text in value.values()):
            return in_language(value, language)
        return {name: one_language(each, language) for name, each in value.items()}
    if isinstance(value, list):
        rows = [one_language(each, language) for each in value[:MAX_ROWS]]
        return [*rows, f"… + {len(value) - MAX_ROWS}"] if len(value) > MAX_ROWS else rows
    return value
