"""A confirmed action plans itself: a person approves the values that it requires, and it runs with exactly these."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.apps.assistant.office import NOON, nothing
from tests.apps.assistant.talk import ChatDriver
from tests.runs.world import at_work
from tests.server.world import is_at_rest, open_world, until

from ringi.errors import InvalidError
from ringi.testing import ScriptedModel
from ringi_apps.assistant import ANY, ActionDefinition, Assistant, Definitions, Info, InfoHandler, StepJob
from ringi_apps.assistant.action_commands import ActionCommands
from ringi_apps.assistant.availability import availability_of
from ringi_apps.assistant.definitions import DefinitionError
from ringi_apps.assistant.event_context import TurnResult
from ringi_apps.assistant.memory import ContextMemory, Provenance, record_value
from ringi_apps.assistant.reducer import ConversationReducer
from ringi_apps.assistant.views import actions_view

BOOK = ActionDefinition(
    "book", "apply", {"en": "Book", "ja": "予約する"}, workflow="booking", requires=("day", "people"), confirmed=True
)
HOTEL = Definitions(
    (
        Info("day", {"en": "Day", "ja": "日"}, schema={"type": "string"}, may_be_any=True),
        Info("people", {"en": "People", "ja": "人数"}, schema={"type": "integer"}, default=2),
        Info("name", "Name"),
    ),
    (BOOK, ActionDefinition("clear", "cancel", "Start over")),
)


def turn(memory: ContextMemory, sender: str = "ann", definitions: Definitions = HOTEL, **event: Any) -> TurnResult:
    language = event.pop("language", "en")
    return ConversationReducer(definitions, "chat", NOON, sender, "run", language=language).apply(memory, event)


def tell(memory: ContextMemory, definitions: Definitions = HOTEL, language: str = "en", **values: Any) -> TurnResult:
    ops = [{"op": "set", "key": key, "value": value} for key, value in values.items()]
    return turn(memory, definitions=definitions, language=language, type="said", message="m1", ops=ops)


def clear(memory: ContextMemory, key: str) -> TurnResult:
    return turn(memory, type="said", ops=[{"op": "clear", "key": key}])


def decide(memory: ContextMemory, type: str = "approved", **more: Any) -> TurnResult:
    plan = memory.plans["booking"]
    about: dict[str, Any] = {"plan": plan.id, "version": plan.version, "hash": plan.hash, "by": "ann", "request": "r1"}
    return turn(memory, f"thread:{plan.thread_id}", type=type, **about, **more)


def executed(memory: ContextMemory) -> TurnResult:
    going = decide(memory)
    plan = going.memory.plans["booking"]
    return turn(going.memory, f"thread:{plan.thread_id}", type="executed", plan=plan.id, version=plan.version)


BEGUN = turn(ContextMemory()).memory
ASKED = tell(BEGUN, day="Monday")


def test_it_asks_for_approval_as_soon_as_all_that_it_needs_is_known() -> None:
    assert (BEGUN.plans, availability_of(HOTEL, BEGUN, NOON, BOOK).reasons[0].code) == ({}, "MISSING_INFO")
    plan = ASKED.memory.plans["booking"]
    assert (plan.status, plan.version, plan.plan) == ("planned", 1, {"Day": "Monday", "People": 2})
    assert [step.args for step in plan.steps] == [{"day": "Monday", "people": 2}]
    (start,) = ASKED.begin
    assert (start.kind, start.job["action"], start.thread) == ("approve", "book", plan.thread_id)
    assert [each.code for each in ASKED.sentences] == ["planned", "defaults"]
    # That it is proposed is no run of it: nothing that depends on it is possible.
    assert ASKED.memory.runs == {}


def test_the_plan_is_in_the_language_of_the_conversation() -> None:
    plan = tell(BEGUN, language="ja", day=ANY).memory.plans["booking"]
    assert (plan.plan, plan.steps[0].title) == ({"日": "どれでもよい", "人数": 2}, "予約する")
    assert plan.steps[0].args["day"] == ANY


def test_infos_with_the_same_title_are_both_in_the_plan() -> None:
    infos = tuple(replace(each, title="X") for each in HOTEL.infos)
    plan = tell(BEGUN, replace(HOTEL, infos=infos), day="Monday").memory.plans["booking"]
    assert plan.plan == {"X (day)": "Monday", "X (people)": 2}


def test_an_approval_runs_it_with_exactly_these_values() -> None:
    going = decide(ASKED.memory)
    (start,) = going.begin
    assert (start.kind, start.job["inputs"]) == ("execute", {"day": "Monday", "people": 2})
    assert start.job["steps"][0]["args"] == {"day": "Monday", "people": 2}
    assert (going.memory.plans["booking"].status, going.memory.runs["booking"].status) == ("executing", "executing")


def test_another_value_is_the_next_version_with_a_request_of_its_own() -> None:
    outcome = tell(ASKED.memory, people=5)
    plan = outcome.memory.plans["booking"]
    assert (plan.version, plan.status, plan.plan) == (2, "planned", {"Day": "Monday", "People": 5})
    assert outcome.stop == (ASKED.memory.plans["booking"].thread_id,)
    assert [each.kind for each in outcome.begin] == ["approve"]


def test_an_approval_of_the_version_before_runs_nothing() -> None:
    plan, now = ASKED.memory.plans["booking"], tell(ASKED.memory, people=5).memory
    about: dict[str, Any] = {"plan": plan.id, "version": plan.version, "hash": plan.hash, "by": "ann", "request": "r1"}
    late = turn(now, f"thread:{plan.thread_id}", type="approved", **about)
    assert (late.begin, [each.code for each in late.sentences]) == ((), ["too_late"])


@pytest.mark.parametrize("again", [{"day": "Monday"}, {"people": 2}, {"day": "Monday", "people": 2}, {"name": "Ann"}])
def test_a_value_that_it_was_made_with_and_values_of_others_change_nothing(again: dict[str, Any]) -> None:
    outcome = tell(ASKED.memory, **again)
    assert outcome.memory.plans == ASKED.memory.plans
    assert (outcome.begin, outcome.stop) == ((), ())


def test_a_value_that_is_taken_back_withdraws_the_request() -> None:
    outcome = clear(ASKED.memory, "day")
    assert outcome.memory.plans["booking"].status == "cancelled"
    assert outcome.stop == (ASKED.memory.plans["booking"].thread_id,)
    assert "I no longer ask to approve “Book”, because this is missing now: Day." in outcome.sentences[0].in_language(
        "en"
    )
    assert tell(outcome.memory, day="Monday").memory.plans["booking"].status == "planned"


def test_the_default_comes_back_into_the_plan_when_a_value_is_taken_back() -> None:
    outcome = clear(tell(ASKED.memory, people=5).memory, "people")
    assert outcome.memory.plans["booking"].plan == {"Day": "Monday", "People": 2}


def test_after_a_rejection_it_is_proposed_with_other_values_or_by_its_button() -> None:
    rejected = decide(ASKED.memory, "rejected", text="no")
    assert (rejected.memory.plans["booking"].status, rejected.begin) == ("cancelled", ())
    assert tell(rejected.memory, name="Ann").begin == ()
    assert tell(rejected.memory, people=5).memory.plans["booking"].plan == {"Day": "Monday", "People": 5}
    assert availability_of(HOTEL, rejected.memory, NOON, BOOK).enabled
    pressed = turn(rejected.memory, type="action", action="book")
    assert (pressed.memory.plans["booking"].status, pressed.memory.plans["booking"].version) == ("planned", 2)
    # Its remark is no remark about a plan that a model writes.
    assert pressed.memory.plans["booking"].feedback == ()


def test_after_its_end_it_waits_for_the_next_values() -> None:
    done = executed(ASKED.memory)
    assert (done.memory.plans["booking"].status, done.begin) == ("completed", ())
    assert "day" not in done.memory.items
    again = tell(done.memory, day="Monday").memory.plans["booking"]
    assert (again.status, again.version) == ("planned", 1)
    assert again.id != ASKED.memory.plans["booking"].id


def failed(memory: ContextMemory) -> TurnResult:
    going = decide(memory)
    plan = going.memory.plans["booking"]
    about: dict[str, Any] = {"plan": plan.id, "version": plan.version, "error": "no paper"}
    return turn(going.memory, f"thread:{plan.thread_id}", type="execution_failed", **about)


@pytest.mark.parametrize("required", ["book", None])
def test_a_failed_execution_is_tried_again_as_the_same_version(required: str | None) -> None:
    broken = failed(ASKED.memory).memory
    assert broken.plans["booking"].status == "failed"
    event: dict[str, Any] = {"type": "said", "required": [{"type": "book"}]}
    again = turn(broken, **(event if required else {"type": "unchanged", "action": "book"}))
    plan = again.memory.plans["booking"]
    assert (plan.version, plan.hash) == (1, broken.plans["booking"].hash)
    assert [start.kind for start in again.begin] == ["approve"]
    # With another value it is another version.
    assert tell(broken, day="Tuesday").memory.plans["booking"].version == 2


def test_keeping_it_unchanged_shows_the_values_that_it_will_get() -> None:
    # A value that comes from another conversation changes without an event.
    source = Provenance(kind="remembered", actor="ann")
    changed = record_value(ASKED.memory, "people", 5, source, NOON, HOTEL)
    plan = turn(changed, type="unchanged", action="book").memory.plans["booking"]
    assert plan.plan == {"Day": "Monday", "People": 5}
    assert plan.steps[0].args == {"day": "Monday", "people": 5}


def test_a_value_that_comes_during_the_execution_is_answered() -> None:
    going = decide(ASKED.memory).memory
    assert [each.code for each in tell(going, people=5).sentences] == ["executing"]
    assert tell(going, name="Ann").sentences == ()


def test_a_fetched_value_alone_does_not_propose_it_again() -> None:
    hotel = replace(
        HOTEL,
        infos=(*HOTEL.infos, Info("stock", "Stock", handler="look")),
        actions=(replace(BOOK, requires=("day", "stock"), keep=("day",)), HOTEL.actions[1]),
        handlers=(InfoHandler("look", nothing),),
    )
    source = Provenance(kind="handler", actor="look")
    start = tell(turn(ContextMemory(), definitions=hotel).memory, hotel, day="Monday").memory
    asked = proposed(hotel, start, record_value(start, "stock", 3, source, NOON, hotel))
    plan = asked.plans["booking"]
    assert (plan.status, plan.version) == ("planned", 1)
    for status in ("completed", "cancelled"):
        ended = start.with_plan(plan.model_copy(update={"status": status}))
        again = record_value(ended, "stock", 3, source, NOON, hotel)
        assert proposed(hotel, ended, again).plans["booking"].status == status


def proposed(hotel: Definitions, before: ContextMemory, memory: ContextMemory) -> ContextMemory:
    """Return the memory with what is proposed after a change."""
    return ConversationReducer(hotel, "chat", NOON, "ann", "run").propose_confirmed(memory, before).memory


def test_a_text_of_several_lines_imitates_no_other_value() -> None:
    plan = tell(BEGUN, day="Monday\n- People: 1").memory.plans["booking"]
    assert plan.plan == {"Day": '"Monday\\n- People: 1"', "People": 2}
    assert plan.steps[0].args["day"] == "Monday\n- People: 1"


def test_what_it_keeps_does_not_propose_it_again() -> None:
    keeping = replace(HOTEL, actions=(replace(BOOK, keep=("day",)), HOTEL.actions[1]))
    asked = tell(BEGUN, keeping, day="Monday", people=5)
    plan = asked.memory.plans["booking"]
    about = {"plan": plan.id, "version": 1}
    approved = {**about, "type": "approved", "hash": plan.hash, "by": "ann", "request": "r1"}
    going = turn(asked.memory, f"thread:{plan.thread_id}", keeping, **approved)
    done = turn(going.memory, f"thread:{going.begin[0].thread}", keeping, type="executed", **about)
    assert {key: item.value for key, item in done.memory.items.items()} == {"day": "Monday", "people": 2}
    assert done.begin == ()
    assert tell(done.memory, keeping, people=3).memory.plans["booking"].plan == {"Day": "Monday", "People": 3}


def test_defaults_alone_propose_nothing() -> None:
    infos = tuple(replace(each, default="Monday") if each.key == "day" else each for each in HOTEL.infos)
    definitions = replace(HOTEL, infos=infos)
    begun = turn(ContextMemory(), definitions=definitions, type="nothing").memory
    assert tell(begun, definitions, name="Ann").begin == ()
    assert turn(begun, definitions=definitions, type="action", action="book").begin[0].kind == "approve"
    assert tell(begun, definitions, people=3).begin[0].kind == "approve"
    cleared = turn(tell(begun, definitions, people=3).memory, definitions=definitions, type="action", action="clear")
    assert (cleared.memory.plans, cleared.begin) == ({}, ())


def test_an_open_request_is_named_and_not_repeated_when_a_model_requires_it() -> None:
    required = turn(ASKED.memory, type="said", message="m2", required=[{"type": "book"}])
    assert ([each.code for each in required.sentences], required.begin) == (["approve"], ())
    at_once = turn(
        BEGUN, type="said", ops=[{"op": "set", "key": "day", "value": "Monday"}], required=[{"type": "book"}]
    )
    assert [each.kind for each in at_once.begin] == ["approve"]


def test_a_remark_about_a_plan_is_not_about_it() -> None:
    outcome = turn(ASKED.memory, type="said", message="m2", ops=[{"op": "feedback", "text": "too early"}])
    assert outcome.memory.plans == ASKED.memory.plans


def test_its_plan_may_be_requested_again_by_command() -> None:
    lapsed = decide(ASKED.memory, "lapsed").memory
    commands = ActionCommands(HOTEL, lapsed, actions_view(HOTEL, lapsed, NOON, "en"))
    assert commands.build_event("again:book", {}) == {"type": "again", "action": "book"}
    assert turn(lapsed, type="again", action="book").begin[0].kind == "approve"
    with pytest.raises(InvalidError):
        commands.build_event("again:clear", {})


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (replace(BOOK, kind="immediate"), "is confirmed, but only an 'apply' can be"),
        (replace(BOOK, requires=()), "requires no info, so there is nothing to confirm"),
        (replace(BOOK, depends_on=("plan",)), "plans itself, but it also applies 'plan'"),
        (replace(BOOK, produces=("name",)), "is confirmed and produces 'name'"),
    ],
)
def test_a_confirmed_action_that_cannot_be_is_refused(action: ActionDefinition, words: str) -> None:
    plan = ActionDefinition("plan", "plan", "Plan", workflow="planning", requires=("day",))
    with pytest.raises(DefinitionError) as caught:
        Definitions(HOTEL.infos, (plan, action), (InfoHandler("x", nothing),))
    assert words in str(caught.value)


async def test_a_conversation_confirms_and_runs_it_without_a_model(file: str) -> None:
    jobs: asyncio.Queue[StepJob] = asyncio.Queue()

    def refuse(_: Any) -> str:
        raise AssertionError("no model is needed")

    made = Assistant("assistant", HOTEL, ScriptedModel(script=refuse), {"booking": jobs.put})
    async with at_work(file, made.agents()) as world:
        talk = ChatDriver(world)
        await talk.send("ask", info="day")
        await talk.answer("approve", data={"value": "Monday"})

        async def is_asked() -> bool:
            plan = (await talk.memory()).plans.get("booking")
            return plan is not None and plan.status == "planned"

        await until(is_asked)
        request = await talk.request()
        assert (request.kind, set(request.allowed)) == ("approval", {"approve", "reject"})
        assert "the defaults are used: People: 2." in (request.description or "")
        await talk.answer("approve")
        job = await jobs.get()
        assert (job.inputs, job.step["args"]) == ({"day": "Monday", "people": 2}, {"day": "Monday", "people": 2})

        async def is_completed() -> bool:
            return (await talk.memory()).plans["booking"].status == "completed"

        await until(is_completed)


async def test_over_http_the_button_asks_again_and_approves_with_the_digest(file: str) -> None:
    jobs: asyncio.Queue[StepJob] = asyncio.Queue()
    made = Assistant("hotel", HOTEL, ScriptedModel(script=lambda _: "hello"), {"booking": jobs.put})
    at, body = "/v1/assistants/c1", {"agent": "hotel"}
    async with open_world(file, more_agents=made.agents()) as world:
        ann, seen = world.client(), list[dict[str, Any]]()

        async def is_asked(version: int) -> bool:
            seen[:] = (await ann.get(f"{at}/memory?agent=hotel")).json()["plans"]
            return bool(seen and seen[0]["version"] == version and seen[0]["request"])

        people = (await ann.get(f"{at}/memory?agent=hotel")).json()["items"][1]
        assert (people["value"], people["source"]["kind"]) == (2, "default")
        refused = await ann.post(f"{at}/actions/book", json=body)
        assert (refused.status_code, refused.json()["reasons"][0]["key"]) == (409, "day")
        assert (await ann.post(f"{at}/actions/any:people", json=body)).status_code == 422
        assert (await ann.post(f"{at}/actions/any:day", json=body)).status_code == 202
        await until(partial(is_asked, 1))
        assert seen[0]["defaults"] == [{"key": "people", "title": "People", "value": 2}]
        without = await ann.post(f"{at}/actions/book", json=body)
        assert (without.status_code, "digest" in without.text) == (422, True)
        request = seen[0]["request"]
        answer = {"decision": "reject", "digest": request["digest"]}
        assert (await ann.post(f"/v1/requests/{request['id']}/respond", json=answer)).status_code == 200

        async def is_cancelled() -> bool:
            return bool((await ann.get(f"{at}/memory?agent=hotel")).json()["plans"][0]["status"] == "cancelled")

        await until(is_cancelled)
        assert (await ann.post(f"{at}/actions/book", json=body)).status_code == 202
        await until(partial(is_asked, 2))
        approved = await ann.post(f"{at}/actions/book", json={**body, "digest": seen[0]["request"]["digest"]})
        assert approved.status_code == 200
        assert (await jobs.get()).inputs == {"day": ANY, "people": 2}
        await until(partial(is_at_rest, world))
