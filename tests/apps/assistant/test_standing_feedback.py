"""What people said of a plan stands until the plan is carried out: each later planning is told all of it."""

from __future__ import annotations

import pytest
from tests.apps.assistant.office import NOON
from tests.apps.assistant.talk import Office, talking

from ringi_apps.assistant import plans
from ringi_apps.assistant.declarations import ActionDefinition
from ringi_apps.assistant.plans import Feedback

URL = "memory://"
MAKE = ActionDefinition("make", "plan", "Make a plan", workflow="planWorkflow")


@pytest.fixture
def office() -> Office:
    office = Office()
    office.goes_on()
    return office


async def test_a_planner_is_told_all_feedback_of_all_versions_oldest_first(office: Office) -> None:
    async with talking(office, URL) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        for version, text in enumerate(("too tight", "too dear", "no weekends"), 2):
            await talk.say(f"feedback: {text}")
            await talk.plan("planned", version)
    feedback = [(job.feedback, job.new_feedback) for job in office.plans]
    assert feedback == [
        ((), ()),
        (("too tight",), ("too tight",)),
        (("too tight", "too dear"), ("too dear",)),
        (("too tight", "too dear", "no weekends"), ("no weekends",)),
    ]


@pytest.mark.parametrize("verb", ["again", "action"])
async def test_a_plan_that_is_made_again_is_told_what_was_said_before(office: Office, verb: str) -> None:
    async with talking(office, URL) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.say("feedback: too tight")
        await talk.plan("planned", 2)
        await talk.send(verb, action="make")
        await talk.plan("planned", 3)
    assert (office.plans[2].feedback, office.plans[2].new_feedback) == (("too tight",), ())


async def test_feedback_stands_through_a_rejection_a_changed_input_and_a_planning_that_failed(office: Office) -> None:
    async with talking(office, URL) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.say("feedback: too tight")
        await talk.plan("planned", 2)
        await talk.answer("reject", message="too dear")
        await talk.plan("cancelled", 2)
        office.draft = {"steps": "none"}
        await talk.send("again", action="make")
        await talk.plan("failed", 3)
        office.draft = None
        await talk.say("goal: shrink")
        await talk.send("again", action="make")
        await talk.plan("planned", 4)
    last = office.plans[3]
    assert last.feedback == ("too tight", "too dear")
    # The third version came to nothing, so the second is the one to go on from, and has not taken up the rejection.
    assert last.new_feedback == ("too dear",)
    assert last.previous
    assert last.previous["plan"] == {"goal": "grow", "weeks": 4}


async def test_a_new_plan_after_one_that_was_carried_out_begins_without_feedback(office: Office) -> None:
    async with talking(office, URL) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.say("feedback: too tight")
        await talk.plan("planned", 2)
        await talk.answer("approve")
        await talk.until_carried_out()
        await talk.say("goal: shrink")
        await talk.send("action", action="make")
        await talk.plan("planned")
    assert (office.plans[2].feedback, office.plans[2].previous) == ((), None)


def test_forty_remarks_one_version_each_are_all_told() -> None:
    plan = plans.next_plan_version(None, "p", MAKE, {}, None, NOON)
    for number in range(40):
        plan = plans.add_draft(plan, plan.version, {"plan": number}, {}, NOON)
        plan = plans.add_feedback(plan, Feedback(id=str(number), text=f"remark {number}", by="ann", at=NOON))
        plan = plans.next_plan_version(plan, "p", MAKE, {}, None, NOON)
    assert [each.text for each in plan.feedback] == [f"remark {number}" for number in range(40)]
