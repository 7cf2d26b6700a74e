"""Receipts over HTTP: an agent in any language says what became of the call that was approved for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.server.world import World

from ringi.base.canonical_json import jsonable
from ringi.domain.ask import Action, Answer
from ringi.domain.request import Request

DIGEST = f"sha256:{'0' * 64}"


async def asked(world: World, **more: Any) -> Request:
    return await world.asked(action=Action("refund", {"order": 1}), **more)


async def answer(world: World, request: Request, decision: Any = "approve") -> None:
    sent = Answer(decision=decision, digest=request.digest)
    await world.inbox.answer(request.id, sent, by="ann", channel="test")


async def report(client: httpx.AsyncClient, id: str, outcome: str = "committed", **more: object) -> httpx.Response:
    return await client.post(f"/v1/requests/{id}/outcome", json={"outcome": outcome, **more})


async def ids(client: httpx.AsyncClient, **params: str) -> list[str]:
    items = (await client.get("/v1/requests", params={"unexecuted": "true", **params})).json()["items"]
    return [each["id"] for each in items]


async def test_the_asker_reports_once_and_the_list_shows_what_is_not_executed(world: World) -> None:
    bot, admin, other = world.client("agent", "bot"), world.client("admin", "root"), world.client("agent", "other")
    request, later = await asked(world), await asked(world)
    early = await report(bot, request.id)
    assert (early.status_code, early.json()["code"]) == (409, "conflict")
    assert "wait for the approval, run the call, then report it" in early.json()["detail"]
    assert await ids(admin) == []
    await answer(world, request)
    await answer(world, later)
    assert (await ids(admin), await ids(bot)) == ([later.id, request.id],) * 2
    assert await ids(other) == []

    reply = await report(bot, request.id, result_digest=DIGEST)
    assert reply.status_code == 200
    assert reply.json()["receipt"] == {"outcome": "committed", "result_digest": DIGEST}
    assert (await report(bot, request.id, result_digest=DIGEST)).json() == reply.json()
    assert await ids(admin) == [later.id]
    for other_body in ({"outcome": "failed"}, {"outcome": "committed"}):
        assert (await report(bot, request.id, **other_body)).status_code == 409
    trail = (await admin.get("/v1/audit", params={"request_id": request.id})).json()["items"]
    assert [(each["type"], each["actor"]) for each in trail][-1] == ("request.acknowledged", "agent:bot")


async def test_others_cannot_report(world: World) -> None:
    request = await asked(world)
    await answer(world, request)
    replies = [
        await report(world.client(role, name, tenant), request.id)
        for role, name, tenant in (
            *(("agent", "other", "default"), ("agent", "bot", "acme")),
            *(("person", "ann", "default"), ("auditor", "eve", "default")),
        )
    ]
    assert [each.status_code for each in replies] == [404, 404, 403, 403]
    assert (await report(world.client("admin", "root"), request.id, "unknown")).status_code == 200


@pytest.mark.parametrize(
    "body", [{}, {"outcome": "done"}, {"outcome": "failed", "result_digest": "abc"}, {"outcome": "failed", "result": 1}]
)
async def test_a_wrong_body_is_refused_with_its_field(world: World, body: dict[str, object]) -> None:
    reply = await world.client("agent", "bot").post("/v1/requests/r/outcome", json=body)
    assert (reply.status_code, bool(reply.json()["errors"][0]["field"])) == (422, True)


async def test_what_was_rejected_has_no_outcome(world: World) -> None:
    request = await asked(world)
    await answer(world, request, "reject")
    reply = await report(world.client("agent", "bot"), request.id)
    assert (reply.status_code, "approves no call" in reply.json()["detail"]) == (409, True)


async def test_one_attempt_begins_the_call(world: World) -> None:
    bot, request = world.client("agent", "bot"), await asked(world)
    await answer(world, request)
    assert (await report(bot, request.id, "unknown", attempt="a1")).json()["receipt"]["attempt"] == "a1"
    assert (await report(bot, request.id, "unknown", attempt="a1")).status_code == 200
    assert (await report(bot, request.id, "unknown", attempt="a2")).status_code == 409
    assert (await report(bot, request.id, "committed", attempt="a2")).status_code == 409
    assert (await report(bot, request.id, "committed", attempt="a1")).status_code == 200
    wrong = await report(bot, request.id, "unknown", attempt="")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "attempt")


async def test_a_call_does_not_begin_after_its_grant_is_revoked(world: World) -> None:
    bot, first = world.client("agent", "bot"), await asked(world)
    grant = {"until": world.inbox.clock() + timedelta(hours=1)}
    sent = Answer.parse({"decision": "approve", "digest": first.digest, "grant": jsonable(grant)})
    await world.inbox.answer(first.id, sent, by="ann", channel="test")
    body = {"title": "Refund?", "action": {"name": "refund", "args": {"order": 1}}}
    second, third = [(await bot.post("/v1/requests", json=body)).json() for _ in range(2)]
    assert (second["status"], third["status"]) == ("completed", "completed")
    assert (await report(bot, second["id"], "unknown", attempt="a1")).status_code == 200
    await world.inbox.grants.revoke(first.id, by="ann")
    refused = await report(bot, third["id"], "unknown", attempt="a1")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "the grant that approved this call is over" in refused.json()["detail"]
