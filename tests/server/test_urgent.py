"""The list of pending requests in the order `urgent`, and the totals of those that filters select."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.server.world import World

from ringi import Policy
from ringi.connect import open
from ringi.domain.ask import Ask
from ringi.domain.record import cursor_after_record
from ringi.domain.urgency import DUE_SOON
from ringi.policy import ToolCard
from ringi.policy.question import question_about_call
from ringi.policy.rules import Rule
from ringi.server.routes import requests

HOUR = timedelta(hours=1)


async def page(world: World, **params: Any) -> dict[str, Any]:
    reply = await world.client().get("/v1/requests", params={"order": "urgent", **params})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


async def totals(world: World, **params: Any) -> dict[str, Any]:
    reply = await world.client().get("/v1/requests/totals", params=params)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


async def paid(world: World, amount: object, tool: str = "pay", unit: str | None = "JPY", **more: Any) -> None:
    """Ask about a payment whose tool has a card."""
    card = ToolCard(effect="pays", amount="amount", unit=unit)
    rule = Rule(tools=[tool], **more)
    policy = Policy(rules=[rule], cards={tool: card})
    await world.inbox.submit(question_about_call(policy, rule, tool, {"amount": amount}, facts={}), by="agent:bot")


async def test_pages_carry_the_time_of_the_first_one(world: World) -> None:
    now = world.inbox.clock()
    for n, due_at in enumerate((None, now - HOUR, now + HOUR / 2, now + 2 * HOUR, None)):
        due = {"due_at": due_at.isoformat()} if due_at else {}
        await world.asked(id=f"r{n}", priority="high" if n == 4 else None, **due)

    first = await page(world, limit=2)
    await world.asked(id="late", due_at=now.isoformat(), expires_in=9999)
    second = await page(world, limit=2, cursor=first["next"])
    last = await page(world, limit=2, cursor=second["next"])

    assert [[item["id"] for item in each["items"]] for each in (first, second, last)] == [
        ["r1", "r2"],
        ["r4", "r0"],
        ["r3"],
    ]
    assert {(each["now"], each["due_soon_until"]) for each in (first, second, last)} == {
        (first["now"], first["due_soon_until"])
    }
    times = [datetime.fromisoformat(first[name]) for name in ("now", "due_soon_until")]
    assert times[0] >= now
    assert times[1] - times[0] == DUE_SOON
    assert last["next"] is None


async def test_the_plain_list_is_as_before(world: World) -> None:
    for n in range(2):
        await world.asked(id=f"r{n}")
    for params in ({}, {"order": ""}, {"order": "newest"}):
        plain = (await world.client().get("/v1/requests", params=params)).json()

        assert plain.keys() == {"items", "next"}
        assert [item["id"] for item in plain["items"]] == ["r1", "r0"]


async def test_a_person_sees_only_their_own_in_this_order_too(world: World) -> None:
    await world.asked(id="bobs", assignee="bob", priority="urgent")
    await world.asked(id="theirs", tenant="elsewhere", priority="urgent")
    await world.asked(id="anns", assignee="ann")

    assert [item["id"] for item in (await page(world))["items"]] == ["anns"]
    assert [item["id"] for item in (await page(world, status="pending", tier="low"))["items"]] == ["anns"]
    assert (await totals(world))["count"] == 1


@pytest.mark.parametrize(
    ("path", "params", "field"),
    [
        ("/v1/requests", {"order": "random"}, "order"),
        ("/v1/requests", {"order": "urgent", "status": "completed"}, "order"),
        ("/v1/requests", {"order": "urgent", "cursor": "urgent:1:due:2"}, "cursor"),
        ("/v1/requests", {"cursor": "urgent:1:due:2:3:r"}, "cursor"),
        ("/v1/requests/totals", {"status": "completed"}, "status"),
    ],
)
async def test_what_the_order_cannot_do_is_named(world: World, path: str, params: dict[str, str], field: str) -> None:
    reply = await world.client().get(path, params=params)

    assert reply.status_code == 422
    assert [error["field"] for error in reply.json()["errors"]] == [field]


async def test_a_cursor_of_the_plain_list_is_refused(world: World) -> None:
    cursor = cursor_after_record(await world.asked())
    reply = await world.client().get("/v1/requests", params={"order": "urgent", "cursor": cursor})

    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "cursor"


async def test_a_client_reads_all_pages_in_this_order(live: World) -> None:
    for n in range(5):
        await live.asked(id=f"r{n}", priority="high" if n % 2 else "low", action={"name": "pay"})
    async with open(live.url, token=live.token("person", "ann")) as client:
        found = await client.find(order="urgent", limit=4)
        of_tool = await client.find(tool="pay", agent="agent:bot", tier="low", status="pending")

    assert [request.id for request in found] == ["r1", "r3", "r0", "r2"]
    assert len(of_tool) == 5
    assert {request.agent for request in of_tool} == {"agent:bot"}


async def test_totals_add_up_the_amounts_that_a_tool_declares(world: World) -> None:
    for amount, more in ((4000, {}), (150, {"tier": "high"}), (70, {})):
        await paid(world, amount, **more)
    await world.asked(id="other")

    assert await totals(world, tool="pay") == {
        "count": 3,
        "more": False,
        "tiers": ["high", "low"],
        "amounts": {"unit": "JPY", "sum": 4220, "least": 70, "greatest": 4000},
    }
    assert (await totals(world))["amounts"] is None
    assert (await totals(world, tool="pay", tier="high"))["amounts"]["sum"] == 150
    assert await totals(world, tool="nothing") == {"count": 0, "more": False, "tiers": [], "amounts": None}


@pytest.mark.parametrize("amount", ["many", True, None])
async def test_an_amount_that_is_no_number_leaves_no_total(world: World, amount: object) -> None:
    await paid(world, 10)
    await paid(world, amount)

    assert (await totals(world, tool="pay"))["amounts"] is None


async def test_amounts_are_added_as_decimals(world: World) -> None:
    for amount in (0.1, 0.2):
        await paid(world, amount, unit="EUR")
    assert (await totals(world, tool="pay"))["amounts"]["sum"] == 0.3


async def test_amounts_of_two_units_are_not_added(world: World) -> None:
    await paid(world, 10)
    await paid(world, 10, unit="EUR")

    assert (await totals(world, tool="pay"))["amounts"] is None


async def test_an_amount_in_an_agents_own_words_does_not_count(world: World) -> None:
    card = {"effect": "pays", "amount": 1, "unit": "JPY"}
    await world.asked(id="own", action={"name": "pay", "args": {"amount": 9}}, context={"card": card})

    assert (await totals(world, tool="pay"))["amounts"] is None
    await paid(world, 10)
    assert (await totals(world, tool="pay"))["amounts"] is None


async def test_totals_say_that_there_are_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "COUNTED", 2)
    for _ in range(3):
        await world.inbox.submit(Ask(title="?"), by="agent:bot")

    assert (await totals(world))["count"] == 2
    assert (await totals(world))["more"]
