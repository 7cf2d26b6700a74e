"""Checks over HTTP: who may plant and read them, and that nobody can tell one before its end."""

from __future__ import annotations

import json
import re
import uuid
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.server.world import World, listening

from ringi.audit.verify import verify_store
from ringi.domain.ask import Ask, Continuation
from ringi.domain.planting import JOURNAL
from ringi.domain.request import Request

RECIPE = {"tool": "refund", "because": "ten times what was paid", "times": {"amount": 10}}
CALL = {"name": "refund", "args": {"order": 1182, "amount": 400}}
CARD = {"effect": "pays money back", "amount": 400, "target": 1182, "limit": 1000}
REAL: dict[str, Any] = {
    "title": "Refund 400 to order 1182?",
    "description": "The parcel was late: 400.",
    "action": CALL,
    "context": {"card": CARD, "reason": "late"},
    "groups": ["desk"],
    "thread_id": "case-7",
    "tier": "medium",
    "expires_in": 600,
}


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_CHECKS", "1")


async def planted(world: World) -> Request:
    (id,) = await world.inbox.checks.plant([RECIPE], by="root")
    return await world.inbox.get(id)


async def twins(world: World) -> tuple[Request, Request]:
    """Return a check, and a real request with the same content."""
    await world.asked(**REAL)
    check = await planted(world)
    content = {name: getattr(check, name) for name in ("title", "description", "context")}
    assert check.action
    return check, await world.asked(**{**REAL, **content, "action": check.action.model_dump()})


def person(world: World) -> httpx.AsyncClient:
    return world.client(name="ann", groups=("desk",))


def same(text: str, request: Request) -> str:
    """Return a representation with one id, one time, one hash and one position for all requests."""
    text = text.replace(request.id, "ID")
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "TIME", text)
    text = re.sub(r'"(hash|payload_digest|previous)":"[^"]*"', r'"\1":"HASH"', text)
    return re.sub(r'"(position|id)":"[0-9a-f-]+"', r'"\1":"PLACE"', text)


async def seen_of(world: World, request: Request) -> list[str]:
    """Return everything that a person can read about a pending request."""
    client = person(world)
    listed = [f"/v1/requests?{query}" for query in ("q=4000", "status=pending", "thread_id=case-7", "kind=approval")]
    found = [await client.get(path) for path in (f"/v1/requests/{request.id}", f"/v1/audit?request_id={request.id}")]
    found += [await client.get(f"/v1/deliveries?request_id={request.id}")]
    (trail,) = [await client.get("/v1/audit?limit=200")]
    lists = [await client.get(path) for path in listed]
    items = [each for page in (*lists, trail) for each in page.json()["items"] if request.id in json.dumps(each)]
    assert all(page.status_code == 200 for page in (*found, *lists, trail))
    assert len(items) > len(listed)
    return [
        same(text, request)
        for text in (*(page.text for page in found), *(json.dumps(each, separators=(",", ":")) for each in items))
    ]


async def test_a_pending_check_reads_as_its_real_twin_byte_for_byte(world: World) -> None:
    check, real = await twins(world)
    assert (check.id, check.check is None, real.check) != (real.id, True, None)
    assert await seen_of(world, check) == await seen_of(world, real)
    for request in (check, real):
        await person(world).post(f"/v1/requests/{request.id}/claim", json={})
    assert await seen_of(world, check) == await seen_of(world, real)
    events = [await world.inbox.events(request_id=request.id) for request in (check, real)]
    payloads = [
        [same(each.model_dump_json(include={"payload", "type"}), request) for each in found]
        for found, request in zip(events, (check, real), strict=True)
    ]
    # Whoever computes the digest of an event gets the one of a real request.
    assert payloads[0] == payloads[1]
    assert (await verify_store(world.backend.store))[1] == []


