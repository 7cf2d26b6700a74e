"""Operations over HTTP: who sees what cannot go on, and who may retry and abandon it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.server.test_threads import RUN, wait_for_thread
from tests.server.world import World, listening, until

from ringi.base.clock import utc_now
from ringi.contracts.store import change_record
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import Failure, Thread

WHY = "no step 'b' any more"


async def parked(world: World, id: str = "t1", tenant: str = "default") -> list[Request]:
    """Run an agent up to its two questions and return them."""
    thread = await world.runner.start(tenant, id, "two_questions", {}, by="bot")
    await until(lambda: has_status(world, "interrupted", id, tenant))
    return await world.runner.pending(thread)


async def has_status(world: World, status: str, id: str = "t1", tenant: str = "default") -> bool:
    return (await world.runner.get(tenant, id)).status == status


async def failed(world: World, id: str = "t1", tenant: str = "default") -> None:
    """Leave a parked thread as a worker does that breaks on it."""
    await parked(world, id, tenant)
    key, failure = Key(tenant, id), Failure(message="no paper", code="ValueError")
    store = world.backend.store
    await change_record(store, Thread, key, lambda t: t.acquired("worker", utc_now(), timedelta(hours=1)))
    await change_record(store, Thread, key, lambda t: t.failed(t, utc_now(), failure))


async def stranded(world: World, id: str = "t1", tenant: str = "default") -> Request:
    """Leave a parked thread as a worker does that misses one of its steps, and return that step's request."""
    _, lost = await parked(world, id, tenant)
    await world.inbox.for_tenant(tenant).mark_attention(lost.id, WHY)
    await change_record(world.backend.store, Thread, Key(tenant, id), lambda t: t.needing_attention(WHY, utc_now()))
    return lost


def admin(world: World, tenant: str = "default") -> httpx.AsyncClient:
    return world.client("admin", "root", tenant)


