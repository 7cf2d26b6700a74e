"""Generated definitions and dialogues: an action is possible exactly when what it requires is there and fresh.

The oracle is another reading of that sentence: it keeps raw values and times, no hashes, no versions, no states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apps.assistant.drawn import APPLY, PLAN, SLOW, VALUES, services, summed
from tests.apps.assistant.office import ANNA, API, NOON
from tests.tiers import examples

from ringi_apps.assistant import memory as memories
from ringi_apps.assistant import plans
from ringi_apps.assistant.availability import availability_of_all
from ringi_apps.assistant.declarations import ActionDefinition
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.freshness import Freshness
from ringi_apps.assistant.memory import ContextMemory, Provenance
from ringi_apps.assistant.memory_ops import MemoryOp

Event: TypeAlias = tuple[str, str, int]


@st.composite
def dialogues(draw: st.DrawFn) -> tuple[Definitions, list[Event]]:
    """Draw definitions, and a dialogue in which people and handlers tell, correct and clear, and time passes."""
    definitions = draw(services())
    keys = st.sampled_from([each.key for each in definitions.infos])
    events = st.one_of(
        st.tuples(st.sampled_from(["set", "correct", "clear", "fetch", "fetch", "fail"]), keys, VALUES),
        st.tuples(st.just("wait"), st.just(""), st.sampled_from([1, 4, 5, 11])),
        st.tuples(st.sampled_from(["derive", "derive", "plan", "reject"]), st.just(""), VALUES),
    )
    return definitions, draw(st.lists(events, min_size=5, max_size=30))


@dataclass
class Oracle:
    """What is known, naively: each value with its time and the values that it was made from."""

    definitions: Definitions
    now: datetime = NOON
    known: dict[str, tuple[int, datetime, dict[str, int]]] = field(default_factory=dict)
    planned_from: dict[str, int] | None = None

    def value(self, key: str) -> int | None:
        info = self.definitions.info(key)
        if info.kind == "static":
            return int(info.value)
        return self.known[key][0] if key in self.known else None

    def put(self, key: str, value: int) -> None:
        sources = {source: found for source in self.sources(key) if (found := self.value(source)) is not None}
        self.known[key] = (value, self.now, sources)

    def sources(self, key: str) -> list[str]:
        info = self.definitions.info(key)
        return [*info.inputs, *(param["info"] for param in info.params.values())]

    def is_there(self, key: str, max_age: float | None = None) -> bool:
        info = self.definitions.info(key)
        if info.kind == "static":
            return True
        if key not in self.known:
            return False
        made_from = self.known[key][2]
        if not all(self.is_there(each) and made_from.get(each) == self.value(each) for each in self.sources(key)):
            return False
        age = (self.now - self.seen_at(key)).total_seconds()
        return (info.ttl is None or age < info.ttl) and (max_age is None or age <= max_age)

    def seen_at(self, key: str) -> datetime:
        info = self.definitions.info(key)
        if info.kind == "derived":
            return min(self.seen_at(source) for source in info.inputs)
        return self.now if info.kind == "static" else self.known[key][1]

    def basis(self) -> dict[str, int]:
        both = [*self.definitions.action(PLAN).needs, *self.definitions.action(APPLY).needs]
        return {need.info: value for need in both if (value := self.value(need.info)) is not None}

    def is_possible(self, action: ActionDefinition) -> bool:
        if action.id == APPLY and self.planned_from != self.basis():
            return False
        return all(self.is_there(need.info, need.max_age) for need in action.needs if not need.optional)


@dataclass
class Dialogue:
    """The memory beside the oracle, through the same events."""

    oracle: Oracle
    memory: ContextMemory = field(default_factory=ContextMemory)

    def take(self, event: Event) -> None:
        verb, key, value = event
        if verb == "wait":
            self.oracle.now += timedelta(seconds=value)
        elif verb == "plan":
            self.plan(value)
        elif verb == "reject":
            self.reject()
        elif verb == "derive":
            self.derive()
        elif verb in ("fetch", "fail"):
            self.fetch(key, value if verb == "fetch" else None)
        else:
            self.say(verb, key, value)

    def say(self, verb: Any, key: str, value: int) -> None:
        definitions, now = self.oracle.definitions, self.oracle.now
        op = MemoryOp(op=verb, key=key, value=value)
        self.memory, refused = memories.apply_ops(self.memory, [op], definitions, ANNA, now)
        assert bool(refused) is (definitions.info(key).kind != "ask")
        if refused:
            return
        if verb == "clear":
            self.oracle.known.pop(key, None)
        else:
            self.oracle.put(key, value)

    def fetch(self, key: str, value: int | None) -> None:
        definitions, now = self.oracle.definitions, self.oracle.now
        if definitions.info(key).kind != "handler":
            return
        if value is None:
            self.memory = memories.record_failure(self.memory, key, "no route", API, now)
            return
        self.memory = memories.record_value(self.memory, key, value, API, now, definitions, self.inputs(key))
        self.oracle.put(key, value)

    def derive(self) -> None:
        definitions, now = self.oracle.definitions, self.oracle.now
        for info in definitions.ordered_infos:
            values = {source: self.oracle.value(source) for source in info.inputs}
            if info.kind != "derived" or None in values.values():
                continue
            value = summed(**{key: value for key, value in values.items() if value is not None})
            source = Provenance(kind="derived")
            self.memory = memories.record_value(
                self.memory, info.key, value, source, now, definitions, self.inputs(info.key)
            )
            self.oracle.put(info.key, value)

    def inputs(self, key: str) -> dict[str, str]:
        look = Freshness(self.oracle.definitions, self.memory, self.oracle.now)
        return {source: hash for source in self.oracle.sources(key) if (hash := look.hash(source)) is not None}

    def plan(self, value: int) -> None:
        definitions, now = self.oracle.definitions, self.oracle.now
        action, before = definitions.action(PLAN), self.memory.plans.get("planning")
        inputs = Freshness(definitions, self.memory, now).inputs(action)
        plan = plans.next_plan_version(before, "p", action, inputs, "side", now)
        self.memory = self.memory.with_plan(plans.add_draft(plan, plan.version, {"plan": value}, inputs, now))
        self.oracle.planned_from = self.oracle.basis()

    def reject(self) -> None:
        if plan := self.memory.plans.get("planning"):
            self.memory = self.memory.with_plan(plans.cancel(plan, self.oracle.now))
        self.oracle.planned_from = None


@given(dialogues())
@settings(SLOW, max_examples=examples(200))
def test_an_action_is_possible_exactly_when_what_it_requires_is_there_and_fresh(
    drawn: tuple[Definitions, list[Event]],
) -> None:
    definitions, events = drawn
    dialogue = Dialogue(Oracle(definitions))
    for event in events:
        dialogue.take(event)
        found = availability_of_all(definitions, dialogue.memory, dialogue.oracle.now)
        assert {each.action_id: each.enabled for each in found} == {
            action.id: dialogue.oracle.is_possible(action) for action in definitions.actions
        }
        for each in found:
            assert each.enabled is not bool(each.reasons)
            lacking = [reason for reason in each.reasons if reason.code.endswith("_INFO")]
            assert len(lacking) == each.need - each.have
        assert memories.memory_from_json(dialogue.memory.model_dump(mode="json")) == dialogue.memory


@given(dialogues())
@settings(SLOW, max_examples=examples(100))
def test_doing_what_helps_makes_every_action_possible(drawn: tuple[Definitions, list[Event]]) -> None:
    definitions, events = drawn
    dialogue = Dialogue(Oracle(definitions))
    for event in events:
        dialogue.take(event)
    dialogue.derive()
    for _ in range(3 * (len(definitions.infos) + 1)):
        reasons = [
            reason
            for each in availability_of_all(definitions, dialogue.memory, dialogue.oracle.now)
            for reason in each.reasons
        ]
        if not reasons:
            return
        fix = reasons[0].fix
        verb = {"ask": "set", "run_handler": "fetch", "run_action": "plan"}[fix.kind]
        dialogue.take((verb, fix.ref, 1))
        dialogue.derive()
    raise AssertionError(f"still not possible: {reasons}")
