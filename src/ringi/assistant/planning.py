"""What events do to plans: made, criticised, out of date, approved, carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringi.assistant import memory as memories
from ringi.assistant import plans
from ringi.assistant.availability import Fix
from ringi.assistant.catalog import Action
from ringi.assistant.memory import ContextMemory, Source
from ringi.assistant.plans import Feedback, Past, Plan, PlanError
from ringi.assistant.situation import WAITED_FOR, Begin, Outcome, Situation, dumped
from ringi.assistant.speech import Sentence, said, told
from ringi.errors import InvalidError


@dataclass(frozen=True)
class PlanTurn(Situation):
    """One event, as far as it is about plans."""

    def plan(self, memory: ContextMemory, action: Action) -> Outcome:
        """Begin the next version, which takes up all that people said of the ones before."""
        before = memory.plans.get(str(action.workflow))
        if before and before.status == "executing":
            return Outcome(memory, (self._executing(memory, before),))
        if before and before.status == "completed":
            before = None
        thread, inputs = self.side_id(memory, "plan"), self.inputs(memory, action)
        plan = plans.planning(before, self._plan_id(memory, action), action, inputs, thread, self.now)
        # Also an execution that failed: an operator's retry would carry out what this version replaces.
        stop = (before.thread_id,) if before and before.thread_id else ()
        job = {
            "plan": plan.id,
            "version": plan.version,
            "action": action.id,
            "inputs": self.values(memory, action),
            "feedback": [each.text for each in plan.feedback],
            "new_feedback": [each.text for each in plan.feedback if each.addressed_in == plan.version],
            "previous": previous(plan.versions[-1]) if plan.versions else None,
        }
        after = self.ran(self.without_product(memory.with_plan(plan), action), action, "planning")
        words = (said("planning", action=action.label, version=plan.version),)
        return Outcome(after, words, (Begin(kind="plan", thread=thread, job=job),), stop)

    def criticised(self, memory: ContextMemory, text: str, id: str) -> Outcome:
        """Take what a person says of the newest plan: the next version takes it up."""
        plan = self._newest(memory)
        if plan is None:
            return Outcome(memory, (self.no_plan(),))
        if plan.status == "executing":
            return Outcome(memory, (self._executing(memory, plan),))
        now = plans.criticised(plan, Feedback(id=id, text=text, by=self.by, at=self.now))
        if now is plan:
            return Outcome(memory)
        outcome = Outcome(memory.with_plan(now), (said("feedback", text=text),))
        if plan.status == "planning":
            # The version that is being made does not know it: the next one follows once it is there.
            return outcome
        action = self.definitions.action(plan.action_id)
        if not self.available(outcome.memory, action).enabled:
            return outcome.then(lambda memory: Outcome(memory, (self.why_not(memory, action),)))
        return outcome.then(lambda memory: self.plan(memory, action))

    def unchanged(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Ask for the approval of a plan that is out of date as it is, or again where nobody is asked any more."""
        action = self.definitions.actions_by_id.get(str(event.get("action")))
        plan = memory.plans.get(str(action.workflow)) if action else None
        if plan is None or not plan.is_applicable:
            return Outcome(memory, (self.no_plan(),))
        stop = (plan.thread_id,) if plan.thread_id else ()
        if plan.status != "failed":
            plan = plans.pinned_again(plan, self.inputs_of(memory, plan), None, self.now)
        return Outcome(memory, stop=stop).then(lambda memory: self._asking(memory, plan))

    def planned(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Take the draft that the planning brings, and ask for its approval."""
        plan = self._theirs(memory, event, "planning")
        if plan is None:
            return Outcome(memory)
        now = plans.planned(plan, plan.version, event["draft"], self.inputs_of(memory, plan), self.now)
        after, action = memory.with_plan(now), self.definitions.action(plan.action_id)
        if now.status == "failed":
            return self._told_failed(after, now)
        if any(each.addressed_in is None for each in now.feedback) and self.available(after, action).enabled:
            return self.plan(after, action)
        if now.status == "obsolete":
            return self.told_obsolete(after, now)
        return self._asking(after, now)

    def plan_failed(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Take it that no plan could be made."""
        plan = self._theirs(memory, event, "planning")
        if plan is None:
            return Outcome(memory)
        now = plans.failed(plan, plan.version, str(event.get("error")), self.now)
        return self._told_failed(memory.with_plan(now), now)

    def approved(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Carry out exactly what a person approved, if it still stands on what it stood on then."""
        plan = self._theirs(memory, event, "planned", "failed")
        if plan is None:
            return self._too_late(memory, event)
        by, request, inputs = str(event["by"]), str(event["request"]), self.inputs_of(memory, plan)
        try:
            now = plans.approved(plan, int(event["version"]), str(event["hash"]), by, request, inputs, self.now)
            if event.get("edited") is not None:
                # What they saw was fit to be carried out; what they made of it is theirs, and approved with it.
                own = plans.edited(plan, event["edited"], by, inputs, self.now)
                now = plans.approved(own, own.version, own.hash, by, request, inputs, self.now)
        except (PlanError, InvalidError) as error:
            return self._not_applied(memory, plan, error)
        apply = self._apply(plan)
        if not self.available(memory, apply).enabled:
            return Outcome(self._unasked(memory, plan), (self.why_not(memory, apply),))
        thread = self.side_id(memory, "execute")
        now = now.model_copy(update={"thread_id": thread})
        job = {"plan": now.id, "version": now.version, "action": apply.id, "content": now.plan}
        job |= {"inputs": self.values(memory, self.definitions.action(now.action_id)), "steps": dumped(now.steps)}
        job["done"] = list(now.done)
        after = self.ran(memory.with_plan(now), apply, "executing")
        words = (said("approved", by=by, version=now.version),)
        return Outcome(after, words, (Begin(kind="execute", thread=thread, job=job),))

    def rejected(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Take it that a person says no; what they say with it waits for the next version."""
        plan = self._theirs(memory, event, "planned", "failed")
        if plan is None:
            return Outcome(memory)
        by, text = str(event.get("by")), str(event.get("text") or "")
        now = plans.cancelled(plan, self.now)
        if text:
            now = plans.criticised(now, Feedback(id=str(event["request"]), text=text, by=by, at=self.now))
        action = self.definitions.action(plan.action_id)
        words = [said("rejected", by=by, version=plan.version, text=text)]
        words += [said("plan_with_it", action=action.label)] if text else []
        return Outcome(self.without_product(memory.with_plan(now), action), tuple(words))

    def lapsed(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Take it that the question was withdrawn: that is no answer, and it can be asked again."""
        plan = self._theirs(memory, event, "planned", "failed")
        return self._told_unasked(memory, plan) if plan else Outcome(memory)

    def step(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Take it that a step is done."""
        plan = self._theirs(memory, event, "executing", "failed")
        if plan is None:
            return Outcome(memory)
        now = plans.step_done(plan, plan.version, str(event["step"]), self.now)
        return Outcome(memory if now is plan else memory.with_plan(plans.resumed(now, self.now)))

    def executed(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Take it that all steps are done: what only this workflow needed is cleared."""
        plan = self._theirs(memory, event, "executing", "failed")
        if plan is None:
            return Outcome(memory)
        apply, done = self._apply(plan), plans.completed(plans.resumed(plan, self.now), plan.version, self.now)
        after = self.ran(memory.with_plan(done), apply, "completed")
        after = memories.reset(after, self.definitions, plan.workflow, self.now)
        words = said("completed", action=apply.label, version=plan.version, steps=len(plan.steps))
        return Outcome(after, (words,), stop=tuple(memory.asks[key] for key in memory.asks.keys() - after.asks.keys()))

    def execution_failed(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Take it that a step failed: an operator's retry goes on with it."""
        plan = self._theirs(memory, event, "executing")
        if plan is None:
            return Outcome(memory)
        apply, why = self._apply(plan), str(event.get("error"))
        after = memory.with_plan(plans.failed(plan, plan.version, why, self.now))
        todo = self.todo(after, Fix("reapprove", plan.action_id))
        return Outcome(self.ran(after, apply, "failed", why), (said("failed", action=apply.label, why=why, todo=todo),))

    def lost(self, memory: ContextMemory, thread: str, why: str) -> Outcome:
        """Take it that a side thread has ended without a word, stopped by somebody or by an error."""
        plan = next((plan for plan in memory.plans.values() if plan.thread_id == thread), None)
        if plan is None or plan.status not in WAITED_FOR:
            return Outcome(memory)
        action = self._apply(plan) if plan.status == "executing" else self.definitions.action(plan.action_id)
        if plan.status == "planned":
            return self._told_unasked(memory, plan)
        after = memory.with_plan(plans.failed(plan, plan.version, why, self.now))
        todo = self.todo(after, Fix("reapprove" if plan.approval else "run_action", plan.action_id))
        return Outcome(
            self.ran(after, action, "failed", why), (said("failed", action=action.label, why=why, todo=todo),)
        )

    def check(self, memory: ContextMemory, workflow: str) -> Outcome:
        """Look whether a plan still stands on what it was made from."""
        plan = memory.plans.get(workflow)
        if plan is None or plan.status != "planned":
            return Outcome(memory)
        now = plans.checked(plan, self.inputs_of(memory, plan), self.now)
        return Outcome(memory) if now is plan else self.told_obsolete(memory.with_plan(now), now)

    def told_obsolete(self, memory: ContextMemory, plan: Plan) -> Outcome:
        """Say that a plan is out of date, and withdraw its question: nobody may approve it."""
        after = self.without_product(self._unasked(memory, plan), self.definitions.action(plan.action_id))
        words = (said("obsolete", what=[self.title(key) for key in plan.changed]),)
        return Outcome(after, words, stop=(plan.thread_id,) if plan.thread_id else ())

    def _executing(self, memory: ContextMemory, plan: Plan) -> Sentence:
        return said("executing", todo=self.todo(memory, Fix("wait", self._apply(plan).workflow or "")))

    def _told_failed(self, memory: ContextMemory, plan: Plan) -> Outcome:
        after = self.ran(memory, self.definitions.action(plan.action_id), "failed", plan.error)
        todo = self.todo(after, Fix("run_action", plan.action_id))
        return Outcome(after, (said("plan_failed", why=plan.error, todo=todo),))

    def _asking(self, memory: ContextMemory, plan: Plan) -> Outcome:
        """Make the plan known, and ask for its approval in a thread of its own."""
        action, thread = self.definitions.action(plan.action_id), self.side_id(memory, "approve")
        now = plan.model_copy(update={"thread_id": thread, "is_unasked": False})
        after = self.ran(memory.with_plan(now), action, "completed")
        product = {"plan": now.plan, "version": now.version, "hash": now.hash}
        for key in action.produces:
            source = Source(kind="derived", actor=action.workflow, ref=now.id)
            after = memories.observed(after, key, product, source, self.now, self.definitions)
        words = said("planned", action=action.label, version=now.version, plan=told(now.plan, now.steps))
        apply = self.apply_of(now)
        if apply is None:
            return Outcome(after, (words,))
        job = {"plan": now.id, "version": now.version, "action": apply.id}
        job |= {"content": now.plan, "steps": dumped(now.steps), "pinned": list(now.pinned)}
        return Outcome(after, (words,), (Begin(kind="approve", thread=thread, job=job),))

    def _not_applied(self, memory: ContextMemory, plan: Plan, error: PlanError | InvalidError) -> Outcome:
        now = plans.checked(plan, self.inputs_of(memory, plan), self.now)
        if now.status == "obsolete":
            return self.told_obsolete(memory.with_plan(now), now)
        todo = self.todo(memory, Fix("reapprove", plan.action_id))
        word = said("not_applied", version=plan.version, why=str(error), todo=todo)
        return Outcome(self._unasked(memory, now), (word,))

    def _too_late(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Say of an approval that was given, and leads nowhere, that it does; the same one again is taken already."""
        plan = next((plan for plan in memory.plans.values() if plan.id == event.get("plan")), None)
        if plan is None or (plan.approval and plan.approval.request_id == event.get("request")):
            return Outcome(memory)
        return Outcome(memory, (said("too_late", by=event.get("by"), version=event.get("version"), now=plan.version),))

    def _told_unasked(self, memory: ContextMemory, plan: Plan) -> Outcome:
        action = self.definitions.action(plan.action_id)
        return Outcome(self._unasked(memory, plan), (said("unasked", action=action.label, version=plan.version),))

    def _unasked(self, memory: ContextMemory, plan: Plan) -> ContextMemory:
        return memory.with_plan(plan.model_copy(update={"thread_id": None, "is_unasked": True}))

    def _theirs(self, memory: ContextMemory, event: Mapping[str, Any], *statuses: str) -> Plan | None:
        """Return the plan that a side thread works on, unless it is no longer this one's."""
        for plan in memory.plans.values():
            if (plan.id, plan.version, plan.thread_id) == (event.get("plan"), event.get("version"), self.side):
                return plan if plan.status in statuses else None
        return None

    def _newest(self, memory: ContextMemory) -> Plan | None:
        live = [plan for plan in memory.plans.values() if plan.status != "completed" and plan.updated_at]
        return max(live, key=lambda plan: plan.updated_at or self.now, default=None)

    def _apply(self, plan: Plan) -> Action:
        apply = self.apply_of(plan)
        assert apply, "only what something carries out is approved"
        return apply

    def _plan_id(self, memory: ContextMemory, action: Action) -> str:
        # Of no earlier plan of this conversation, and of no other's: the keys of the steps are made from it.
        return f"{self.thread}/{action.workflow}/{memory.version}{self.run[:12]}"


def previous(plan: Past) -> dict[str, Any]:
    """Return what the next planning is told of a version: its content, and which of its steps are done."""
    return {"plan": plan.plan, "steps": dumped(plan.steps), "done": list(plan.done)}
