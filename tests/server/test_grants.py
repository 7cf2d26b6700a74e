"""Grants over HTTP: who makes, sees and revokes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.server.world import World, open_world

from ringi.base.clock import utc_now
from ringi.domain.request import Request
from ringi.domain.voting import Person

ACTION = {"name": "refund", "args": {"order": 7, "amount": 40}}
TOMORROW = (utc_now() + timedelta(days=1)).isoformat()


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    async with open_world(store_url) as world:
        yield world


async def ask(agent: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    reply = await agent.post("/v1/requests", json={"title": "Refund?", "action": ACTION, **more})
    assert reply.status_code == 201, reply.text
    asked: dict[str, Any] = reply.json()
    return asked


async def approve(person: httpx.AsyncClient, asked: dict[str, Any], **scope: Any) -> httpx.Response:
    body = {"decision": "approve", "digest": asked["digest"], "grant": {"until": TOMORROW, **scope}}
    return await person.post(f"/v1/requests/{asked['id']}/respond", json=body)


async def items(client: httpx.AsyncClient) -> list[Any]:
    found: list[Any] = (await client.get("/v1/grants")).json()["items"]
    return found


async def test_a_person_makes_lists_and_revokes_a_grant(world: World) -> None:
    agent, ann = world.client("agent", "bot"), world.client("person", "ann")
    first = await ask(agent)
    done = (await approve(ann, first, where={"amount": {"at_most": 50}}, max_uses=2)).json()
    assert done["response"]["grant"]["where"] == {"amount": {"at_most": 50.0}}

    second = await ask(agent, action={"name": "refund", "args": {"order": 8, "amount": 50}})

    assert second["status"] == "completed"
    assert second["response"]["grant_use"] == {
        "id": first["id"],
        "digest": (await items(ann))[0]["digest"],
        "number": 1,
    }
    for client in (ann, agent, world.client("auditor", "eve"), world.client("admin", "root")):
        (grant,) = await items(client)
        assert (grant["id"], grant["status"], grant["uses"], grant["granted_by"]) == (first["id"], "active", 1, "ann")
    assert await items(world.client("agent", "other")) == []
    assert await items(world.client("admin", "root", "elsewhere")) == []

    path = f"/v1/grants/{first['id']}/revoke"
    for client, status in (
        (agent, 403),
        (world.client("auditor", "eve"), 403),
        (world.client("admin", "root", "elsewhere"), 404),
        (ann, 204),
        (ann, 204),
    ):
        assert (await client.post(path)).status_code == status
    assert [grant["status"] for grant in await items(ann)] == ["revoked"]
    assert (await ask(agent))["status"] == "pending"


async def test_who_may_not_answer_the_request_may_not_see_or_revoke_its_grant(world: World) -> None:
    ann, bob = world.client("person", "ann", groups=("money",)), world.client("person", "bob")
    first = await ask(world.client("agent", "bot"), groups=["money"])
    assert (await approve(ann, first)).status_code == 200
    assert await items(bob) == []
    assert (await bob.post(f"/v1/grants/{first['id']}/revoke")).status_code == 404
    assert (await ann.post(f"/v1/grants/{first['id']}/revoke")).status_code == 204


async def test_an_agent_makes_no_grant_and_a_bad_one_names_its_field(world: World) -> None:
    agent, ann = world.client("agent", "bot"), world.client("person", "ann")
    first = await ask(agent)
    assert (await approve(agent, first)).status_code == 403
    problem = (await approve(ann, first, where={"amount": {"at_most": 5}})).json()
    assert [error["field"] for error in problem["errors"]] == ["grant.where"]
    assert (await approve(ann, first, max_uses=0)).status_code == 422
    high = await ask(agent, tier="high")
    problem = (await approve(ann, high)).json()
    assert [error["code"] for error in problem["errors"]] == ["grant_unavailable"]
    assert await items(ann) == []


async def test_bulk_answers_carry_a_grant_as_one_answer_does(world: World) -> None:
    agent, ann = world.client("agent", "bot"), world.client("person", "ann")
    first = await ask(agent)
    scope = {"until": TOMORROW, "where": {"order": {"equals": 7}}}
    item = {"id": first["id"], "decision": "approve", "digest": first["digest"], "grant": scope}
    results = (await ann.post("/v1/requests/respond", json={"items": [item]})).json()["items"]
    assert [each["status"] for each in results] == [200]
    assert (await ask(agent))["status"] == "completed"


async def decide_refunds(world: World, by: str = "agent:bot", **more: Any) -> Request:
    """Approve as many calls for a group as a suggestion needs, and return the newest request."""
    for number in range(200):
        call = {"name": "refund", "args": {"amount": number * 7 % 100, "to": "desk"}}
        request = await world.asked(by, title="Refund?", action=call, groups=["finance"], **more)
        await world.inbox.respond(request, "approve", by=Person("fay", ["finance"]))
    return request


async def test_a_person_switches_on_only_what_they_may_decide(world: World) -> None:
    """A rule is suggested to those who may answer such calls, and to auditors to read."""
    request = await decide_refunds(world)
    fay, ann = world.client(name="fay", groups=("finance",)), world.client(name="ann")
    (item,) = (await fay.get("/v1/suggestions")).json()["items"]
    assert (item["decisions"], item["approved"], item["covered"], item["newer"]) == (200, 200, 200, 100)
    assert (await ann.get("/v1/suggestions")).json()["items"] == []
    assert (await world.client("agent", "bot").get("/v1/suggestions")).status_code == 403
    path = f"/v1/suggestions/{item['id']}/accept"
    left = world.client(name="fay", groups=("legal",))
    assert (await left.get(f"/v1/requests/{request.id}")).status_code == 200
    assert (await left.get("/v1/suggestions")).json()["items"] == []
    bot, eve = world.client("agent", "bot"), world.client("auditor", "eve")
    for client, status in ((ann, 404), (left, 404), (bot, 403), (eve, 403)):
        assert (await client.post(path, json={})).status_code == status
    assert (await fay.post(path, json={"one_in": 1})).status_code == 422
    made = await fay.post(path, json={"one_in": 10})
    assert (made.status_code, made.json()["response"]["grant"]["one_in"], "seed" in made.json()) == (201, 10, False)
    assert (await fay.post(path, json={})).status_code == 404
    figures = (await eve.get("/v1/statistics")).json()
    assert [each["name"] for each in figures["tools"]] == ["refund"]
    (view,) = (await fay.get("/v1/grants")).json()["items"]
    assert (await ann.post(f"/v1/grants/{view['id']}/revoke", json={})).status_code == 404
    assert (await fay.post(f"/v1/grants/{view['id']}/revoke", json={})).status_code == 204


@pytest.mark.parametrize(("role", "is_offered"), [("person", False), ("admin", False), ("auditor", True)])
async def test_a_deputy_is_not_offered_a_rule_that_they_cannot_switch_on(
    world: World, role: str, is_offered: bool
) -> None:
    await decide_refunds(world)
    path = "/v1/suggestions"
    await world.client(name="fay", groups=("finance",)).put(
        "/v1/away", json={"until": TOMORROW, "deputy": "dan", "unknown": True}
    )
    dan = world.client(role, "dan")
    offered = (await dan.get(path)).json()["items"]
    assert len(offered) == int(is_offered)
    (item,) = (await world.client(name="gil", groups=("finance",)).get(path)).json()["items"]
    assert (await dan.post(f"{path}/{item['id']}/accept", json={})).status_code == 403
    assert len((await world.client(role, "dan", groups=("finance",)).get(path)).json()["items"]) == 1


async def test_the_excluded_asker_is_not_offered_a_rule(world: World) -> None:
    await decide_refunds(world, by="eve", exclude=["asker"])
    path = "/v1/suggestions"
    for role in ("person", "admin"):
        assert (await world.client(role, "eve", groups=("finance",)).get(path)).json()["items"] == []
    assert len((await world.client(name="fay", groups=("finance",)).get(path)).json()["items"]) == 1
