"""The memory as models of the HTTP API, with the field names of the first design."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ringi.base import reason_text as own_reason_text
from ringi_apps.assistant import models
from ringi_apps.assistant.availability import Availability, BlockedReason, availability_of_all
from ringi_apps.assistant.declarations import Info, in_language
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.explanations import display_name, fix_label, reason_text
from ringi_apps.assistant.freshness import Freshness
from ringi_apps.assistant.memory import ContextMemory, HistoryEntry, Provenance
from ringi_apps.assistant.plans import Plan, PreviousVersion
from ringi_apps.assistant.stored_values import unfit_reason

CONVERSATION_SOURCE = "conversation_history"
"""The source of values that people said or entered."""


def memory_view(definitions: Definitions, memory: ContextMemory, now: datetime, language: str) -> models.MemoryContent:
    """Return the values, plans and actions of a conversation."""
    view = _View(definitions, memory, now, language)
    availability = availability_of_all(definitions, memory, now)
    return models.MemoryContent(
        version=memory.version,
        required_info_list=view.required(),
        current_info_list=view.current(),
        plan_data=view.plan_data(),
        available_actions=[models.AvailableAction(**view.action(each)) for each in availability],
        hitl_state=view.hitl_state(),
        items=[view.item(info) for info in definitions.infos],
        runs=[models.WorkflowRun(workflow=name, **run.model_dump()) for name, run in memory.runs.items()],
        asks=[models.OpenAsk(**view.named(key), thread_id=thread) for key, thread in memory.asks.items()],
        plans=[view.plan(plan) for plan in memory.plans.values()],
    )


def actions_view(
    definitions: Definitions, memory: ContextMemory, now: datetime, language: str
) -> list[models.AssistantAction]:
    """Return each action, with the reasons if it is not possible."""
    view = _View(definitions, memory, now, language)
    return [view.action_with_reasons(each) for each in availability_of_all(definitions, memory, now)]


def history_view(definitions: Definitions, changes: Iterable[HistoryEntry], language: str) -> list[models.MemoryChange]:
    """Return changes of a memory, each with the title of the changed info."""
    return [
        models.MemoryChange(**change.model_dump(), title=display_name(change.key, definitions, language))
        for change in changes
    ]


def source_text(source: Provenance) -> str:
    """Return the origin of a value as one word."""
    if source.kind in ("user", "model", "edited"):
        return CONVERSATION_SOURCE
    return (source.actor if source.kind == "handler" else None) or source.kind


class _View:
    def __init__(self, definitions: Definitions, memory: ContextMemory, now: datetime, language: str) -> None:
        self.definitions, self.memory, self.language = definitions, memory, language
        self.freshness = Freshness(definitions, memory, now)

    def required(self) -> list[models.RequiredInfo]:
        infos = []
        for info in self.definitions.infos:
            item = self.memory.items.get(info.key)
            if info.kind == "static" or info.key in self.definitions.plan_actions:
                continue
            infos.append(
                models.RequiredInfo(
                    type=info.key,
                    description=in_language(info.description, self.language) or info.name_in(self.language),
                    status=item.status if item else "pending",
                    source=source_text(item.source) if item else info.handler,
                )
            )
        return infos

    def current(self) -> list[models.CurrentInfo]:
        return [
            models.CurrentInfo(type=key, value=item.value, timestamp=item.observed_at, source=source_text(item.source))
            for key, item in self.memory.items.items()
            if item.status == "collected"
            and key in self.definitions.infos_by_key
            and key not in self.definitions.plan_actions
        ]

    def plan_data(self) -> models.PlanData:
        plans = {plan.updated_at: plan for plan in self.memory.plans.values() if plan.updated_at}
        if not plans:
            return models.PlanData()
        plan = plans[max(plans)]
        feedback = [each.text for each in plan.feedback]
        return models.PlanData(status=plan.status, plan=plan.plan, feedback=feedback, last_updated=plan.updated_at)

    def action(self, availability: Availability) -> dict[str, Any]:
        action = self.definitions.action(availability.action_id)
        return {
            "id": action.id,
            "type": action.kind,
            "label": action.name_in(self.language),
            "description": in_language(action.description, self.language),
            "enabled": availability.enabled,
            "required_info": [need.info for need in self.definitions.required_needs[action.id]],
            "workflow_name": action.workflow,
            "handler": action.handler,
        }

    def action_with_reasons(self, availability: Availability) -> models.AssistantAction:
        return models.AssistantAction(
            **self.action(availability),
            reasons=list(map(self.reason, availability.reasons)),
            have=availability.have,
            need=availability.need,
            immediate=self.definitions.action(availability.action_id).kind == "immediate",
        )

    def reason(self, reason: BlockedReason) -> models.ActionReason:
        label = fix_label(reason.fix, self.definitions, self.language)
        text = reason_text(reason, self.definitions, self.language)
        fix = models.ActionFix(kind=reason.fix.kind, ref=reason.fix.ref, label=label)
        return models.ActionReason(code=reason.code, key=reason.key, text=text, fix=fix)

    def hitl_state(self) -> models.HitlState:
        planned = [plan.action_id for plan in self.memory.plans.values() if plan.status == "planned"]
        makers = [self.definitions.action(id) for id in planned if id in self.definitions.actions_by_id]
        applies = map(self.definitions.apply_of, makers)
        waiting = [*self.memory.asks, *(apply.id for apply in applies if apply)]
        if waiting:
            return models.HitlState(status="waiting", waiting_for=waiting[0])
        is_done = any(run.status == "completed" for run in self.memory.runs.values())
        return models.HitlState(status="completed" if is_done else "none", waiting_for=None)

    def item(self, info: Info) -> models.InfoItem:
        item = self.memory.items.get(info.key)
        return models.InfoItem(
            key=info.key,
            title=info.name_in(self.language),
            description=in_language(info.description, self.language),
            status=item.status if item else "collected" if info.kind == "static" else "pending",
            value=None if item and item.status == "pending" else item.value if item else info.value,
            version=item.version if item else 0,
            observed_at=item.observed_at if item else None,
            fresh_until=item.fresh_until if item else None,
            is_fresh=self.freshness.state(info.key) == "fresh",
            how=info.kind,
            scope=info.scope,
            may_be_any=info.may_be_any,
            source=item.source if item else None,
            error=self.error(info.key),
        )

    def error(self, key: str) -> str | None:
        item = self.memory.items.get(key)
        own = unfit_reason(self.definitions, self.memory, key, self.language)
        return own or (own_reason_text(item.error, self.language) if item and item.error else None)

    def named(self, key: str) -> dict[str, str]:
        return {"key": key, "title": display_name(key, self.definitions, self.language)}

    def plan(self, plan: Plan) -> models.AssistantPlan:
        return models.AssistantPlan.model_validate(
            {
                **dict(plan),
                "steps": _steps(plan),
                "changed": [self.named(key) for key in plan.changed],
                "pinned": [self.named(key) for key in plan.pinned],
                "defaults": [{**self.named(key), "value": value} for key, value in self.defaults(plan)],
                "versions": [{**dict(past), "steps": _steps(past)} for past in plan.versions],
            }
        )

    def defaults(self, plan: Plan) -> list[tuple[str, Any]]:
        if plan.status not in ("planning", "planned"):
            return []
        items = {key: self.memory.items[key] for key in plan.inputs if key in self.memory.items}
        return [(key, item.value) for key, item in items.items() if item.is_default and item.hash == plan.inputs[key]]


def _steps(plan: Plan | PreviousVersion) -> list[models.PlanStep]:
    done = plan.done if isinstance(plan, Plan) else ()
    return [models.PlanStep(**step.model_dump(), is_done=step.id in done) for step in plan.steps]
