"""What a conversation knows and what can be done in it, over HTTP, by the real server, worker and store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from tests.apps.assistant.served import GOALS, PROJECTS, Office, served
from tests.runs.world import before_next_save
from tests.server.world import World, is_at_rest, until

from ringi.domain.record import Key, record_topic
from ringi.domain.thread import Thread
from ringi_apps.assistant import access
from ringi_apps.assistant.seed import MemoryDocument

Json = dict[str, Any]
AT = "/v1/assistants/c1"
BEGIN = {"agent": "office"}


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/ringi.db"


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
async def world(url: str, office: Office) -> AsyncIterator[World]:
    async with served(url, office) as world:
        yield world


async def memory_of(client: httpx.AsyncClient, at: str = AT) -> Json:
    reply = await client.get(f"{at}/memory?agent=office")
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


async def once(client: httpx.AsyncClient, holds: Callable[[Json], Any], at: str = AT) -> Json:
    """Return the memory once it is so."""
    seen: list[Json] = []

    async def check() -> bool:
        seen[:] = [await memory_of(client, at)]
        return bool(holds(seen[0]))

    await until(check)
    return seen[0]


def item(memory: Json, key: str) -> Json:
    return dict(next(each for each in memory["items"] if each["key"] == key))


async def press(client: httpx.AsyncClient, what: str, at: str = AT, **body: Any) -> httpx.Response:
    return await client.post(f"{at}/actions/{what}", json={**BEGIN, **body})


async def pressed(client: httpx.AsyncClient, what: str, at: str = AT, **body: Any) -> Json:
    reply = await press(client, what, at, **body)
    assert reply.status_code == 202, reply.text
    return dict(reply.json())


async def tell_goals(world: World, at: str = AT, goals: str = GOALS) -> None:
    """Ask for the goals, and answer as a person does."""
    ann = world.client()
    await pressed(ann, "ask:goals", at)
    asked = await asked_in(world, at.rpartition("/")[2])
    answer = {"decision": "approve", "digest": asked["digest"], "data": {"value": goals}}
    assert (await ann.post(f"/v1/requests/{asked['id']}/respond", json=answer)).status_code == 200
    await once(ann, lambda memory: item(memory, "goals")["value"] == goals, at)


async def asked_in(world: World, conversation: str) -> Json:
    """Return the form that a conversation asks people to fill in."""
    asked: list[Json] = []

    async def is_asked() -> bool:
        page = (await world.client().get("/v1/requests?status=pending&kind=form")).json()["items"]
        asked[:] = [each for each in page if each["context"].get("conversation") == conversation]
        return bool(asked)

    await until(is_asked)
    return asked[0]


async def planned(world: World, at: str = AT) -> Json:
    """Return the plan once it waits for its approval."""
    await tell_goals(world, at)
    await pressed(world.client(), "plan-1", at)
    memory = await once(world.client(), lambda memory: memory["plans"] and memory["plans"][0]["request"], at)
    return dict(memory["plans"][0])


async def test_a_conversation_that_nobody_has_begun_shows_what_it_would_need(world: World) -> None:
    memory = await memory_of(world.client())
    assert (memory["id"], memory["agent"], memory["planData"]["status"]) == ("c1", "office", "none")
    assert {each["type"]: each["status"] for each in memory["requiredInfoList"]}["goals"] == "pending"
    assert (await world.client().get(f"{AT}/memory")).status_code == 404
    assert (await world.client().get(f"{AT}/memory?agent=nobody")).status_code == 404
    assert await world.runner.find("default", 10) == []


async def test_a_thread_of_another_agent_has_no_memory_of_an_assistant(world: World) -> None:
    await world.runner.start("default", "t1", "two_questions", {}, by="ann")
    reply = await world.client().get("/v1/assistants/t1/memory?agent=office")
    assert (reply.status_code, reply.json()["detail"]) == (404, "no assistant 't1'")


async def test_the_whole_way_from_a_question_to_what_a_person_approved(world: World, office: Office) -> None:
    ann, plan = world.client(), await planned(world)
    assert (plan["status"], plan["version"], plan["plan"]) == ("planned", 1, {"goal": GOALS})
    assert [step["isDone"] for step in plan["steps"]] == [False, False]
    assert office.done == []
    reply = await press(ann, "apply-1", digest=plan["request"]["digest"])
    assert (reply.status_code, reply.json()["status"]) == (200, "completed")
    assert reply.json()["response"]["responder"] == "ann"
    await until(lambda: len(office.done) == len(PROJECTS))
    await once(ann, lambda memory: [each["status"] for each in memory["plans"]] == ["completed"])


async def test_an_apply_without_its_digest_is_refused_and_does_nothing(world: World, office: Office) -> None:
    plan = await planned(world)
    reply = await press(world.client(), "apply-1")
    assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, ["digest"])
    reply = await press(world.client(), "apply-1", digest="sha256:other")
    assert (reply.status_code, reply.json()["code"]) == (409, "digest_mismatch")
    reply = await press(world.client(), "apply-1", digest=plan["request"]["digest"], args={"steps": []})
    assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, ["args"])
    assert (await world.inbox.get(plan["request"]["id"])).status == "pending"
    assert office.done == []


async def test_an_agents_token_never_approves_a_plan_not_even_of_its_own_conversation(
    world: World, office: Office
) -> None:
    bot = world.client("agent", "bot")
    await pressed(bot, "refresh:projects")
    plan = await planned(world)
    reply = await press(bot, "apply-1", digest=plan["request"]["digest"])
    assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")
    assert (await world.inbox.get(plan["request"]["id"])).status == "pending"
    assert office.done == []


async def test_an_approval_that_somebody_posts_beside_the_plans_own_is_not_taken_for_it(
    world: World, office: Office
) -> None:
    ann, plan = world.client(), await planned(world)
    forged = {"title": "Go?", "thread_id": plan["threadId"], "action": {"name": "apply", "args": {}}}
    posted = (await ann.post("/v1/requests", json=forged)).json()
    assert (await memory_of(ann))["plans"][0]["request"]["id"] == plan["request"]["id"]
    reply = await press(ann, "apply-1", digest=posted["digest"])
    assert (reply.status_code, reply.json()["code"]) == (409, "digest_mismatch")
    assert office.done == []


async def test_who_approves_second_is_told_who_was_first(world: World) -> None:
    plan = await planned(world)
    digest = plan["request"]["digest"]
    replies = await asyncio.gather(
        press(world.client(), "apply-1", digest=digest), press(world.client(name="bob"), "apply-1", digest=digest)
    )
    assert sorted(reply.status_code for reply in replies) == [200, 409]
    (late,) = [reply.json() for reply in replies if reply.status_code == 409]
    assert late["winner"]["responder"] in ("ann", "bob")


async def test_what_is_not_possible_says_why_and_what_helps_in_the_callers_language(world: World) -> None:
    for language, title in (("en", "Goals"), ("ja-JP,ja;q=0.9", "目標")):
        ann = world.client()
        ann.headers["accept-language"] = language
        reply = await press(ann, "plan-1")
        problem = reply.json()
        assert (reply.status_code, problem["code"]) == (409, "not_possible")
        reasons = {each["key"]: each for each in problem["reasons"]}
        assert reasons["goals"]["code"] == "MISSING_INFO"
        assert reasons["goals"]["fix"]["kind"] == "ask"
        assert title in reasons["goals"]["text"]
        assert title in problem["detail"]
        view = {each["id"]: each for each in (await ann.get(f"{AT}/actions?agent=office")).json()["items"]}
        assert view["plan-1"]["reasons"] == problem["reasons"]
        assert not view["plan-1"]["enabled"]
    assert await world.runner.find("default", 10) == []


@pytest.mark.parametrize(
    ("what", "status", "says"),
    [
        ("nothing", 404, "no action 'nothing'"),
        ("ask:nothing", 404, "no info 'nothing'"),
        ("dance:goals", 404, "no action 'dance:goals'"),
        ("again:nothing", 404, "no action 'nothing'"),
        ("ask:projects", 422, "is not asked of people"),
        ("refresh:goals", 422, "has no handler"),
        ("again:count-1", 422, "is of kind 'immediate'"),
        ("again:plan-1", 409, "is not possible now"),
        ("unchanged:plan-1", 409, "its plan already has an approval request"),
    ],
)
async def test_what_cannot_be_pressed_is_refused_by_name(world: World, what: str, status: int, says: str) -> None:
    reply = await press(world.client(), what)
    assert reply.status_code == status
    assert says in reply.json()["detail"]


async def test_a_wrong_body_is_refused_with_its_field(world: World) -> None:
    for body, field in (({"args": 1}, "args"), ({"digest": ""}, "digest"), ({"arg": {}}, "arg")):
        reply = await world.client().post(f"{AT}/actions/count-1", json=body)
        assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, [field])
    for action, name, value in (("count-1", "less", 1), ("count-1", "more", "5"), ("plan-1", "more", 5)):
        reply = await press(world.client(), action, args={name: value})
        assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, [f"args.{name}"])
    reply = await press(world.client(), "refresh:projects", args={"more": 5})
    assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, ["args"])
    for args in ("x", [1]):
        run = {"agent": "office", "input": {"event": {"type": "action", "action": "count-1", "args": args}}}
        reply = await world.client().post("/v1/threads/odd/runs", json=run)
        assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, ["input.event.args"])
    reply = await press(world.client(), "count-1", args={"x": "x" * 300_000})
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")


async def test_an_immediate_action_runs_with_its_arguments(world: World, office: Office) -> None:
    ann = world.client()
    await pressed(ann, "refresh:projects")
    await once(ann, lambda memory: item(memory, "projects")["status"] == "collected")
    await pressed(ann, "count-1", args={"more": 5})
    memory = await once(ann, lambda memory: memory["runs"])
    assert [(run["workflow"], run["status"]) for run in memory["runs"]] == [("count", "completed")]
    assert office.counted == [7]


async def test_what_lacks_only_what_a_handler_can_fetch_is_let_through_and_fetches_first(
    world: World, office: Office
) -> None:
    ann = world.client()
    (view,) = [
        each for each in (await ann.get(f"{AT}/actions?agent=office")).json()["items"] if each["id"] == "count-1"
    ]
    assert (view["enabled"], [each["fix"]["kind"] for each in view["reasons"]]) == (False, ["run_handler"])
    await pressed(ann, "count-1")
    await once(ann, lambda memory: memory["runs"])
    assert office.counted == [2]


async def test_what_a_handler_failed_to_fetch_stands_in_the_way_until_it_is_refreshed(
    world: World, office: Office
) -> None:
    ann = world.client()
    office.broken = True
    await pressed(ann, "refresh:projects")
    await once(ann, lambda memory: item(memory, "projects")["error"])
    reply = await press(ann, "count-1")
    assert (reply.status_code, [each["code"] for each in reply.json()["reasons"]]) == (409, ["ERROR_INFO"])
    office.broken = False
    await pressed(ann, "refresh:projects")
    await once(ann, lambda memory: item(memory, "projects")["isFresh"])
    await pressed(ann, "count-1")
    await once(ann, lambda memory: memory["runs"])


async def test_a_conversation_that_begins_with_a_press_speaks_the_language_of_the_page(world: World) -> None:
    ann = world.client()
    ann.headers["accept-language"] = "ja"
    await pressed(ann, "ask:goals")
    assert (await asked_in(world, "c1"))["title"] == "目標"


async def test_a_press_twice_plans_once(world: World, office: Office) -> None:
    ann = world.client()
    await tell_goals(world)
    office.may_plan.clear()
    replies = await asyncio.gather(press(ann, "plan-1"), press(ann, "plan-1"))
    assert sorted(reply.status_code for reply in replies) == [202, 409]
    (late,) = [reply.json() for reply in replies if reply.status_code == 409]
    assert [reason["code"] for reason in late["reasons"]] == ["ALREADY_RUNNING"]
    office.may_plan.set()
    memory = await once(ann, lambda memory: memory["plans"] and memory["plans"][0]["request"])
    assert [plan["version"] for plan in memory["plans"]] == [1]


async def test_a_plan_of_other_goals_is_not_applied_until_a_person_approves_it_unchanged(
    world: World, office: Office
) -> None:
    ann, before = world.client(), await planned(world)
    await tell_goals(world, goals="Grow by 30 %")
    (plan,) = (await once(ann, lambda memory: memory["plans"][0]["status"] == "obsolete"))["plans"]
    assert (plan["changed"], plan["request"]) == ([{"key": "goals", "title": "Goals"}], None)
    reply = await press(ann, "apply-1", digest=before["request"]["digest"])
    assert (reply.status_code, {each["code"] for each in reply.json()["reasons"]}) == (409, {"PLAN_OBSOLETE"})
    await pressed(ann, "unchanged:plan-1")
    (plan,) = (await once(ann, lambda memory: memory["plans"][0]["request"]))["plans"]
    assert (plan["version"], plan["status"], plan["plan"]) == (2, "planned", {"goal": GOALS})
    reply = await press(ann, "apply-1", digest=before["request"]["digest"])
    assert (reply.status_code, reply.json()["code"], office.done) == (409, "digest_mismatch", [])
    assert (await press(ann, "apply-1", digest=plan["request"]["digest"])).status_code == 200
    await until(lambda: len(office.done) == len(PROJECTS))
    assert all(":2:" in key for key in office.done)


async def test_a_plan_is_made_again_for_what_changed(world: World) -> None:
    ann = world.client()
    await planned(world)
    await tell_goals(world, goals="Grow by 30 %")
    await once(ann, lambda memory: memory["plans"][0]["status"] == "obsolete")
    await pressed(ann, "again:plan-1")
    memory = await once(ann, lambda memory: memory["plans"][0]["request"])
    assert (memory["plans"][0]["version"], memory["planData"]["plan"]) == (2, {"goal": "Grow by 30 %"})


async def test_a_press_waits_for_what_the_conversation_does_just_now(world: World, office: Office) -> None:
    ann = world.client()
    office.may_fetch.clear()
    await pressed(ann, "refresh:projects")
    await office.fetching.wait()
    waiting = asyncio.create_task(pressed(ann, "ask:goals"))
    topic = record_topic(Thread.record, Key("default", "c1"))
    await until(lambda: bool(world.backend.notifier._listeners.get(topic)))
    assert not waiting.done()
    office.may_fetch.set()
    assert (await waiting)["thread_id"] == "c1"
    await once(ann, lambda memory: memory["hitlState"]["status"] == "waiting")


async def test_a_press_is_refused_as_busy_when_the_conversation_does_not_come_to_an_end(
    world: World, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "WAIT_SECONDS", 0.2)
    ann = world.client()
    office.may_fetch.clear()
    await pressed(ann, "refresh:projects")
    await office.fetching.wait()
    for reply in (await press(ann, "ask:goals"), await ann.delete(f"{AT}/memory")):
        assert (reply.status_code, reply.json()["code"]) == (409, "busy")
    office.may_fetch.set()


async def test_a_delete_returns_the_memory_without_what_people_gave_and_withdraws_what_is_asked(
    world: World, office: Office
) -> None:
    ann, plan = world.client(), await planned(world)
    reply = await ann.delete(f"{AT}/memory")
    assert reply.status_code == 200, reply.text
    memory = reply.json()
    assert (item(memory, "goals")["status"], item(memory, "goals")["value"]) == ("pending", None)
    assert item(memory, "projects")["value"] == PROJECTS
    assert (memory["plans"], memory["planData"]["status"]) == ([], "none")
    await until(lambda: is_status(world, plan["request"]["id"], "cancelled"))
    assert office.done == []
    assert (await ann.delete("/v1/assistants/nowhere/memory")).status_code == 404


async def test_a_delete_that_no_worker_comes_to_says_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(ttl=0.001)
    async with served(url, office) as world:
        ann = world.client()
        await pressed(ann, "refresh:projects")
        await until(partial(is_at_rest, world))
        monkeypatch.setattr(access, "WAIT_SECONDS", 0.3)
        # Each turn fetches again what is out of date.
        office.may_fetch.clear()
        reply = await ann.delete(f"{AT}/memory")
        assert (reply.status_code, reply.json()["code"]) == (409, "uncleared")
        office.may_fetch.set()


async def test_nothing_is_left_to_show_of_a_conversation_that_was_erased(world: World) -> None:
    await tell_goals(world)
    await until(partial(is_at_rest, world))
    reply = await world.client("admin", "root").post("/v1/erasures", json={"person": "ann"})
    assert "c1" in reply.json()["threads"]
    view = await world.client().get(f"{AT}/memory")
    assert (view.status_code, GOALS in view.text) == (200, False)
    assert (await world.client().get(f"{AT}/memory/history")).json()["items"] == []


async def is_status(world: World, request_id: str, status: str) -> bool:
    return (await world.inbox.get(request_id)).status == status


async def test_the_history_tells_each_change_once_newest_first_over_pages(world: World) -> None:
    ann = world.client()
    await tell_goals(world)
    await tell_goals(world, goals="Grow by 30 %")
    whole = (await ann.get(f"{AT}/memory/history")).json()
    numbers = [each["number"] for each in whole["items"]]
    assert numbers == sorted(set(numbers), reverse=True)
    assert whole["next"] is None
    paged: list[Json] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await ann.get(f"{AT}/memory/history?limit=1&cursor={cursor}")).json()
        paged += page["items"]
        cursor = page["next"]
    assert paged == whole["items"]
    (newest, *_) = [each for each in paged if each["key"] == "goals"]
    assert (newest["before"], newest["after"], newest["title"]) == (GOALS, "Grow by 30 %", "Goals")
    assert (newest["source"]["kind"], newest["source"]["actor"]) == ("user", "ann")
    reply = await ann.get(f"{AT}/memory/history?cursor=x")
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "cursor")


async def test_two_tenants_have_each_their_own_conversation_under_one_id(world: World) -> None:
    await tell_goals(world)
    other = world.client(tenant="elsewhere")
    assert item(await memory_of(other), "goals")["value"] is None
    assert (await other.get(f"{AT}/memory/history")).status_code == 404
    await pressed(other, "refresh:projects")
    assert item(await memory_of(world.client()), "goals")["value"] == GOALS


async def test_a_fresh_conversation_needs_an_id_that_a_thread_can_have(world: World) -> None:
    reply = await world.client().post("/v1/assistants/-x/actions/ask:goals", json=BEGIN)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "thread_id")


async def test_all_that_is_shown_fits_its_description(world: World) -> None:
    ann = world.client()
    await planned(world)
    document = (await world.stranger().get("/openapi.json")).json()
    for path, shape in (
        (f"{AT}/memory", "AssistantMemory"),
        (f"{AT}/actions", "AssistantActionPage"),
        (f"{AT}/memory/history", "MemoryChangePage"),
        ("/v1/assistants/c2/memory?agent=office", "AssistantMemory"),
        ("/v1/assistants/c2/actions?agent=office", "AssistantActionPage"),
    ):
        view = (await ann.get(path)).json()
        assert_fits(document, shape, view)
    assert_fits(document, "NotPossible", (await press(ann, "plan-1", at="/v1/assistants/c2")).json())


async def test_a_reader_of_the_first_design_finds_its_own_shapes(world: World) -> None:
    await planned(world)
    memory = await memory_of(world.client())
    names = ("requiredInfoList", "currentInfoList", "planData", "availableActions")
    document = MemoryDocument.model_validate({name: memory[name] for name in names})
    assert {each.type: each.status for each in document.required_info_list} == {
        "goals": "collected", "projects": "collected",
    }  # fmt: skip
    assert {each.type: each.value for each in document.current_info_list} == {"goals": GOALS, "projects": PROJECTS}
    assert (document.plan_data.status, document.plan_data.plan) == ("planned", {"goal": GOALS})
    assert {each.id: each.enabled for each in document.available_actions}["apply-1"]
    assert memory["hitlState"] == {"status": "waiting", "waitingFor": "apply-1"}


def assert_fits(document: Json, shape: str, view: Json) -> None:
    schema = {"$ref": f"#/components/schemas/{shape}", "components": document["components"]}
    jsonschema_rs.validate(schema, view)
    assert undescribed(document["components"]["schemas"], {"$ref": f"/{shape}"}, view) == set()


def undescribed(schemas: Json, schema: Json, view: Any) -> set[str]:
    """Return the names that are shown and that no shape describes."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    for option in schema.get("anyOf", ()):
        if "$ref" in option and isinstance(view, dict):
            return undescribed(schemas, option, view)
    if isinstance(view, list):
        return set().union(*(undescribed(schemas, schema.get("items", {}), each) for each in view))
    if not isinstance(view, dict) or "properties" not in schema:
        return set()
    known = schema["properties"]
    nested = [undescribed(schemas, known[name], value) for name, value in view.items() if name in known]
    return (set(view) - set(known)).union(*nested)


async def test_an_agent_that_is_overtaken_begins_nothing_in_the_conversation_of_another(world: World) -> None:
    bot, rival = world.client("agent", "bot"), world.client("agent", "rival")

    async def overtaken() -> None:
        assert (await press(rival, "ask:goals")).status_code == 202
        await until(partial(is_at_rest, world))

    before_next_save(world.backend, overtaken)
    assert (await press(bot, "refresh:projects")).status_code == 404
    thread = await world.backend.store.get(Thread, "default", "c1")
    assert thread.started_by == "agent:rival"
    assert "refresh" not in json.dumps(thread.model_dump(mode="json"))
