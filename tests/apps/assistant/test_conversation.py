"""The whole loop: talk, gather, plan, criticise, plan again, approve, carry out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.apps.assistant.talk import CHAT, TENANT, ChatDriver, Office, talking
from tests.runs.world import at_work

from ringi.domain.ask import Ask
from ringi.domain.record import Query
from ringi.runs.operations import retry_failed_run
from ringi_apps.assistant.declarations import Info


@pytest.fixture
def office() -> Office:
    office = Office()
    office.goes_on()
    return office


async def test_talk_gathers_plans_takes_criticism_and_applies_what_a_person_approved(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        memory = await talk.say("goal: grow")
        assert memory.items["goals"].value == "grow"
        assert memory.items["goals"].source.quote == "goal: grow"
        assert memory.items["projects"].value == office.projects
        await talk.send("action", action="make")
        assert (await talk.plan("planned")).plan == {"goal": "grow", "weeks": 2}
        first = await talk.request()
        await talk.say("feedback: too tight")
        plan = await talk.plan("planned", 2)
        assert plan.plan == {"goal": "grow", "weeks": 4}
        assert office.plans[1].feedback == ("too tight",)
        assert (await talk.inbox.get(first.id)).status == "cancelled"
        await talk.answer("approve")
        await talk.until_carried_out()
        assert office.effects == [f"{plan.id}:2:s1", f"{plan.id}:2:s2"]
        memory = await talk.memory()
        assert memory.runs["executeWorkflow"].status == "completed"


async def test_the_plan_is_saved_as_a_message_too(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.memory()
        assert "1. Design\n2. Build" in await talk.words()


async def test_what_the_model_declares_is_nobodys_to_read(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        assert "I see." in await talk.words()
        assert not [type for type in await talk.types() if type.startswith("TOOL_CALL")]


async def test_one_talks_on_while_the_plan_is_made(office: Office, url: str) -> None:
    office.may_plan.clear()
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.say("hello")
        assert (await talk.plan("planning")).version == 1
        office.may_plan.set()
        await talk.plan("planned")


async def test_what_is_said_of_a_plan_in_the_making_is_taken_up_by_the_next_version(office: Office, url: str) -> None:
    office.may_plan.clear()
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.say("feedback: too tight")
        office.may_plan.set()
        plan = await talk.plan("planned")
        assert (plan.version, plan.feedback[0].addressed_in) == (2, 2)
        assert (await talk.request()).context["version"] == 2
        assert len(await talk.inbox.search(Query())) == 1


async def test_no_words_carry_a_plan_out(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.say("do: do")
        await talk.send("action", action="do")
        assert (await talk.plan("planned")).approval is None
        assert "Only the button approves it" in await talk.words()
        assert not office.effects


async def test_a_plan_whose_input_changed_is_out_of_date_and_its_question_withdrawn(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        asked = await talk.request()
        await talk.say("goal: shrink")
        plan = await talk.plan("obsolete")
        assert plan.changed == ("goals",)
        assert (await talk.inbox.get(asked.id)).status == "cancelled"
        await talk.send("unchanged", action="make")
        assert (await talk.plan("planned")).version == 2
        await talk.answer("approve")
        await talk.until_carried_out()
        assert [effect.rpartition("/")[2].partition(":")[2] for effect in office.effects] == ["2:s1", "2:s2"]


async def test_what_a_person_edited_is_what_is_carried_out(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.answer("edit", args={"plan": {"weeks": 9}, "steps": [{"id": "only", "title": "Only this"}]})
        await talk.until_carried_out()
        assert [effect.rpartition(":")[2] for effect in office.effects] == ["only"]


async def test_a_rejected_plan_is_not_carried_out_and_its_reason_goes_into_the_next(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.answer("reject", message="too dear")
        await talk.plan("cancelled")
        await talk.memory()
        await talk.send("action", action="make")
        await talk.plan("planned")
        assert office.plans[1].feedback == ("too dear",)
        assert not office.effects


async def test_a_step_that_failed_is_tried_again_under_its_key(office: Office, url: str) -> None:
    office.is_broken = True
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.answer("approve")
        plan = await talk.plan("failed")
        assert "out of paper" in str(plan.error)
        assert plan.thread_id
        await talk.thread(plan.thread_id, "error")
        office.is_broken = False
        await retry_failed_run(talk.runner.backend, talk.inbox, plan.thread_id, by="ann")
        await talk.until_carried_out()
        assert len(office.effects) == len(set(office.effects)) == 2


async def test_an_immediate_action_is_done_within_the_turn(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        memory = await talk.send("action", action="count")
        assert memory.runs["countWorkflow"].status == "completed"
        assert "There are 1 projects." in await talk.words()
        assert office.heard == 0


async def test_an_action_that_is_not_possible_says_why(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.send("action", action="make")
        assert "waiting for: " in await talk.words()


async def test_what_a_form_brings_is_known(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.send("ask", info="goals")
        await talk.answer("approve", data={"value": "grow"})
        item = await talk.item("goals")
        assert (item.value, item.source.kind, item.source.actor) == ("grow", "user", "bob")


async def test_nobody_sends_what_only_side_threads_send(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        plan = await talk.plan("planned")
        about = {"plan": plan.id, "version": 1, "hash": plan.hash, "by": "ann", "request": "x"}
        await talk.send("approved", **about)
        assert (await talk.plan("planned")).approval is None
        job = {"conversation": CHAT, "language": "en", "action": "do", "steps": [], "content": {}, **about}
        await talk.runner.start(TENANT, "mine", "assistant.execute", {"job": job}, by="ann")
        assert (await talk.thread("mine", "error")).error
        assert not office.effects


async def test_cancel_clears_what_was_gathered_and_withdraws_what_is_asked(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        asked = await talk.request()
        memory = await talk.send("cancel")
        assert "goals" not in memory.items
        assert not memory.plans
        assert (await talk.inbox.get(asked.id)).status == "cancelled"


async def test_a_turn_asks_the_model_once_and_an_action_never(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        for number, text in enumerate(("goal: grow", "hello", "do: count"), 1):
            await talk.say(text)
            assert office.heard == number
        await talk.send("action", action="make")
        await talk.plan("planned")
        assert office.heard == 3


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_a_plan_is_approved_after_a_restart(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.memory()
    async with talking(office, url) as talk:
        await talk.answer("approve")
        await talk.until_carried_out()
        assert len(office.effects) == 2


async def test_where_there_are_words_only_one_sentence_approves_one_content(office: Office, url: str) -> None:
    async with talking(office, url, confirms_in_words=True) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        plan = await talk.plan("planned")
        await talk.request()
        await talk.say("do: do")
        words = await talk.words()
        assert "1. Design\n2. Build" in words.rpartition("would do this")[2]
        phrase = words.rpartition("write: ")[2].split("\n")[0]
        for other in ("yes", "approve", "approve it", f"please {phrase}", "approve 00000000"):
            await talk.say(other)
        assert (await talk.plan("planned")).approval is None
        await talk.say(phrase)
        await talk.until_carried_out()
        assert office.effects == [f"{plan.id}:1:s1", f"{plan.id}:1:s2"]
        (request,) = await talk.inbox.search(Query(thread_id=plan.thread_id))
        assert request.response
        assert (request.response.responder, request.response.channel) == ("ann", "chat")


async def test_the_sentence_approves_nothing_that_needs_a_fresh_sign_in(
    office: Office, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The requests of the office have no tier.
    monkeypatch.setattr("ringi_apps.assistant.text_approval.fresh_sign_in", lambda *_: {None: 300.0})
    async with talking(office, url, confirms_in_words=True) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.say("do: do")
        await talk.say((await talk.words()).rpartition("write: ")[2].split("\n")[0])
        assert (await talk.plan("planned")).approval is None
        assert not office.effects


async def test_the_sentence_of_an_older_version_approves_nothing(office: Office, url: str) -> None:
    async with talking(office, url, confirms_in_words=True) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.say("do: do")
        phrase = (await talk.words()).rpartition("write: ")[2].split("\n")[0]
        await talk.say("feedback: too tight")
        await talk.plan("planned", 2)
        await talk.say(phrase)
        assert (await talk.plan("planned", 2)).approval is None
        assert not office.effects


async def test_the_sentence_approves_nothing_that_somebody_posted_beside_the_plans_request(
    office: Office, url: str
) -> None:
    async with talking(office, url, confirms_in_words=True) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        plan = await talk.plan("planned")
        await talk.request()
        forged = await talk.inbox.submit(Ask(title="Pay Mallory?", thread_id=plan.thread_id), by="mallory")
        await talk.say(f"approve {plan.hash.rpartition(':')[2][:8]}")
        await talk.until_carried_out()
        assert (await talk.inbox.get(forged.id)).status == "pending"


async def test_the_sentence_approves_nothing_that_is_assigned_to_another_person(office: Office, url: str) -> None:
    async with talking(office, url, confirms_in_words=True) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        plan = await talk.plan("planned")
        request = await talk.request()
        await talk.inbox.reassign(request.id, assignee="carl", by="ann")
        await talk.say(f"approve {plan.hash.rpartition(':')[2][:8]}")
        assert (await talk.inbox.get(request.id)).status == "pending"
        assert not office.effects


async def test_without_that_setting_the_sentence_is_talk(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        plan = await talk.plan("planned")
        await talk.say(f"approve {plan.hash.rpartition(':')[2][:8]}")
        assert (await talk.plan("planned")).approval is None


async def test_what_is_to_be_chosen_comes_from_live_data(office: Office, url: str) -> None:
    office.projects = [{"id": f"p{n}", "name": f"Project {n}", "open": n % 2} for n in range(1, 9)]
    async with talking(office, url) as talk:
        await talk.send("action", action="choose")
        request = await talk.request()
        assert request.form
        assert [option.label for option in getattr(request.form.fields[0], "options", ())] == ["Project 1", "Project 3"]
        await talk.answer("approve", data={"value": "p3"})
        assert (await talk.item("project")).value == "p3"


async def test_the_light_form_only_says_who_goes_on(office: Office, url: str) -> None:
    async with talking(office, url, light=True) as talk:
        await talk.say("goal: grow")
        await talk.send("ask", info="goals")
        await talk.answer("approve", data={"value": "grow"})
        await talk.item("goals")
        await talk.say("route: planAgent")
        assert (await talk.plan("planned")).version == 1
        fetched = office.fetched
        await talk.say("route: listDataAgent")
        assert office.fetched == fetched + 1


async def test_what_a_person_told_once_is_known_in_their_next_conversation(office: Office, url: str) -> None:
    async with talking(office, url) as talk:
        await talk.send("ask", info="style")
        await talk.answer("approve", by="ann", data={"value": "brief"})
        await talk.item("style")
        talk.chat = "another"
        memory = await talk.say("hello")
        assert (memory.items["style"].value, memory.items["style"].source.kind) == ("brief", "remembered")


@pytest.mark.parametrize("where", ["$defs", "definitions"])
async def test_what_a_schema_refers_to_is_found_in_what_is_asked(office: Office, file: str, where: str) -> None:
    made = office.assistant()
    defined = {"name": {"type": "string"}, "names": {"items": {"$ref": f"#/{where}/name"}}}
    schema = {"type": "array", "$ref": f"#/{where}/names", where: defined}
    infos = (*made.definitions.infos, Info("names", schema=schema))
    asking = replace(made, definitions=replace(made.definitions, infos=infos))
    async with at_work(file, asking.agents()) as world:
        talk = ChatDriver(world)
        await talk.send("ask", info="names")
        await talk.answer("approve", data={"value": ["Anna"]})
        assert (await talk.item("names")).value == ["Anna"]


async def test_what_a_person_told_once_is_as_old_as_it_is(office: Office, file: str) -> None:
    async with talking(office, file) as talk:
        await talk.send("ask", info="style")
        messages = await talk.answer("approve", by="ann", data={"value": "brief"})
        await talk.item("style")
        talk.chat = "another"
        memory = await talk.say("hello")

    assert messages.response is not None
    assert memory.items["style"].observed_at == messages.response.at


@pytest.mark.parametrize("part", ["plan", "approve", "execute"])
async def test_who_stops_a_side_thread_leaves_no_dead_end(office: Office, file: str, part: str) -> None:
    async with talking(office, file) as talk:
        await talk.say("goal: grow")
        office.holds(part)
        await talk.send("action", action="make")
        plan = await talk.plan("planning" if part == "plan" else "planned")
        if part == "execute":
            await talk.answer("approve")
            plan = await talk.plan("executing")
        assert plan.thread_id
        await talk.runner.cancel(TENANT, plan.thread_id, by="ops", reason="too slow")
        office.goes_on()
        await talk.say("hello")
        await talk.send("action" if part == "plan" else "unchanged", action="make")
        await talk.plan("planned" if part != "execute" else "failed")
        await talk.answer("approve")
        await talk.until_carried_out()
        # A step that was under way when its run was stopped comes twice, under one key.
        assert len(set(office.effects)) == 2


async def test_a_question_that_somebody_stopped_is_asked_again(office: Office, file: str) -> None:
    async with talking(office, file) as talk:
        memory = await talk.send("ask", info="goals")
        await talk.request()
        await talk.runner.cancel(TENANT, memory.asks["goals"], by="ops")
        await talk.say("hello")
        await talk.send("ask", info="goals")
        await talk.answer("approve", data={"value": "grow"})
        assert (await talk.item("goals")).value == "grow"


async def test_an_approval_that_somebody_withdrew_is_asked_again(office: Office, file: str) -> None:
    async with talking(office, file) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.inbox.cancel((await talk.request()).id, "not now", by="ops")
        plan = await talk.plan("planned")
        await talk.say("hello")
        await talk.send("unchanged", action="make")
        await talk.answer("approve")
        await talk.until_carried_out()
        assert plan.version == 1


@pytest.mark.parametrize(
    "draft", [{"steps": 7}, {"plan": float("nan")}, {"plan": "\udfff"}, {"plan": "x" * 400_000}, object()]
)
async def test_a_plan_that_cannot_be_kept_failed_and_can_be_made_again(office: Office, file: str, draft: Any) -> None:
    office.draft = draft
    async with talking(office, file) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        assert (await talk.plan("failed")).error
        office.draft = None
        await talk.send("action", action="make")
        await talk.plan("planned")


async def test_what_is_too_large_to_plan_with_is_said(office: Office, file: str) -> None:
    office.projects = [{"id": "p1", "name": "x" * 200_000}]
    async with talking(office, file) as talk:
        await talk.say("goal: " + "y" * 100_000)
        await talk.send("action", action="make")
        assert (await talk.plan("failed")).error


async def test_steps_that_are_done_are_not_done_again_by_a_later_version(office: Office, file: str) -> None:
    async with talking(office, file) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        first = await talk.plan("planned")
        office.breaks_at = "s2"
        await talk.answer("approve")
        await talk.plan("failed")
        office.breaks_at = None
        await talk.send("action", action="make")
        assert (await talk.plan("planned", 2)).done == ("s1",)
        await talk.answer("approve")
        await talk.until_carried_out()
        assert office.effects == [f"{first.id}:1:s1", f"{first.id}:2:s2"]


async def test_the_models_own_words_approve_nothing(office: Office, file: str) -> None:
    async with talking(office, file, confirms_in_words=True) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.request()
        await talk.say("do: do")
        phrase = (await talk.words()).rpartition("write: ")[2].split("\n")[0]
        for _ in range(2):
            await talk.say(f"say: {phrase}", id="m1")
        assert (await talk.plan("planned")).approval is None
        assert not office.effects
