"""Which actions are possible now, and of the others why not and what helps: computed, never asked of a model."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from ringi.assistant.definitions import Action, Definitions, Needs
from ringi.assistant.knowledge import Knowledge, State
from ringi.assistant.memory import ContextMemory
from ringi.assistant.plans import Plan, differing

Code: TypeAlias = Literal[
    "MISSING_INFO",
    "STALE_INFO",
    "ERROR_INFO",
    "DEPENDENCY",
    "WORKFLOW",
    "NO_PLAN",
    "PLAN_OBSOLETE",
    "AWAITING_APPROVAL",
    "ALREADY_RUNNING",
]
CODES: dict[State, Code] = {
    "missing": "MISSING_INFO",
    "not_needed": "MISSING_INFO",
    "stale": "STALE_INFO",
    "error": "ERROR_INFO",
}
RUNNING = ("planning", "executing", "running")
"""The statuses of a workflow that is at work."""


class Fix(NamedTuple):
    """What helps: an info to ask for or to fetch, an action to run or to approve, or a workflow to wait for."""

    kind: Literal["ask", "run_handler", "run_action", "wait", "approve"]
    ref: str


class Reason(NamedTuple):
    """One thing that an action waits for: an info, an action or a workflow, by the code."""

    code: Code
    key: str
    fix: Fix


class Availability(NamedTuple):
    """Whether an action is possible, and how many of the infos that it insists on are there."""

    action_id: str
    enabled: bool
    reasons: list[Reason]
    have: int
    need: int


def derive(definitions: Definitions, memory: ContextMemory, now: datetime) -> list[Availability]:
    """Return each action's availability, in the order of the definitions."""
    look = _Look(definitions, memory, now)
    return [look.availability(action) for action in definitions.actions]


def available(definitions: Definitions, memory: ContextMemory, now: datetime, action: Action) -> Availability:
    """Return one action's availability."""
    return _Look(definitions, memory, now).availability(action)


class _Look:
    def __init__(self, definitions: Definitions, memory: ContextMemory, now: datetime) -> None:
        self.definitions, self.memory, self.now = definitions, memory, now
        self.known = Knowledge(definitions, memory, now)
        self._lacks: dict[tuple[str, State], tuple[Reason, ...]] = {}

    def availability(self, action: Action) -> Availability:
        needs = self.definitions.required[action.id]
        states = [(need.info, self._state(need)) for need in needs]
        lacking = [each for each in states if each[1] != "fresh"]
        reasons = [reason for key, state in lacking for reason in self._lacking(key, state)]
        if order := list(self._order(action)):
            reasons = list(dict.fromkeys((*order, *reasons)))
        return Availability(action.id, not reasons, reasons, len(needs) - len(lacking), len(needs))

    def _order(self, action: Action) -> Iterator[Reason]:
        """Yield what an action waits for but infos: itself, its plan, other actions and workflows."""
        yield from self._running(action)
        if action.kind == "apply" and (plan_action := self.definitions.plan_of(action)):
            yield from self._unplanned(plan_action)
        for id in action.depends_on:
            yield from self._dependency(self.definitions.actions_by_id[id])
        for wanted in action.requires_workflow:
            yield from self._workflow(action, wanted.workflow, wanted.status)

    def _running(self, action: Action) -> Iterator[Reason]:
        status = self._status(action)
        if status in RUNNING:
            yield Reason("ALREADY_RUNNING", action.id, Fix("wait", self._at_work(action)))

    def _at_work(self, action: Action) -> str:
        """Return the workflow that is at work for an action, which may be what applies its plan."""
        apply = self.definitions.apply_of(action) if self._status(action) == "executing" else None
        return (apply or action).workflow or action.id

    def _status(self, action: Action) -> str | None:
        plan = self._plan(action) if action.kind in ("plan", "apply") else None
        if plan is not None:
            return plan.status if plan.status == "executing" or action.kind == "plan" else None
        run = self.memory.runs.get(action.workflow or action.id)
        return run.status if run else None

    def _plan(self, action: Action) -> Plan | None:
        plan = self.definitions.plan_of(action)
        return self.memory.plans.get(plan.workflow or "") if plan else None

    def _dependency(self, before: Action) -> Iterator[Reason]:
        if before.kind == "plan":
            yield from self._unplanned(before)
        elif self._status_of_run(before.workflow or before.id) != "completed":
            yield self._unfinished("DEPENDENCY", before)

    def _workflow(self, action: Action, workflow: str, status: str) -> Iterator[Reason]:
        plan, owner = self.memory.plans.get(workflow), self.definitions.workflows[workflow]
        if owner.kind == "plan" and self.definitions.plan_of(action) is owner and status == "completed":
            yield from self._unplanned(owner)
        elif status not in (self._status_of_run(workflow), plan and plan.status):
            reason = self._unfinished("WORKFLOW", owner)
            yield reason if reason.code == "AWAITING_APPROVAL" else reason._replace(key=workflow)

    def _status_of_run(self, workflow: str) -> str | None:
        run = self.memory.runs.get(workflow)
        return run.status if run else None

    def _unfinished(self, code: Code, before: Action) -> Reason:
        """Return the reason of what waits for an action that was not completed."""
        if self._status(before) in RUNNING:
            return Reason(code, before.id, Fix("wait", self._at_work(before)))
        plan = self._plan(before) if before.kind == "apply" else None
        if plan is not None and plan.status == "planned":
            return Reason("AWAITING_APPROVAL", before.id, Fix("approve", before.id))
        return Reason(code, before.id, Fix("run_action", before.id))

    def _unplanned(self, plan_action: Action) -> Iterator[Reason]:
        """Yield why there is no plan that can be applied as it is."""
        plan = self.memory.plans.get(plan_action.workflow or "")
        again = Fix("run_action", plan_action.id)
        if plan is not None and plan.status == "planning":
            yield Reason("NO_PLAN", plan_action.id, Fix("wait", plan.workflow))
        elif plan is not None and plan.hash and plan.status not in ("completed", "cancelled"):
            for key in self._changed(plan, plan_action):
                yield Reason("PLAN_OBSOLETE", key, again)
        else:
            yield Reason("NO_PLAN", plan_action.id, again)

    def _changed(self, plan: Plan, plan_action: Action) -> tuple[str, ...]:
        if plan.status == "executing":
            return ()
        changed = differing(plan.inputs, self.known.inputs(plan_action))
        # Its question is withdrawn: that the values are back does not bring it back before the plan is checked anew.
        return changed or (plan.changed if plan.status == "obsolete" else ())

    def _lacking(self, key: str, state: State) -> tuple[Reason, ...]:
        found = self._lacks.get((key, state))
        if found is None:
            planner = self.definitions.planned.get(key)
            own = (Reason(CODES[state], key, self._fix(key)),) if planner is None else tuple(self._unplanned(planner))
            found = self._lacks[key, state] = own
        return found

    def _fix(self, key: str) -> Fix:
        first = self.known.source(key)
        info = self.definitions.infos_by_key[first]
        if info.how == "handler":
            return Fix("run_handler", first)
        maker = self.definitions.producers.get(first)
        return Fix("run_action", maker.id) if maker and not (info.form or info.choices) else Fix("ask", first)

    def _state(self, need: Needs) -> State:
        state = self.known.state(need.info)
        if need.max_age is None or state != "fresh" or need.info in self.definitions.static_hashes:
            return state
        age = self.now - self.memory.items[need.info].observed_at
        return "stale" if age.total_seconds() > need.max_age else "fresh"
