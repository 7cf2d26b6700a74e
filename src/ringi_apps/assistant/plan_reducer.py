"""Handles the events about plans: planned, criticized, obsolete, approved, executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import to_json

from ringi.base import jsonable
from ringi.errors import InvalidError
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant import plans
from ringi_apps.assistant.availability import Fix
from ringi_apps.assistant.declarations import ActionDefinition
from ringi_apps.assistant.event_context import PENDING_STATUSES, BackgroundStart, EventContext, TurnResult
from ringi_apps.assistant.jobs import error_text
from ringi_apps.assistant.memory import ContextMemory, Provenance
from ringi_apps.assistant.plans import Feedback, Plan, PlanError
from ringi_apps.assistant.rendering import plan_markdown
from ringi_apps.assistant.sentences import LANGUAGES, SpokenSentence, sentence

PREVIOUS_FIELDS = {"plan", "steps", "done"}
"""The fields of the previous version that the plan workflow receives."""
EventStep = Callable[[ContextMemory, Mapping[str, Any]], TurnResult]
PlanTransition = Callable[[ContextMemory, Mapping[str, Any], Plan], TurnResult]


@dataclass(frozen=True)
class PlanReducer(EventContext):
    """Handles one event about plans."""

    def start_plan(self, memory: ContextMemory, action: ActionDefinition) -> TurnResult:
        """Start the next version, which takes all remarks about the previous versions into account."""
        before = memory.plans.get(str(action.workflow))
        if before and before.status == "completed":
            before = None
        thread, inputs = self.new_thread_id(memory, "plan"), self.inputs(memory, action)
        plan = plans.next_plan_version(before, self._plan_id(memory, action), action, inputs, thread, self.now)
        # Stop a failed execution too, so that a retry cannot execute the replaced version.
        stop = (before.thread_id,) if before and before.thread_id else ()
        job = {
            "plan": plan.id,
            "version": plan.version,
            "action": action.id,
            "inputs": self.input_values(memory, action),
            "feedback": [each.text for each in plan.feedback],
            "new_feedback": [each.text for each in plan.feedback if each.addressed_in == plan.version],
            "previous": plan.versions[-1].model_dump(mode="json", include=PREVIOUS_FIELDS) if plan.versions else None,
        }
        after = self.with_workflow_status(self.without_plan_info(memory.with_plan(plan), action), action, "planning")
        sentences = (sentence("planning", action=action.label, version=plan.version),)
        return TurnResult(after, sentences, (BackgroundStart(kind="plan", thread=thread, job=job),), stop)

    def propose(self, memory: ContextMemory, action: ActionDefinition) -> TurnResult:
        """Ask to approve a confirmed action with the values that it requires, as the next version of its plan."""
        before = memory.plans.get(str(action.workflow))
        stop = (before.thread_id,) if before and before.thread_id else ()
        inputs, values = self.inputs(memory, action), self.input_values(memory, action)
        if before and before.status == "failed" and before.approval and before.inputs == inputs:
            # The same version continues under its keys: a new one would do again what is done.
            return TurnResult(memory, stop=stop).then(partial(self._request_approval, plan=before))
        if before and before.status == "completed":
            before = None
        names = {key: self.definitions.info(key).name_in(self.language) for key in values}
        titles = {key: name if [*names.values()].count(name) == 1 else f"{name} ({key})" for key, name in names.items()}
        content = {title: one_line(self.value_in_words(key, values[key])) for key, title in titles.items()}
        step = {"id": "1", "title": action.name_in(self.language), "args": values}
        plan = plans.next_plan_version(before, self._plan_id(memory, action), action, inputs, None, self.now)
        now = plans.add_draft(plan, plan.version, {"plan": content, "steps": [step]}, inputs, self.now)
        return TurnResult(memory, stop=stop).then(lambda memory: self._request_approval(memory, now))

    def propose_confirmed(self, memory: ContextMemory, before: ContextMemory) -> TurnResult:
        """Propose the confirmed actions whose values have become known or have changed since `before`."""
        outcome = TurnResult(memory)
        for action in self.definitions.actions:
            if action.confirmed:
                outcome = outcome.then(partial(self._propose_if_due, action=action, before=before))
        return outcome

    def _propose_if_due(self, memory: ContextMemory, action: ActionDefinition, before: ContextMemory) -> TurnResult:
        plan = memory.plans.get(str(action.workflow))
        is_ready = self._is_ready(memory, action)
        own = self._own_inputs(memory, action)
        is_new = bool(own - self._own_inputs(before, action))
        if plan and plan.status == "executing":
            return TurnResult(memory, (self._executing_sentence(memory, plan),) if is_new else ())
        if plan and plan.status in ("planned", "obsolete"):
            changed = plans.changed_inputs(plan.inputs, self.inputs(memory, action))
            if not changed:
                return TurnResult(memory)
            return self.propose(memory, action) if is_ready else self._withdraw_proposal(memory, plan, changed)
        # A plan that was rejected or executed is not proposed again with the same values.
        is_decided = plan is not None and not plan.is_unasked and own <= set(plan.inputs.items())
        is_due = is_ready and (is_new or not (is_decided or self._is_ready(before, action)))
        return self.propose(memory, action) if is_due else TurnResult(memory)

    def _is_ready(self, memory: ContextMemory, action: ActionDefinition) -> bool:
        return all(reason.code == "ALREADY_RUNNING" for reason in self.availability(memory, action).reasons)

    def _own_inputs(self, memory: ContextMemory, action: ActionDefinition) -> set[tuple[str, str]]:
        """Return the hashes of the values that somebody told: nobody wants an action because of another value."""
        set_keys = {key for key, item in memory.items.items() if not item.is_default}
        asked = {info.key for info in self.definitions.infos if info.kind == "ask"}
        return {(key, hash) for key, hash in self.inputs(memory, action).items() if key in set_keys & asked}

    def _withdraw_proposal(self, memory: ContextMemory, plan: Plan, changed: tuple[str, ...]) -> TurnResult:
        label = self.definitions.action(plan.action_id).label
        sentences = (sentence("no_longer_complete", action=label, what=[self.title(key) for key in changed]),)
        withdrawn = plans.cancel(plan, self.now).model_copy(update={"is_unasked": True})
        return TurnResult(memory.with_plan(withdrawn), sentences, stop=(plan.thread_id,) if plan.thread_id else ())

    def add_feedback(self, memory: ContextMemory, text: str, id: str) -> TurnResult:
        """Add a remark about the newest plan; the next version takes it into account."""
        plan = self._newest_plan(memory)
        if plan is None:
            return TurnResult(memory, (self.no_plan(),))
        if plan.status == "executing":
            return TurnResult(memory, (self._executing_sentence(memory, plan),))
        now = plans.add_feedback(plan, Feedback(id=id, text=text, by=self.by, at=self.now))
        if now is plan:
            return TurnResult(memory)
        outcome = TurnResult(memory.with_plan(now), (sentence("feedback", text=text),))
        if plan.status == "planning":
            # The version in planning does not include it. The next version starts when this one is ready.
            return outcome
        action = self.definitions.action(plan.action_id)
        if not self.availability(outcome.memory, action).enabled:
            return outcome.then(lambda memory: TurnResult(memory, (self.unavailable(memory, action),)))
        return outcome.then(lambda memory: self.start_plan(memory, action))

    def on_unchanged(self, memory: ContextMemory, event: Mapping[str, object]) -> TurnResult:
        """Ask to approve an obsolete plan unchanged, or ask again if there is no open request."""
        action = self.definitions.actions_by_id.get(str(event.get("action")))
        plan = memory.plans.get(str(action.workflow)) if action else None
        if plan is None or not plan.is_applicable:
            return TurnResult(memory, (self.no_plan(),))
        if action and action.confirmed and plan.status != "failed":
            return self.propose(memory, action)  # Its content is its values: it has no other ones to keep.
        stop = (plan.thread_id,) if plan.thread_id else ()
        if plan.status != "failed":
            plan = plans.pin_inputs(plan, self.plan_inputs(memory, plan), None, self.now)
        return TurnResult(memory, stop=stop).then(lambda memory: self._request_approval(memory, plan))

    def for_plan(self, step: PlanTransition, *statuses: str) -> EventStep:
        """Return the step on the plan of the sender, which does nothing unless the plan has one of these statuses."""

        def apply(memory: ContextMemory, event: Mapping[str, Any]) -> TurnResult:
            plan = self._sender_plan(memory, event, *statuses)
            return step(memory, event, plan) if plan else TurnResult(memory)

        return apply

    def on_planned(self, memory: ContextMemory, event: Mapping[str, Any], plan: Plan) -> TurnResult:
        """Store the draft that the plan workflow returned, and ask for its approval."""
        now = plans.add_draft(plan, plan.version, event["draft"], self.plan_inputs(memory, plan), self.now)
        after, action = memory.with_plan(now), self.definitions.action(plan.action_id)
        if now.status == "failed":
            return self._report_plan_failed(after, now)
        if any(each.addressed_in is None for each in now.feedback) and self.availability(after, action).enabled:
            return self.start_plan(after, action)
        if now.status == "obsolete":
            return self.withdraw_obsolete(after, now)
        return self._request_approval(after, now)

    def on_plan_failed(self, memory: ContextMemory, event: Mapping[str, object], plan: Plan) -> TurnResult:
        """Mark the plan as failed."""
        now = plans.fail(plan, plan.version, str(event.get("error")), self.now)
        return self._report_plan_failed(memory.with_plan(now), now)

    def on_approved(self, memory: ContextMemory, event: Mapping[str, Any]) -> TurnResult:
        """Execute exactly the content that a person approved, if its inputs are still the same."""
        plan = self._sender_plan(memory, event, "planned", "failed")
        if plan is None:
            return self._too_late(memory, event)
        by, request, inputs = str(event["by"]), str(event["request"]), self.plan_inputs(memory, plan)
        try:
            now = plans.approve_plan(plan, int(event["version"]), str(event["hash"]), by, request, inputs, self.now)
            if event.get("edited") is not None:
                # The person's edit becomes the next version, and their answer approves it.
                own = plans.edit_plan(plan, event["edited"], by, inputs, self.now)
                now = plans.approve_plan(own, own.version, own.hash, by, request, inputs, self.now)
        except (PlanError, InvalidError) as error:
            return self._not_applied(memory, plan, error)
        apply = self._apply_action(plan)
        if not self.availability(memory, apply).enabled:
            return TurnResult(self._mark_not_requested(memory, plan), (self.unavailable(memory, apply),))
        thread = self.new_thread_id(memory, "execute")
        now = now.model_copy(update={"thread_id": thread})
        job = {"plan": now.id, "version": now.version, "action": apply.id, "content": now.plan}
        job |= {
            "inputs": self.input_values(memory, self.definitions.action(now.action_id)),
            "steps": jsonable(now.steps),
        }
        job["done"] = list(now.done)
        after = self.with_workflow_status(memory.with_plan(now), apply, "executing")
        sentences = (sentence("approved", by=by, version=now.version),)
        return TurnResult(after, sentences, (BackgroundStart(kind="execute", thread=thread, job=job),))

    def on_rejected(self, memory: ContextMemory, event: Mapping[str, object], plan: Plan) -> TurnResult:
        """Cancel a plan that a person rejected. The next version takes the message into account."""
        by, text = str(event.get("by")), str(event.get("text") or "")
        now, action = plans.cancel(plan, self.now), self.definitions.action(plan.action_id)
        if text and not action.confirmed:
            now = plans.add_feedback(now, Feedback(id=str(event["request"]), text=text, by=by, at=self.now))
        sentences = [sentence("rejected", by=by, version=plan.version, text=text)]
        sentences += [sentence("plan_with_it", action=action.label)] if text and not action.confirmed else []
        return TurnResult(self.without_plan_info(memory.with_plan(now), action), tuple(sentences))

    def on_lapsed(self, memory: ContextMemory, event: Mapping[str, object], plan: Plan) -> TurnResult:
        """Note that the approval request was withdrawn; it can be sent again."""
        return self._report_not_requested(memory, plan)

    def on_step(self, memory: ContextMemory, event: Mapping[str, object], plan: Plan) -> TurnResult:
        """Mark a step as done."""
        now = plans.mark_step_done(plan, plan.version, str(event["step"]), self.now)
        return TurnResult(memory if now is plan else memory.with_plan(plans.resume(now, self.now)))

    def on_executed(self, memory: ContextMemory, event: Mapping[str, object], plan: Plan) -> TurnResult:
        """Complete the plan, and clear the values that only its workflow needed."""
        apply, done = self._apply_action(plan), plans.complete(plans.resume(plan, self.now), plan.version, self.now)
        after = self.with_workflow_status(memory.with_plan(done), apply, "completed")
        after = memories.reset_workflow(after, self.definitions, plan.workflow, self.now)
        sentences = sentence("completed", action=apply.label, version=plan.version, steps=len(plan.steps))
        return TurnResult(
            after, (sentences,), stop=tuple(memory.asks[key] for key in memory.asks.keys() - after.asks.keys())
        )

    def on_execution_failed(self, memory: ContextMemory, event: Mapping[str, object], plan: Plan) -> TurnResult:
        """Mark the plan as failed at a step. An operator can retry the step."""
        return self._report_failed(memory, plan, self._apply_action(plan), str(event.get("error")))

    def on_plan_lost(self, memory: ContextMemory, thread: str, why: str) -> TurnResult:
        """Mark the plan of a background thread that ended without an event, because it was stopped or failed."""
        plan = next((plan for plan in memory.plans.values() if plan.thread_id == thread), None)
        if plan is None or plan.status not in PENDING_STATUSES:
            return TurnResult(memory)
        if plan.status == "planned":
            return self._report_not_requested(memory, plan)
        action = self._apply_action(plan) if plan.status == "executing" else self.definitions.action(plan.action_id)
        return self._report_failed(memory, plan, action, why)

    def _report_failed(self, memory: ContextMemory, plan: Plan, action: ActionDefinition, why: str) -> TurnResult:
        after = memory.with_plan(plans.fail(plan, plan.version, why, self.now))
        todo = self.next_steps(after, Fix("reapprove" if plan.approval else "run_action", plan.action_id))
        return TurnResult(
            self.with_workflow_status(after, action, "failed", why),
            (sentence("failed", action=action.label, why=why, todo=todo),),
        )

    def check_plan(self, memory: ContextMemory, workflow: str) -> TurnResult:
        """Check whether the inputs of a plan are still the same."""
        plan = memory.plans.get(workflow)
        if plan is None or plan.status != "planned" or self.definitions.action(plan.action_id).confirmed:
            return TurnResult(memory)
        now = plans.check_inputs(plan, self.plan_inputs(memory, plan), self.now)
        return TurnResult(memory) if now is plan else self.withdraw_obsolete(memory.with_plan(now), now)

    def withdraw_obsolete(self, memory: ContextMemory, plan: Plan) -> TurnResult:
        """Report an obsolete plan, and withdraw its approval request."""
        after = self.without_plan_info(self._mark_not_requested(memory, plan), self.definitions.action(plan.action_id))
        sentences = (sentence("obsolete", what=[self.title(key) for key in plan.changed]),)
        return TurnResult(after, sentences, stop=(plan.thread_id,) if plan.thread_id else ())

    def _executing_sentence(self, memory: ContextMemory, plan: Plan) -> SpokenSentence:
        return sentence("executing", todo=self.next_steps(memory, Fix("wait", self._apply_action(plan).workflow or "")))

    def _report_plan_failed(self, memory: ContextMemory, plan: Plan) -> TurnResult:
        after = self.with_workflow_status(memory, self.definitions.action(plan.action_id), "failed", plan.error)
        todo = self.next_steps(after, Fix("run_action", plan.action_id))
        return TurnResult(after, (sentence("plan_failed", why=plan.error, todo=todo),))

    def _request_approval(self, memory: ContextMemory, plan: Plan) -> TurnResult:
        """Store the plan as a value, and ask for its approval in a background thread."""
        action, thread = self.definitions.action(plan.action_id), self.new_thread_id(memory, "approve")
        now = plan.model_copy(update={"thread_id": thread, "is_unasked": False})
        after = memory.with_plan(now)
        if not action.confirmed:
            after = self.with_workflow_status(after, action, "completed")
        product = {"plan": now.plan, "version": now.version, "hash": now.hash}
        for key in action.produces:
            source = Provenance(kind="derived", actor=action.workflow, ref=now.id)
            after = memories.record_value(after, key, product, source, self.now, self.definitions)
        text, defaults = plan_markdown(now.plan, now.steps), self.default_texts(memory, action)
        sentences = [sentence("planned", action=action.label, version=now.version, plan=text)]
        sentences += [sentence("defaults", what=defaults)] if defaults else []
        apply = self.apply_of(now)
        if apply is None:
            return TurnResult(after, tuple(sentences))
        job = {"plan": now.id, "version": now.version, "action": apply.id, "defaults": defaults}
        job |= {"content": now.plan, "steps": jsonable(now.steps), "pinned": list(now.pinned)}
        return TurnResult(after, tuple(sentences), (BackgroundStart(kind="approve", thread=thread, job=job),))

    def _not_applied(self, memory: ContextMemory, plan: Plan, error: PlanError | InvalidError) -> TurnResult:
        now = plans.check_inputs(plan, self.plan_inputs(memory, plan), self.now)
        if now.status == "obsolete":
            return self.withdraw_obsolete(memory.with_plan(now), now)
        todo = self.next_steps(memory, Fix("reapprove", plan.action_id))
        why = {language: error_text(error, language) for language in LANGUAGES}
        message = sentence("not_applied", version=plan.version, why=why, todo=todo)
        return TurnResult(self._mark_not_requested(memory, now), (message,))

    def _too_late(self, memory: ContextMemory, event: Mapping[str, object]) -> TurnResult:
        """Report an approval that has no effect, unless it has already been applied."""
        plan = next((plan for plan in memory.plans.values() if plan.id == event.get("plan")), None)
        if plan is None or (plan.approval and plan.approval.request_id == event.get("request")):
            return TurnResult(memory)
        return TurnResult(
            memory, (sentence("too_late", by=event.get("by"), version=event.get("version"), now=plan.version),)
        )

    def _report_not_requested(self, memory: ContextMemory, plan: Plan) -> TurnResult:
        action = self.definitions.action(plan.action_id)
        return TurnResult(
            self._mark_not_requested(memory, plan), (sentence("unasked", action=action.label, version=plan.version),)
        )

    def _mark_not_requested(self, memory: ContextMemory, plan: Plan) -> ContextMemory:
        return memory.with_plan(plan.model_copy(update={"thread_id": None, "is_unasked": True}))

    def _sender_plan(self, memory: ContextMemory, event: Mapping[str, object], *statuses: str) -> Plan | None:
        """Return the plan of the background thread that sent the event, unless it now has another thread."""
        for plan in memory.plans.values():
            if (plan.id, plan.version, plan.thread_id) == (event.get("plan"), event.get("version"), self.sender_thread):
                return plan if plan.status in statuses else None
        return None

    def _newest_plan(self, memory: ContextMemory) -> Plan | None:
        live = [
            plan
            for plan in memory.plans.values()
            if plan.status != "completed" and plan.updated_at and not self.definitions.action(plan.action_id).confirmed
        ]
        return max(live, key=lambda plan: plan.updated_at or self.now, default=None)

    def _apply_action(self, plan: Plan) -> ActionDefinition:
        apply = self.apply_of(plan)
        assert apply, "only what something carries out is approved"
        return apply

    def _plan_id(self, memory: ContextMemory, action: ActionDefinition) -> str:
        # Unique among all plans, as the keys of the steps contain it.
        return f"{self.thread}/{action.workflow}/{memory.version}{self.run[:12]}"


def one_line(value: object) -> object:
    """Return a value that is no text of several lines: such a text is its JSON, or it could imitate other values."""
    return to_json(value).decode() if isinstance(value, str) and len(value.splitlines()) > 1 else value
