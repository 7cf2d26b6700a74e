"""Handles one event at a time: the new memory, the sentences to say, and the work to do.

Pure: it does not wait, call a model or read a clock. The graph does the work that a result names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from ringi.errors import InvalidError
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant.availability import Fix, fix_of
from ringi_apps.assistant.declarations import ANY, ActionDefinition, Info
from ringi_apps.assistant.event_context import BackgroundStart, ImmediateCall, TurnResult
from ringi_apps.assistant.memory import ContextMemory, Provenance
from ringi_apps.assistant.memory_ops import MemoryOp, RejectedOp
from ringi_apps.assistant.plan_reducer import EventStep, PlanReducer
from ringi_apps.assistant.rendering import plan_markdown
from ringi_apps.assistant.sentences import LANGUAGES, SpokenSentence, sentence
from ringi_apps.assistant.stored_values import is_unfit, unfit_reason, with_current_values
from ringi_apps.assistant.text_approval import approval_phrases


@dataclass(frozen=True)
class ConversationReducer(PlanReducer):
    """Handles one event of one conversation."""

    def apply(self, memory: ContextMemory, event: Mapping[str, object]) -> TurnResult:
        """Return the result of an event. An event that was applied before or is about nothing here has no effect."""
        steps: dict[str, EventStep] = {
            "said": self._on_said,
            "action": self._on_action,
            "again": self._on_action,
            "ask": self._on_ask,
            "any": self._on_any,
            "refresh": self._on_refresh,
            "unchanged": self.on_unchanged,
            "cancel": self._on_cancel,
            "fetched": self._on_fetched,
            "called": self._on_called,
            "answered": self._on_answered,
            "lost": self._on_lost,
            "planned": self.for_plan(self.on_planned, "planning"),
            "plan_failed": self.for_plan(self.on_plan_failed, "planning"),
            "approved": self.on_approved,
            "rejected": self.for_plan(self.on_rejected, "planned", "failed"),
            "lapsed": self.for_plan(self.on_lapsed, "planned", "failed"),
            "step": self.for_plan(self.on_step, "executing", "failed"),
            "executed": self.for_plan(self.on_executed, "executing", "failed"),
            "execution_failed": self.for_plan(self.on_execution_failed, "executing"),
        }
        step = steps.get(str(event.get("type")))
        if step is None:
            return self.settle(memory)
        return step(memory, event).then(self.settle).then(partial(self.propose_confirmed, before=memory))

    def settle(self, memory: ContextMemory) -> TurnResult:
        """Update the memory: defaults, static and derived values, obsolete plans, and plans that are not defined."""
        memory, before = memories.drop_undefined(memory, self.definitions, self.now), memory
        memory = with_current_values(memory, self.definitions, self.now)
        memory = memories.with_defaults(memory, self.definitions, self.now)
        for info in self.definitions.ordered_infos:
            memory = self._update_computed(memory, info)
        outcome = TurnResult(memory, stop=orphaned_threads(before, memory))
        for workflow in memory.plans:
            outcome = outcome.then(partial(self.check_plan, workflow=workflow))
        return outcome

    def report_failures(self, outcome: TurnResult, before: ContextMemory) -> TurnResult:
        """Return the result of events with a sentence for each info that failed or became pending since `before`."""
        after = outcome.memory.items
        errors = {key: item.error for key, item in before.items.items()}
        failed = [key for key in self.definitions.infos_by_key if key in after and after[key].error]
        new = [self._failure(outcome.memory, key) for key in failed if errors.get(key) != after[key].error]
        # An event that a person asked for may have reported it.
        reported = [(each.code, each.about.get("what")) for each in outcome.sentences]
        sentences = [each for each in new if (each.code, each.about["what"]) not in reported]
        return replace(outcome, sentences=(*sentences, *outcome.sentences))

    def _failure(self, memory: ContextMemory, key: str) -> SpokenSentence:
        info, item = self.definitions.info(key), memory.items[key]
        why: Any = item.error
        if is_unfit(item):
            why = {language: unfit_reason(self.definitions, memory, key, language) for language in LANGUAGES}
        fix = fix_of(self.definitions, memory, self.now, key)
        code = "fetch_failed" if info.kind == "handler" and not is_unfit(item) else "not_usable"
        return sentence(code, what=self.title(key), why=why, todo=self.next_steps(memory, fix))

    def due_fetches(self, memory: ContextMemory) -> tuple[str, ...]:
        """Return the infos that an action requires, that are not fresh, and whose handler can run now."""
        return tuple(info.key for info in self.definitions.ordered_infos if self._is_fetch_due(memory, info))

    # Messages, as the model interprets them

    def _on_said(self, memory: ContextMemory, event: Mapping[str, Any]) -> TurnResult:
        ops = [MemoryOp.model_validate(op) for op in event.get("ops") or ()]
        unavailable, labels = event.get("not_offered") or {}, event.get("offered") or {}
        facts = [op for op in ops if op.op != "feedback"]
        accepted = [op for op in facts if op.op not in ("set", "correct") or op.key not in unavailable]
        source = Provenance(kind="model", actor=self.by, ref=event.get("message"))
        after, rejected = memories.apply_ops(memory, accepted, self.definitions, source, self.now)
        rejected += [
            RejectedOp(op, "INVALID" if why else "NOT_OFFERED", why, tuple(labels.get(op.key, ())))
            for op, why in ((op, unavailable[op.key]) for op in facts if op not in accepted)
        ]
        sentences = [self.rejection(each) for each in rejected]
        if event.get("silent") and after is not memory:
            failed_ops = [each.op for each in rejected]
            sentences.append(sentence("noted", what=[self.title(op.key) for op in facts if op not in failed_ops]))
        outcome = TurnResult(after, tuple(sentences)).then(self.settle)
        for number, op in enumerate(op for op in ops if op.op == "feedback"):
            id = f"{event.get('message')}-{number}"
            outcome = outcome.then(partial(self.add_feedback, text=op.text, id=id))
        if event.get("is_cut_off"):
            outcome = outcome.then(lambda memory: TurnResult(memory, (sentence("cut_off"),)))
        elif not (ops or declares_work(event)):
            if event.get("silent"):
                return TurnResult(memory, (self.not_understood(),))
            # The model's reply may claim that it recorded them.
            keys = [info.key for info in self.definitions.infos if info.kind == "ask"]
            dropped = [key for key in keys if key in (event.get("dropped") or ())]
            outcome = outcome.then(
                lambda memory: TurnResult(memory, tuple(self.not_recorded(memory, key) for key in dropped))
            )
        return outcome.then(lambda memory: self._apply_declared(memory, event))

    def _apply_declared(self, memory: ContextMemory, event: Mapping[str, Any]) -> TurnResult:
        outcome = TurnResult(memory)
        for needed in event.get("required") or ():
            outcome = outcome.then(partial(self._start_required, needed=needed))
        for choice in event.get("choices") or ():
            outcome = outcome.then(partial(self._on_ask, event={**choice, "info": choice["data_type"]}))
        return outcome.then(lambda memory: self._route(memory, event.get("agent")))

    def _start_required(self, memory: ContextMemory, needed: Mapping[str, object]) -> TurnResult:
        """Start an action that the model requires. For an action that needs approval, only name its button."""
        name = str(needed.get("type"))
        action, info = self.definitions.actions_by_id.get(name), self.definitions.infos_by_key.get(name)
        if action and (action.kind in ("apply", "cancel") or action.transactional):
            if not self.availability(memory, action).enabled:
                return TurnResult(memory, (self.unavailable(memory, action),))
            return self._ask_or_hint(memory, action)
        if action:
            return self._on_action(memory, {"action": name, "args": needed.get("parameters")})
        if info is None:
            return TurnResult(memory, (self.unknown_name(name),))
        return (
            self._on_refresh(memory, {"info": name}) if info.kind == "handler" else self._on_ask(memory, {"info": name})
        )

    def _route(self, memory: ContextMemory, agent: str | None) -> TurnResult:
        """Start the agent that the model chose in the light form."""
        if agent == "listDataAgent":
            return TurnResult(
                memory, fetch=tuple(info.key for info in self.definitions.infos if info.kind == "handler")
            )
        plan = next((action for action in self.definitions.actions if action.kind == "plan"), None)
        return self._on_action(memory, {"action": plan.id}) if agent == "planAgent" and plan else TurnResult(memory)

    # Commands of people

    def _on_action(self, memory: ContextMemory, event: Mapping[str, Any]) -> TurnResult:
        action = self.definitions.actions_by_id.get(str(event.get("action")))
        if action is None:
            return TurnResult(memory, (self.unknown_name(event.get("action")),))
        if not self.availability(memory, action).enabled:
            return TurnResult(memory, (self.unavailable(memory, action),))
        if action.kind == "plan":
            return self.start_plan(memory, action)
        if action.kind == "selector":
            return self._on_ask(memory, {"info": action.info})
        if action.kind == "cancel":
            return self._on_cancel(memory, event)
        if action.transactional:
            return self._ask_or_hint(memory, action)
        args = dict(event.get("args") or {})
        try:
            action.check_args(args)
        except InvalidError as error:
            return TurnResult(
                memory, (sentence("unfit", action=action.label, what=[each.field for each in error.errors]),)
            )
        return TurnResult(memory, calls=(ImmediateCall(action=action.id, args=args),))

    def _ask_or_hint(self, memory: ContextMemory, action: ActionDefinition) -> TurnResult:
        """Ask to approve a confirmed action, or name the button if its request is open, or of another action."""
        plan = memory.plans.get(str(action.workflow))
        is_asked = plan is not None and plan.status == "planned" and not plan.is_unasked
        if action.confirmed and not is_asked:
            return self.propose(memory, action)
        return TurnResult(memory, (self._approval_hint(memory, action),))

    def _approval_hint(self, memory: ContextMemory, action: ActionDefinition) -> SpokenSentence:
        if action.kind == "cancel":
            return sentence("start_over", action=action.label)
        maker = self.definitions.plan_of(action)
        plan = memory.plans.get(str(maker.workflow)) if maker else None
        if not self.confirms_in_words or plan is None:
            return sentence("approve", action=action.label)
        about = {
            "version": plan.version,
            "plan": plan_markdown(plan.plan, plan.steps),
            "phrase": approval_phrases(plan),
        }
        return sentence("confirm", action=action.label, **about)

    def _on_ask(self, memory: ContextMemory, event: Mapping[str, object]) -> TurnResult:
        info = self.definitions.infos_by_key.get(str(event.get("info")))
        if info is None:
            return TurnResult(memory, (self.unknown_name(event.get("info")),))
        if info.kind != "ask" or info.key in self.definitions.sole_producers:
            return TurnResult(memory, (self.rejection(RejectedOp(MemoryOp(op="set", key=info.key), "NOT_ASKED", "")),))
        sentences = (sentence("asking", what=self.title(info.key)),)
        if info.key in memory.asks:
            return TurnResult(memory, sentences)
        thread = self.new_thread_id(memory, "ask")
        job = {"info": info.key, "filters": event.get("filters") or {}, "max_items": event.get("max_items")}
        return TurnResult(
            memory.with_open_question(info.key, thread),
            sentences,
            (BackgroundStart(kind="ask", thread=thread, job=job),),
        )

    def _on_any(self, memory: ContextMemory, event: Mapping[str, object]) -> TurnResult:
        """Store that the person does not mind the value of an info, and withdraw its open question."""
        op = MemoryOp(op="correct", key=str(event.get("info")), value=ANY)
        info = self.definitions.infos_by_key.get(op.key)
        if info is None or not info.may_be_any:
            return TurnResult(memory, (self.rejection(RejectedOp(op, "NOT_ANY" if info else "UNKNOWN", "")),))
        stop = (memory.asks[op.key],) if op.key in memory.asks else ()
        source = Provenance(kind="user", actor=self.by)
        return TurnResult(memory.without_question(op.key), stop=stop).then(
            lambda memory: self._store_answer(memory, op, source)
        )

    def _on_refresh(self, memory: ContextMemory, event: Mapping[str, object]) -> TurnResult:
        info = self.definitions.infos_by_key.get(str(event.get("info")))
        if info is None or info.kind != "handler":
            return TurnResult(memory, (self.unknown_name(event.get("info")),))
        return TurnResult(memory, fetch=(info.key,))

    def _on_cancel(self, memory: ContextMemory, event: Mapping[str, object]) -> TurnResult:
        running = [plan for plan in memory.plans.values() if plan.status == "executing"]
        stop = [plan.thread_id for plan in memory.plans.values() if plan.thread_id and plan not in running]
        after = memories.clear_context(memory, self.definitions, Provenance(kind="user", actor=self.by), self.now)
        sentences = [sentence("cancelled")]
        if running:
            sentences.append(sentence("kept_executing", what=[self._apply_action(plan).label for plan in running]))
        return TurnResult(after, tuple(sentences), stop=(*stop, *memory.asks.values()))

    # Results of handlers, workflows and questions

    def _on_fetched(self, memory: ContextMemory, event: Mapping[str, Any]) -> TurnResult:
        info = self.definitions.info(str(event["info"]))
        inputs, source = self.hashes(memory, info.sources), Provenance(kind="handler", actor=info.handler)
        if (error := event.get("error")) is not None:
            after = memories.record_failure(memory, info.key, str(error), source, self.now)
        else:
            # A cached value keeps its age.
            at = self.now - timedelta(seconds=max(0.0, event.get("age", 0.0)))
            after = memories.record_value(memory, info.key, event.get("value"), source, at, self.definitions, inputs)
        is_due = event.get("is_asked_for") and after.items[info.key].error
        return TurnResult(after, (self._failure(after, info.key),) if is_due else ())

    def _on_called(self, memory: ContextMemory, event: Mapping[str, Any]) -> TurnResult:
        action, error = self.definitions.action(str(event["action"])), event.get("error")
        after = self.with_workflow_status(memory, action, "failed" if error else "completed", error)
        if error:
            todo = self.next_steps(after, Fix("run_action", action.id))
            return TurnResult(after, (sentence("failed", action=action.label, why=error, todo=todo),))
        for key in action.produces:
            source = Provenance(kind="handler", actor=action.workflow or action.handler)
            after = self._record(after, key, event.get("value"), source, {})
        return TurnResult(after, tuple(self._failure(after, key) for key in action.produces if after.items[key].error))

    def _on_answered(self, memory: ContextMemory, event: Mapping[str, Any]) -> TurnResult:
        key = str(event.get("info"))
        if not self.sender_thread or memory.asks.get(key) != self.sender_thread:
            return TurnResult(memory)
        after = memory.without_question(key)
        if event.get("status") != "answered":
            return TurnResult(after, (self._unanswered_sentence(after, key, event.get("why")),))
        source = Provenance(kind="user", actor=event.get("by"), ref=event.get("request"))
        return self._store_answer(after, MemoryOp(op="correct", key=key, value=event.get("value")), source)

    def _store_answer(self, memory: ContextMemory, op: MemoryOp, source: Provenance) -> TurnResult:
        after, rejected = memories.apply_ops(memory, [op], self.definitions, source, self.now)
        if rejected:
            return TurnResult(after, (self.rejection(rejected[0]),))
        return TurnResult(after, (sentence("noted", what=self.title(op.key)),))

    def _on_lost(self, memory: ContextMemory, event: Mapping[str, object]) -> TurnResult:
        thread = str(event["thread"])
        key = next((key for key, asking in memory.asks.items() if asking == thread), None)
        if key:
            return TurnResult(memory.without_question(key), (self._unanswered_sentence(memory, key),))
        return self.on_plan_lost(memory, thread, str(event["why"]))

    def _unanswered_sentence(self, memory: ContextMemory, key: str, why: str | None = None) -> SpokenSentence:
        about = {"what": self.title(key), "todo": self.next_steps(memory, Fix("ask", key))}
        return sentence("fetch_failed", why=why, **about) if why else sentence("unanswered", **about)

    # Computed values

    def _record(
        self, memory: ContextMemory, key: str, value: object, source: Provenance, inputs: Mapping[str, str]
    ) -> ContextMemory:
        return memories.record_value(memory, key, value, source, self.now, self.definitions, inputs)

    def _update_computed(self, memory: ContextMemory, info: Info) -> ContextMemory:
        entry = memory.items.get(info.key)
        if info.kind == "static":
            is_unchanged = entry is not None and entry.hash == self.definitions.static_hashes[info.key]
            return memory if is_unchanged else self._record(memory, info.key, info.value, Provenance(kind="static"), {})
        if info.derive is None:
            return memory
        inputs, source = self.hashes(memory, info.inputs), Provenance(kind="derived", actor=info.key)
        if len(inputs) < len(info.inputs) or (entry and entry.inputs == inputs and not is_unfit(entry)):
            return memory
        try:
            value = info.derive(*(memory.items[key].value for key in info.inputs))
        except Exception as error:
            return memories.record_failure(
                memory, info.key, f"{type(error).__name__}: {error}", source, self.now, inputs
            )
        return self._record(memory, info.key, value, source, inputs)

    def _is_fetch_due(self, memory: ContextMemory, info: Info) -> bool:
        if info.kind != "handler" or not self.definitions.consumers(info.key):
            return False
        inputs = info.sources
        hashes, item = self.hashes(memory, inputs), memory.items.get(info.key)
        if len(hashes) < len(inputs):
            return False
        if item is None or item.inputs != hashes or is_unfit(item):
            return True
        # A failed fetch is retried only on request or with other arguments.
        oldest = self.definitions.max_ages.get(info.key)
        is_old = oldest is not None and self.now - item.observed_at >= timedelta(seconds=oldest)
        return item.status == "collected" and is_old


def declares_work(event: Mapping[str, object]) -> bool:
    """Tell whether the model declares any work."""
    return bool(event.get("required") or event.get("choices")) or event.get("agent") not in (None, "none")


def orphaned_threads(before: ContextMemory, after: ContextMemory) -> tuple[str, ...]:
    """Return the background threads of plans and questions that were removed, except executions."""
    plans = [plan for name, plan in before.plans.items() if name not in after.plans and plan.status != "executing"]
    asks = [thread for key, thread in before.asks.items() if key not in after.asks]
    return (*(plan.thread_id for plan in plans if plan.thread_id), *asks)