async def test_a_stream_sends_a_check_like_its_real_twin_and_nothing_to_agents(live: World) -> None:
    person, agent = live.client(name="ann", groups=("desk",)), live.client("agent", "bot")
    async with listening(person, "/v1/events?after=0") as theirs, listening(agent, "/v1/events?after=0") as own:
        check, real = await twins(live)
        first, second, third = await theirs.take(3)
        sent = await own.take(2)
    assert [each.data["request"]["id"] for each in sent] == [first.data["request"]["id"], real.id]
    texts = [json.dumps(each.data, separators=(",", ":")) for each in (second, third)]
    assert same(texts[0], check) == same(texts[1], real)


async def test_ids_and_deadlines_of_checks_have_the_shape_of_real_ones(world: World) -> None:
    ask = Ask.parse({**REAL, "id": "q-0123456789abcdef0123456789abcdef"})
    run = await world.inbox.submit(
        ask, by="agent:bot", continuation=Continuation(runner="ringi", target="desk", key="t")
    )
    check = await planted(world)
    assert re.fullmatch(r"q-[0-9a-f]{32}", check.id)
    assert check.id != run.id
    assert check.expires_at
    assert run.expires_at
    assert check.expires_at - check.created_at == run.expires_at - run.created_at
    assert check.continuation is None


@pytest.mark.parametrize("shape", ["made by Ringi", "with hyphens", "no digits"])
async def test_the_version_in_an_id_betrays_no_check(world: World, shape: str) -> None:
    own = {"made by Ringi": None, "with hyphens": str(uuid.uuid4()), "no digits": "tea"}[shape]
    real = await world.asked(**REAL, **({"id": own} if own else {}))
    is_long = "-" in real.id
    for id in await world.inbox.checks.plant([RECIPE] * 40, by="root"):
        assert uuid.UUID(id).version == 4
        assert uuid.UUID(id).variant == uuid.RFC_4122
        assert ("-" in id, id == id.lower()) == (is_long, True)


async def test_the_answer_reveals_the_check_and_the_history_says_so(world: World) -> None:
    await world.asked(**REAL)
    check = await planted(world)
    client = person(world)
    assert "check_result" not in (await client.get(f"/v1/requests/{check.id}")).json()
    answer = {"decision": "approve", "digest": check.digest}
    done = (await client.post(f"/v1/requests/{check.id}/respond", json=answer)).json()
    result = {"expected": "reject", "because": "ten times what was paid", "caught": False}
    assert (done["check_result"], done["response"]["authorised_digest"]) == (result, None)
    items = (await client.get(f"/v1/audit?request_id={check.id}")).json()["items"]
    assert items[-1]["changed"]["check_result"] == result
    # The same answer again is the same, and a late one hears who was first.
    assert (await client.post(f"/v1/requests/{check.id}/respond", json=answer)).json() == done
    late = await world.client(name="bob", groups=("desk",)).post(f"/v1/requests/{check.id}/respond", json=answer)
    assert late.status_code == 409


async def test_the_answer_with_a_grant_is_accepted_and_makes_none(world: World) -> None:
    await world.asked(**REAL)
    check = await planted(world)
    body = {"decision": "approve", "digest": check.digest, "grant": {"until": "2999-01-01T00:00:00Z", "where": {}}}
    refused = await person(world).post(f"/v1/requests/{check.id}/respond", json=body)
    assert refused.json()["errors"][0]["code"] == "grant_until"
    body["grant"] = {"until": (check.created_at + timedelta(hours=1)).isoformat(), "where": {}}
    done = await person(world).post(f"/v1/requests/{check.id}/respond", json=body)
    assert (done.status_code, done.json()["check_result"]["caught"]) == (200, False)
    assert await world.inbox.grants.list() == []
    assert (await world.asked(**REAL)).status == "pending"


