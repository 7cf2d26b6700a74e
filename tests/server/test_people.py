"""Whom a request can be passed to: people who are known here, and those whom nobody knows only if that is wanted."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from tests.server.world import World

from ringi.domain.record import Query

REQUESTS = "/v1/requests"


def token_holders(world: World, *names: str, groups: tuple[str, ...] = ()) -> None:
    """Create a token for each of these people, as `ringi token create` does."""
    for name in names:
        world.token("person", name, groups=groups)


async def known(client: httpx.AsyncClient, q: str = "") -> dict[str, list[str]]:
    """Return the people and groups that a caller finds."""
    reply = await client.get("/v1/people", params={"q": q} if q else {})
    assert reply.status_code == 200, reply.text
    found: dict[str, list[str]] = reply.json()
    return found


async def test_people_and_groups_on_readable_requests_come_first(world: World) -> None:
    await world.asked(assignee="ann")
    await world.asked(assignee="ann")
    await world.asked(groups=["sales"], escalation=[{"after": 60, "to": ["carl", "group:heads"]}])
    await world.asked(assignee="dora")
    await world.asked(tenant="other", assignee="eve")
    token_holders(world, "dora", "carl", groups=("heads",))
    ann, boss = world.client(name="ann", groups=("sales",)), world.client("admin", "boss")
    assert await known(ann) == {"people": ["ann", "carl", "boss", "dora"], "groups": ["sales", "heads"]}
    everybody = await known(boss)
    assert {*everybody["people"]} == {"ann", "carl", "dora", "boss"}
    assert {*everybody["groups"]} == {"sales", "heads"}


async def test_those_who_decided_are_known_and_rules_and_agents_are_not(world: World) -> None:
    request = await world.asked(action={"name": "refund", "args": {}})
    await world.inbox.respond(request, "approve", by="bob")
    token_holders(world, "bob")
    found = await known(world.client("admin", "boss"))
    assert found == {"people": ["bob", "boss"], "groups": []}


@pytest.mark.parametrize(("q", "people"), [("AN", ["ann", "hans"]), (" han ", ["hans"]), ("x", [])])
async def test_a_part_of_the_name_finds_it_in_any_case(world: World, q: str, people: list[str]) -> None:
    token_holders(world, "ann", "hans")
    for name in ("ann", "ann", "hans"):
        await world.asked(assignee=name)
    assert (await known(world.client("admin", "boss"), q))["people"] == people


@pytest.mark.parametrize("role", ["agent", "auditor"])
async def test_only_people_who_may_reassign_look_names_up(world: World, role: str) -> None:
    await world.asked(assignee="zoe")
    reply = await world.client(role, "bot").get("/v1/people")
    assert reply.status_code == 403
    assert "zoe" not in reply.text


async def test_a_long_list_of_names_is_cut(world: World) -> None:
    for number in range(25):
        token_holders(world, f"person{number}")
    assert len((await known(world.client("admin", "boss"), "person"))["people"]) == 20


async def reassigned(world: World, **to: Any) -> httpx.Response:
    """Reassign a new request as ann."""
    request = await world.asked()
    return await world.client(name="ann").post(f"/v1/requests/{request.id}/reassign", json=to)


async def test_a_reassignment_to_a_name_that_nobody_has_is_refused_with_the_nearest_one(world: World) -> None:
    token_holders(world, "bob", groups=("finance",))
    refused = await reassigned(world, assignee="bobb", groups=["finanse", "finance"])
    assert refused.status_code == 422
    errors = {each["field"]: each for each in refused.json()["errors"]}
    assert {field: each["params"]["nearest"] for field, each in errors.items()} == {
        "assignee": "bob",
        "groups.0": "finance",
    }
    assert {each["code"] for each in errors.values()} == {"unknown_name"}
    assert (await world.inbox.search(Query()))[0].assignee is None
    assert (await reassigned(world, assignee="bob", groups=["finance"])).status_code == 200


async def test_an_unknown_name_is_taken_if_that_is_wanted_and_the_request_is_marked(world: World) -> None:
    taken = await reassigned(world, assignee="an", unknown=True)
    assert (taken.status_code, taken.json()["unanswerable"]) == (200, True)
    boss = world.client("admin", "boss")
    back = await boss.post(f"/v1/requests/{taken.json()['id']}/reassign", json={"assignee": "ann"})
    assert (back.status_code, back.json().get("unanswerable")) == (200, None)


@pytest.mark.parametrize("unknown", [1, "true", None])
async def test_only_true_takes_an_unknown_name(world: World, unknown: object) -> None:
    assert (await reassigned(world, assignee="an", unknown=unknown)).status_code == 422


async def passed_on(world: World, *names: str, of: tuple[str, ...] = (), **people: Any) -> str:
    """Ask a request that each of these people passes to the next one; return its id."""
    token_holders(world, *names, "carl")
    id = (await world.asked(action={"name": "pay", "args": {}}, **people)).id
    for giver, taker in itertools.pairwise(names):
        reply = await world.client(name=giver, groups=of).post(f"{REQUESTS}/{id}/reassign", json={"assignee": taker})
        assert reply.status_code == 200, reply.text
    return id


async def taken_back(world: World, id: str, name: str, *groups: str) -> tuple[int, object]:
    """Take a reassignment back as this person; return the status, and the assignee or the code of the problem."""
    reply = await world.client(name=name, groups=groups).post(f"{REQUESTS}/{id}/undo")
    return reply.status_code, reply.json()["assignee" if reply.status_code == 200 else "code"]


HIDDEN, NOTHING_TO_UNDO = (404, "not_found"), (409, "conflict")


async def test_only_who_passed_a_request_on_takes_it_back_and_once(world: World) -> None:
    id = await passed_on(world, "ann", "bob", "dora", assignee="ann")
    assert (await world.client(name="dora").get(f"{REQUESTS}/{id}")).status_code == 200  # A look changes nothing.
    for name, refused in {"ann": HIDDEN, "carl": HIDDEN, "dora": NOTHING_TO_UNDO}.items():
        assert await taken_back(world, id, name) == refused
    assert await taken_back(world, id, "bob") == (200, "bob")
    assert await taken_back(world, id, "bob") == NOTHING_TO_UNDO
    assert await taken_back(world, id, "dora") == HIDDEN


async def test_what_was_open_to_everybody_is_so_again(world: World) -> None:
    id = await passed_on(world, "ann", "bob")
    assert await taken_back(world, id, "ann") == (200, None)
    assert (await world.client(name="carl").get(f"{REQUESTS}/{id}")).status_code == 200


async def test_who_has_left_the_group_takes_nothing_back(world: World) -> None:
    id = await passed_on(world, "ann", "bob", of=("finance",), groups=["finance"])
    assert await taken_back(world, id, "ann") == HIDDEN
    assert await taken_back(world, id, "ann", "finance") == (200, None)
    assert (await world.inbox.get(id)).groups == ("finance",)


@pytest.mark.parametrize("acts", [["claim"], ["claim", "release"], ["reassign"], ["respond"]])
async def test_nothing_is_taken_back_once_somebody_has_acted(world: World, acts: list[str]) -> None:
    id = await passed_on(world, "ann", "bob")
    reject = {"decision": "reject", "digest": (await world.inbox.get(id)).digest}
    for act in acts:
        body = {"reassign": {"assignee": "carl"}, "respond": reject}.get(act)
        assert (await world.client(name="bob").post(f"{REQUESTS}/{id}/{act}", json=body)).status_code == 200
    assert await taken_back(world, id, "ann") == HIDDEN


async def test_a_deputy_whom_nobody_knows_is_refused_unless_that_is_wanted(world: World) -> None:
    ann = world.client(name="ann")
    token_holders(world, "bob")
    body = {"deputy": "bo", "until": (datetime.now(UTC) + timedelta(days=2)).isoformat().replace("+00:00", "Z")}
    refused = await ann.put("/v1/away", json=body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "deputy")
    assert refused.json()["errors"][0]["params"]["nearest"] == "bob"
    assert (await ann.get("/v1/away")).json()["absence"] is None
    assert (await ann.put("/v1/away", json={**body, "unknown": True})).json()["absence"]["deputy"] == "bo"
    assert (await ann.put("/v1/away", json={**body, "deputy": "bob"})).status_code == 200


async def test_an_ask_for_nobody_is_taken_and_marked_in_each_place(world: World) -> None:
    token_holders(world, "bob", groups=("finance",))
    bot, boss = world.client("agent", "bot"), world.client("admin", "boss")
    people: list[dict[str, Any]] = [
        {"id": "a", "assignee": "bobb"},
        {"id": "b", "groups": ["finanse"]},
        {"id": "c", "action": {"name": "pay"}, "quorum": [{"groups": ["finance"]}, {"groups": ["finanse"]}]},
        {"id": "ok", "assignee": "bobb", "groups": ["finance"]},
        {"id": "all"},
    ]
    for each in people:
        asked = await bot.post("/v1/requests", json={"title": "Go?", **each})
        assert (asked.status_code, asked.json().get("unanswerable", False)) == (201, each["id"] in "abc")
    assert (await boss.get("/v1/requests/a")).json()["unanswerable"] is True
    listed = (await boss.get("/v1/requests", params={"unanswerable": "true"})).json()["items"]
    assert {each["id"] for each in listed} == {*"abc"}
    assert "ringi_unanswerable_requests 3.0" in (await boss.get("/metrics")).text
    # As soon as somebody has the name, and as soon as the request has ended.
    await world.inbox.note_person("bobb", ["finanse"])
    assert (await boss.get("/v1/requests", params={"unanswerable": "true"})).json()["items"] == []


async def test_who_calls_with_a_token_is_known_from_then_on(world: World) -> None:
    ann = world.client(name="ann")
    world.inbox.known_people.named.clear()
    request = await world.asked(assignee="carl")
    assert not request.unanswerable  # Nobody is known, so nothing can be compared.
    assert (await ann.get("/v1/session")).status_code == 200
    assert (await world.asked(assignee="carl")).unanswerable
    assert not (await world.asked(assignee="ann")).unanswerable


SHAPES: list[tuple[dict[str, Any], str]] = [
    ({"assignee": "a\0b"}, "assignee"),
    ({"assignee": " "}, "assignee"),
    ({"assignee": "group:finance"}, "assignee"),
    ({"groups": ["fin\nance"]}, "groups.0"),
    ({"action": {"name": "pay"}, "quorum": [{"groups": ["a\0"]}]}, "quorum.0.groups.0"),
    ({"escalation": [{"after": 60, "to": ["group:"]}]}, "escalation.0.to.0"),
    ({"escalation": [{"after": 60, "to": ["group: "]}]}, "escalation.0.to.0"),
    ({"escalation": [{"after": 60, "to": ["group:a\x1b"]}]}, "escalation.0.to.0"),
]


@pytest.mark.parametrize(("people", "field"), SHAPES)
async def test_a_name_of_a_wrong_shape_is_refused_by_its_field(
    world: World, people: dict[str, Any], field: str
) -> None:
    refused = await world.client("agent", "bot").post("/v1/requests", json={"title": "Go?", **people})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)


async def test_no_control_character_gets_in_by_another_door(world: World) -> None:
    ann = world.client(name="ann")
    body = {"deputy": "b\0ob", "until": "2999-01-01T00:00:00Z", "unknown": True}
    assert (await ann.put("/v1/away", json=body)).json()["errors"][0]["field"] == "deputy"
    refused = await reassigned(world, assignee="b\0ob", unknown=True)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "control_character")
