"""Whom a request can be passed to: the people and groups on requests that the caller may read."""

from __future__ import annotations

import httpx
import pytest
from tests.server.world import World


async def known(client: httpx.AsyncClient, q: str = "") -> dict[str, list[str]]:
    """Return the people and groups that a caller finds."""
    reply = await client.get("/v1/people", params={"q": q} if q else {})
    assert reply.status_code == 200, reply.text
    found: dict[str, list[str]] = reply.json()
    return found


async def test_people_and_groups_are_those_on_readable_requests(world: World) -> None:
    await world.asked(assignee="ann")
    await world.asked(assignee="ann")
    await world.asked(candidate_groups=["sales"], escalation=[{"after": 60, "to": ["carl", "group:heads"]}])
    await world.asked(assignee="dora")
    await world.asked(tenant="other", assignee="eve")
    ann, boss = world.client(name="ann", groups=("sales",)), world.client("admin", "boss")
    assert await known(ann) == {"people": ["ann", "carl"], "groups": ["sales", "heads"]}
    everybody = await known(boss)
    assert {*everybody["people"]} == {"ann", "carl", "dora", "boss"}
    assert {*everybody["groups"]} == {"sales", "heads"}


async def test_those_who_decided_are_known_and_rules_and_agents_are_not(world: World) -> None:
    request = await world.asked(action={"name": "refund", "args": {}})
    await world.inbox.respond(request.id, "approve", digest=request.digest, responder="bob")
    found = await known(world.client("admin", "boss"))
    assert found == {"people": ["bob", "boss"], "groups": []}


@pytest.mark.parametrize(("q", "people"), [("AN", ["ann", "hans"]), (" han ", ["hans"]), ("x", [])])
async def test_a_part_of_the_name_finds_it_in_any_case(world: World, q: str, people: list[str]) -> None:
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
        await world.asked(assignee=f"person{number}")
    assert len((await known(world.client("admin", "boss"), "person"))["people"]) == 20
