"""Requests over HTTP: ask, list, read, decide."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.server.world import World, open_world

from ringi.domain.record import Query
from ringi.inbox.api import Seen
from ringi.server.problems import SPREAD_SECONDS

REFUND = {"title": "Refund?", "action": {"name": "refund", "args": {"amount": 40}}}
FORM = {
    "title": "Which?",
    "form": {"fields": [{"name": "colour", "type": "text", "label": "Colour", "required": True}]},
}


async def test_asking_twice_with_one_id_returns_the_stored_request(world: World) -> None:
    client = world.client("agent", "bot")
    first = await client.post("/v1/requests", json={**REFUND, "id": "a"})
    again = await client.post("/v1/requests", json={**REFUND, "id": "a"})
    other = await client.post("/v1/requests", json={"title": "Another?", "id": "a"})
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 409)
    assert first.json() == again.json()
    assert other.json()["code"] == "different"


async def test_a_request_has_the_names_of_the_surface(world: World) -> None:
    body = {**FORM, "due_at": "2030-01-01T09:00:00+09:00", "expires_in": 60}
    reply = (await world.client("agent", "bot").post("/v1/requests", json=body)).json()
    named = (
        "id tenant version kind title description action form schema allowed actions context thread_id run_id status "
        "response assignee groups claimed_by priority created_at due_at expires_at fallback reason attention "
        "acknowledged_at digest claimed_until asked_by agent ended_at erased display answer_schema"
    )
    assert set(reply) == set(named.split())
    assert (reply["asked_by"], reply["due_at"]) == ("agent:bot", "2030-01-01T00:00:00Z")
    assert reply["created_at"].endswith("Z")
    assert reply["expires_at"].endswith("Z")


async def test_an_answer_completes_a_request_and_may_be_repeated(world: World) -> None:
    request = await world.asked(id="a", action={"name": "refund", "args": {"amount": 40}})
    answer = {"decision": "edit", "args": {"amount": 35}, "message": "less", "digest": request.digest}
    first = await world.client().post("/v1/requests/a/respond", json=answer)
    again = await world.client().post("/v1/requests/a/respond", json=answer)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    response = first.json()["response"]
    assert (response["responder"], response["channel"], response["args"]) == ("ann", "http", {"amount": 35})
    assert response["authorised_digest"].startswith("sha256:")


async def test_a_late_answer_is_told_who_won(world: World) -> None:
    request = await world.asked(id="a")
    yes = {"decision": "respond", "message": "yes", "digest": request.digest}
    await world.client("person", "ann").post("/v1/requests/a/respond", json=yes)
    late = await world.client("person", "bob").post("/v1/requests/a/respond", json=yes)
    problem = late.json()
    assert (late.status_code, problem["code"]) == (409, "final")
    assert late.headers["content-type"] == "application/problem+json"
    assert set(problem) == {"type", "title", "status", "detail", "code", "state", "winner"}
    assert problem["winner"]["responder"] == "ann"
    assert problem["winner"]["decision"] == "respond"
    assert problem["winner"]["at"].endswith("Z")


@pytest.mark.parametrize(
    ("answer", "status", "code", "field"),
    [
        ({"decision": "approve", "data": {"colour": "red"}}, 422, "invalid", "digest"),
        ({"decision": "approve", "data": {"colour": "red"}, "digest": "sha256:0"}, 409, "digest_mismatch", None),
        ({"decision": "approve", "data": {}, "digest": "?"}, 422, "invalid", "data.colour"),
        ({"decision": "approve", "data": {"colour": 5}, "digest": "?"}, 422, "invalid", "data.colour"),
        ({"decision": "respond", "message": "x", "digest": "?"}, 422, "invalid", "decision"),
        ({"decision": "maybe", "digest": "?"}, 422, "invalid", "decision"),
        ({"decision": "reject", "digest": "?", "more": 1}, 422, "invalid", "more"),
        ([], 422, "invalid", ""),
    ],
)
async def test_a_bad_answer_is_refused_and_the_request_stays_open(
    world: World, answer: Any, status: int, code: str, field: str | None
) -> None:
    request = await world.asked(id="a", form=FORM["form"])
    if isinstance(answer, dict) and answer.get("digest") == "?":
        answer = {**answer, "digest": request.digest}
    reply = await world.client().post("/v1/requests/a/respond", json=answer)
    assert (reply.status_code, reply.json()["code"]) == (status, code), reply.text
    if field is not None:
        fields = [error["field"] for error in reply.json()["errors"]]
        assert fields in ([field], [field.removeprefix("data.")])
    assert (await world.inbox.get("a")).status == "pending"


async def test_of_a_hundred_answers_at_once_one_wins_and_all_others_learn_who(live: World) -> None:
    request = await live.asked(id="a")
    clients = [live.client("person", f"p{n}") for n in range(100)]
    await asyncio.gather(*(client.get("/healthz") for client in clients))

    async def answer(n: int) -> Any:
        body = {"decision": "respond", "message": f"answer {n}", "digest": request.digest}
        return await clients[n].post("/v1/requests/a/respond", json=body)

    replies = await asyncio.gather(*(answer(n) for n in range(100)))
    won = [reply.json() for reply in replies if reply.status_code == 200]
    lost = [reply.json() for reply in replies if reply.status_code == 409]
    assert (len(won), len(lost)) == (1, 99)
    response = won[0]["response"]
    winner = {name: response[name] for name in ("decision", "responder", "at")}
    assert all(problem["code"] == "final" and problem["winner"] == winner for problem in lost)
    events = await live.inbox.events(request_id="a", limit=1_000)
    assert [event.type for event in events] == ["request.created", "request.completed"]
    assert (await live.inbox.get("a")).response is not None


async def test_a_long_poll_returns_as_soon_as_there_is_an_answer(live: World) -> None:
    request = await live.asked(id="a")
    polling = asyncio.create_task(live.client("agent", "bot").get("/v1/requests/a?wait=25"))
    answer = {"decision": "respond", "message": "yes", "digest": request.digest}
    await live.client().post("/v1/requests/a/respond", json=answer)
    assert (await polling).json()["status"] == "completed"


async def test_a_long_poll_ends_with_the_request_still_open(world: World) -> None:
    await world.asked(id="a")
    reply = await world.client().get("/v1/requests/a?wait=0.05")
    assert (reply.status_code, reply.json()["status"]) == (200, "pending")


@pytest.mark.parametrize("wait", ["-1", "nan", "inf", "soon"])
async def test_a_wait_that_is_no_time_is_refused(world: World, wait: str) -> None:
    await world.asked(id="a")
    reply = await world.client().get(f"/v1/requests/a?wait={wait}")
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "wait")


async def test_a_claim_keeps_others_away_until_it_is_released(world: World) -> None:
    request = await world.asked(id="a")
    ann, bob = world.client("person", "ann"), world.client("person", "bob")
    yes = {"decision": "respond", "message": "yes", "digest": request.digest}
    claimed = await ann.post("/v1/requests/a/claim")
    assert claimed.json()["claimed_by"] == "ann"
    assert claimed.json()["claimed_until"].endswith("Z")
    for reply in [await bob.post("/v1/requests/a/claim"), await bob.post("/v1/requests/a/respond", json=yes)]:
        assert (reply.status_code, reply.json()["code"]) == (409, "claimed")
    assert (await ann.post("/v1/requests/a/release", json={})).json()["claimed_by"] is None
    assert (await bob.post("/v1/requests/a/respond", json=yes)).status_code == 200


async def test_a_reassigned_request_is_gone_for_who_gave_it_away(world: World) -> None:
    await world.asked(id="a")
    ann, bob = world.client("person", "ann"), world.client("person", "bob")
    reply = await ann.post("/v1/requests/a/reassign", json={"assignee": "bob"})
    assert (reply.status_code, reply.json()["assignee"]) == (200, "bob")
    assert (await ann.get("/v1/requests/a")).status_code == 404
    assert (await bob.get("/v1/requests/a")).status_code == 200
    nobody = await bob.post("/v1/requests/a/reassign", json={})
    assert (nobody.status_code, nobody.json()["errors"][0]["field"]) == (422, "assignee")


async def test_a_group_opens_a_request_to_its_members(world: World) -> None:
    await world.asked(id="a", groups=["finance"])
    assert (await world.client("person", "ann", groups=("finance", "ops")).get("/v1/requests/a")).status_code == 200
    assert (await world.client("person", "bob", groups=("ops",)).get("/v1/requests/a")).status_code == 404


async def test_who_asked_may_see_it_but_not_answer_for_others(world: World) -> None:
    request = await world.asked(id="a", by="ann", assignee="bob")
    answer = {"decision": "respond", "message": "yes", "digest": request.digest}
    assert (await world.client("person", "ann").get("/v1/requests/a")).status_code == 200
    reply = await world.client("person", "ann").post("/v1/requests/a/respond", json=answer)
    assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")


async def test_who_asked_finds_it_in_their_own_list_in_its_place(world: World) -> None:
    for n in range(6):
        await world.asked(id=f"r{n}", by="ann" if n % 2 else "agent:bot", assignee="bob" if n % 3 else None)
    await world.asked(id="hidden", assignee="bob")
    seen, cursor, client = list[str](), "", world.client("person", "ann")
    while True:
        page = (await client.get(f"/v1/requests?limit=2&status=pending&cursor={cursor}")).json()
        seen += [item["id"] for item in page["items"]]
        if not (cursor := page["next"] or ""):
            break
    assert seen == ["r5", "r3", "r1", "r0"]


async def test_a_cancelled_request_says_why(world: World) -> None:
    await world.asked(id="a")
    reply = await world.client("agent", "bot").post("/v1/requests/a/cancel", json={"reason": "not needed"})
    assert (reply.json()["status"], reply.json()["reason"]) == ("cancelled", "not needed")
    again = await world.client("agent", "bot").post("/v1/requests/a/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "final")
    assert "winner" not in again.json()


async def test_many_answers_are_decided_each_on_its_own(world: World) -> None:
    requests = [await world.asked(id=f"r{n}") for n in range(3)]
    items: list[dict[str, Any]] = [
        {"id": request.id, "decision": "respond", "message": "yes", "digest": request.digest} for request in requests
    ]
    items[1]["digest"] = "sha256:0"
    items += [{"id": "nowhere", "decision": "reject", "digest": "?"}, {"id": "r2"}]
    results = (await world.client().post("/v1/requests/respond", json={"items": items})).json()["items"]
    assert [(each["id"], each["status"]) for each in results] == [
        ("r0", 200), ("r1", 409), ("r2", 200), ("nowhere", 404), ("r2", 422),
    ]  # fmt: skip
    assert results[0]["request"]["status"] == "completed"
    assert results[1]["problem"]["code"] == "digest_mismatch"
    assert len(await world.inbox.events(request_id="r0")) == 2


async def test_a_high_tier_is_approved_alone_and_rejected_with_others(world: World) -> None:
    tiers = (None, "low", "medium", "high", "irreversible")
    action = {"name": "pay", "args": {"n": 1}}
    for decision in ("approve", "edit", "reject"):
        asked = [await world.asked(action=action, **({"tier": tier} if tier else {})) for tier in tiers]
        more = {"args": {"n": 2}} if decision == "edit" else {}
        items = [{"id": each.id, "decision": decision, "digest": each.digest, **more} for each in asked]
        results = (await world.client().post("/v1/requests/respond", json={"items": items})).json()["items"]
        late = [200, 200] if decision == "reject" else [422, 422]
        assert [each["status"] for each in results] == [200, 200, 200, *late]
        assert [(await world.inbox.get(each.id)).is_final for each in asked[3:]] == [decision == "reject"] * 2
        if decision != "reject":
            # Alone in the same call is no look of its own either: the page of the request is.
            (one,) = (await world.client().post("/v1/requests/respond", json={"items": items[3:4]})).json()["items"]
            assert one["problem"]["errors"][0]["code"] == "decide_alone"
            alone = {key: value for key, value in items[3].items() if key != "id"}
            assert (await world.client().post(f"/v1/requests/{asked[3].id}/respond", json=alone)).status_code == 200


@pytest.mark.parametrize("body", [{}, {"items": []}, {"items": {}}, {"items": [{}] * 101}, {"items": [{}], "x": 1}])
async def test_a_bulk_answer_must_be_a_list_of_bounded_length(world: World, body: Any) -> None:
    assert (await world.client().post("/v1/requests/respond", json=body)).status_code == 422


async def test_lists_are_filtered_and_paged(world: World) -> None:
    for n in range(5):
        await world.asked(id=f"r{n}", title=f"稟議 {n}", assignee="ann" if n % 2 else None)
    await world.inbox.cancel("r4", by="bot")
    client = world.client("admin", "root")
    seen, cursor = list[str](), ""
    while True:
        page = (await client.get(f"/v1/requests?limit=2&cursor={cursor}")).json()
        seen += [item["id"] for item in page["items"]]
        if not (cursor := page["next"] or ""):
            break
    assert seen == ["r4", "r3", "r2", "r1", "r0"]
    for query, expected in {
        "status=pending": "r3 r2 r1 r0",
        "status=cancelled&status=expired": "r4",
        "assignee=ann": "r3 r1",
        "q=稟議": "r4 r3 r2 r1 r0",
        "q=議 3": "r3",
        "kind=form": "",
        "thread_id=t": "",
        "status=&assignee=&kind=&thread_id=&q=&cursor=": "r4 r3 r2 r1 r0",
        "status=&status=pending&assignee=": "r3 r2 r1 r0",
    }.items():
        items = (await client.get(f"/v1/requests?{query}")).json()["items"]
        assert " ".join(item["id"] for item in items) == expected, query


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "status=open", "kind=none", "cursor=x", "cursor=²:a", "q=" + "x" * 501]
)
async def test_a_bad_filter_is_named(world: World, query: str) -> None:
    reply = await world.client().get(f"/v1/requests?{query}")
    assert reply.status_code == 422, reply.text
    assert reply.json()["errors"][0]["field"].startswith(query.partition("=")[0])


async def test_a_list_is_never_longer_than_the_limit(store_url: str) -> None:
    async with open_world(store_url, max_list=3) as world:
        for n in range(5):
            await world.asked(id=f"r{n}")
        page = (await world.client().get("/v1/requests?limit=100000")).json()
        assert len(page["items"]) == 3
        assert page["next"]


async def test_an_asker_has_a_limit_of_open_requests_and_may_still_repeat_itself(store_url: str) -> None:
    async with open_world(store_url, max_open_requests=2) as world:
        client = world.client("agent", "bot")
        asks = [await client.post("/v1/requests", json={"title": "Go?", "id": f"r{n}"}) for n in range(3)]
        assert [reply.status_code for reply in asks] == [201, 201, 429]
        assert asks[2].json()["code"] == "limit"
        assert int(asks[2].headers["retry-after"]) > 0
        assert (await client.post("/v1/requests", json={"title": "Go?", "id": "r0"})).status_code == 200
        assert (await world.client("agent", "another").post("/v1/requests", json={"title": "Go?"})).status_code == 201
        await client.post("/v1/requests/r0/cancel")
        assert (await client.post("/v1/requests", json={"title": "Go?"})).status_code == 201


async def test_an_asker_has_a_limit_of_asks_a_minute(store_url: str) -> None:
    async with open_world(store_url, asks_per_minute=2) as world:
        client = world.client("agent", "bot")
        replies = [await client.post("/v1/requests", json={"title": "Go?"}) for _ in range(3)]
        assert [reply.status_code for reply in replies] == [201, 201, 429]
        assert 0 < int(replies[2].headers["retry-after"]) <= 60 + SPREAD_SECONDS


async def test_an_asker_has_a_limit_of_bytes_a_minute(store_url: str) -> None:
    async with open_world(store_url, ask_bytes_per_minute=50_000) as world:
        client = world.client("agent", "bot")
        large = {"title": "Go?", "id": "a", "context": {"text": "決" * 13_334}}
        asks = [large, {**large, "id": "b"}, {"title": "Go?"}, large]
        replies = [await client.post("/v1/requests", json=ask) for ask in asks]
        assert [reply.status_code for reply in replies] == [201, 201, 429, 200]
        assert "with 80" in replies[2].json()["detail"]
        assert (await world.client("agent", "eve").post("/v1/requests", json=large | {"id": "c"})).status_code == 201


async def test_equal_ids_in_two_tenants_never_meet(world: World) -> None:
    here, there = world.client("admin", "root", "here"), world.client("admin", "root", "there")
    for client, title in ((here, "Here?"), (there, "There?")):
        assert (await client.post("/v1/requests", json={"title": title, "id": "a"})).status_code == 201
        assert (await client.post("/v1/threads/t/runs", json={"agent": "two_questions"})).status_code == 202
    request = (await here.get("/v1/requests/a")).json()
    await here.post("/v1/requests/a/respond", json={"decision": "respond", "message": "x", "digest": request["digest"]})
    await here.post("/v1/threads/t/cancel")
    assert (await there.get("/v1/requests/a")).json()["status"] == "pending"
    assert (await there.get("/v1/requests/a")).json()["title"] == "There?"
    assert (await there.get("/v1/threads/t")).json()["status"] != "idle"
    assert [item["tenant"] for item in (await there.get("/v1/requests?q=there")).json()["items"]] == ["there"]
    audited = (await there.get("/v1/audit")).json()["items"]
    assert {event["actor"] for event in audited if event["record"] == "request"} == {"root"}
    assert "request.completed" not in {event["type"] for event in audited}


async def test_the_audit_of_a_request_is_its_chain(world: World) -> None:
    request = await world.asked(id="a")
    await world.inbox.respond(Seen("a", request.digest), "respond", message="yes", by="ann")
    events = (await world.client().get("/v1/audit?request_id=a")).json()["items"]
    assert [(event["type"], event["actor"]) for event in events] == [
        ("request.created", "agent:bot"), ("request.completed", "ann"),
    ]  # fmt: skip
    assert events[1]["previous"] == events[0]["hash"]
    assert not [event for event in events if {"head", "continuation"} & set(event["changed"])]


async def test_the_audit_is_paged_by_position(world: World) -> None:
    for n in range(5):
        await world.asked(id=f"r{n}")
    client, seen, after = world.client("admin", "root"), list[str](), "0"
    while after:
        page = (await client.get(f"/v1/audit?limit=2&after={after}")).json()
        seen += [event["record_id"] for event in page["items"]]
        after = page["next"]
    assert seen == [f"r{n}" for n in range(5)]


async def test_an_expired_request_takes_no_answer(world: World) -> None:
    request = await world.asked(id="a", expires_in=0.01)
    answer = {"decision": "respond", "message": "yes", "digest": request.digest}
    await world.inbox.wait("a", 5)
    reply = await world.client().post("/v1/requests/a/respond", json=answer)
    assert (reply.status_code, reply.json()["code"]) == (409, "final")
    assert (await world.inbox.get("a")).status == "expired"


async def test_the_metrics_say_what_is_pending_of_each_kind_and_how_long_the_rest_took(world: World) -> None:
    await world.asked(id="open")
    request = await world.asked(id="a", action={"name": "refund", "args": {}})
    await world.client().post("/v1/requests/a/respond", json={"decision": "approve", "digest": request.digest})
    text = (await world.stranger().get("/metrics")).text
    assert 'ringi_pending_requests{kind="question"} 1.0\n' in text
    assert 'ringi_pending_requests{kind="approval"} 0.0\n' in text
    assert 'ringi_answer_seconds_count{kind="approval",status="completed"} 1.0\n' in text
    assert "ringi_lost_notifications_total 0.0\n" in text
    assert await world.inbox.count(Query(statuses=("pending",))) == 1


async def test_no_caller_names_the_policy_that_asked(world: World) -> None:
    forged = {**REFUND, "policy": {"rule": "refunds", "digest": "sha256:0"}}
    for role in ("agent", "admin"):
        refused = await world.client(role, "bot").post("/v1/requests", json=forged)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "policy")
    assert (await world.client("agent", "bot").post("/v1/requests", json={**REFUND, "policy": None})).status_code == 201
