"""Pauses over HTTP: who may pause, resume and see them."""

from __future__ import annotations

import httpx
import pytest
from tests.server.world import World, listening


async def post(client: httpx.AsyncClient, **body: object) -> httpx.Response:
    return await client.post("/v1/pauses", json=body)


async def test_an_administrator_pauses_and_resumes_and_people_see_it(world: World) -> None:
    admin, person = world.client("admin", "root"), world.client("person", "ann")
    reply = await post(admin, agent="printer", reason="wrong paper")
    pause = reply.json()
    assert reply.status_code == 201
    assert {name: pause[name] for name in ("agent", "reason", "by", "until")} == {
        "agent": "printer", "reason": "wrong paper", "by": "root", "until": None,
    }  # fmt: skip
    assert pause["since"].endswith("Z")
    assert (await person.get("/v1/pauses")).json() == {"items": [pause], "next": None}
    assert (await world.client("admin", "root", "acme").get("/v1/pauses")).json()["items"] == []
    refused = [
        await post(person, reason="no"),
        await person.delete(f"/v1/pauses/{pause['id']}"),
        await post(world.client("agent", "bot"), reason="no"),
    ]
    assert [each.status_code for each in refused] == [403, 403, 403]
    assert (await world.client("admin", "root", "acme").delete(f"/v1/pauses/{pause['id']}")).status_code == 404
    assert (await admin.delete(f"/v1/pauses/{pause['id']}")).status_code == 204
    assert (await person.get("/v1/pauses")).json()["items"] == []
    assert (await admin.delete(f"/v1/pauses/{pause['id']}")).status_code == 404


async def test_an_agent_sees_all_pauses_because_one_token_may_serve_several_agents(world: World) -> None:
    admin = world.client("admin", "root")
    for agent in ("bot", "other", None):
        await post(admin, agent=agent, reason="a test")
    items = (await world.client("agent", "bot").get("/v1/pauses")).json()["items"]
    assert [each["agent"] for each in items] == ["bot", "other", None]


@pytest.mark.parametrize(
    "body", [{}, {"reason": ""}, {"reason": "x", "until": "1999-01-01T00:00:00Z"}, {"reason": "x", "agents": "all"}]
)
async def test_a_wrong_pause_is_refused_with_its_field(world: World, body: dict[str, str]) -> None:
    reply = await post(world.client("admin", "root"), **body)
    assert (reply.status_code, bool(reply.json()["errors"][0]["field"])) == (422, True)


async def test_every_reader_of_the_tenant_hears_that_the_pauses_have_changed(live: World) -> None:
    admin, person = live.client("admin", "root"), live.client("person", "ann")
    request = await live.asked(id="pauses", assignee="bob")
    async with (
        listening(person, "/v1/events") as stream,
        listening(live.client("person", "ann", "acme"), "/v1/events") as foreign,
        listening(live.client("person", "bob"), f"/v1/requests/{request.id}/events?after=0") as of_request,
    ):
        await stream.placed()
        await foreign.placed()
        pause = (await post(admin, reason="wrong paper")).json()
        (begun,) = await stream.take(1)
        await admin.delete(f"/v1/pauses/{pause['id']}")
        (ended,) = await stream.take(1)
        assert [each.name for each in (begun, ended)] == ["pauses.changed"] * 2
        assert {name: begun.data[name] for name in ("type", "actor")} == {"type": "pauses.changed", "actor": "root"}
        assert "request" not in begun.data
        await live.asked(tenant="acme")
        await live.inbox.cancel(request.id, by="root")
        assert [each.name for each in await foreign.take(1)] == ["request.created"]
        assert [each.name for each in await of_request.take(2)] == ["request.created", "request.cancelled"]
    async with listening(person, f"/v1/events?after={begun.id}") as resumed:
        assert [each.id for each in await resumed.take(1)] == [ended.id]
