"""Each override by an administrator is reviewed by another person, in an ordinary request that stays open."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.server.world import World

from ringi.connect import store_inbox
from ringi.domain.ask import Action, Answer, Ask
from ringi.domain.request import ADMINISTRATORS, Request, review_id
from ringi.domain.voting import Decider
from ringi.errors import InvalidError

SEPARATED: Any = {"action": Action("pay", {"amount": 900}), "exclude": ("asker",), "quorum": ({"count": 2},)}


async def override(world: World, by: str = "root", decision: str = "approve") -> Request:
    """Return a request that an administrator has decided although two people must."""
    request = await world.asked(**SEPARATED)
    body = {"decision": decision, "digest": request.digest, "override": "the bank closes at five"}
    reply = await world.client("admin", by).post(f"/v1/requests/{request.id}/respond", json=body)
    assert reply.status_code == 200
    return request


def sign_in(world: World, role: str, name: str, issuer: str) -> httpx.AsyncClient:
    token = world.keys.mint(role=role, name=name, subject=f"https://{issuer}.example.com 7")
    return world.stranger(authorization=f"Bearer {token}")


async def respond(client: httpx.AsyncClient, request: Request, **more: object) -> httpx.Response:
    body = {"decision": "approve", "digest": request.digest, **more}
    return await client.post(f"/v1/requests/{request.id}/respond", json=body)


async def test_an_override_asks_the_other_administrators(world: World) -> None:
    request = await override(world)
    review = await world.inbox.get(review_id(request.id))
    assert (review.kind, review.allowed, review.status) == ("question", ("approve", "reject"), "pending")
    assert (review.groups, review.exclude, review.asked_by) == ((ADMINISTRATORS,), ("asker",), "root")
    assert (review.expires_at, review.escalation) == (None, ())
    assert review.title == "Was this override by root right: Go?"
    assert review.description
    assert "Their reason: the bank closes at five" in review.description
    assert f"[{request.id}](/r/{request.id})" in review.description
    assert review.context["overridden"]["request"] == request.id
    auditor = world.client("auditor", "eve")
    listed = (await auditor.get("/v1/requests", params={"status": "pending"})).json()["items"]
    assert [each["id"] for each in listed] == [review.id]
    trail = (await auditor.get("/v1/audit", params={"request_id": review.id})).json()["items"]
    assert [each["type"] for each in trail] == ["request.created"]


async def test_only_another_administrator_closes_it(world: World) -> None:
    review = await world.inbox.get(review_id((await override(world)).id))
    assert review.groups == (ADMINISTRATORS,)
    root, boss = world.client("admin", "root"), world.client("admin", "boss")
    path = f"/v1/requests/{review.id}"
    refused = [
        *(await respond(root, review), await respond(root, review, override="I know")),
        *(await root.post(f"{path}/claim", json={}), await root.post(f"{path}/reassign", json={"assignee": "bob"})),
        *(await root.post(f"{path}/cancel", json={}), await boss.post(f"{path}/cancel", json={})),
        *(await respond(boss, review, override="I know"), await respond(world.client("auditor", "eve"), review)),
    ]
    assert [each.status_code for each in refused] == [403] * len(refused)
    assert (await respond(world.client("person", "ann"), review)).status_code == 404
    assert (await world.inbox.get(review.id)).version == 1
    assert (await respond(boss, review, decision="reject", message="call me next time")).status_code == 200
    assert (await world.inbox.get(review.id)).winner


async def test_another_name_of_the_same_sign_in_neither_decides_nor_reviews(world: World) -> None:
    root, again = sign_in(world, "admin", "root", "one"), sign_in(world, "admin", "boss", "one")
    body = {"title": "Go?", "action": {"name": "pay"}, "exclude": ["asker"]}
    asked = await world.inbox.get((await root.post("/v1/requests", json=body)).json()["id"])
    for client in (root, again, world.client("admin", "root")):
        assert (await respond(client, asked)).status_code == 403
    assert (await respond(again, asked, override="the bank closes at five")).status_code == 200
    review = await world.inbox.get(review_id(asked.id))
    for client in (root, again, world.client("admin", "boss")):
        assert (await respond(client, review)).status_code == 403
    assert (await respond(sign_in(world, "admin", "boss", "two"), review)).status_code == 200
    auditor = world.client("auditor", "eve")
    for path in (f"/v1/requests/{asked.id}", f"/v1/audit?request_id={asked.id}", f"/v1/audit?request_id={review.id}"):
        page = await auditor.get(path)
        assert page.status_code == 200
        assert "example.com" not in page.text


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_each_override_has_one_review_and_other_decisions_have_none(world: World, decision: str) -> None:
    plain = await world.asked()
    await respond(world.client("admin", "boss"), plain, decision="respond", message="yes")
    first, second = await override(world, decision=decision), await override(world)
    reviews = [await world.inbox.get(review_id(each.id)) for each in (first, second)]
    found = await world.inbox.find()
    assert {each.id for each in found} == {plain.id, first.id, second.id, *(each.id for each in reviews)}
    assert [len(await world.inbox.events(request_id=each.id)) for each in reviews] == [1, 1]


async def test_a_held_override_has_its_review_when_it_is_released(world: World) -> None:
    request = await world.asked(hold=20, **SEPARATED)
    held = await respond(world.client("admin", "root"), request, override="the bank closes at five")
    assert held.status_code == 202
    assert [each.id for each in await world.inbox.find()] == [request.id]
    until = (await world.inbox.get(request.id)).next_time
    assert until
    world.inbox.clock = lambda: until
    assert await world.inbox.expire_due() == 1
    assert (await world.inbox.get(review_id(request.id))).created_at == until


async def test_the_groups_of_administrators_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_ADMIN_GROUPS", "owners, board")
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("Go?")
        answer = Answer(decision="respond", message="yes", digest=request.digest, override="it burns")
        await inbox.answer(request.id, answer, by=Decider("root", is_admin=True), channel="test")
        assert (await inbox.get(review_id(request.id))).groups == ("owners", "board")


def test_no_ask_may_take_the_place_of_a_review() -> None:
    with pytest.raises(InvalidError, match="choose another id"):
        Ask(title="Go?", id=review_id("r1")).checked(max_fields=5)
