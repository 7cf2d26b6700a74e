"""How calls like this one were decided: only by people, and only what the caller may read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.server.world import World

from ringi import Policy
from ringi.domain.precedent import MOST_AMOUNTS, MOST_READ, PERIOD, Precedent, precedent_of_request
from ringi.domain.request import Request
from ringi.domain.voting import Person
from ringi.policy.question import question_about_call

POLICY = Policy.parse({"rules": [{"tools": ["pay"]}], "cards": {"pay": {"amount": "amount", "unit": "JPY"}}})


async def asked(world: World, amount: Any = 1, *, by: str = "agent:bot", tool: str = "pay", **more: Any) -> Request:
    """Ask as a run of the server does, with the card of the tool."""
    policy = POLICY if tool == "pay" else Policy.parse({"rules": [{"tools": [tool]}]})
    ask = question_about_call(policy, None, tool, {"amount": amount, "to": "bob"}, facts={}).model_copy(update=more)
    return await world.inbox.submit(ask, by=by)


async def decided(world: World, decision: Any = "approve", amount: Any = 1, **more: Any) -> Request:
    request = await asked(world, amount, **more)
    args: dict[str, Any] = {"args": {"amount": 7, "to": "bob"}} if decision == "edit" else {}
    return await world.inbox.respond(request, decision, by=Person("ann", request.groups), **args)


async def read(world: World, request: Request, *who: Any, **more: Any) -> Any:
    reply = await world.client(*who, **more).get(f"/v1/requests/{request.id}/precedent")
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_decisions_of_people_about_the_same_tool_count(world: World) -> None:
    for decision in ("approve", "approve", "edit", "reject"):
        await decided(world, decision, 3)
    await decided(world, "approve", 3, tool="drop")
    ask = question_about_call(POLICY, None, "pay", {"amount": 3, "to": "bob"}, facts={})
    await world.inbox.submit_approved(ask, rule="small", by="agent:bot")
    await world.inbox.submit_denied(ask, rule="never", reason="no", by="agent:bot")
    cancelled = await asked(world, 3)
    await world.inbox.cancel(cancelled.id, by="agent:bot")
    request = await asked(world, 9)
    found = await read(world, request)
    assert found["counts"] == {"approved": 2, "edited": 1, "rejected": 1, "expired": 0}
    assert sorted(each["amount"] for each in found["amounts"]) == [3, 3, 3, 7]
    assert {each["outcome"] for each in found["amounts"]} == {"approved", "edited", "rejected"}
    assert (found["last"]["outcome"], found["last"]["responder"]) == ("rejected", "ann")
    assert found["last"]["args"] == {"amount": 3, "to": "bob"}
    assert found["is_partial"] is False


async def test_an_edited_call_counts_as_it_ran_and_its_own_decision_never(world: World) -> None:
    edited = await decided(world, "edit", 3)
    assert (await read(world, edited))["counts"]["edited"] == 0
    found = await read(world, await asked(world, 9))
    assert found["last"]["args"] == {"amount": 7, "to": "bob"}


async def test_the_last_of_its_kind_has_the_same_agent_tool_and_tier(world: World) -> None:
    same = await decided(world, "approve", 3, tier="medium")
    await decided(world, "reject", 4, tier="low")
    await decided(world, "reject", 5, tier="medium", by="agent:other")
    found = await read(world, await asked(world, 9, tier="medium"))
    assert (found["last"]["id"], found["counts"]["rejected"]) == (same.id, 2)


async def test_nobody_learns_of_decisions_that_they_may_not_read(world: World) -> None:
    for groups in (("finance",), ("legal",)):
        await decided(world, "approve", 1, groups=groups)
    await decided(world, "approve", 1, by="agent:other")
    request = await asked(world, 2, groups=("finance",))
    counts = [
        (await read(world, request, *who, **more))["counts"]["approved"]
        for who, more in (
            (("person", "fay"), {"groups": ("finance",)}),
            (("admin", "root"), {}),
            (("auditor", "eve"), {}),
            (("agent", "bot"), {}),
        )
    ]
    assert counts == [2, 3, 3, 2]
    for who in (("person", "lea", "default", ("legal",)), ("agent", "other"), ("admin", "root", "elsewhere")):
        assert (await world.client(*who).get(f"/v1/requests/{request.id}/precedent")).status_code == 404


async def test_a_question_has_no_precedent_and_text_is_no_amount(world: World) -> None:
    question = await world.asked()
    found = await read(world, question)
    assert (sum(found["counts"].values()), found["amounts"], found["last"]) == (0, [], None)
    for amount in ("4000", True, None, {"value": 4}):
        await decided(world, "approve", amount)
    found = await read(world, await asked(world, 2))
    assert (found["counts"]["approved"], found["amounts"]) == (4, [])


async def test_a_card_that_an_agent_wrote_reads_no_amounts(world: World) -> None:
    await decided(world, "approve", 3)
    forged = {"card": {"arguments": {"amount": "amount"}}}
    request = await world.asked(action={"name": "pay", "args": {"amount": 9}}, context=forged)
    found = await read(world, request)
    assert (found["counts"]["approved"], found["amounts"]) == (1, [])


@pytest.fixture
async def template(world: World) -> Request:
    return await decided(world, "approve", 3)


async def test_only_thirty_days_and_a_bounded_number_count(world: World, template: Request) -> None:
    assert template.ended_at
    now = template.ended_at + timedelta(days=1)
    request = await asked(world, 9)

    def many(number: int, at: Any = template.ended_at) -> Precedent:
        copies = [template.model_copy(update={"id": f"c{n}", "ended_at": at}) for n in range(number)]
        return precedent_of_request(request, copies, now)

    assert many(3, now - PERIOD).counts.approved == 3
    assert many(3, now - PERIOD - timedelta(seconds=1)).counts.approved == 0
    some, more = many(MOST_READ), many(MOST_READ + 1)
    assert [(each.counts.approved, len(each.amounts), each.is_partial) for each in (some, more)] == [
        (MOST_READ, MOST_AMOUNTS, False), (MOST_READ, MOST_AMOUNTS, True),
    ]  # fmt: skip


async def test_an_expired_request_counts_and_an_erased_one_shows_nothing(world: World, template: Request) -> None:
    await world.inbox.erase(template.id, by="root")
    request = await asked(world, 9)
    late = request.model_copy(update={"id": "late"}).expired(world.inbox.clock())[0]
    found = precedent_of_request(request, [late, await world.inbox.get(template.id)], world.inbox.clock())
    assert found.counts.expired == 1
    assert found.last
    assert (found.last.id, found.last.responder, [each.outcome for each in found.amounts]) == (
        "late", None, ["expired"],
    )  # fmt: skip
