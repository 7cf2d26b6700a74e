"""A conversation with an Engrammer over HTTP: all its threads as one, with what became of what each turn taught."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import jsonschema_rs
import pytest
from langchain_core.messages import AIMessage
from tests.apps.engrammer.lab import Models, Thoughtful, insight
from tests.apps.engrammer.served import Json, asked, decide, get, is_, once, pending, post, refused, served, taught
from tests.runs.world import before_next_save
from tests.server.world import World, open_world, until

from ringi.domain.thread import Thread
from ringi_apps.engrammer import Engrammer, playbook
from ringi_apps.engrammer.thread_ids import MAX_THREADS

CLAMP, SAND, OIL = "Clamp a joint for thirty minutes.", "Sand along the grain.", "Wipe oil off after ten minutes."
ASK, BOTH, PLAIN = "How long do I clamp?", "What about sanding and oil?", "What teaches nothing?"


@pytest.fixture
def models() -> Models:
    lessons = {ASK: [insight(CLAMP, quotes=["Answer to"], why="It held.")], BOTH: [insight(SAND), insight(OIL)]}
    return Models(lessons=lessons)


@pytest.fixture(params=["memory", "sqlite"])
async def world(request: pytest.FixtureRequest, tmp_path: Path, models: Models) -> AsyncIterator[World]:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/ringi.db"
    async with served(url, models) as world:
        yield world


def statuses(conversation: Json) -> dict[str, str]:
    return {each["text"]: each["status"] for turn in conversation["turns"] for each in turn["insights"]}


async def test_a_conversation_shows_its_answer_and_what_waits_with_its_evidence(world: World) -> None:
    conversation = await asked(world.client(), ASK)
    assert (conversation["id"], conversation["agent"], conversation["status"]) == ("c1", "engrammer", "interrupted")
    (turn,) = conversation["turns"]
    assert (turn["query"], turn["response"], turn["phase"]) == (ASK, f"Answer to: {ASK}", "reviewing")
    assert turn["feedback"]["source"] == "self"
    assert turn["usage"]["answer"]["calls"] == 1
    (insight,) = turn["insights"]
    assert (insight["status"], insight["text"], insight["why"], insight["version"]) == (
        "pending",
        CLAMP,
        "It held.",
        None,
    )
    assert conversation["pending"] == [insight["request"]["id"]]
    (quote,) = insight["evidence"]
    place = (quote["where"], quote["quote"], quote["threadId"], quote["runId"])
    assert place == ("answer", "Answer to", turn["threadId"], turn["runId"])
    assert turn["response"][quote["start"] : quote["end"]] == quote["quote"]


async def test_each_insight_tells_at_once_what_became_of_it_also_while_others_wait(world: World) -> None:
    ann = world.client()
    await asked(ann, BOTH)
    sand = next(each for each in await pending(ann) if each["description"] == SAND)
    await decide(ann, sand, "approve")
    conversation = await once(ann, "c1", lambda now: statuses(now) == {SAND: "learned", OIL: "pending"})
    learned = next(each for each in conversation["turns"][0]["insights"] if each["text"] == SAND)
    assert (learned["version"], learned["request"]["status"]) == (2, "completed")
    (oil,) = await pending(ann)
    await decide(ann, oil, "reject", message="not on ash")
    conversation = await once(ann, "c1", is_("done"))
    assert statuses(conversation) == {SAND: "learned", OIL: "rejected"}
    assert [each["reason"] for each in conversation["turns"][0]["insights"]] == [None, "not on ash"]
    assert conversation["pending"] == []


async def test_an_insight_that_a_person_edits_is_shown_as_edited(world: World) -> None:
    ann = world.client()
    await asked(ann, ASK)
    (request,) = await pending(ann)
    action = (await get(ann, f"/v1/requests/{request['id']}"))["action"]
    await decide(ann, request, "edit", args={**action["args"], "text": SAND})
    assert statuses(await once(ann, "c1", is_("done"))) == {SAND: "edited"}


async def test_a_question_while_insights_wait_gets_a_thread_of_its_own_in_the_same_conversation(world: World) -> None:
    ann = world.client()
    await asked(ann, ASK)
    begun = await post(ann, "/v1/engrammer/c1/questions", 202, query=BOTH)
    assert (begun["id"], begun["thread_id"]) == ("c1", "c1~q2")
    conversation = await once(ann, "c1", lambda now: len(now["pending"]) == 3)
    assert [(turn["query"], turn["threadId"]) for turn in conversation["turns"]] == [(ASK, "c1"), (BOTH, "c1~q2")]
    assert (await get(ann, "/v1/engrammer/c1~q2"))["id"] == "c1"
    # Once nothing waits in the first thread, it is free again.
    clamp = next(each for each in await pending(ann) if each["description"] == CLAMP)
    await decide(ann, clamp, "reject")
    await once(ann, "c1", lambda now: len(now["pending"]) == 2 and now["status"] == "interrupted")
    assert (await post(ann, "/v1/engrammer/c1/questions", 202, query=PLAIN))["thread_id"] == "c1"
    await once(ann, "c1", lambda now: len(now["turns"]) == 3 and now["status"] == "interrupted")


async def test_two_questions_at_once_are_both_answered(world: World) -> None:
    ann, bob = world.client(), world.client(name="bob")
    paths = "/v1/engrammer/c1/questions"
    one, other = await asyncio.gather(post(ann, paths, 202, query=ASK), post(bob, paths, 202, query=BOTH))
    assert {one["thread_id"], other["thread_id"]} == {"c1", "c1~q2"}
    conversation = await once(ann, "c1", lambda now: len(now["pending"]) == 3)
    assert {turn["response"] for turn in conversation["turns"]} == {f"Answer to: {ASK}", f"Answer to: {BOTH}"}


async def test_an_answer_is_there_before_the_looking_back_ends_and_a_question_before_its_answer(tmp_path: Path) -> None:
    quick, slow, may = Models(), Models(lessons={ASK: [insight(CLAMP)]}), asyncio.Event()
    thoughtful = Thoughtful(script=slow.say, may_speak=may)
    engrammer = Engrammer(quick.engrammer().model, reflector=thoughtful)
    async with open_world(f"sqlite:///{tmp_path}/ringi.db", more_agents=engrammer.agents()) as world:
        ann = world.client()
        begun = await post(ann, "/v1/engrammer/c1/questions", 202, query=ASK)
        (turn,) = (await get(ann, "/v1/engrammer/c1"))["turns"]
        assert (turn["query"], turn["runId"]) == (ASK, begun["run_id"])
        conversation = await once(ann, "c1", lambda now: now["turns"][-1]["response"])
        assert (conversation["status"], conversation["turns"][0]["phase"]) == ("running", "reflecting")
        state = await post(ann, "/getEngrammerState", threadId="c1")
        assert (state["status"], state["latestResponse"]) == ("running", f"Answer to: {ASK}")
        may.set()
        await once(ann, "c1", is_("interrupted"))


async def test_what_a_person_says_of_an_answer_is_looked_at_again_also_while_insights_wait(world: World) -> None:
    ann, bob = world.client(), world.client(name="bob")
    (turn,) = (await asked(ann, ASK))["turns"]
    begun = await post(
        bob, "/v1/engrammer/c1/feedback", 202, verdict="wrong", text="It came apart.", turn=turn["runId"]
    )
    assert begun["thread_id"] == "c1~q2"
    conversation = await once(ann, "c1", lambda now: len(now["pending"]) == 2)
    again = conversation["turns"][-1]
    assert (again["query"], again["parent"]) == (ASK, turn["runId"])
    assert again["feedback"] == {"source": "user", "verdict": "wrong", "text": "It came apart.", "by": "bob"}
    state = await post(ann, "/getEngrammerState", threadId="c1")
    assert state["latestResponse"] == f"Answer to: {ASK}"


async def test_feedback_on_no_answer_is_refused_with_the_field(world: World) -> None:
    ann = world.client()
    await refused(ann, "/v1/engrammer/c1/feedback", 404, "not_found", verdict="wrong")
    await asked(ann, PLAIN)
    problem = await refused(ann, "/v1/engrammer/c1/feedback", 422, "invalid", verdict="wrong", turn="nowhere")
    assert [each["field"] for each in problem["errors"]] == ["turn"]
    problem = await refused(ann, "/v1/engrammer/c1/feedback", 422, "invalid", verdict="unknown")
    assert [each["field"] for each in problem["errors"]] == ["verdict"]


async def test_an_agent_cannot_pass_for_a_user_who_says_something_of_an_answer(world: World) -> None:
    bot, run = world.client("agent", "bot"), {"agent": "engrammer", "input": {"feedback": {"verdict": "right"}}}
    await asked(bot, PLAIN)
    await refused(bot, "/v1/engrammer/c1/feedback", 403, "forbidden", verdict="right")
    assert (await bot.post("/v1/threads/c1/runs", json=run)).status_code == 202
    conversation = await once(bot, "c1", is_("error"))
    assert "an agent's token cannot give user feedback" in conversation["error"]
    assert [turn["feedback"] and turn["feedback"]["source"] for turn in conversation["turns"]] == ["self", None]


async def test_whose_truth_an_answer_is_judged_by_is_told(world: World) -> None:
    (turn,) = (await asked(world.client("agent", "bot"), PLAIN, expected="42"))["turns"]
    assert (turn["feedback"]["source"], turn["feedback"]["verdict"], turn["feedback"]["by"]) == (
        "ground_truth", "wrong", "agent:bot",
    )  # fmt: skip


async def test_a_failed_run_tells_why_and_the_conversation_goes_on(world: World, models: Models) -> None:
    models.broken.add("Broken?")
    ann = world.client()
    conversation = await asked(ann, "Broken?")
    (turn,) = conversation["turns"]
    assert (conversation["status"], turn["phase"], turn["response"]) == ("error", "done", None)
    assert "the provider is down" in turn["error"]
    assert turn["error"] == conversation["error"]
    conversation = await asked(ann, PLAIN)
    assert (conversation["status"], conversation["error"]) == ("done", None)
    assert [turn["phase"] for turn in conversation["turns"]] == ["done", "done"]


async def test_a_failed_reflection_is_visible_in_the_state_until_the_next_question(
    world: World, models: Models
) -> None:
    models.reflections[PLAIN] = AIMessage("not in any schema")
    ann = world.client()
    (turn,) = (await asked(ann, PLAIN))["turns"]
    state = await post(ann, "/getEngrammerState", threadId="c1")
    assert (state["status"], state["latestResponse"]) == ("done", f"Answer to: {PLAIN}")
    why = "the answer is complete, but the agent could not reflect on it, so nothing is proposed: "
    assert state["error"] == f"{why}{turn['reflected']['failed']}"
    await asked(ann, BOTH)
    assert (await post(ann, "/getEngrammerState", threadId="c1"))["error"] is None


async def test_what_a_cancelled_run_proposed_is_not_learned(world: World) -> None:
    ann = world.client()
    await asked(ann, ASK)
    await post(ann, "/v1/threads/c1/cancel")
    conversation = await get(ann, "/v1/engrammer/c1")
    assert (conversation["status"], statuses(conversation)) == ("idle", {CLAMP: "cancelled"})
    assert (await post(ann, "/getEngrammerState", threadId="c1"))["status"] == "done"


async def test_a_thread_that_an_agent_names_like_one_of_a_persons_conversation_is_not_heard_in_it(world: World) -> None:
    ann, bot = world.client(), world.client("agent", "bot")
    await asked(ann, ASK)
    run = {"agent": "engrammer", "input": {"query": BOTH}}
    assert (await bot.post("/v1/threads/c1~q2/runs", json=run)).status_code == 202
    assert (await post(ann, "/v1/engrammer/c1/questions", 202, query=PLAIN))["thread_id"] == "c1~q3"
    conversation = await once(ann, "c1", lambda now: len(now["turns"]) == 2 and now["status"] == "interrupted")
    assert [turn["query"] for turn in conversation["turns"]] == [ASK, PLAIN]
    assert len(conversation["pending"]) == 1


async def test_a_request_that_somebody_posts_with_the_conversations_thread_is_not_among_its_insights(
    world: World,
) -> None:
    ann, bob = world.client(), world.client(name="bob")
    (turn,) = (await asked(ann, ASK))["turns"]
    body = {"title": "Learn: “me”", "kind": "learning", "thread_id": "c1", "run_id": turn["runId"]}
    body["context"] = {"learning": {"insight": turn["insights"][0]["id"], "type": "new_strategy"}}
    assert (await bob.post("/v1/requests", json=body)).status_code == 201
    assert [each["description"] for each in await pending(ann)] == [CLAMP]


async def test_a_conversation_is_with_one_engrammer_and_says_which_there_are(tmp_path: Path) -> None:
    async with served(f"sqlite:///{tmp_path}/ringi.db", Models(), Models()) as world:
        ann = world.client()
        await asked(ann, PLAIN, agent="other-1")
        assert (await get(ann, "/v1/engrammer/c1"))["agent"] == "other-1"
        await asked(ann, PLAIN)
        problem = await refused(ann, "/v1/engrammer/c1/questions", 422, "invalid", query=PLAIN, agent="engrammer")
        assert "other-1" in problem["detail"]
        await refused(ann, "/v1/engrammer/c2/questions", 404, "not_found", query=PLAIN, agent="refund")
        run = {"agent": "two_questions", "input": {}}
        assert (await ann.post("/v1/threads/t-1/runs", json=run)).status_code == 202
        await refused(ann, "/v1/engrammer/t-1/questions", 404, "not_found", query=PLAIN)
        assert (await ann.get("/v1/engrammer/t-1")).status_code == 404


async def test_more_questions_than_may_wait_are_refused(tmp_path: Path, models: Models) -> None:
    async with served(f"sqlite:///{tmp_path}/ringi.db", models) as world:
        ann = world.client()
        for _ in range(MAX_THREADS):
            await post(ann, "/v1/engrammer/c1/questions", 202, query=ASK)
        await once(ann, "c1", lambda now: len(now["pending"]) == MAX_THREADS)
        problem = await refused(ann, "/v1/engrammer/c1/questions", 409, "busy", query=ASK)
        assert "decide on some first" in problem["detail"]


async def test_an_agent_asks_only_as_much_as_it_may(tmp_path: Path, models: Models) -> None:
    async with served(f"sqlite:///{tmp_path}/ringi.db", models, asks_per_minute=1) as world:
        bot, ann = world.client("agent", "bot"), world.client()
        await post(bot, "/v1/engrammer/c1/questions", 202, query=PLAIN)
        await refused(bot, "/v1/engrammer/c1/questions", 429, "limit", query=PLAIN)
        await refused(bot, "/engrammerFlow_start", 429, "limit", query=PLAIN)
        for _ in range(3):
            await post(ann, "/engrammerFlow_start", query=PLAIN)


async def test_what_is_for_somebody_else_to_answer_is_not_shown_to_others(tmp_path: Path, models: Models) -> None:
    engrammer = models.engrammer(assignee="carl")
    async with open_world(f"sqlite:///{tmp_path}/ringi.db", more_agents=engrammer.agents()) as world:
        dan, carl = world.client(name="dan"), world.client(name="carl")
        begun = await post(world.client(), "/v1/engrammer/c1/questions", 202, query=ASK)
        await once(carl, "c1", lambda now: now["pending"])
        (turn,) = (await get(dan, "/v1/engrammer/c1"))["turns"]
        assert (turn["runId"], turn["insights"][0]["status"], turn["insights"][0]["request"]) == (
            begun["run_id"], "pending", None,
        )  # fmt: skip
        body: Json = {"threadId": "c1", "userInput": "approve_learning"}
        await refused(dan, "/engrammerFlow_continue", 409, "nothing_waits", **body)
        assert await post(carl, "/engrammerFlow_continue", **body) == {"status": "done", "error": None}


async def test_what_is_erased_is_not_shown(world: World) -> None:
    ann, root = world.client(), world.client("admin", "root")
    await asked(ann, ASK)
    (request,) = await pending(ann)
    await decide(ann, request, "reject", message="a secret reason")
    await once(ann, "c1", is_("done"))
    await post(root, f"/v1/requests/{request['id']}/erase")
    assert (await get(ann, "/v1/engrammer/c1"))["turns"] == []


async def test_what_comes_out_is_what_the_description_says(world: World) -> None:
    ann = world.client()
    await asked(ann, ASK)
    await asked(ann, BOTH)
    await decide(ann, (await pending(ann))[0], "reject", message="no")
    document = world.app.api.openapi()
    for model, instance in (
        ("EngrammerConversation", await get(ann, "/v1/engrammer/c1")),
        ("EngrammerState", await post(ann, "/getEngrammerState", threadId="c1")),
        ("LearningContext", (await get(ann, "/v1/requests?kind=learning"))["items"][0]["context"]["learning"]),
        ("PlaybookOperation", (await get(ann, "/v1/requests?kind=learning"))["items"][0]["action"]["args"]),
    ):
        schema = {"$ref": f"#/components/schemas/{model}", "components": document["components"]}
        jsonschema_rs.validator_for(schema).validate(instance)


async def test_what_a_playbook_learned_so_many_entries_ago_that_it_forgot_the_request_shows_as_learned(
    world: World, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playbook, "MOST_APPLIED", 2)
    ann = world.client()
    await asked(ann, BOTH)
    (first, *_) = [each for each in await pending(ann) if each["description"] == SAND]
    await decide(ann, first, "approve")
    await once(ann, "c1", lambda conversation: statuses(conversation)[SAND] == "learned")
    for number in range(3):
        models.lessons[f"Q{number}?"] = [insight(f"Rule {number} is about {number * 7919}.")]
        await taught(ann, f"Q{number}?", f"other-{number}")
    assert statuses(await get(ann, "/v1/engrammer/c1")) == {SAND: "learned", OIL: "pending"}
    await post(ann, "/v1/threads/c1/cancel")
    conversation = await get(ann, "/v1/engrammer/c1")
    assert statuses(conversation) == {SAND: "learned", OIL: "cancelled"}
    assert [each["version"] for each in conversation["turns"][0]["insights"]] == [2, None]


@pytest.mark.parametrize("begun", ["c1", "c1~q2"])
async def test_who_is_overtaken_asks_nothing_in_the_conversation_of_another(world: World, begun: str) -> None:
    """An agent whose name for a conversation, and a person whose next thread in it, was taken a moment before."""
    mine = world.client("agent", "bot") if begun == "c1" else world.client("person", "ann")
    if begun != "c1":
        await asked(mine, ASK)

    async def overtaken() -> None:
        thread = await world.runner.start("default", begun, "engrammer", {"query": PLAIN}, by="agent:rival")
        assert thread.started_by == "agent:rival"
        await until(has_ended)

    async def has_ended() -> bool:
        return not (await world.backend.store.get(Thread, "default", begun)).is_live

    before_next_save(world.backend, overtaken)
    reply = await mine.post("/v1/engrammer/c1/questions", json={"query": "intruding", "agent": "engrammer"})
    if begun == "c1":
        assert reply.status_code == 404
    else:
        assert reply.json()["thread_id"] == "c1~q3"
    taken = await world.backend.store.get(Thread, "default", begun)
    assert "intruding" not in taken.model_dump_json()
    assert taken.started_by == "agent:rival"
