"""Whatever happens in whatever order, a memory stays valid, and only what is a workflow's own goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apps.assistant.drawn import SLOW, services
from tests.apps.assistant.office import ANNA, API, NOON
from tests.tiers import examples

from ringi_apps.assistant import memory as memories
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory import MAX_HISTORY, ContextMemory
from ringi_apps.assistant.memory_ops import MemoryOp
from ringi_apps.assistant.plans import Plan

Step: TypeAlias = Callable[[ContextMemory, datetime], ContextMemory]

OPS = ("set", "correct", "clear", "not_needed")
STATUSES = ("planned", "executing", "executing", "completed")


@st.composite
def stories(draw: st.DrawFn) -> tuple[Definitions, list[Step]]:
    """Draw definitions, and what happens to a memory: all that may, in any order."""
    definitions = draw(services())
    key = st.sampled_from([each.key for each in definitions.infos])
    workflow = st.sampled_from([each.workflow or "" for each in definitions.actions])
    steps = st.one_of(
        st.builds(saying, st.just(definitions), st.sampled_from(OPS), key, st.integers(0, 9)),
        st.builds(finding, st.just(definitions), key, st.integers(0, 9)),
        st.builds(failing, key),
        st.builds(running, workflow, st.sampled_from(["running", "completed", "failed"])),
        st.builds(planning, st.sampled_from(STATUSES), st.integers(1, 3)),
        st.builds(asking, key),
        st.builds(resetting, st.just(definitions), workflow),
        st.just(cancelling(definitions)),
    )
    known = [finding(definitions, each.key, 1) for each in definitions.infos]
    return definitions, [*known, *draw(st.lists(steps, min_size=1, max_size=40))]


def saying(definitions: Definitions, verb: Any, key: str, value: int) -> Step:
    op = MemoryOp(op=verb, key=key, value=value)
    return lambda memory, now: memories.apply_ops(memory, [op], definitions, ANNA, now)[0]


def finding(definitions: Definitions, key: str, value: int) -> Step:
    return lambda memory, now: memories.record_value(memory, key, value, API, now, definitions)


def failing(key: str) -> Step:
    return lambda memory, now: memories.record_failure(memory, key, "no route", API, now)


def running(workflow: str, status: str) -> Step:
    return lambda memory, now: memories.set_workflow_status(memory, workflow, status, now)


def planning(status: Any, version: int) -> Step:
    plan = Plan(id="p", workflow="planning", action_id="plan", version=version, status=status, updated_at=NOON)
    return lambda memory, now: memory.with_plan(plan)


def asking(key: str) -> Step:
    return lambda memory, now: memory.with_open_question(key, "side")


def resetting(definitions: Definitions, workflow: str) -> Step:
    def step(memory: ContextMemory, now: datetime) -> ContextMemory:
        left = memories.reset_workflow(memory, definitions, workflow, now)
        pair = {"plan", "apply"} if workflow in ("planning", "applying") else {workflow.replace("w", "a")}
        own = reached(definitions, pair)
        others = reached(definitions, {each.id for each in definitions.actions} - pair)
        for key in memory.items.keys() - left.items.keys():
            assert definitions.info(key).scope == "thread"
        for key in memory.items:
            info = definitions.info(key)
            is_gone = key in own - others and info.scope == "thread" and info.kind != "static"
            assert (key not in left.items) is is_gone
        ended = {name: plan for name, plan in memory.plans.items() if plan.status == "completed"}
        assert left.plans == (ended if "plan" in pair else memory.plans)
        assert memory.runs.keys() - left.runs.keys() <= {"planning"}
        return left

    return step


def cancelling(definitions: Definitions) -> Step:
    def step(memory: ContextMemory, now: datetime) -> ContextMemory:
        left = memories.clear_context(memory, definitions, ANNA, now)
        for key in memory.items:
            info = definitions.info(key)
            is_kept = info.scope == "user" or info.kind == "static"
            assert key in left.items or not is_kept
            assert key not in left.items or is_kept or info.kind != "ask"
        assert left.asks == {}
        assert left.plans == {name: plan for name, plan in memory.plans.items() if plan.status == "executing"}
        return left

    return step


def reached(definitions: Definitions, ids: Iterable[str]) -> set[str]:
    """Return what these actions require, and all that it is made from."""
    keys = [need.info for id in ids for need in definitions.action(id).needs]
    for key in keys:
        info = definitions.info(key)
        keys += [*info.inputs, *(param["info"] for param in info.params.values())]
    return set(keys)


@given(stories())
@settings(SLOW, max_examples=examples(120))
def test_a_memory_stays_valid_whatever_happens(drawn: tuple[Definitions, list[Step]]) -> None:
    definitions, steps = drawn
    memory, now = ContextMemory(), NOON
    for step in steps:
        now += timedelta(seconds=1)
        before, memory = memory, step(memory, now)
        assert memory.items.keys() <= definitions.infos_by_key.keys()
        assert memory.version >= before.version
        assert memory == before or memory.version > before.version
        assert all(item.version <= memory.version for item in memory.items.values())
        numbers = [change.number for change in memory.history]
        assert numbers == list(range(1, memory.changes + 1))
        assert memories.memory_from_json(memories.memory_to_json(memory)) == memory
    for action in definitions.actions:
        resetting(definitions, action.workflow or "")(memory, now)
    cancelling(definitions)(memory, now)


@given(st.lists(st.integers(0, 2 * MAX_HISTORY), min_size=MAX_HISTORY, max_size=3 * MAX_HISTORY))
@settings(SLOW, max_examples=examples(20))
def test_the_history_keeps_the_newest_of_each_key_and_no_more_than_that(keys: list[int]) -> None:
    memory = ContextMemory()
    for number, key in enumerate(keys):
        memory = memories.set_workflow_status(memory, f"w{key}", f"{number}", NOON)
    history = memory.history
    newest = {change.key: change.number for change in history}
    assert newest == {f"w{key}": number for number, key in enumerate(keys, 1)}
    assert len(history) == min(len(keys), max(MAX_HISTORY, len(newest)))
    assert [change.number for change in history] == sorted(change.number for change in history)
