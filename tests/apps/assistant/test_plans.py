"""The state machine of a plan, without a memory, a clock or a store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.tiers import examples

from ringi.errors import InvalidError
from ringi.testing.clock import NOON
from ringi_apps.assistant import plans
from ringi_apps.assistant.declarations import ActionDefinition
from ringi_apps.assistant.plans import ContentDiff, Feedback, Plan, PlanError, Step

ACTION = ActionDefinition("make_plan", "plan", "Make a plan", workflow="projectPlanWorkflow")
INPUTS = {"projects": "sha256:p1", "goals": "sha256:g1"}
STEPS: list[dict[str, Any]] = [
    {"id": "design", "title": "Design"},
    {"id": "build", "title": "Build", "args": {"weeks": 6}},
]
DRAFT: dict[str, Any] = {"plan": {"priority": "high", "timeline": "Q1"}, "steps": STEPS}
LATER = NOON + timedelta(minutes=5)


def planning(plan: Plan | None = None, inputs: dict[str, str] = INPUTS) -> Plan:
    return plans.next_plan_version(plan, "p1", ACTION, inputs, "thread-1", NOON)


def planned(plan: Plan | None = None, draft: Any = DRAFT, inputs: dict[str, str] = INPUTS) -> Plan:
    begun = planning(plan, inputs)
    return plans.add_draft(begun, begun.version, draft, inputs, NOON)


def executing(plan: Plan | None = None) -> Plan:
    return approved(plan or planned())


def approved(plan: Plan, **other: Any) -> Plan:
    says: dict[str, Any] = {
        "version": plan.version,
        "plan_hash": plan.hash,
        "inputs_now": INPUTS,
        "request_id": "r1",
        **other,
    }
    return plans.approve_plan(plan, by="ann", now=LATER, **says)


def refusal(change: Callable[[], Plan]) -> PlanError:
    with pytest.raises(PlanError) as caught:
        change()
    return caught.value


def make_feedback(id: str, text: str = "the schedule is too tight") -> Feedback:
    return Feedback(id=id, text=text, by="ann", at=NOON)


def addressed(plan: Plan) -> dict[str, int | None]:
    return {each.id: each.addressed_in for each in plan.feedback}


def test_a_plan_is_made_approved_and_completed() -> None:
    made = planned()
    done = plans.mark_step_done(executing(made), 1, "design", LATER)

    assert (made.status, made.version, made.workflow, made.action_id) == ("planned", 1, ACTION.workflow, ACTION.id)
    assert plans.complete(done, 1, LATER).status == "completed"
    assert done.approval
    assert (done.approval.by, done.approval.request_id) == ("ann", "r1")
    assert done.done == ("design",)


def test_a_stored_plan_loads_again_as_it_was() -> None:
    plan = plans.add_feedback(executing(planned(planned())), make_feedback("f1"))

    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    assert Plan.model_validate(plan.model_dump(mode="json")) == plan


def test_the_hash_covers_id_version_plan_and_steps_and_nothing_else() -> None:
    made = planned()
    other_steps = [STEPS[0], {**STEPS[1], "args": {"weeks": 7}}]

    assert made.hash == planned().hash == plans.add_feedback(made, make_feedback("f1")).hash
    assert made.hash == planned(inputs={"projects": "sha256:p2"}).hash
    hashes = {
        made.hash,
        planned(made).hash,
        planned(draft={**DRAFT, "plan": {"priority": "low"}}).hash,
        planned(draft={**DRAFT, "steps": other_steps}).hash,
        plans.content_hash("p2", made.version, made.plan, made.steps),
    }
    assert len(hashes) == 5


def test_a_draft_that_comes_late_or_twice_changes_nothing() -> None:
    first, second = planning(), planning(planning())
    made = planned()

    assert plans.add_draft(second, first.version, DRAFT, INPUTS, LATER) is second
    assert plans.add_draft(made, made.version, {"plan": "another"}, INPUTS, LATER) is made


@pytest.mark.parametrize(
    ("draft", "names"),
    [
        ({"steps": [{"id": "a", "title": "A"}, {"id": "a", "title": "B"}]}, "steps: two steps have the same id"),
        ({"steps": [{"id": "a:b", "title": "A"}]}, "steps.0.id"),
        ({"steps": [{"id": "a", "title": "A", "tool": "x"}]}, "steps.0.tool"),
        ({"steps": "design"}, "steps"),
        ({"timeline": "Q1"}, "timeline: is not a field of a draft"),
        ({"plan": float("nan")}, "not portable JSON"),
        ({"plan": object()}, "not a JSON object"),
        ({}, "the draft is empty"),
        (None, "not a JSON object"),
        ("a plan", "not a JSON object"),
    ],
)
def test_a_draft_that_is_no_plan_fails_visibly_and_is_refused_from_a_person(draft: Any, names: str) -> None:
    plan = planned(draft=draft)

    assert plan.status == "failed"
    assert names in (plan.error or "")
    assert not plan.hash
    if draft != {}:
        with pytest.raises(InvalidError, match=names):
            plans.edit_plan(planned(), draft, "ann", INPUTS, LATER)


def test_a_plan_is_obsolete_exactly_by_the_inputs_that_changed_and_not_any_more_when_they_are_back() -> None:
    made = planned()
    now = {"projects": "sha256:p2", "budget": "sha256:b1"}
    obsolete = plans.check_inputs(made, now, LATER)

    assert (obsolete.status, obsolete.changed) == ("obsolete", ("budget", "goals", "projects"))
    assert plans.check_inputs(obsolete, now, LATER) is obsolete
    assert plans.check_inputs(obsolete, INPUTS | {"goals": "sha256:g2"}, LATER).changed == ("goals",)
    assert plans.check_inputs(obsolete, INPUTS, NOON) == made


def test_a_plan_whose_inputs_changed_while_it_was_made_is_born_obsolete() -> None:
    plan = plans.add_draft(planning(), 1, DRAFT, INPUTS | {"goals": "sha256:g2"}, LATER)

    assert (plan.status, plan.changed, plan.plan) == ("obsolete", ("goals",), DRAFT["plan"])


def test_an_approval_of_another_version_hash_input_or_status_lets_nothing_run() -> None:
    made = planned()
    newer = planned(made)
    tampered = made.model_copy(update={"plan": {"priority": "low"}})

    assert refusal(lambda: approved(newer, version=1, plan_hash=made.hash)).reason == "VERSION"
    assert refusal(lambda: approved(made, plan_hash=newer.hash)).reason == "HASH"
    assert refusal(lambda: approved(tampered)).reason == "HASH"
    assert refusal(lambda: approved(planning(), plan_hash="")).reason == "HASH"
    assert refusal(lambda: approved(plans.cancel(made, LATER))).reason == "STATUS"
    assert refusal(lambda: approved(plans.complete(executing(), 1, LATER))).reason == "STATUS"
    changed = refusal(lambda: approved(made, inputs_now=INPUTS | {"goals": "sha256:g2"}))
    assert (changed.reason, changed.changed) == ("OBSOLETE", ("goals",))
    assert "goals" in str(changed)
    assert "plan again" in str(changed)


def test_an_approval_that_arrives_twice_counts_once() -> None:
    running = plans.mark_step_done(executing(), 1, "design", LATER)

    assert approved(running) is running
    assert refusal(lambda: approved(running, request_id="r2")).reason == "STATUS"


def test_feedback_is_addressed_by_the_version_that_takes_it_up() -> None:
    plan = plans.add_feedback(planned(), make_feedback("f1"))
    again = planned(plan)
    late = plans.add_feedback(plans.add_feedback(planning(again), make_feedback("f2")), make_feedback("f2"))

    assert addressed(plan) == {"f1": None}
    assert addressed(again) == {"f1": 2}
    assert addressed(late) == {"f1": 2, "f2": None}
    assert addressed(planned(late)) == {"f1": 2, "f2": 4}


@pytest.mark.parametrize(
    "ended",
    [
        lambda plan: plans.fail(plan, 2, "no model", LATER),
        lambda plan: plans.cancel(plan, LATER),
        lambda plan: plans.add_draft(plan, 2, {}, INPUTS, LATER),
    ],
    ids=["failed", "cancelled", "no plan"],
)
def test_feedback_is_open_again_when_the_version_that_took_it_up_came_to_nothing(
    ended: Callable[[Plan], Plan],
) -> None:
    begun = planning(plans.add_feedback(planned(), make_feedback("f1")))

    assert addressed(ended(begun)) == {"f1": None}
    assert addressed(planned(ended(begun))) == {"f1": 3}
    assert addressed(planned(begun)) == {"f1": 3}, "a planning that another has overtaken"


def test_approving_unchanged_keeps_the_content_and_needs_another_approval() -> None:
    made = planned()
    now = INPUTS | {"goals": "sha256:g2"}
    pinned = plans.pin_inputs(plans.check_inputs(made, now, LATER), now, "thread-2", LATER)

    assert (pinned.status, pinned.version, pinned.thread_id) == ("planned", 2, "thread-2")
    assert (pinned.plan, pinned.steps, pinned.diff) == (made.plan, made.steps, ContentDiff())
    assert pinned.changed == ()
    assert refusal(lambda: approved(pinned, plan_hash=made.hash, inputs_now=now)).reason == "HASH"
    assert approved(pinned, inputs_now=now).status == "executing"
    assert [(past.version, past.status) for past in pinned.versions] == [(1, "obsolete")]


def test_an_edit_is_the_next_version_by_that_person_and_keeps_what_it_does_not_name() -> None:
    made = planned()
    fewer = plans.edit_plan(made, {"steps": STEPS[:1]}, "ben", INPUTS, LATER)

    assert (fewer.version, fewer.author, fewer.plan, fewer.steps) == (2, "ben", made.plan, made.steps[:1])
    assert fewer.diff == ContentDiff(removed=("build",))
    assert planned(fewer).author is None


def test_a_diff_names_steps_by_id_and_the_rest_by_its_key() -> None:
    draft = {
        "plan": {"priority": "low", "resources": ["design team"]},
        "steps": [{"id": "test", "title": "Test"}, {**STEPS[1], "args": {"weeks": 7}}],
    }
    worded = planned(planned(draft={"plan": "in words"}), {"plan": "in other words"})

    assert planned(planned(), draft).diff == ContentDiff(
        added=("plan.resources", "test"), removed=("plan.timeline", "design"), changed=("plan.priority", "build")
    )
    assert worded.diff == ContentDiff(changed=("plan",))
    assert planned().diff == ContentDiff()


def test_a_version_that_came_to_nothing_is_none_to_compare_with() -> None:
    failed = plans.fail(planning(planned()), 2, "no model", LATER)
    third = planned(failed, {**DRAFT, "steps": STEPS[:1]})

    assert [past.version for past in third.versions] == [1]
    assert third.diff == ContentDiff(removed=("build",))


def test_an_execution_that_failed_may_be_approved_again_and_goes_on_with_the_same_keys() -> None:
    running = plans.mark_step_done(executing(), 1, "design", LATER)
    failed = plans.fail(running, 1, "the API is away", LATER)
    again = approved(failed, request_id="r2")

    assert (failed.status, failed.error) == ("failed", "the API is away")
    assert (again.status, again.done, again.error) == ("executing", ("design",), None)
    assert (again.id, again.version, again.steps[0].id) == (running.id, running.version, running.steps[0].id)
    assert refusal(lambda: approved(failed, inputs_now={})).reason == "OBSOLETE"
    assert refusal(lambda: approved(plans.fail(planning(), 1, "no model", LATER), plan_hash="")).reason == "HASH"


def test_what_executes_is_neither_planned_again_nor_edited_nor_pinned() -> None:
    running = executing()

    assert refusal(lambda: planning(running)).reason == "STATUS"
    assert refusal(lambda: plans.edit_plan(running, {"plan": 1}, "ann", INPUTS, LATER)).reason == "STATUS"
    assert refusal(lambda: plans.pin_inputs(running, INPUTS, None, LATER)).reason == "STATUS"
    assert plans.check_inputs(running, {}, LATER) is running


def test_what_is_told_late_of_another_version_changes_nothing() -> None:
    running = executing(planned(planned()))

    assert plans.mark_step_done(running, 1, "design", LATER) is running
    assert plans.mark_step_done(running, 2, "unknown", LATER) is running
    assert plans.complete(running, 1, LATER) is running
    assert plans.fail(running, 1, "late", LATER) is running
    assert plans.mark_step_done(planned(), 1, "design", LATER) == planned()


def test_a_step_whose_news_comes_after_the_end_still_counts_as_done() -> None:
    ended = plans.complete(executing(), 1, LATER)

    assert plans.mark_step_done(ended, 1, "design", LATER).done == ("design",)
    assert plans.cancel(ended, LATER) is ended


@settings(max_examples=examples(300))
@given(
    *[st.tuples(st.text("p:1", min_size=1, max_size=3), st.integers(1, 12), st.sampled_from(["1", "2", "s"]))] * 2,
)
def test_keys_are_one_per_plan_version_and_step(one: tuple[str, int, str], other: tuple[str, int, str]) -> None:
    assert (plans.format_step_key(*one) == plans.format_step_key(*other)) == (one == other)


WORLDS = st.sampled_from([{"a": "1"}, {"a": "2"}, {"a": "1", "b": "1"}])
LATE = st.sampled_from([0, 0, 0, 1, 2])
"""By how many versions something comes late."""
STEP_IDS = st.sampled_from(["x", "y", "z"])
DRAFTS = st.fixed_dictionaries(
    {"plan": st.one_of(st.integers(0, 2), st.dictionaries(st.sampled_from(["k", "l"]), st.integers(0, 1)))},
    optional={
        "steps": st.lists(STEP_IDS, unique=True).map(lambda ids: [{"id": id, "title": id.upper()} for id in ids])
    },
)


class Planning(RuleBasedStateMachine):
    """Every order of everything that can happen to a plan, with old hashes, versions and inputs among it."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = plans.next_plan_version(None, "p1", ACTION, {"a": "1"}, None, NOON)
        self.inputs = {"a": "1"}
        """What the world is now."""
        self.contents: dict[int, tuple[Any, tuple[Step, ...], str]] = {}
        """What each version that had content was, and its hash."""
        self.feedback_count = 0

    def became(self, plan: Plan) -> None:
        assert plan.version >= self.plan.version
        assert plan.version > self.plan.version or not self.plan.hash or plan.hash == self.plan.hash
        if plan.hash:
            before = self.contents.setdefault(plan.version, (plan.plan, plan.steps, plan.hash))
            assert before == (plan.plan, plan.steps, plan.hash), "a version changed its content"
        self.plan = plan

    @rule(inputs=WORLDS)
    def the_world_changes(self, inputs: dict[str, str]) -> None:
        self.inputs = inputs

    @rule()
    def plan_again(self) -> None:
        if self.plan.status == "executing":
            assert (
                refusal(lambda: plans.next_plan_version(self.plan, "new", ACTION, self.inputs, None, NOON)).reason
                == "STATUS"
            )
            return
        opened = {each.id for each in self.plan.feedback if each.addressed_in is None}
        self.became(plans.next_plan_version(self.plan, "new", ACTION, self.inputs, None, NOON))
        assert opened <= {each.id for each in self.plan.feedback if each.addressed_in == self.plan.version}

    @rule(back=LATE, draft=DRAFTS)
    def a_draft_arrives(self, back: int, draft: dict[str, Any]) -> None:
        before = self.plan
        self.became(plans.add_draft(before, before.version - back, draft, self.inputs, NOON))
        assert self.plan is before or (back == 0 and before.status == "planning")

    @rule()
    def somebody_criticises(self) -> None:
        self.feedback_count += 1
        self.became(plans.add_feedback(self.plan, make_feedback(f"f{self.feedback_count}")))

    @rule()
    def look(self) -> None:
        self.became(plans.check_inputs(self.plan, self.inputs, NOON))
        if self.plan.status in ("planned", "obsolete"):
            differs = plans.changed_inputs(self.plan.inputs, self.inputs)
            assert (self.plan.status == "obsolete", self.plan.changed) == (bool(differs), differs)

    @precondition(lambda self: self.plan.status in ("planned", "obsolete"))
    @rule()
    def approve_unchanged(self) -> None:
        before = self.plan
        self.became(plans.pin_inputs(before, self.inputs, None, NOON))
        assert (self.plan.plan, self.plan.steps) == (before.plan, before.steps)
        assert self.plan.version == before.version + 1
        assert self.plan.hash != before.hash

    @precondition(lambda self: self.plan.status in ("planned", "obsolete"))
    @rule(draft=DRAFTS)
    def edit(self, draft: dict[str, Any]) -> None:
        self.became(plans.edit_plan(self.plan, draft, "ann", self.inputs, NOON))

    @precondition(lambda self: self.contents)
    @rule(data=st.data(), is_right=st.booleans(), request_id=st.sampled_from(["r1", "r2"]))
    def approve(self, data: st.DataObject, is_right: bool, request_id: str) -> None:
        before = self.plan
        known = st.sampled_from(sorted(self.contents)[-3:])
        newest = max(self.contents)
        version, shown_version = (newest, newest) if is_right else (data.draw(known), data.draw(known))
        plan_hash = self.contents[shown_version][2]
        try:
            self.became(plans.approve_plan(before, version, plan_hash, "ann", request_id, self.inputs, NOON))
        except PlanError as error:
            self.is_refused_rightly(error, version, shown_version)
            return
        assert version == shown_version == self.plan.version
        if self.plan is not before:
            assert self.plan.inputs == self.inputs
            assert before.status in ("planned", "obsolete", "failed")

    def is_refused_rightly(self, error: PlanError, version: int, shown_version: int) -> None:
        plan, differs = self.plan, plans.changed_inputs(self.plan.inputs, self.inputs)
        assert error.changed == (differs if error.reason == "OBSOLETE" else ())
        assert (
            differs
            or plan.status not in ("planned", "obsolete")
            or (version, shown_version) != (plan.version, plan.version)
        )

    @rule(back=LATE, step=STEP_IDS)
    def a_step_is_done(self, back: int, step: str) -> None:
        self.became(plans.mark_step_done(self.plan, self.plan.version - back, step, NOON))

    @rule(back=LATE, is_well=st.booleans())
    def the_side_thread_ends(self, back: int, is_well: bool) -> None:
        version, before = self.plan.version - back, self.plan
        ended = plans.complete(before, version, NOON) if is_well else plans.fail(before, version, "broken", NOON)
        self.became(ended)
        assert self.plan is before or (back == 0 and before.status in ("planning", "executing"))

    @precondition(lambda self: self.plan.version > 3)
    @rule()
    def cancel(self) -> None:
        self.became(plans.cancel(self.plan, NOON))

    @invariant()
    def a_plan_that_executes_was_approved_as_it_is(self) -> None:
        plan = self.plan
        if plan.status in ("executing", "completed"):
            assert plan.approval
            assert plan.approval.plan_hash == plan.hash
            assert not plan.changed
        assert set(plan.done) <= {step.id for step in plan.steps}
        assert not plan.done or plan.approval or any(past.done for past in plan.versions)

    @invariant()
    def only_an_obsolete_plan_names_changed_inputs(self) -> None:
        assert self.plan.status not in ("planned", "obsolete") or (self.plan.status == "obsolete") == bool(
            self.plan.changed
        )

    @invariant()
    def feedback_is_taken_up_by_one_version_that_came_or_comes_to_content(self) -> None:
        feedback = self.plan.feedback
        assert len({each.id for each in feedback}) == len(feedback)
        coming = {self.plan.version} if self.plan.status == "planning" else set()
        assert {each.addressed_in for each in feedback} - {None} <= set(self.contents) | coming

    @invariant()
    def it_stays_small_and_loads_again(self) -> None:
        versions = [past.version for past in self.plan.versions]
        assert versions == sorted(self.contents.keys() - {self.plan.version})[-plans.MAX_VERSIONS :]
        assert Plan.model_validate_json(self.plan.model_dump_json()) == self.plan


TestPlanning = cast("Any", Planning).TestCase
TestPlanning.settings = settings(max_examples=examples(300), stateful_step_count=40, deadline=None)
