"""What the model of the conversation is told of the memory: in short, what it needs to understand and reply."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from ringi.assistant.availability import derive
from ringi.assistant.catalog import Info, in_language
from ringi.assistant.definitions import Definitions
from ringi.assistant.knowledge import Knowledge
from ringi.assistant.memory import ContextMemory, shortened
from ringi.assistant.wording import reasons_in
from ringi.base import jsonable

MOST = 4_000
"""How many bytes of a value the model is shown: it answers from what it sees here."""


def prompt_view(definitions: Definitions, memory: ContextMemory, now: datetime, language: str = "en") -> str:
    """Return as JSON text what is known, what is missing, which actions are possible and how plans stand."""
    known = Knowledge(definitions, memory, now)
    told = {
        "version": memory.version,
        "infos": [_told(info, known, language) for info in definitions.infos],
        "actions": [
            {
                "id": each.action_id,
                "kind": (action := definitions.action(each.action_id)).kind,
                "label": action.name_in(language),
                "enabled": each.enabled,
                **({"parameters": jsonable(dict(action.schema))} if action.schema else {}),
                **({"why_not": reasons_in(each.reasons, definitions, language)} if each.reasons else {}),
            }
            for each in derive(definitions, memory, now)
        ],
        "plans": [
            {
                "action": plan.action_id,
                "version": plan.version,
                "status": plan.status,
                "plan": shortened(plan.plan, MOST),
                "steps": [step.title for step in plan.steps],
            }
            for plan in memory.plans.values()
        ],
    }
    return json.dumps(told, ensure_ascii=False)


def _told(info: Info, known: Knowledge, language: str) -> dict[str, Any]:
    item = known.memory.items.get(info.key)
    told: dict[str, Any] = {"key": info.key, "title": info.name_in(language), "state": known.state(info.key)}
    if info.how == "ask" and info.key not in known.definitions.makers:
        told |= {"can_be_told": True, **({"schema": jsonable(dict(info.schema))} if info.schema else {})}
        told |= {"description": text} if (text := in_language(info.description, language)) else {}
    if info.how == "static" or (item and item.status == "collected"):
        told["value"] = shortened(item.value if item else jsonable(info.value), MOST)
    if item and item.error:
        told["error"] = item.error
    if info.key in known.memory.asks:
        told["is_being_asked"] = True
    return told
