"""The memory as JSON for the HTTP API, with the field names of the first design."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeAlias

from ringi.assistant.availability import Availability, Reason, availability_of_all
from ringi.assistant.declarations import Action, Info, in_language
from ringi.assistant.definitions import Definitions
from ringi.assistant.explanations import display_name, fix_label, reason_text
from ringi.assistant.freshness import Freshness
from ringi.assistant.memory import ContextMemory, HistoryEntry, Provenance
from ringi.assistant.plans import Plan, PreviousVersion
from ringi.base import jsonable

Json: TypeAlias = dict[str, Any]

CONVERSATION_SOURCE = "conversation_history"
"""The source of values that people said or entered."""


def memory_view(definitions: Definitions, memory: ContextMemory, now: datetime, language: str) -> Json:
    """Return the values, plans and actions of a conversation; the caller adds the ids of thread and agent."""
    view = _View(definitions, memory, now, language)
    availability = availability_of_all(definitions, memory, now)
    document = {
        "version": memory.version,
        "requiredInfoList": view.required(),
        "currentInfoList": view.current(),
        "planData": view.plan_data(),
        "availableActions": [view.action(each) for each in availability],
        "hitlState": view.hitl_state(),
        "items": [view.item(info) for info in definitions.infos],
        "runs": view.runs(),
        "asks": view.asks(),
        "plans": [view.plan(plan) for plan in memory.plans.values()],
    }
    return to_json(document)


def actions_view(definitions: Definitions, memory: ContextMemory, now: datetime, language: str) -> list[Json]:
    """Return each action, with the reasons if it is not possible."""
    view = _View(definitions, memory, now, language)
    return [view.action_with_reasons(each) for each in availability_of_all(definitions, memory, now)]


def history_view(definitions: Definitions, changes: Iterable[HistoryEntry], language: str) -> list[Json]:
    """Return changes of a memory, each with the title of the changed info."""
    return [
        to_json(change.model_dump(mode="json") | {"title": display_name(change.key, definitions, language)})
        for change in changes
    ]


def source_text(source: Provenance) -> str:
    """Return the origin of a value as one word."""
    if source.kind in ("user", "model", "edited"):
        return CONVERSATION_SOURCE
    return (source.actor if source.kind == "handler" else None) or source.kind


def to_json(document: Json) -> Json:
    """Return a document as plain JSON data."""
    availability: Json = jsonable(document)
    return availability


class _View:
    def __init__(self, definitions: Definitions, memory: ContextMemory, now: datetime, language: str) -> None:
        self.definitions, self.memory, self.language = definitions, memory, language
        self.freshness = Freshness(definitions, memory, now)

    def required(self) -> list[Json]:
        availability = []
        for info in self.definitions.infos:
            item = self.memory.items.get(info.key)
            if info.kind == "static" or info.key in self.definitions.plan_actions:
                continue
            source = source_text(item.source) if item else info.handler
            status = item.status if item else "pending"
            availability.append(
                {"type": info.key, "description": self._described(info), "status": status, "source": source}
            )
        return availability

    def current(self) -> list[Json]:
        return [
            {"type": key, "value": item.value, "timestamp": item.observed_at, "source": source_text(item.source)}
            for key, item in self.memory.items.items()
            if item.status == "collected" and key not in self.definitions.plan_actions
        ]

    def plan_data(self) -> Json:
        plans = {plan.updated_at: plan for plan in self.memory.plans.values() if plan.updated_at}
        if not plans:
            return {"status": "none", "plan": None, "feedback": [], "lastUpdated": None}
        plan = plans[max(plans)]
        feedback = [each.text for each in plan.feedback]
        return {"status": plan.status, "plan": plan.plan, "feedback": feedback, "lastUpdated": plan.updated_at}

    def action(self, availability: Availability) -> Json:
        action = self.definitions.action(availability.action_id)
        return {
            "id": action.id,
            "type": action.kind,
            "label": action.name_in(self.language),
            "description": in_language(action.description, self.language),
            "enabled": availability.enabled,
            "requiredInfo": [need.info for need in self.definitions.required_needs[action.id]],
            "workflowName": action.workflow,
            "handler": action.handler,
        }

    def action_with_reasons(self, availability: Availability) -> Json:
        is_immediate = self.definitions.action(availability.action_id).kind == "immediate"
        reasons = [self.reason(each) for each in availability.reasons]
        more = {"reasons": reasons, "have": availability.have, "need": availability.need, "immediate": is_immediate}
        return self.action(availability) | more

    def reason(self, reason: Reason) -> Json:
        label = fix_label(reason.fix, self.definitions, self.language)
        text = reason_text(reason, self.definitions, self.language)
        return {"code": reason.code, "key": reason.key, "text": text, "fix": {**reason.fix._asdict(), "label": label}}

    def hitl_state(self) -> Json:
        applies = [self._apply_of(plan) for plan in self.memory.plans.values() if plan.status == "planned"]
        waiting = [*self.memory.asks, *(apply.id for apply in applies if apply)]
        if waiting:
            return {"status": "waiting", "waitingFor": waiting[0]}
        is_done = any(run.status == "completed" for run in self.memory.runs.values())
        return {"status": "completed" if is_done else "none", "waitingFor": None}

    def item(self, info: Info) -> Json:
        item = self.memory.items.get(info.key)
        return {
            "key": info.key,
            "title": info.name_in(self.language),
            "description": in_language(info.description, self.language),
            "status": item.status if item else "collected" if info.kind == "static" else "pending",
            "value": item.value if item else info.value,
            "version": item.version if item else 0,
            "observedAt": item.observed_at if item else None,
            "freshUntil": item.fresh_until if item else None,
            "isFresh": self.freshness.state(info.key) == "fresh",
            "how": info.kind,
            "scope": info.scope,
            "source": item.source.model_dump() if item else None,
            "error": item.error if item else None,
        }

    def runs(self) -> list[Json]:
        return [
            {"workflow": workflow, "status": run.status, "at": run.at, "error": run.error}
            for workflow, run in self.memory.runs.items()
        ]

    def asks(self) -> list[Json]:
        return [{**self.named([key])[0], "threadId": thread} for key, thread in self.memory.asks.items()]

    def named(self, keys: Iterable[str]) -> list[Json]:
        return [{"key": key, "title": display_name(key, self.definitions, self.language)} for key in keys]

    def plan(self, plan: Plan) -> Json:
        approval = plan.approval and {"by": plan.approval.by, "at": plan.approval.at}
        return {
            "id": plan.id,
            "workflow": plan.workflow,
            "actionId": plan.action_id,
            "version": plan.version,
            "status": plan.status,
            "plan": plan.plan,
            "steps": _steps(plan),
            "hash": plan.hash,
            "changed": self.named(plan.changed),
            "pinned": self.named(plan.pinned),
            "feedback": [_camel(each.model_dump(), addressed_in="addressedIn") for each in plan.feedback],
            "versions": [
                {"version": past.version, "status": past.status, "plan": past.plan, "steps": _steps(past)}
                for past in plan.versions
            ],
            "diff": plan.diff.model_dump(),
            "approval": approval,
            "threadId": plan.thread_id,
            "request": None,
            "error": plan.error,
            "updatedAt": plan.updated_at,
        }

    def _apply_of(self, plan: Plan) -> Action | None:
        action = self.definitions.actions_by_id.get(plan.action_id)
        return self.definitions.apply_of(action) if action else None

    def _described(self, info: Info) -> str:
        return in_language(info.description, self.language) or info.name_in(self.language)


def _steps(plan: Plan | PreviousVersion) -> list[Json]:
    done = plan.done if isinstance(plan, Plan) else ()
    return [{**step.model_dump(), "isDone": step.id in done} for step in plan.steps]


def _camel(fields: Json, **names: str) -> Json:
    return {names.get(key, key): value for key, value in fields.items()}