async def listed(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    page = (await client.get("/v1/operations")).json()
    assert page["next"] is None
    return list(page["items"])


async def test_a_failed_thread_is_listed_and_goes_on_after_a_retry(world: World) -> None:
    await failed(world)
    (item,) = await listed(admin(world))
    thread = await world.runner.get("default", "t1")
    assert item == {
        "kind": "thread", "thread_id": "t1", "run_id": thread.run_id, "request_id": None, "agent": "two_questions",
        "title": None, "status": "error", "since": item["since"], "why": "no paper", "can_retry": True,
        "can_ask_again": False,
    }  # fmt: skip
    assert item["since"].endswith("Z")
    reply = await admin(world).post("/v1/threads/t1/retry", json={"reason": "paper is here"})
    shown_now = reply.json()
    assert (reply.status_code, shown_now["status"], shown_now["reason"]) == (200, "running", "paper is here")
    for request in (await wait_for_thread(world, "interrupted"))["pending"]:
        answer = {"decision": "respond", "message": "blue", "digest": request["digest"]}
        assert (await world.client().post(f"/v1/requests/{request['id']}/respond", json=answer)).status_code == 200
    assert (await wait_for_thread(world, "done"))["values"] == {"answers": {"colour": "blue", "city": "blue"}}
    assert await listed(admin(world)) == []


async def test_a_stranded_request_is_listed_and_resumes_after_a_retry(world: World) -> None:
    lost = await stranded(world)
    answer = {"decision": "respond", "message": "blue", "digest": lost.digest}
    await world.client().post(f"/v1/requests/{lost.id}/respond", json=answer)
    (item,) = await listed(admin(world))
    summary = (item["kind"], item["request_id"], item["title"], item["status"], item["why"])
    assert summary == ("request", lost.id, lost.title, "completed", WHY)
    assert (await admin(world).post("/v1/threads/t1/retry")).json()["attention"] is None
    await until(lambda: is_taken_up(world, lost))
    assert await listed(admin(world)) == []
    events = (await world.client().get(f"/v1/audit?request_id={lost.id}")).json()["items"]
    assert [(e["actor"], e["changed"]) for e in events if e["type"] == "request.retried"] == [
        ("root", {"attention": None})
    ]


async def is_taken_up(world: World, request: Request) -> bool:
    return (await world.inbox.get(request.id)).acknowledged_at is not None


async def test_an_abandoned_thread_is_idle_and_its_requests_are_withdrawn(world: World) -> None:
    lost = await stranded(world)
    reply = await admin(world).post("/v1/threads/t1/abandon", json={"reason": "not needed any more"})
    thread = reply.json()
    assert (reply.status_code, thread["status"], thread["pending"]) == (200, "idle", [])
    assert thread["reason"] == "not needed any more"
    request = (await world.client().get(f"/v1/requests/{lost.id}")).json()
    assert (request["status"], request["reason"]) == ("cancelled", "abandoned")
    assert await listed(admin(world)) == []
    events = await world.inbox.events(limit=1000)
    assert [e.actor for e in events if e.type == "thread.abandoned"] == ["root"]
    assert (await world.client().post("/v1/threads/t1/runs", json=RUN)).status_code == 202


@pytest.mark.parametrize("verb", ["retry", "abandon"])
async def test_doing_it_twice_does_it_once(world: World, verb: str) -> None:
    await failed(world)
    replies = [await admin(world).post(f"/v1/threads/t1/{verb}") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 200, 200]
    types = [event.type for event in await world.inbox.events(request_id="t1", limit=1000)]
    assert types.count({"retry": "thread.retried", "abandon": "thread.abandoned"}[verb]) == 1


@pytest.mark.parametrize(("role", "status"), [("agent", 403), ("person", 403), ("admin", 200)])
@pytest.mark.parametrize("verb", ["retry", "abandon"])
async def test_only_an_admin_acts(world: World, verb: str, role: str, status: int) -> None:
    await failed(world)
    before = await world.runner.get("default", "t1")
    reply = await world.client(role, "bot").post(f"/v1/threads/t1/{verb}", json={})
    assert reply.status_code == status
    assert (await world.runner.get("default", "t1") == before) is (status == 403)


@pytest.mark.parametrize("verb", ["retry", "abandon"])
async def test_another_tenants_thread_is_like_one_that_is_not_there(world: World, verb: str) -> None:
    await failed(world, tenant="elsewhere")
    before = await world.runner.get("elsewhere", "t1")
    there, nowhere = [await admin(world).post(f"/v1/threads/{id}/{verb}") for id in ("t1", "t2")]
    assert (there.status_code, nowhere.status_code) == (404, 404)
    assert there.content == nowhere.content.replace(b"t2", b"t1")
    assert await world.runner.get("elsewhere", "t1") == before
    assert await listed(admin(world)) == []
    assert len(await listed(admin(world, "elsewhere"))) == 1


async def test_a_person_sees_failed_threads_and_the_stranded_requests_that_they_may_see(world: World) -> None:
    await failed(world, "t1")
    lost = [await stranded(world, f"t{n}") for n in (2, 3)]
    await world.inbox.reassign(lost[0].id, assignee="bob", by="root")
    seen = [(item["kind"], item["thread_id"]) for item in await listed(world.client("person", "ann"))]
    assert seen == [("thread", "t1"), ("request", "t3")]
    assert len(await listed(world.client("person", "bob"))) == 3
    refused = await world.client("agent", "bot").get("/v1/operations")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


async def test_the_list_has_pages(world: World) -> None:
    for n in range(3):
        await failed(world, f"f{n}")
        await stranded(world, f"s{n}")
    seen, cursor = list[str](), ""
    while True:
        page = (await admin(world).get(f"/v1/operations?limit=2&cursor={cursor}")).json()
        assert len(page["items"]) == 2
        seen += [item["thread_id"] for item in page["items"]]
        if not (cursor := page["next"] or ""):
            break
    assert seen == ["f2", "f1", "f0", "s2", "s1", "s0"]
    for query in ("limit=0", "limit=x", "cursor=x", "cursor=thread:x"):
        reply = await admin(world).get(f"/v1/operations?{query}")
        assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, query.partition("=")[0])


@pytest.mark.parametrize("body", [{"reason": 5}, {"reason": "x" * 20_001}, {"why": "x"}, []])
async def test_a_wrong_reason_is_refused_and_nothing_happens(world: World, body: Any) -> None:
    await failed(world)
    before = await world.runner.get("default", "t1")
    assert (await admin(world).post("/v1/threads/t1/retry", json=body)).status_code == 422
    assert await world.runner.get("default", "t1") == before


async def test_a_retried_request_is_told_to_who_follows_it(live: World) -> None:
    lost = await stranded(live)
    async with listening(live.client(), f"/v1/requests/{lost.id}/events") as events:
        assert [sent.name for sent in await events.take(2)] == ["request.created", "request.attention"]
        await admin(live).post("/v1/threads/t1/retry")
        retried = await events.next()
        assert (retried.name, retried.data["actor"], retried.data["request"]["attention"]) == (
            "request.retried", "root", None,
        )  # fmt: skip


async def test_what_is_listed_fits_its_description(world: World) -> None:
    import jsonschema_rs

    await failed(world, "t1")
    await stranded(world, "t2")
    document = (await world.stranger().get("/openapi.json")).json()
    schema = {"$ref": "#/components/schemas/TroublePage", "components": document["components"]}
    page = (await admin(world).get("/v1/operations")).json()
    assert len(page["items"]) == 2
    jsonschema_rs.validate(schema, page)
    assert set(page["items"][0]) == set(document["components"]["schemas"]["Trouble"]["properties"])
