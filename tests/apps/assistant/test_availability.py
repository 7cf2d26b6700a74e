"""What is possible follows from what is known, and what is not says why and what helps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apps.assistant.office import ANNA, API, NOON, OFFICE, after, fetched, with_values

from ringi.base.canonical_json import digest
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant import plans
from ringi_apps.assistant.availability import Availability, BlockedReason, Fix, availability_of, availability_of_all
from ringi_apps.assistant.declarations import ActionDefinition, Info, WorkflowNeeds
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.explanations import (
    FIXES,
    REASONS,
    REFUSALS,
    fix_label,
    reason_text,
    reasons_text,
    rejected_operation_text,
)
from ringi_apps.assistant.freshness import Freshness
from ringi_apps.assistant.memory import ContextMemory, Provenance
from ringi_apps.assistant.memory_ops import MemoryOp

EMPTY = ContextMemory()
DERIVED = Provenance(kind="derived")
READY = with_values(fetched(EMPTY, [1]), goal="g")


def found(memory: ContextMemory, id: str, seconds: float = 0) -> Availability:
    return availability_of(OFFICE, memory, after(seconds), OFFICE.action(id))


def reasons(memory: ContextMemory, id: str, seconds: float = 0) -> list[tuple[str, str, str, str]]:
    availability = found(memory, id, seconds)
    assert availability.enabled is not bool(availability.reasons)
    return [(each.code, each.key, each.fix.kind, each.fix.ref) for each in availability.reasons]


def plan_of(memory: ContextMemory, status: str = "planned") -> ContextMemory:
    action, inputs = OFFICE.action("plan"), Freshness(OFFICE, memory, NOON).inputs(OFFICE.action("plan"))
    plan = plans.next_plan_version(None, "p1", action, inputs, "side", NOON)
    if status != "planning":
        plan = plans.add_draft(plan, 1, {"plan": {"steps": 2}}, inputs, NOON)
        plan = plan.model_copy(update={"status": status})
    if status in ("planned", "executing"):
        memory = memories.record_value(memory, "draft", {"steps": 2}, DERIVED, NOON, OFFICE)
    return memory.with_plan(plan)


def test_an_action_waits_for_what_it_requires_and_says_what_helps() -> None:
    assert reasons(EMPTY, "plan") == [
        ("MISSING_INFO", "goal", "ask", "goal"),
        ("MISSING_INFO", "projects", "run_handler", "projects"),
    ]
    assert (found(EMPTY, "plan").have, found(EMPTY, "plan").need) == (0, 2)


def test_an_action_is_possible_once_what_it_requires_is_there() -> None:
    assert found(READY, "plan") == Availability("plan", True, [], 2, 2)
    assert found(with_values(EMPTY, topic="t"), "search").enabled
    assert found(EMPTY, "cancel").enabled


def test_what_is_optional_is_not_waited_for() -> None:
    assert "style" not in READY.items
    assert found(READY, "plan").enabled


def test_a_value_is_relied_on_until_its_time_is_over() -> None:
    assert found(READY, "plan", 299.999).enabled
    assert reasons(READY, "plan", 300) == [("STALE_INFO", "projects", "run_handler", "projects")]
    assert found(fetched(READY, [1], after(300)), "plan", 300).enabled


def test_an_action_may_want_it_fresher() -> None:
    assert found(READY, "pick", 60).enabled
    assert reasons(READY, "pick", 60.5) == [("STALE_INFO", "projects", "run_handler", "projects")]


def test_a_failure_is_a_reason_of_its_own() -> None:
    memory = memories.record_failure(READY, "projects", "no route", API, after(300))
    assert reasons(memory, "plan", 300) == [("ERROR_INFO", "projects", "run_handler", "projects")]
    fresh = memories.record_failure(READY, "projects", "no route", API, after(10))
    assert found(fresh, "plan", 10).enabled
    assert reasons(fresh, "plan", 300) == [("ERROR_INFO", "projects", "run_handler", "projects")]


def test_what_was_left_out_is_not_there() -> None:
    memory, _ = memories.apply_ops(EMPTY, [MemoryOp(op="not_needed", key="style")], OFFICE, ANNA, NOON)
    assert Freshness(OFFICE, memory, NOON).state("style") == "not_needed"


def derived_from(projects: Any, goal: str) -> ContextMemory:
    memory = with_values(fetched(EMPTY, projects), goal=goal)
    inputs = {key: memory.items[key].hash for key in ("projects", "goal")}
    memory = memories.record_value(memory, "count", 1, DERIVED, NOON, OFFICE, {"projects": inputs["projects"]})
    return memories.record_value(memory, "echo", goal * 2, DERIVED, NOON, OFFICE, {"goal": inputs["goal"]})


def test_a_derived_value_counts_only_for_the_inputs_it_was_made_from() -> None:
    memory = derived_from([1], "g")
    assert found(memory, "count").enabled
    assert reasons(with_values(memory, goal="h"), "count") == [("STALE_INFO", "echo", "ask", "goal")]
    assert found(with_values(with_values(memory, goal="h"), goal="g"), "count").enabled


def test_what_helps_a_derived_value_is_what_it_lacks() -> None:
    assert reasons(EMPTY, "count") == [
        ("MISSING_INFO", "count", "run_handler", "projects"),
        ("MISSING_INFO", "echo", "ask", "goal"),
    ]
    assert reasons(derived_from([1], "g"), "count", 300) == [("STALE_INFO", "count", "run_handler", "projects")]


def test_the_same_value_fetched_again_leaves_what_was_made_from_it_fresh() -> None:
    assert found(fetched(derived_from([1], "g"), [1], after(300)), "count", 300).enabled
    assert not found(fetched(derived_from([1], "g"), [2], after(300)), "count", 300).enabled


def test_a_fetched_value_counts_only_for_the_parameters_it_was_fetched_with() -> None:
    memory = memories.record_value(
        with_values(EMPTY, goal="g"), "projects", [1], API, NOON, OFFICE, {"region": digest("us")}
    )
    assert reasons(memory, "plan") == [("STALE_INFO", "projects", "run_handler", "projects")]


def test_what_applies_a_plan_waits_for_it() -> None:
    assert reasons(READY, "apply") == [("NO_PLAN", "plan", "run_action", "plan")]
    assert reasons(plan_of(READY, "planning"), "apply") == [("NO_PLAN", "plan", "wait", "planning")]
    assert found(plan_of(READY), "apply").enabled


@pytest.mark.parametrize("status", ["cancelled", "completed"])
def test_a_plan_that_has_come_to_its_end_is_none(status: str) -> None:
    assert ("NO_PLAN", "plan", "run_action", "plan") in reasons(plan_of(READY, status), "apply")


def test_a_plan_is_made_and_applied_once_at_a_time() -> None:
    assert reasons(plan_of(READY, "planning"), "plan") == [("ALREADY_RUNNING", "plan", "wait", "planning")]
    executing = plan_of(READY, "executing")
    assert reasons(executing, "plan") == [("ALREADY_RUNNING", "plan", "wait", "applying")]
    assert reasons(executing, "apply") == [("ALREADY_RUNNING", "apply", "wait", "applying")]


def test_a_plan_whose_input_changed_cannot_be_applied_and_says_which() -> None:
    planned = plan_of(READY)
    assert reasons(with_values(planned, goal="h"), "apply") == [("PLAN_OBSOLETE", "goal", "run_action", "plan")]
    assert reasons(with_values(planned, budget=5), "apply") == [("PLAN_OBSOLETE", "budget", "run_action", "plan")]
    assert found(with_values(with_values(planned, goal="h"), goal="g"), "apply").enabled
    assert found(with_values(planned, topic="t"), "apply").enabled


def test_a_plan_that_was_found_out_of_date_stays_so_until_it_is_checked_anew() -> None:
    planned = plan_of(READY)
    changed = with_values(planned, goal="h")
    action, plan = OFFICE.action("plan"), planned.plans["planning"]
    obsolete = plans.check_inputs(plan, Freshness(OFFICE, changed, NOON).inputs(action), NOON)
    back = with_values(changed.with_plan(obsolete), goal="g")
    assert reasons(back, "apply") == [("PLAN_OBSOLETE", "goal", "run_action", "plan")]
    anew = plans.check_inputs(obsolete, Freshness(OFFICE, back, NOON).inputs(action), NOON)
    assert found(back.with_plan(anew), "apply").enabled


def test_a_value_that_only_grew_old_does_not_make_a_plan_obsolete() -> None:
    assert found(plan_of(READY), "apply", 1_000).enabled


def test_an_execution_that_failed_can_be_approved_again() -> None:
    memory = plan_of(READY)
    plan = memory.plans["planning"]
    going = plans.approve_plan(plan, 1, plan.hash, "anna", "r1", plan.inputs, NOON)
    memory = memory.with_plan(going)
    assert not found(memory, "apply").enabled
    failed = plans.fail(going, 1, "no disk", NOON)
    assert reasons(memory.with_plan(failed), "apply") == [("NOT_ASKED", "plan", "reapprove", "plan")]
    asked = failed.model_copy(update={"is_unasked": False})
    assert found(memory.with_plan(asked), "apply").enabled


def test_a_plan_that_is_not_known_is_not_there() -> None:
    known = plan_of(READY)
    forgotten = memories.remove_values(known, ["draft"], DERIVED, NOON)
    assert reasons(forgotten, "apply") == [("NO_PLAN", "plan", "run_action", "plan")]


def test_another_workflow_is_waited_for_until_it_has_come_so_far() -> None:
    assert reasons(READY, "report") == [("WORKFLOW", "applying", "run_action", "apply")]
    assert reasons(plan_of(READY), "report") == [("AWAITING_APPROVAL", "apply", "approve", "apply")]
    executing = memories.set_workflow_status(plan_of(READY, "executing"), "applying", "executing", NOON)
    assert reasons(executing, "report") == [("WORKFLOW", "applying", "wait", "applying")]
    assert found(memories.set_workflow_status(READY, "applying", "completed", NOON), "report").enabled


def test_a_completed_apply_still_counts_after_its_reset() -> None:
    memory = memories.set_workflow_status(plan_of(READY, "completed"), "applying", "completed", NOON)
    assert found(memories.reset_workflow(memory, OFFICE, "planning", NOON), "report").enabled


CHAIN = Definitions(
    (Info("found"),),
    (
        ActionDefinition("first", "immediate", "First", workflow="w1", produces=("found",)),
        ActionDefinition("second", "immediate", "Second", depends_on=("first",), requires=("found",)),
        ActionDefinition("third", "immediate", "Third", requires_workflow=(WorkflowNeeds("w1", "failed"),)),
    ),
)


def test_an_action_waits_for_those_that_it_depends_on() -> None:
    second = availability_of(CHAIN, EMPTY, NOON, CHAIN.action("second"))
    fix = Fix("run_action", "first")
    assert second.reasons == [BlockedReason("DEPENDENCY", "first", fix), BlockedReason("MISSING_INFO", "found", fix)]
    running = memories.set_workflow_status(EMPTY, "w1", "running", NOON)
    assert availability_of(CHAIN, running, NOON, CHAIN.action("second")).reasons[0].fix == Fix("wait", "w1")
    assert availability_of(CHAIN, running, NOON, CHAIN.action("first")).reasons[0].code == "ALREADY_RUNNING"
    done = memories.record_value(
        memories.set_workflow_status(running, "w1", "completed", NOON), "found", 1, API, NOON, CHAIN
    )
    assert [each.enabled for each in availability_of_all(CHAIN, done, NOON)] == [True, True, False]


def test_a_workflow_may_be_wanted_at_any_status() -> None:
    failed = memories.set_workflow_status(EMPTY, "w1", "failed", NOON)
    assert availability_of(CHAIN, failed, NOON, CHAIN.action("third")).enabled


def test_availability_comes_in_the_order_of_the_definitions() -> None:
    assert [each.action_id for each in availability_of_all(OFFICE, EMPTY, NOON)] == [each.id for each in OFFICE.actions]


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
@pytest.mark.parametrize("table", [REASONS, FIXES, REFUSALS])
def test_all_is_said_in_each_language(table: dict[str, dict[str, str]], language: str) -> None:
    assert all("{name}" in words[language] for words in table.values())


def test_reasons_are_told_with_the_names_that_people_know() -> None:
    missing = found(EMPTY, "plan").reasons
    assert reason_text(missing[0], OFFICE, "en") == "waiting for: Goal"
    assert reason_text(missing[0], OFFICE, "ja-JP") == "「目標」を待っています"
    assert reasons_text(missing, OFFICE, "en") == "waiting for: Goal; waiting for: Projects"
    assert fix_label(missing[1].fix, OFFICE, "ja") == "「案件」を取得"
    waiting = found(plan_of(READY, "planning"), "apply").reasons[0]
    assert fix_label(waiting.fix, OFFICE, "en") == "Wait for: Make a plan"


def test_refusals_are_told_with_the_names_that_people_know() -> None:
    _, refused = memories.apply_ops(EMPTY, [MemoryOp(op="not_needed", key="goal")], OFFICE, ANNA, NOON)
    assert rejected_operation_text(refused[0], OFFICE, "ja") == "「目標」は必須のため、省略できません"