async def test_the_agent_whose_calls_it_copies_never_finds_it(world: World) -> None:
    real = await world.asked(**REAL)
    check = await planted(world)
    agent = world.client("agent", "bot")
    assert real.asked_by == check.asked_by == "agent:bot"
    answer = {"decision": "approve", "digest": check.digest}
    for answered in (False, True):
        if answered:
            await person(world).post(f"/v1/requests/{check.id}/respond", json=answer)
        for method, path, body in (
            ("GET", f"/v1/requests/{check.id}", None),
            ("GET", f"/v1/requests/{check.id}?wait=0.1", None),
            ("GET", f"/v1/audit?request_id={check.id}", None),
            ("POST", f"/v1/requests/{check.id}/outcome", {"outcome": "committed", "attempt": "a1"}),
            ("POST", f"/v1/requests/{check.id}/cancel", {}),
        ):
            reply = await agent.request(method, path, json=body)
            assert (path, reply.status_code) == (path, 404)
        for path in ("/v1/requests", "/v1/requests?unexecuted=true", "/v1/requests?status=completed", "/v1/audit"):
            assert check.id not in (await agent.get(path)).text
        counts = (await agent.get("/v1/requests/counts")).json()
        assert counts["pending"]["count"] == 1
    again = await agent.post("/v1/requests", json={**REAL, "title": check.title, "id": check.id})
    assert again.status_code == 409


async def test_a_person_withdraws_a_check_of_their_own_request_like_a_real_one(world: World) -> None:
    real = await world.asked(**REAL, by="ann")
    check = await planted(world)
    replies = [await person(world).post(f"/v1/requests/{each.id}/cancel", json={}) for each in (real, check)]
    assert [(reply.status_code, reply.json()["status"]) for reply in replies] == [(200, "cancelled")] * 2
    assert replies[1].json()["check_result"]["caught"] is None


async def test_only_admins_plant_and_only_they_and_auditors_read(world: World) -> None:
    await world.asked(**REAL)
    body = {"checks": [RECIPE]}
    for role, status in (("agent", 403), ("person", 403), ("auditor", 403), ("admin", 201)):
        assert (await world.client(role, role).post("/v1/checks", json=body)).status_code == status
    for role, status in (("agent", 403), ("person", 403), ("auditor", 200), ("admin", 200)):
        reply = await world.client(role, role).get("/v1/checks")
        assert reply.status_code == status
    (item,) = reply.json()["items"]
    assert (item["tool"], item["caught"], item["because"]) == ("refund", None, "ten times what was paid")
    trail = (await world.client("auditor", "eve").get("/v1/audit")).json()["items"]
    (entry,) = [each for each in trail if each["record_id"] == JOURNAL and each["type"] == "journal.written"]
    assert entry["changed"]["entry"] == {"do": "plant", "requests": [item["id"]]}
    assert JOURNAL not in (await person(world).get("/v1/audit")).text


async def test_checks_are_off_by_default(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGI_CHECKS")
    await world.asked(**REAL)
    reply = await world.client("admin", "root").post("/v1/checks", json={"checks": [RECIPE]})
    assert (reply.status_code, "RINGI_CHECKS=1" in reply.json()["detail"]) == (409, True)
    assert len(await world.inbox.find()) == 1


@pytest.mark.parametrize(
    "recipe",
    [
        {"tool": "refund", "because": "x"},
        {"tool": "refund", "because": "x", "set": {"amount": 1}, "times": {"amount": 2}},
        {"tool": "refund", "because": "x", "set": {}},
        {"tool": "refund", "because": " ", "set": {"amount": 1}},
        {"tool": "refund", "because": "x", "set": {"nothing": 1}},
        {"tool": "pay", "because": "x", "set": {"amount": 1}},
        {"tool": "refund", "because": "x", "expect": "approve", "set": {"amount": 1}},
        {"tool": "refund", "because": "x", "set": {"amount": 1}, "agent": "other"},
        {"tool": "refund", "because": "x", "set": {"amount": "many"}},
    ],
)
async def test_a_wrong_recipe_plants_nothing(world: World, recipe: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}}
    await world.asked(**{**REAL, "action": {**CALL, "schema": schema}})
    reply = await world.client("admin", "root").post("/v1/checks", json={"checks": [RECIPE, recipe]})
    assert (reply.status_code, len(await world.inbox.find())) == (422, 1)
