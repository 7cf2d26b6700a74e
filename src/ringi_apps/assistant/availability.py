"""Computes which actions are possible now, and for the others the reasons and the next steps. No model is involved."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from ringi_apps.assistant.declarations import ActionDefinition, Needs
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.freshness import Freshness, FreshnessState
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.plans import Plan, changed_inputs

ReasonCode: TypeAlias = Literal[
    "MISSING_INFO",
    "STALE_INFO",
    "ERROR_INFO",
    "DEPENDENCY",
    "WORKFLOW",
    "NO_PLAN",
    "PLAN_OBSOLETE",
    "AWAITING_APPROVAL",
    "NOT_ASKED",
    "ALREADY_RUNNING",
]
FixKind: TypeAlias = Literal["ask", "run_handler", "run_action", "wait", "approve", "reapprove"]
CODE_BY_STATE: dict[FreshnessState, ReasonCode] = {
    "missing": "MISSING_INFO",
    "not_needed": "MISSING_INFO",
    "stale": "STALE_INFO",
    "error": "ERROR_INFO",
}
RUNNING_STATUSES = ("planning", "executing", "running")
"""The statuses of a workflow that is running."""


class Fix(NamedTuple):
    """A step that removes a reason: ask for or fetch an info, run or approve an action, or wait for a workflow."""

    kind: FixKind
    ref: str


class BlockedReason(NamedTuple):
    """One reason why an action is not possible; `key` names the info, action or workflow."""

    code: ReasonCode
    key: str
    fix: Fix


class Availability(NamedTuple):
    """Whether an action is possible, and how many of its required infos are available."""

    action_id: str
    enabled: bool
    reasons: list[BlockedReason]
    have: int
    need: int


def availability_of_all(definitions: Definitions, memory: ContextMemory, now: datetime) -> list[Availability]:
    """Return the availability of each action, in the order of the definitions."""
    check = _AvailabilityCheck(definitions, memory, now)
    return [check.availability(action) for action in definitions.actions]


def availability_of(
    definitions: Definitions, memory: ContextMemory, now: datetime, action: ActionDefinition
) -> Availability:
    """Return the availability of one action."""
    return _AvailabilityCheck(definitions, memory, now).availability(action)


def fix_of(definitions: Definitions, memory: ContextMemory, now: datetime, key: str) -> Fix:
    """Return the step that obtains an info."""
    return _AvailabilityCheck(definitions, memory, now).fix(key)


class _AvailabilityCheck:
    def __init__(self, definitions: Definitions, memory: ContextMemory, now: datetime) -> None:
        self.definitions, self.memory, self.now = definitions, memory, now
        self.freshness = Freshness(definitions, memory, now)
        self._reasons_by_info: dict[str, tuple[BlockedReason, ...]] = {}

    def availability(self, action: ActionDefinition) -> Availability:
        needs, order = self.definitions.required_needs[action.id], self._order_reasons(action)
        unmet: list[BlockedReason] = []
        have = len(needs)
        for need in needs:
            if reasons_of_need := self._unmet(need):
                have -= 1
                unmet += reasons_of_need
        reasons = list(dict.fromkeys((*order, *unmet))) if order else unmet
        return Availability(action.id, not reasons, reasons, have, len(needs))

    def _order_reasons(self, action: ActionDefinition) -> list[BlockedReason]:
        """Return the reasons that are not infos: the action itself, its plan, other actions and workflows."""
        reasons: list[BlockedReason] = []
        if self._status(action) in RUNNING_STATUSES:
            reasons.append(BlockedReason("ALREADY_RUNNING", action.id, Fix("wait", self._running_workflow(action))))
        plan_action = self.definitions.plan_of(action) if action.kind == "apply" and not action.confirmed else None
        if plan_action is not None:
            reasons += [*self._missing_plan(plan_action), *self._missing_request(plan_action)]
        for id in action.depends_on:
            if plan_action is None or id != plan_action.id:
                reasons += self._dependency(self.definitions.actions_by_id[id])
        for requirement in action.requires_workflow:
            reasons += self._workflow(action, requirement.workflow, requirement.status)
        return reasons

    def _running_workflow(self, action: ActionDefinition) -> str:
        """Return the workflow that runs for an action, which may be the one that applies its plan."""
        apply = self.definitions.apply_of(action) if self._status(action) == "executing" else None
        return (apply or action).workflow or action.id

    def _status(self, action: ActionDefinition) -> str | None:
        plan = self._plan(action) if action.kind in ("plan", "apply") else None
        if plan is not None:
            return plan.status if plan.status == "executing" or action.kind == "plan" else None
        return self._status_of_run(action.workflow or action.id)

    def _plan(self, action: ActionDefinition) -> Plan | None:
        plan = self.definitions.plan_of(action)
        return self.memory.plans.get(plan.workflow or "") if plan else None

    def _dependency(self, other: ActionDefinition) -> Iterator[BlockedReason]:
        if other.kind == "plan":
            yield from self._missing_plan(other)
        elif self._status_of_run(other.workflow or other.id) != "completed":
            yield self._unfinished_reason("DEPENDENCY", other)

    def _workflow(self, action: ActionDefinition, workflow: str, status: str) -> Iterator[BlockedReason]:
        plan, owner = self.memory.plans.get(workflow), self.definitions.workflows[workflow]
        if owner.kind == "plan" and self.definitions.plan_of(action) is owner and status == "completed":
            yield from self._missing_plan(owner)
        elif status not in (self._status_of_run(workflow), plan and plan.status):
            reason = self._unfinished_reason("WORKFLOW", owner)
            yield reason if reason.code == "AWAITING_APPROVAL" else reason._replace(key=workflow)

    def _status_of_run(self, workflow: str) -> str | None:
        run = self.memory.runs.get(workflow)
        return run.status if run else None

    def _unfinished_reason(self, code: ReasonCode, other: ActionDefinition) -> BlockedReason:
        """Return the reason for an action that waits for another action."""
        if self._status(other) in RUNNING_STATUSES:
            return BlockedReason(code, other.id, Fix("wait", self._running_workflow(other)))
        plan = self._plan(other) if other.kind == "apply" else None
        if plan is not None and plan.status == "planned":
            return BlockedReason("AWAITING_APPROVAL", other.id, Fix("approve", other.id))
        return BlockedReason(code, other.id, Fix("run_action", other.id))

    def _missing_request(self, plan_action: ActionDefinition) -> Iterator[BlockedReason]:
        """Yield a reason if no open request asks to approve the current plan."""
        plan = self.memory.plans.get(plan_action.workflow or "")
        if plan is not None and plan.is_unasked and plan.is_applicable and plan.status != "obsolete":
            yield BlockedReason("NOT_ASKED", plan_action.id, Fix("reapprove", plan_action.id))

    def _missing_plan(self, plan_action: ActionDefinition) -> Iterator[BlockedReason]:
        """Yield the reasons why there is no plan that can be applied."""
        plan = self.memory.plans.get(plan_action.workflow or "")
        again = Fix("run_action", plan_action.id)
        if plan is not None and plan.status == "planning":
            yield BlockedReason("NO_PLAN", plan_action.id, Fix("wait", plan.workflow))
        elif plan is not None and plan.hash and plan.status not in ("completed", "cancelled"):
            for key in self._changed_inputs(plan, plan_action):
                yield BlockedReason("PLAN_OBSOLETE", key, again)
        else:
            yield BlockedReason("NO_PLAN", plan_action.id, again)

    def _changed_inputs(self, plan: Plan, plan_action: ActionDefinition) -> tuple[str, ...]:
        if plan.status == "executing":
            return ()
        changed = changed_inputs(plan.inputs, self.freshness.inputs(plan_action))
        # Its request is withdrawn, so it stays obsolete until the next check even if the values are the same again.
        return changed or (plan.changed if plan.status == "obsolete" else ())

    def _unmet(self, need: Needs) -> tuple[BlockedReason, ...]:
        """Return why an info cannot be used; empty if it can."""
        reasons = self._reasons_by_info.get(need.info)
        if reasons is None:
            reasons = self._reasons_by_info[need.info] = self._unmet_reasons(need.info, self.freshness.state(need.info))
        if reasons or need.max_age is None or need.info in self.definitions.static_hashes:
            return reasons
        age = self.now - self.freshness.observed_at(need.info)
        return self._unmet_reasons(need.info, "stale") if age.total_seconds() > need.max_age else ()

    def _unmet_reasons(self, key: str, state: FreshnessState) -> tuple[BlockedReason, ...]:
        if state == "fresh":
            return ()
        planner = self.definitions.plan_actions.get(key)
        if planner is None:
            return (BlockedReason(CODE_BY_STATE[state], key, self.fix(key)),)
        # The info that a plan produces gets its value only when approval is requested.
        return tuple(self._missing_plan(planner)) or (
            BlockedReason("NO_PLAN", planner.id, Fix("run_action", planner.id)),
        )

    def fix(self, key: str) -> Fix:
        """Return the step that obtains an info."""
        first = self.freshness.info_to_obtain(key)
        info = self.definitions.infos_by_key[first]
        if info.kind == "handler":
            return Fix("run_handler", first)
        maker = self.definitions.sole_producers.get(first)
        return Fix("run_action", maker.id) if maker else Fix("ask", first)
