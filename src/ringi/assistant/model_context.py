"""The part of the memory that the front model receives in its prompt."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from ringi.assistant.availability import availability_of_all
from ringi.assistant.declarations import Info, in_language
from ringi.assistant.definitions import Definitions
from ringi.assistant.explanations import reasons_text
from ringi.assistant.freshness import Freshness
from ringi.assistant.memory import ContextMemory, shorten
from ringi.base import jsonable

MAX_VALUE_BYTES = 4_000
"""The maximum number of bytes of a value in the prompt."""


def prompt_view(definitions: Definitions, memory: ContextMemory, now: datetime, language: str = "en") -> str:
    """Return the values, the missing infos, the possible actions and the plans as JSON text."""
    known = Freshness(definitions, memory, now)
    view = {
        "version": memory.version,
        "infos": [_info_view(info, known, language) for info in definitions.infos],
        "actions": [
            {
                "id": each.action_id,
                "kind": (action := definitions.action(each.action_id)).kind,
                "label": action.name_in(language),
                "enabled": each.enabled,
                **({"parameters": jsonable(dict(action.schema))} if action.schema else {}),
                **({"why_not": reasons_text(each.reasons, definitions, language)} if each.reasons else {}),
            }
            for each in availability_of_all(definitions, memory, now)
        ],
        "plans": [
            {
                "action": plan.action_id,
                "version": plan.version,
                "status": plan.status,
                "plan": shorten(plan.plan, MAX_VALUE_BYTES),
                "steps": [step.title for step in plan.steps],
            }
            for plan in memory.plans.values()
        ],
    }
    return json.dumps(view, ensure_ascii=False)


def _info_view(info: Info, known: Freshness, language: str) -> dict[str, Any]:
    item = known.memory.items.get(info.key)
    view: dict[str, Any] = {"key": info.key, "title": info.name_in(language), "state": known.state(info.key)}
    if info.kind == "ask" and info.key not in known.definitions.sole_producers:
        view |= {"can_be_told": True, **({"schema": jsonable(dict(info.schema))} if info.schema else {})}
        view |= {"description": text} if (text := in_language(info.description, language)) else {}
    if info.kind == "static" or (item and item.status == "collected"):
        view["value"] = shorten(item.value if item else jsonable(info.value), MAX_VALUE_BYTES)
    if item and item.error:
        view["error"] = item.error
    if info.key in known.memory.asks:
        view["is_being_asked"] = True
    return view
