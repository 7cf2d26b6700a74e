"""Threads over HTTP: run an agent, watch it, stop it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.server.world import World, open_world, until

from ringi.demo import agents
from ringi.server.problems import SPREAD_SECONDS

RUN = {"agent": "two_questions", "input": {}}


async def wait_for_thread(world: World, status: str) -> Any:
    found: dict[str, Any] = {}

    async def holds() -> bool:
        found.update((await world.client().get("/v1/threads/t1")).json())
        return bool(found["status"] == status)

    await until(holds)
    return found


async def test_an_agent_runs_asks_and_ends(world: World) -> None:
    client = world.client()
    started = await client.post("/v1/threads/t1/runs", json=RUN)
    assert (started.status_code, started.json()["thread_id"]) == (202, "t1")
    thread = await wait_for_thread(world, "interrupted")
    assert set(thread) == {
        "id", "agent", "title", "status", "run_id", "values", "pending", "error", "attention",
        "can_ask_again", "reason", "started_by", "created_at", "updated_at", "erased", "usage",
    }  # fmt: skip
    assert thread["run_id"] == started.json()["run_id"]
    assert len(thread["pending"]) == 2
    for request in thread["pending"]:
        assert request == (await client.get(f"/v1/requests/{request['id']}")).json()
        answer = {"decision": "respond", "message": "blue", "digest": request["digest"]}
        await client.post(f"/v1/requests/{request['id']}/respond", json=answer)
    done = await wait_for_thread(world, "done")
    assert done["values"] == {"answers": {"colour": "blue", "city": "blue"}}
    assert (done["pending"], done["error"]) == ([], None)


async def test_a_busy_thread_takes_no_new_input(world: World) -> None:
    await world.client().post("/v1/threads/t1/runs", json=RUN)
    reply = await world.client().post("/v1/threads/t1/runs", json=RUN)
    assert (reply.status_code, reply.json()["code"]) == (409, "busy")


async def test_a_cancelled_thread_is_idle_and_its_requests_are_withdrawn(world: World) -> None:
    client = world.client()
    await client.post("/v1/threads/t1/runs", json=RUN)
    pending = (await wait_for_thread(world, "interrupted"))["pending"]
    reply = await client.post("/v1/threads/t1/cancel")
    assert (reply.json()["status"], reply.json()["pending"]) == ("idle", [])
    states = {(await client.get(f"/v1/requests/{request['id']}")).json()["status"] for request in pending}
    assert states == {"cancelled"}


async def test_why_a_run_is_cancelled_stands_with_the_thread_and_with_what_ends(world: World) -> None:
    client = world.client()
    await client.post("/v1/threads/t1/runs", json=RUN)
    (request, *_) = (await wait_for_thread(world, "interrupted"))["pending"]
    reply = await client.post("/v1/threads/t1/cancel", json={"reason": "the order was a test"})
    assert reply.json()["reason"] == "the order was a test"
    reason = (await client.get(f"/v1/requests/{request['id']}")).json()["reason"]
    assert reason == "the thread was cancelled: the order was a test"


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("t1", {"agent": "nobody"}, 404, None),
        ("t1", {}, 422, "agent"),
        ("t1", {"agent": "refund", "input": {}}, 422, "input"),
        ("t1", {"agent": "refund", "input": []}, 422, "input"),
        ("t1", {**RUN, "more": 1}, 422, "more"),
        ("-no-id-", RUN, 422, "thread_id"),
    ],
)
async def test_a_run_that_cannot_begin_is_refused(
    world: World, path: str, body: dict[str, Any], status: int, field: str | None
) -> None:
    reply = await world.client().post(f"/v1/threads/{path}/runs", json=body)
    assert reply.status_code == status, reply.text
    if field:
        assert reply.json()["errors"][0]["field"].startswith(field)
    assert (await world.client().get("/v1/threads")).json()["items"] == []


async def test_threads_are_listed_by_agent(world: World) -> None:
    await world.client().post("/v1/threads/t1/runs", json=RUN)

    async def ids(query: str) -> list[str]:
        return [thread["id"] for thread in (await world.client().get(f"/v1/threads?{query}")).json()["items"]]

    assert await ids(f"agent={RUN['agent']}") == ["t1"]
    assert await ids("agent=other") == []
    assert await ids("agent=") == ["t1"]
    assert await ids(f"agent={RUN['agent']}&status=error") == []


async def test_nothing_can_be_planted_in_the_thread_of_another(world: World) -> None:
    mallory, own = world.client("agent", "mallory"), world.client("agent", "bot")
    planted = {"title": "Pay me?", "thread_id": "t1"}
    assert (await mallory.post("/v1/requests", json=planted)).status_code == 201
    await own.post("/v1/threads/t1/runs", json=RUN)
    await wait_for_thread(world, "interrupted")
    refused = await mallory.post("/v1/requests", json=planted)
    assert (refused.status_code, refused.json()["detail"]) == (404, "no thread 't1'")
    beside = await own.post("/v1/requests", json={"title": "And this?", "thread_id": "t1"})
    assert beside.status_code == 201
    for client in (world.client("admin", "root"), world.client(), own):
        pending = (await client.get("/v1/threads/t1")).json()["pending"]
        assert all(request["id"].startswith("q-") for request in pending), pending
        assert len(pending) == 2


async def test_a_run_of_an_agent_counts_as_an_ask(store_url: str) -> None:
    async with open_world(store_url, asks_per_minute=2) as world:
        client = world.client("agent", "bot")
        assert (await client.post("/v1/requests", json={"title": "Go?"})).status_code == 201
        replies = [await client.post(f"/v1/threads/t{n}/runs", json=RUN) for n in range(2)]
        assert [reply.status_code for reply in replies] == [202, 429]
        assert 0 < int(replies[1].headers["retry-after"]) <= 60 + SPREAD_SECONDS
        assert (await world.client().post("/v1/threads/t9/runs", json=RUN)).status_code == 202


async def test_an_agent_with_all_the_open_requests_that_it_may_have_begins_no_run(store_url: str) -> None:
    async with open_world(store_url, max_open_requests=2) as world:
        client = world.client("agent", "bot")
        assert (await client.post("/v1/threads/t1/runs", json=RUN)).status_code == 202
        await wait_for_thread(world, "interrupted")
        refused = await client.post("/v1/threads/t2/runs", json=RUN)
        assert (refused.status_code, refused.json()["code"]) == (429, "limit")
        assert (await client.get("/v1/threads/t2")).status_code == 404


async def test_the_agents_are_listed_with_their_input(world: World) -> None:
    page = (await world.client().get("/v1/agents")).json()
    agents = {agent["name"]: agent for agent in page["items"]}
    assert {"refund", "preferences", "two_questions", "finisher"} <= set(agents)
    assert "order" in agents["refund"]["input_schema"]["properties"]
    assert page["next"] is None


async def test_an_agent_that_only_others_begin_is_offered_to_nobody(store_url: str) -> None:
    inner = replace(agents()[0], name="inner", is_internal=True)
    async with open_world(store_url, more_agents=[inner]) as world:
        client = world.client()
        assert "inner" not in [agent["name"] for agent in (await client.get("/v1/agents")).json()["items"]]
        message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
        begun = {
            "/v1/threads/t1/runs": RUN | {"agent": "inner"},
            "/v1/chat": {"id": "t1", "agent": "inner", "messages": [message]},
            "/agui/inner": {"threadId": "t1", "runId": "r1", "messages": [], "forwardedProps": {}},
        }
        for path, body in begun.items():
            refused = await client.post(path, json=body)
            assert (path, refused.status_code) == (path, 404)
        assert (await client.get("/v1/threads/t1")).status_code == 404


async def test_threads_are_listed_newest_first_and_an_agent_finds_its_own_over_all_pages(world: World) -> None:
    for n in range(6):
        await world.runner.start("default", f"t{n}", "two_questions", {}, by="agent:bot" if n % 3 == 0 else "ann")
    assert await listed(world, "person", "ann") == [f"t{n}" for n in (5, 4, 3, 2, 1, 0)]
    assert await listed(world, "agent", "bot") == ["t3", "t0"]
    assert await listed(world, "agent", "none") == []


async def test_threads_are_listed_by_status(world: World) -> None:
    client = world.client("person")
    await world.runner.start("default", "t1", "two_questions", {}, by="ann")
    await world.runner.start("default", "t2", "two_questions", {}, by="ann")
    await world.runner.cancel("default", "t2", by="ann")
    for wanted, ids in [("idle", ["t2"]), ("idle&status=running&status=interrupted", ["t2", "t1"]), ("", ["t2", "t1"])]:
        page = (await client.get(f"/v1/threads?status={wanted}")).json()
        assert [item["id"] for item in page["items"]] == ids
    assert (await client.get("/v1/threads?status=gone")).status_code == 422


async def test_a_page_of_threads_that_is_full_and_the_last_has_none_after_it(world: World) -> None:
    for n in range(2):
        await world.runner.start("default", f"t{n}", "two_questions", {}, by="ann")
    page = (await world.client("person").get("/v1/threads?limit=2")).json()
    assert (len(page["items"]), page["next"]) == (2, None)


async def test_a_page_of_threads_ends_with_the_first_that_fill_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(4):
        await world.runner.start("default", f"t{n}", "two_questions", {}, by="ann" if n % 2 else "bob")
    monkeypatch.setattr("ringi.runs.runner.MAX_PAGE_BYTES", 1)
    page = (await world.client("person").get("/v1/threads")).json()
    assert ([item["id"] for item in page["items"]], bool(page["next"])) == (["t3"], True)
    assert await listed(world, "person", "ann") == ["t3", "t2", "t1", "t0"]


async def listed(world: World, role: str, name: str) -> list[str]:
    client, seen, cursor = world.client(role, name), list[str](), ""
    while True:
        page = (await client.get(f"/v1/threads?limit=2&cursor={cursor}")).json()
        assert not [item for item in page["items"] if "pending" in item]
        seen += [item["id"] for item in page["items"]]
        if not (cursor := page["next"] or ""):
            return seen


async def test_the_description_covers_every_route_and_fits_what_is_sent(world: World) -> None:
    import jsonschema_rs

    document = (await world.stranger().get("/openapi.json")).json()
    assert {"/v1/events", "/v1/requests/{id}/events", "/v1/threads/{id}/stream"} <= set(document["paths"])
    text = str(document)
    missing = [name for name in references(document) if name not in document["components"]["schemas"]]
    assert (missing, "continuation" in text) == ([], False)
    described = document["components"]["schemas"]["Request"]
    schema = {"$ref": "#/components/schemas/Request", "components": document["components"]}
    form = {"fields": [{"name": "a", "type": "text", "label": "A"}]}
    # `wording` is absent, and not required, without sentences of Ringi; so are the fields of rules that nobody set.
    always = set(described["required"])
    for wording, names in ((None, always), ({"title": [{"code": "new_task"}]}, {*always, "wording"})):
        request = await world.asked(form=form, expires_in=60, wording=wording)
        sent = (await world.client().get(f"/v1/requests/{request.id}")).json()
        jsonschema_rs.validate(schema, sent)
        assert set(sent) == names


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {str(node["$ref"]).rpartition("/")[2]} if "$ref" in node else set()
        return own.union(*(references(each) for each in node.values()))
    return set().union(*(references(each) for each in node)) if isinstance(node, list) else set()
