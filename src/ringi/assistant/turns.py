"""One event after another: what each does to the memory, what is said of it, and what it sets going.

Nothing here waits, asks a model or reads a clock: the graph does what an outcome names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from ringi.assistant import memory as memories
from ringi.assistant.availability import Fix
from ringi.assistant.catalog import Action, Info
from ringi.assistant.confirming import phrases
from ringi.assistant.memory import ContextMemory, Op, Refusal, Source
from ringi.assistant.planning import PlanTurn
from ringi.assistant.situation import Begin, Call, Outcome
from ringi.assistant.speech import Sentence, said, written
from ringi.errors import InvalidError

Step = Callable[[ContextMemory, Mapping[str, Any]], Outcome]


@dataclass(frozen=True)
class Turn(PlanTurn):
    """One event of one conversation."""

    def take(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        """Return what an event leads to; one that was taken before, or that is about nothing here, leads to nothing."""
        steps: dict[str, Step] = {
            "said": self._said,
            "action": self._pressed,
            "again": self._pressed,
            "ask": self._ask,
            "refresh": self._refresh,
            "unchanged": self.unchanged,
            "cancel": self._cancel,
            "fetched": self._fetched,
            "called": self._called,
            "answered": self._answered,
            "lost": self._lost,
            "planned": self.planned,
            "plan_failed": self.plan_failed,
            "approved": self.approved,
            "rejected": self.rejected,
            "lapsed": self.lapsed,
            "step": self.step,
            "executed": self.executed,
            "execution_failed": self.execution_failed,
        }
        step = steps.get(str(event.get("type")))
        return step(memory, event).then(self.settled) if step else self.settled(memory)

    def settled(self, memory: ContextMemory) -> Outcome:
        """Return what follows from a memory: static and derived infos, plans out of date or not defined."""
        memory, before = memories.fitted(memory, self.definitions, self.now), memory
        for info in self.definitions.in_order:
            memory = self._followed(memory, info)
        outcome = Outcome(memory, stop=orphans(before, memory))
        for workflow in memory.plans:
            outcome = outcome.then(partial(self.check, workflow=workflow))
        return outcome

    def wanted(self, memory: ContextMemory) -> tuple[str, ...]:
        """Return the infos that some action needs, whose handler can be run now and that have nothing fresh to show."""
        return tuple(info.key for info in self.definitions.in_order if self._is_due(memory, info))

    # What people say, and models make of it

    def _said(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        ops = [Op.model_validate(op) for op in event.get("ops") or ()]
        outside, offered = event.get("not_offered") or {}, event.get("offered") or {}
        facts = [op for op in ops if op.op != "feedback"]
        chosen = [op for op in facts if op.op not in ("set", "correct") or op.key not in outside]
        source = Source(kind="model", actor=self.by, ref=event.get("message"))
        after, refused = memories.applied(memory, chosen, self.definitions, source, self.now)
        refused += [not_offered(op, outside[op.key], offered.get(op.key, ())) for op in facts if op not in chosen]
        words = [self.refused(each) for each in refused]
        if event.get("silent") and after is not memory:
            left = [each.op for each in refused]
            words.append(said("noted", what=[self.title(op.key) for op in facts if op not in left]))
        outcome = Outcome(after, tuple(words)).then(self.settled)
        for number, op in enumerate(op for op in ops if op.op == "feedback"):
            id = f"{event.get('message')}-{number}"
            outcome = outcome.then(partial(self.criticised, text=op.text, id=id))
        if event.get("silent") and not (ops or is_declared(event)):
            return Outcome(memory, (self.puzzled(),))
        return outcome.then(lambda memory: self._declared(memory, event))

    def _declared(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        outcome = Outcome(memory)
        for needed in event.get("required") or ():
            outcome = outcome.then(partial(self._needed, needed=needed))
        for choice in event.get("choices") or ():
            outcome = outcome.then(partial(self._ask, event={**choice, "info": choice["data_type"]}))
        return outcome.then(lambda memory: self._routed(memory, event.get("agent")))

    def _needed(self, memory: ContextMemory, needed: Mapping[str, Any]) -> Outcome:
        """Do what words may set going; of what needs consent only the button is shown."""
        name = str(needed.get("type"))
        action, info = self.definitions.actions_by_id.get(name), self.definitions.infos_by_key.get(name)
        if action and (action.kind in ("apply", "cancel") or action.transactional):
            is_possible = self.available(memory, action).enabled
            return Outcome(memory, (self._surfaced(memory, action) if is_possible else self.why_not(memory, action),))
        if action:
            return self._pressed(memory, {"action": name, "args": needed.get("parameters")})
        if info is None:
            return Outcome(memory, (self.unknown(name),))
        return self._refresh(memory, {"info": name}) if info.how == "handler" else self._ask(memory, {"info": name})

    def _routed(self, memory: ContextMemory, agent: str | None) -> Outcome:
        """Do what the light form says, whose one field names who goes on."""
        if agent == "listDataAgent":
            return Outcome(memory, fetch=tuple(info.key for info in self.definitions.infos if info.how == "handler"))
        plan = next((action for action in self.definitions.actions if action.kind == "plan"), None)
        return self._pressed(memory, {"action": plan.id}) if agent == "planAgent" and plan else Outcome(memory)

    # What people press

    def _pressed(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        action = self.definitions.actions_by_id.get(str(event.get("action")))
        if action is None:
            return Outcome(memory, (self.unknown(event.get("action")),))
        if not self.available(memory, action).enabled:
            return Outcome(memory, (self.why_not(memory, action),))
        if action.kind == "plan":
            return self.plan(memory, action)
        if action.kind == "selector":
            return self._ask(memory, {"info": action.info})
        if action.kind == "cancel":
            return self._cancel(memory, event)
        if action.transactional:
            return Outcome(memory, (self._surfaced(memory, action),))
        args = dict(event.get("args") or {})
        try:
            action.check_args(args)
        except InvalidError as error:
            return Outcome(memory, (said("unfit", action=action.label, what=[each.field for each in error.errors]),))
        return Outcome(memory, calls=(Call(action=action.id, args=args),))

    def _surfaced(self, memory: ContextMemory, action: Action) -> Sentence:
        if action.kind == "cancel":
            return said("start_over", action=action.label)
        made = self.definitions.plan_of(action)
        plan = memory.plans.get(str(made.workflow)) if made else None
        if not self.confirms_in_words or plan is None:
            return said("approve", action=action.label)
        about = {"version": plan.version, "plan": written(plan.plan, plan.steps), "phrase": phrases(plan)}
        return said("confirm", action=action.label, **about)

    def _ask(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        info = self.definitions.infos_by_key.get(str(event.get("info")))
        if info is None:
            return Outcome(memory, (self.unknown(event.get("info")),))
        if info.how != "ask" or info.key in self.definitions.makers:
            return Outcome(memory, (self.refused(Refusal(Op(op="set", key=info.key), "NOT_ASKED", "")),))
        words = (said("asking", what=self.title(info.key)),)
        if info.key in memory.asks:
            return Outcome(memory, words)
        thread = self.side_id(memory, "ask")
        job = {"info": info.key, "filters": event.get("filters") or {}, "max_items": event.get("max_items")}
        return Outcome(memory.asking(info.key, thread), words, (Begin(kind="ask", thread=thread, job=job),))

    def _refresh(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        info = self.definitions.infos_by_key.get(str(event.get("info")))
        if info is None or info.how != "handler":
            return Outcome(memory, (self.unknown(event.get("info")),))
        return Outcome(memory, fetch=(info.key,))

    def _cancel(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        running = [plan for plan in memory.plans.values() if plan.status == "executing"]
        stop = [plan.thread_id for plan in memory.plans.values() if plan.thread_id and plan not in running]
        after = memories.cancelled(memory, self.definitions, Source(kind="user", actor=self.by), self.now)
        words = [said("cancelled")]
        if running:
            words.append(said("kept_executing", what=[self._apply(plan).label for plan in running]))
        return Outcome(after, tuple(words), stop=(*stop, *memory.asks.values()))

    # What handlers, workflows and questions bring

    def _fetched(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        info = self.definitions.info(str(event["info"]))
        inputs, source = self.hashes(memory, info.sources), Source(kind="handler", actor=info.handler)
        if (error := event.get("error")) is not None:
            after = memories.failed(memory, info.key, str(error), source, self.now)
            todo = self.todo(after, Fix("run_handler", info.key))
            word = said("fetch_failed", what=self.title(info.key), why=error, todo=todo)
            return Outcome(after, (word,) if event.get("is_asked_for") else ())
        # What was kept a while is as old as it is: seen now, it would count as fresh for longer.
        at = self.now - timedelta(seconds=max(0.0, event.get("age", 0.0)))
        after = memories.observed(memory, info.key, event.get("value"), source, at, self.definitions, inputs)
        return Outcome(after)

    def _called(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        action, error = self.definitions.action(str(event["action"])), event.get("error")
        after = self.ran(memory, action, "failed" if error else "completed", error)
        if error:
            todo = self.todo(after, Fix("run_action", action.id))
            return Outcome(after, (said("failed", action=action.label, why=error, todo=todo),))
        for key in action.produces:
            source = Source(kind="handler", actor=action.workflow or action.handler)
            after = self._observed(after, key, event.get("value"), source, {})
        return Outcome(after)

    def _answered(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        key = str(event.get("info"))
        if not self.side or memory.asks.get(key) != self.side:
            return Outcome(memory)
        after = memory.asked(key)
        if event.get("status") != "answered":
            return Outcome(after, (self._unanswered(after, key, event.get("why")),))
        source = Source(kind="user", actor=event.get("by"), ref=event.get("request"))
        op = Op(op="correct", key=key, value=event.get("value"))
        after, refused = memories.applied(after, [op], self.definitions, source, self.now)
        if refused:
            return Outcome(after, (self.refused(refused[0]),))
        return Outcome(after, (said("noted", what=self.title(key)),))

    def _lost(self, memory: ContextMemory, event: Mapping[str, Any]) -> Outcome:
        thread = str(event["thread"])
        key = next((key for key, asking in memory.asks.items() if asking == thread), None)
        if key:
            return Outcome(memory.asked(key), (self._unanswered(memory, key),))
        return self.lost(memory, thread, str(event["why"]))

    def _unanswered(self, memory: ContextMemory, key: str, why: str | None = None) -> Sentence:
        about = {"what": self.title(key), "todo": self.todo(memory, Fix("ask", key))}
        return said("fetch_failed", why=why, **about) if why else said("unanswered", **about)

    # What follows by itself

    def _observed(
        self, memory: ContextMemory, key: str, value: Any, source: Source, inputs: Mapping[str, str]
    ) -> ContextMemory:
        return memories.observed(memory, key, value, source, self.now, self.definitions, inputs)

    def _followed(self, memory: ContextMemory, info: Info) -> ContextMemory:
        known = memory.items.get(info.key)
        if info.how == "static":
            is_kept = known is not None and known.hash == self.definitions.static_hashes[info.key]
            return memory if is_kept else self._observed(memory, info.key, info.value, Source(kind="static"), {})
        if info.derive is None:
            return memory
        inputs, source = self.hashes(memory, info.inputs), Source(kind="derived", actor=info.key)
        if len(inputs) < len(info.inputs) or (known and known.inputs == inputs):
            return memory
        try:
            value = info.derive(*(memory.items[key].value for key in info.inputs))
        except Exception as error:
            return memories.failed(memory, info.key, f"{type(error).__name__}: {error}", source, self.now, inputs)
        return self._observed(memory, info.key, value, source, inputs)

    def _is_due(self, memory: ContextMemory, info: Info) -> bool:
        if info.how != "handler" or not self.definitions.consumers(info.key):
            return False
        inputs = info.sources
        hashes, item = self.hashes(memory, inputs), memory.items.get(info.key)
        if len(hashes) < len(inputs):
            return False
        if item is None or item.inputs != hashes:
            return True
        # What failed is tried again when somebody asks for it, or when it would be called with something else.
        oldest = self.definitions.oldest.get(info.key)
        is_old = oldest is not None and self.now - item.observed_at >= timedelta(seconds=oldest)
        return item.status == "collected" and is_old


def is_declared(event: Mapping[str, Any]) -> bool:
    """Whether a model declares that anything is to be done."""
    return bool(event.get("required") or event.get("choices")) or event.get("agent") not in (None, "none")


def not_offered(op: Op, why: str, offered: Iterable[str] = ()) -> Refusal:
    """Return the refusal of a value that is none of what can be chosen, or of which nobody knows."""
    return Refusal(op, "INVALID" if why else "NOT_OFFERED", why, tuple(offered))


def orphans(before: ContextMemory, after: ContextMemory) -> tuple[str, ...]:
    """Return the side threads of plans and questions that are gone; what is being carried out goes on."""
    plans = [plan for name, plan in before.plans.items() if name not in after.plans and plan.status != "executing"]
    asks = [thread for key, thread in before.asks.items() if key not in after.asks]
    return (*(plan.thread_id for plan in plans if plan.thread_id), *asks)


__all__ = ["Begin", "Call", "Outcome", "Turn"]
