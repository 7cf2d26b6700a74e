"""The memory changes only by operations that its rules allow, says how it came to be, and stays small."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.apps.assistant.office import ANNA, API, NOON, OFFICE, after, fetched, with_values

from ringi.domain.record import UnreadableError
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant.declarations import ActionDefinition, Info
from ringi_apps.assistant.declare_tool import is_tellable
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory import (
    MAX_HISTORY,
    ContextMemory,
    Provenance,
    apply_ops,
    memory_from_json,
    memory_to_json,
    record_failure,
    record_value,
)
from ringi_apps.assistant.memory_ops import MemoryOp
from ringi_apps.assistant.plans import Plan

EMPTY = ContextMemory()


def refusal(memory: ContextMemory, op: MemoryOp) -> tuple[str, str]:
    changed, refused = apply_ops(memory, [op], OFFICE, ANNA, NOON)
    assert changed == memory
    assert [each.op for each in refused] == [op]
    return refused[0].code, refused[0].reason


def test_what_is_said_is_known_with_its_source_and_quote() -> None:
    op = MemoryOp(op="set", key="goal", value="20% up", quote="sales must rise")
    memory, refused = apply_ops(EMPTY, [op], OFFICE, ANNA, NOON)
    item = memory.items["goal"]
    assert not refused
    assert (item.value, item.status, item.observed_at, item.version) == ("20% up", "collected", NOON, memory.version)
    assert (item.source.actor, item.source.ref, item.source.quote) == ("anna", "m1", "sales must rise")
    assert [(each.op, each.key, each.before, each.after) for each in memory.history] == [
        ("set", "goal", None, "20% up")
    ]


def test_an_unknown_info_is_refused_and_the_known_ones_are_named() -> None:
    code, why = refusal(EMPTY, MemoryOp(op="set", key="gaol", value="x"))
    assert code == "UNKNOWN"
    assert "'gaol'" in why
    assert "goal" in why


@pytest.mark.parametrize(
    ("key", "maker"),
    [("projects", "handler 'fetch'"), ("count", "other infos"), ("region", "the definitions"), ("draft", "'plan'")],
)
@pytest.mark.parametrize("verb", ["set", "correct", "clear", "not_needed"])
def test_nobody_can_say_what_is_fetched_derived_static_or_planned(verb: Any, key: str, maker: str) -> None:
    code, why = refusal(with_values(fetched(EMPTY, [1]), goal="x"), MemoryOp(op=verb, key=key, value=1))
    assert code == "NOT_ASKED"
    assert maker in why


CHECKED = Definitions(
    (Info("cleared"), Info("project")),
    (
        ActionDefinition("check", "immediate", "Check", workflow="checking", produces=("cleared", "project")),
        ActionDefinition("choose", "selector", "Choose", info="project"),
    ),
)


@pytest.mark.parametrize("verb", ["set", "correct", "clear", "not_needed"])
def test_nobody_can_say_what_an_action_establishes_unless_another_lets_them_choose_it(verb: Any) -> None:
    memory = record_value(EMPTY, "cleared", False, API, NOON, CHECKED)
    ops = [MemoryOp(op=verb, key=key, value=True) for key in ("cleared", "project")]
    after_it, refused = apply_ops(memory, ops, CHECKED, ANNA, NOON)
    assert [(each.op.key, each.code) for each in refused] == [("cleared", "NOT_ASKED")]
    assert "action 'check'" in refused[0].reason
    assert after_it.items["cleared"].value is False
    assert [info.key for info in CHECKED.infos if is_tellable(info, CHECKED)] == ["project"]


@pytest.mark.parametrize("value", [5, "", None, ["x"]])
def test_a_value_that_breaks_the_schema_is_refused(value: Any) -> None:
    code, why = refusal(EMPTY, MemoryOp(op="set", key="goal", value=value))
    assert code == "INVALID"
    assert "goal" in why


@pytest.mark.parametrize("value", [float("nan"), "x" * 300_000, None, {"a": object()}])
def test_a_value_that_is_no_json_or_too_large_is_refused_without_a_schema_too(value: Any) -> None:
    assert refusal(EMPTY, MemoryOp(op="set", key="topic", value=value))[0] == "INVALID"


def test_what_its_sender_has_not_seen_is_not_changed() -> None:
    seen = with_values(EMPTY, goal="first")
    newer = with_values(seen, goal="second")
    assert refusal(newer, MemoryOp(op="set", key="goal", value="third", expected_version=seen.version))[0] == "NEWER"
    assert not apply_ops(
        newer, [MemoryOp(op="set", key="goal", value="x", expected_version=newer.version)], OFFICE, ANNA, NOON
    )[1]


def test_what_changed_elsewhere_does_not_stand_against_a_change_here() -> None:
    seen = with_values(EMPTY, goal="first")
    newer = with_values(seen, topic="other")
    ops = [MemoryOp(op=op, key="goal", value=op, expected_version=seen.version) for op in ("set", "correct")]
    memory, refused = apply_ops(newer, ops, OFFICE, ANNA, NOON)
    assert not refused
    assert memory.items["goal"].value == "correct"


def test_the_same_again_is_no_change_of_the_value() -> None:
    memory = with_values(EMPTY, goal="x")
    again = with_values(memory, after(5), goal="x")
    assert again.history == memory.history
    assert again.items["goal"].version == memory.items["goal"].version
    assert apply_ops(EMPTY, [MemoryOp(op="clear", key="goal")], OFFICE, ANNA, NOON) == (EMPTY, [])


def test_a_refused_operation_does_not_stop_the_others() -> None:
    ops = [
        MemoryOp(op="set", key="goal", value=1),
        MemoryOp(op="set", key="topic", value="t"),
        MemoryOp(op="feedback", text="too tight"),
    ]
    memory, refused = apply_ops(EMPTY, ops, OFFICE, ANNA, NOON)
    assert [each.op for each in refused] == ops[:1]
    assert memory.items.keys() == {"topic"}


def test_what_a_model_quotes_and_what_people_say_of_a_plan_is_kept_so_far() -> None:
    op = MemoryOp(op="set", key="goal", value="x", text="f" * 50_000, quote="q" * 50_000)
    item = apply_ops(EMPTY, [op], OFFICE, ANNA, NOON)[0].items["goal"]
    assert (item.source.quote, op.text) == ("q" * 500, "f" * 5_000)


def test_what_is_cleared_is_gone_but_for_the_history() -> None:
    memory, _ = apply_ops(with_values(EMPTY, goal="x"), [MemoryOp(op="clear", key="goal")], OFFICE, ANNA, NOON)
    assert memory.items == {}
    assert (memory.history[-1].op, memory.history[-1].before, memory.history[-1].after) == ("clear", "x", None)


def test_only_what_no_action_insists_on_can_be_not_needed() -> None:
    assert refusal(EMPTY, MemoryOp(op="not_needed", key="goal"))[0] == "REQUIRED"
    memory, refused = apply_ops(EMPTY, [MemoryOp(op="not_needed", key="style")], OFFICE, ANNA, NOON)
    assert not refused
    assert memory.items["style"].status == "not_needed"
    assert with_values(memory, style="brief").items["style"].status == "collected"


def test_the_same_value_found_again_is_fresh_again_and_no_change() -> None:
    memory = fetched(EMPTY, [{"id": 1}])
    again = fetched(memory, [{"id": 1}], after(200))
    assert again.items["projects"].fresh_until == after(500)
    assert again.items["projects"].hash == memory.items["projects"].hash
    assert again.history == memory.history


def test_a_static_value_observed_in_each_turn_changes_nothing() -> None:
    static = Provenance(kind="static")
    memory = record_value(EMPTY, "region", "jp", static, NOON, OFFICE)
    assert record_value(memory, "region", "jp", static, after(5), OFFICE) is memory


def test_a_found_value_that_breaks_the_schema_is_an_error_that_says_so() -> None:
    item = record_value(EMPTY, "budget", "many", API, NOON, OFFICE).items["budget"]
    assert item.status == "error"
    assert "budget" in (item.error or "")


def test_a_failure_is_seen_and_leaves_a_fresh_value_usable() -> None:
    memory = fetched(EMPTY, [1])
    item = record_failure(memory, "projects", "no route", API, after(10)).items["projects"]
    assert (item.status, item.value, item.error) == ("collected", [1], "no route")
    late = record_failure(memory, "projects", "no route", API, after(300))
    assert (late.items["projects"].status, late.items["projects"].value) == ("error", [1])
    assert record_failure(late, "projects", "no route", API, after(301)) is late
    assert fetched(late, [2], after(302)).items["projects"].error is None


def test_a_failure_for_other_inputs_does_not_leave_the_old_value_usable() -> None:
    memory = fetched(EMPTY, [1])
    assert record_failure(memory, "projects", "no", API, NOON, {"region": "other"}).items["projects"].status == "error"


def test_how_far_a_workflow_has_come_is_told_once() -> None:
    memory = memories.set_workflow_status(EMPTY, "counting", "running", NOON)
    same = memories.set_workflow_status(memory, "counting", "running", after(1))
    assert same is memory
    done = memories.set_workflow_status(memory, "counting", "completed", after(2))
    assert done.runs["counting"].status == "completed"
    assert [(each.op, each.key, each.before, each.after) for each in done.history] == [
        ("run", "counting", None, "running"),
        ("run", "counting", "running", "completed"),
    ]


def busy() -> ContextMemory:
    """Return a memory in which several workflows are at work."""
    memory = with_values(fetched(EMPTY, [1]), goal="g", topic="t", style="s", budget=5)
    memory = record_value(memory, "draft", {"steps": 2}, API, NOON, OFFICE)
    plan = Plan(id="p", workflow="planning", action_id="plan", version=1, status="planned", updated_at=NOON)
    memory = memory.with_plan(plan).with_open_question("topic", "side-1").with_open_question("budget", "side-2")
    for workflow, status in (("planning", "completed"), ("applying", "completed"), ("searching", "completed")):
        memory = memories.set_workflow_status(memory, workflow, status, NOON)
    return memory


@pytest.mark.parametrize("workflow", ["planning", "applying"])
def test_a_reset_takes_only_what_was_of_that_workflow(workflow: str) -> None:
    left = memories.reset_workflow(busy(), OFFICE, workflow, after(1))
    # "goal" and "projects" are also of the count and the selector, "style" is the person's.
    assert left.items.keys() == {"goal", "projects", "topic", "style"}
    assert left.plans == {}
    assert left.runs.keys() == {"applying", "searching"}
    assert left.asks == {"topic": "side-1"}
    assert {each.key for each in left.history if each.op == "reset"} == {"budget", "draft"}


def test_a_reset_of_another_workflow_leaves_the_plan() -> None:
    left = memories.reset_workflow(busy(), OFFICE, "searching", after(1))
    assert left.items.keys() == busy().items.keys() - {"topic"}
    assert left.plans.keys() == {"planning"}
    assert left.runs == busy().runs


def test_cancel_clears_what_people_gave_in_this_thread_and_the_plans() -> None:
    memory = record_value(
        record_value(busy(), "region", "jp", Provenance(kind="static"), NOON, OFFICE), "echo", "gg", API, NOON, OFFICE
    )
    left = memories.clear_context(memory, OFFICE, ANNA, after(1))
    assert left.items.keys() == {"region", "projects", "style"}
    assert (left.plans, left.runs, left.asks) == ({}, {}, {})
    assert (left.history[-1].op, left.history[-1].source) == ("cancel", ANNA)


def test_cancel_leaves_what_is_being_executed() -> None:
    plan = busy().plans["planning"].model_copy(update={"status": "executing"})
    left = memories.clear_context(busy().with_plan(plan), OFFICE, ANNA, after(1))
    assert left.plans == {"planning": plan}
    assert left.runs.keys() == {"planning", "applying"}
    assert "draft" in left.items


def test_the_history_keeps_the_newest_and_the_newest_of_each_key() -> None:
    memory = with_values(EMPTY, topic="early")
    for number in range(3 * MAX_HISTORY):
        memory = with_values(memory, after(number), goal=f"goal {number}")
    assert len(memory.history) == MAX_HISTORY
    assert memory.changes == 3 * MAX_HISTORY + 1
    assert (memory.history[0].key, memory.history[0].number) == ("topic", 1)
    assert [each.number for each in memory.history[1:]] == list(
        range(memory.changes - MAX_HISTORY + 2, memory.changes + 1)
    )


def test_the_history_shortens_what_is_long() -> None:
    memory = with_values(EMPTY, topic="語" * 5_000)
    assert memory.items["topic"].value == "語" * 5_000
    assert len(memory.history[-1].after) < 300
    assert memory.history[-1].after.endswith("…")


def test_five_hundred_turns_grow_the_memory_with_the_facts_not_with_the_turns() -> None:
    memory, sizes = EMPTY, []
    for turn in range(500):
        memory = with_values(memory, after(turn), goal=f"goal {turn % 7}", topic=f"topic {turn % 11}", budget=turn % 5)
        memory = fetched(memory, [{"id": turn % 3}] * 20, after(turn))
        sizes.append(len(memory.model_dump_json()))
    full = sizes[100]
    assert memory.changes > 1_000
    assert max(sizes[100:]) <= full * 1.05
    assert len(memory.history) == MAX_HISTORY


def test_a_stored_memory_is_read_as_it_was_written() -> None:
    memory = busy()
    assert memory_from_json(memory_to_json(memory)) == memory
    assert memory_from_json(json.loads(json.dumps(memory_to_json(memory)))).history == memory.history
    assert memory_to_json(memory) == memory.model_dump(mode="json")
    assert memory_from_json({}) == EMPTY


def test_a_memory_of_a_newer_schema_is_refused_with_both_versions() -> None:
    with pytest.raises(UnreadableError, match=r"schema_version 2.*up to 1 is known.*upgrade"):
        memory_from_json({"schema_version": 2})


def test_a_damaged_memory_is_refused() -> None:
    with pytest.raises(UnreadableError, match=r"parts are damaged"):
        memory_from_json({"items": {"goal": {"value": 1}}})


def test_an_older_memory_is_brought_up_one_schema_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "items": {"goal": data["items"]["target"]}}

    def counted(data: dict[str, Any]) -> dict[str, Any]:
        assert "goal" in data["items"]
        return {**data, "changes": 7}

    monkeypatch.setattr(memories, "MIGRATIONS", (renamed, counted))
    old = with_values(EMPTY, goal="x").model_dump(mode="json")
    old["items"] = {"target": old["items"]["goal"]}
    memory = memory_from_json(old)
    assert (memory.schema_version, memory.items["goal"].value, memory.changes) == (3, "x", 7)
    assert memory_from_json(memory.model_dump(mode="json")) == memory
