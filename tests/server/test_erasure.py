"""Erasure over HTTP: only an admin's, in parts, told to those who follow, the same as in Python."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.raising import raises_code
from tests.server.world import World, listening

import ringi
from ringi.audit.verify import verify_store
from ringi.domain.ask import Answer
from ringi.domain.request import review_id
from ringi.domain.voting import Decider
from ringi.errors import ForbiddenError
from ringi.inbox.api import Seen


async def ended(world: World, id: str = "r1", by: str = "ann", **ask: Any) -> None:
    request = await world.asked(id=id, title="Zwetschge?", **ask)
    await world.inbox.respond(Seen(id, request.digest), "respond", by=by, message="her words")


def root(world: World) -> httpx.AsyncClient:
    return world.client("admin", "root")


async def test_a_field_that_an_erasure_of_one_request_does_not_know_erases_nothing(world: World) -> None:
    await ended(world)

    reply = await root(world).post("/v1/requests/r1/erase", json={"dry_run": True})

    assert (reply.status_code, (await world.inbox.get("r1")).erased) == (422, None)
    assert (await root(world).post("/v1/requests/r1/erase", json={})).status_code == 200


async def test_an_admin_erases_a_request_and_everybody_reads_what_is_left(world: World) -> None:
    await ended(world)

    reply = await root(world).post("/v1/requests/r1/erase")

    assert reply.status_code == 200
    left = reply.json()
    assert (left["title"], left["erased"]["by"], left["erased"]["rule"]) == ("erased", "root", "request")
    assert left["response"]["message"] is None
    assert (await world.client().get("/v1/requests/r1")).json() == left
    audit = (await root(world).get("/v1/audit?request_id=r1")).json()["items"]
    assert [(event["actor"], event["changed"].get("title")) for event in audit] == [
        ("agent:bot", None),
        ("erased:person", None),
        ("root", "erased"),
    ]


async def test_what_is_open_is_refused_with_a_code_and_the_remedy(world: World) -> None:
    await world.asked(id="r1")

    reply = await root(world).post("/v1/requests/r1/erase")

    assert (reply.status_code, reply.json()["code"]) == (409, "pending")
    assert "cancel it" in reply.json()["detail"]


async def test_who_follows_hears_of_an_erasure(live: World) -> None:
    await ended(live)
    async with listening(live.client(), "/v1/events") as listener:
        await listener.placed()
        await root(live).post("/v1/requests/r1/erase")
        sent = await listener.next()

    assert (sent.name, sent.data["actor"], sent.data["request"]["title"]) == ("request.erased", "root", "erased")


async def test_the_history_of_an_erased_request_says_nothing_of_it(live: World) -> None:
    await ended(live)
    await root(live).post("/v1/requests/r1/erase")
    async with listening(live.client(), "/v1/requests/r1/events") as listener:
        sent = [await listener.next() for _ in range(3)]

    assert [each.name for each in sent] == ["request.created", "request.completed", "request.erased"]
    assert not any("Zwetschge" in str(each.data) or "her words" in str(each.data) for each in sent)


async def test_a_person_is_looked_for_and_erased_in_the_own_tenant_only(world: World) -> None:
    await ended(world)
    looked = (await root(world).post("/v1/erasures", json={"person": "ann", "dry_run": True})).json()
    assert (looked["requests"], looked["next"]) == (["r1"], None)
    assert (await world.inbox.get("r1")).erased is None

    stranger = world.client("admin", "root", tenant="elsewhere")
    assert (await stranger.post("/v1/erasures", json={"person": "ann"})).json()["requests"] == []
    done = (await root(world).post("/v1/erasures", json={"person": "ann"})).json()

    assert (done["requests"], done["left"]) == (["r1"], {})
    left = await world.inbox.get("r1")
    assert (left.title, left.response and left.response.responder) == ("Zwetschge?", "erased:person")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "person"),
        ({"person": "ann", "before": "2026-01-01T00:00:00Z"}, "person"),
        ({"person": "root"}, "person"),
        ({"person": "agent:bot"}, "person"),
        ({"before": "2026-01-01"}, "before"),
        ({"before": "2026-01-01T00:00:00Z", "after": "nowhere"}, "after"),
        ({"people": "ann"}, "people"),
    ],
)
async def test_what_is_no_rule_is_refused_by_its_field(world: World, body: dict[str, Any], field: str) -> None:
    reply = await root(world).post("/v1/erasures", json=body)

    assert reply.status_code == 422, reply.text
    assert reply.json()["errors"][0]["field"] == field


async def test_a_client_erases_as_an_inbox_does(live: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringi.privacy.erasure.BATCH", 3)
    for n in range(5):
        await ended(live, f"r{n}")
    await live.asked(id="open", assignee="ann")
    async with ringi.open(live.url, token=live.token("admin", "root")) as client:
        with raises_code("pending", match="cancel it"):
            await client.erase("open")
        assert (await client.erase("r0")).title == "erased"
        looked = await client.trail.erase(person="ann", dry_run=True)
        done = await client.trail.erase(person="ann")

    assert set(looked.requests) == set(done.requests) == {"r1", "r2", "r3", "r4"}
    assert list(done.left) == ["open"]
    async with ringi.open(live.url, token=live.token("person", "ann")) as client:
        with pytest.raises(ForbiddenError, match="admin"):
            await client.erase("r1")


async def test_a_request_under_review_is_erased_over_http_when_the_review_ends(world: World) -> None:
    request = await world.asked(id="r1", title="Zwetschge?", quorum=({"count": 2},), action=ringi.Action("pay"))
    reason = {"decision": "approve", "digest": request.digest, "override": "the bank closes at five"}
    assert (await root(world).post("/v1/requests/r1/respond", json=reason)).status_code == 200
    review = await world.inbox.get(review_id("r1"))

    refused = await root(world).post("/v1/requests/r1/erase")
    looked, done = [
        (await world.client("admin", "second").post("/v1/erasures", json={"person": "root", "dry_run": dry})).json()
        for dry in (True, False)
    ]
    assert (refused.status_code, refused.json()["code"]) == (409, "under_review")
    assert refused.json()["review"] == review.id
    assert looked["left"] == done["left"] == {"r1": refused.json()["detail"]}
    body = {"decision": "reject", "digest": review.digest, "message": "Zwetschge was wrong"}
    assert (await world.client("admin", "boss").post(f"/v1/requests/{review.id}/respond", json=body)).status_code == 200

    for id in ("r1", review.id):
        left = await root(world).get(f"/v1/requests/{id}")
        assert (left.json()["title"], left.json()["erased"]["by"]) == ("erased", "second")
        for word in ("Zwetschge", "bank", "waiting_erasures"):
            assert word not in left.text
    audit = (await root(world).get(f"/v1/audit?request_id={review.id}")).json()["items"]
    assert [each["type"] for each in audit][:2] == ["request.created", "request.completed"]
    assert {each["type"] for each in audit[2:]} == {"request.erased"}
    assert "Zwetschge" not in str(audit)
    assert (await verify_store(world.backend.store))[1] == []


async def test_a_client_reads_which_review_an_erasure_waits_for(live: World) -> None:
    request = await live.asked(id="r1", quorum=({"count": 2},), action=ringi.Action("pay"))
    answer = Answer(decision="approve", digest=request.digest, override="it burns")
    await live.inbox.answer("r1", answer, by=Decider("root", is_admin=True), channel="test")
    async with ringi.open(live.url, token=live.token("admin", "boss")) as client:
        with raises_code("under_review") as refused:
            await client.erase("r1")
        done = await client.trail.erase(person="root")
    assert (refused.value.id, refused.value.review) == ("r1", review_id("r1"))
    assert done.left == {"r1": str(refused.value)}
