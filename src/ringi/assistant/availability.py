"""Which actions are possible now, and of the others why not and what helps: computed, never asked of a model."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from ringi.assistant.catalog import Action, Needs
from ringi.assistant.definitions import Definitions
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
    "NOT_ASKED",
    "ALREADY_RUNNING",
]
Help: TypeAlias = Literal["ask", "run_handler", "run_action", "wait", "approve", "reapprove"]
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

    kind: Help
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


@lru_cache(maxsize=4096)
def _reason(code: Code, key: str, kind: Help, ref: str) -> Reason:
    return Reason(code, key, Fix(kind, ref))


class _Look:
    def __init__(self, definitions: Definitions, memory: ContextMemory, now: datetime) -> None:
        self.definitions, self.memory, self.now = definitions, memory, now
        self.known = Knowledge(definitions, memory, now)
        self._known_lacks: dict[str, tuple[Reason, ...]] = {}

    def availability(self, action: Action) -> Availability:
        needs, order = self.definitions.required[action.id], self._order(action)
        lacking: list[Reason] = []
        have = len(needs)
        for need in needs:
            if lacks := self._lacks(need):
                have -= 1
                lacking += lacks
        reasons = list(dict.fromkeys((*order, *lacking))) if order else lacking
        return Availability(action.id, not reasons, reasons, have, len(needs))

    def _order(self, action: Action) -> list[Reason]:
        """Return what an action waits for but infos: itself, its plan, other actions and workflows."""
        reasons = [*self._running(action)]
        own = self.definitions.plan_of(action) if action.kind == "apply" else None
        if own is not None:
            reasons += [*self._unplanned(own), *self._unasked(own)]
        for id in action.depends_on:
            if own is None or id != own.id:
                reasons += self._dependency(self.definitions.actions_by_id[id])
        for wanted in action.requires_workflow:
            reasons += self._workflow(action, wanted.workflow, wanted.status)
        return reasons

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

    def _unasked(self, plan_action: Action) -> Iterator[Reason]:
        """Yield that nobody is asked to approve the plan as it is."""
        plan = self.memory.plans.get(plan_action.workflow or "")
        if plan is not None and plan.is_unasked and plan.is_applicable and plan.status != "obsolete":
            yield Reason("NOT_ASKED", plan_action.id, Fix("reapprove", plan_action.id))

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

    def _lacks(self, need: Needs) -> tuple[Reason, ...]:
        """Return why an info cannot be relied on; of one that can, nothing."""
        found = self._known_lacks.get(need.info)
        if found is None:
            found = self._known_lacks[need.info] = self._lacking(need.info, self.known.state(need.info))
        if found or need.max_age is None or need.info in self.definitions.static_hashes:
            return found
        age = self.now - self.known.seen_at(need.info)
        return self._lacking(need.info, "stale") if age.total_seconds() > need.max_age else ()

    def _lacking(self, key: str, state: State) -> tuple[Reason, ...]:
        if state == "fresh":
            return ()
        planner = self.definitions.planned.get(key)
        if planner is None:
            return (_reason(CODES[state], key, *self._fix(key)),)
        # A plan that could be applied is not yet one that is known: what it produces comes with its question.
        return tuple(self._unplanned(planner)) or (Reason("NO_PLAN", planner.id, Fix("run_action", planner.id)),)

    def _fix(self, key: str) -> tuple[Help, str]:
        first = self.known.source(key)
        info = self.definitions.infos_by_key[first]
        if info.how == "handler":
            return "run_handler", first
        maker = self.definitions.makers.get(first)
        return ("run_action", maker.id) if maker else ("ask", first)
