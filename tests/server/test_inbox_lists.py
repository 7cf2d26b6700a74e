"""What the inbox page asks for: filters, searches, counts, for each caller what they may see."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from tests.server.world import World

from ringi.inbox.api import Seen
from ringi.server.routes import requests

FORM = {"fields": [{"name": "colour", "type": "text", "label": "Colour"}]}
ORDER = {"name": "refund", "args": {"order": "A-1182", "amount": 40}}


async def listed(client: httpx.AsyncClient, **params: Any) -> list[str]:
    """Return the ids of one list."""
    reply = await client.get("/v1/requests", params=params)
    assert reply.status_code == 200, reply.text
    return [item["id"] for item in reply.json()["items"]]


async def counted(client: httpx.AsyncClient, **params: Any) -> dict[str, Any]:
    """Return the counts, those that are whole as numbers, those that are not as texts."""
    reply = await client.get("/v1/requests/counts", params=params)
    assert reply.status_code == 200, reply.text
    return {name: f"{each['count']}+" if each["more"] else each["count"] for name, each in reply.json().items()}


async def answered(world: World, id: str, by: str) -> None:
    request = await world.inbox.get(id)
    await world.inbox.respond(Seen(id, request.digest), "respond", message="yes", by=by)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["order", "form", "finish", "assigned", "plain"]),
        ({"status": "pending"}, ["order", "form", "finish", "assigned"]),
        ({"status": ["completed", "cancelled"]}, ["plain"]),
        ({"kind": "finish"}, ["finish"]),
        ({"kind": "approval", "status": "pending"}, ["order"]),
        ({"priority": "high"}, ["form"]),
        ({"priority": "normal"}, ["order", "finish", "assigned", "plain"]),
        ({"priority": "low"}, []),
        ({"assignee": "ann"}, ["assigned"]),
        ({"thread_id": "t1"}, ["finish"]),
        ({"tool": "refund"}, ["order"]),
        ({"tool": "refund", "status": "completed"}, []),
        ({"agent": "agent:bot"}, ["form", "finish", "assigned", "plain"]),
        ({"agent": "claude-code"}, ["order"]),
        ({"tier": "high"}, ["form"]),
        ({"tier": "low"}, ["order", "finish", "assigned", "plain"]),
        ({"group": "all"}, []),
        ({"mine": "true"}, ["form", "assigned"]),
        ({"mine": "true", "kind": "form"}, ["form"]),
        ({"mine": "false", "kind": "form"}, ["form"]),
        ({"q": "返金"}, ["order"]),
        ({"q": "1182"}, ["order"]),
        ({"q": "a-1182 REFU"}, ["order"]),
        ({"q": "order"}, ["order"]),
        ({"q": "gn", "status": "pending"}, []),
        ({"q": "go", "status": "pending", "mine": "true"}, ["assigned"]),
        ({"status": "", "kind": "", "priority": "", "assignee": "", "thread_id": "", "q": ""}, 5),
    ],
)
async def test_a_list_holds_what_its_filters_say(world: World, filters: dict[str, Any], found: Any) -> None:
    await world.asked(id="plain")
    await world.asked(id="assigned", assignee="ann")
    await world.asked(id="finish", kind="finish", thread_id="t1")
    await world.asked(id="form", title="Which?", form=FORM, priority="high", tier="high")
    await world.asked(id="order", title="注文の返金?", action=ORDER, context={"client": "claude-code"})
    await world.inbox.claim("form", by="ann")
    await answered(world, "plain", "ann")

    ids = await listed(world.client(), **filters)

    assert (len(ids) if isinstance(found, int) else ids) == found


@pytest.mark.parametrize(
    ("path", "params", "field"),
    [
        ("/v1/requests", {"q": "x" * 501}, "q"),
        ("/v1/requests", {"priority": "very"}, "priority"),
        ("/v1/requests", {"mine": "perhaps"}, "mine"),
        ("/v1/requests", {"tier": "very"}, "tier"),
        ("/v1/requests", {"cursor": "nonsense"}, "cursor"),
        ("/v1/requests/counts", {"since": "yesterday"}, "since"),
        ("/v1/requests/counts", {"since": "2026-01-05T00:00:00"}, "since"),
        ("/v1/requests/counts", {"since": "0001-01-01T00:00:00+09:00"}, "since"),
    ],
)
async def test_what_cannot_be_asked_for_is_named(world: World, path: str, params: dict[str, str], field: str) -> None:
    reply = await world.client().get(path, params=params)

    assert reply.status_code == 422
    assert [error["field"] for error in reply.json()["errors"]] == [field]


async def test_pages_of_a_search_hold_while_others_ask_and_answer(world: World) -> None:
    client = world.client()
    for n in range(10):
        await world.asked(id=f"r{n}", title="返金?")
    seen: list[str] = []
    page = (await client.get("/v1/requests", params={"q": "返金", "limit": 3})).json()
    while page["next"]:
        seen += [item["id"] for item in page["items"]]
        await world.asked(id=f"newer-{len(seen)}", title="返金?")
        await answered(world, seen[-1], "bob")
        page = (await client.get("/v1/requests", params={"q": "返金", "limit": 3, "cursor": page["next"]})).json()

    assert [*seen, *(item["id"] for item in page["items"])] == [f"r{n}" for n in range(9, -1, -1)]


async def test_a_list_holds_each_request_once_however_it_concerns_the_caller(world: World) -> None:
    await world.asked("ann", id="twice", assignee="ann", groups=["finance", "legal"])
    await world.asked("ann", id="passed-on", assignee="bob")
    await world.asked("bob", id="hidden", assignee="bob")
    ann = world.client(groups=("finance", "legal"))

    assert await listed(ann) == ["passed-on", "twice"]
    assert await listed(ann, assignee="bob") == ["passed-on"]
    assert await counted(ann) == {"pending": 2, "mine": 1}


async def test_a_search_finds_nothing_that_the_caller_may_not_see(world: World) -> None:
    await world.asked("carl", id="bobs", title="返金?", assignee="bob")
    await world.asked("elsewhere", id="theirs", title="返金?", tenant="elsewhere")
    await world.asked("agent:bot", id="bots", title="返金?", assignee="bob")

    assert await listed(world.client(), q="返金") == []
    assert await listed(world.client("agent", "bot"), q="返金") == ["bots"]
    assert await listed(world.client("admin", "root"), q="返金") == ["bots", "bobs"]


async def test_counts_are_of_what_the_caller_may_see(world: World) -> None:
    for id, who in (("all", {}), ("anns", {"assignee": "ann"}), ("legal", {"groups": ["legal"]})):
        await world.asked("agent:bot", id=id, **who)
    await world.asked("carl", id="claimed")
    await world.asked("elsewhere", tenant="elsewhere")
    await world.inbox.claim("claimed", by="ann")

    assert await counted(world.client()) == {"pending": 3, "mine": 2}
    assert await counted(world.client(name="bob", groups=("legal",))) == {"pending": 3, "mine": 0}
    assert await counted(world.client("admin", "root")) == {"pending": 4, "mine": 0}
    assert await counted(world.client("agent", "bot")) == {"pending": 3, "mine": 0}


async def test_what_ended_is_counted_since_the_time_that_the_page_sends(world: World) -> None:
    began = datetime.now(UTC)
    for id in ("answered", "cancelled", "bobs"):
        await world.asked(id=id, assignee="bob" if id == "bobs" else None)
    await answered(world, "answered", "ann")
    await world.inbox.cancel("cancelled", by="bot")
    await answered(world, "bobs", "bob")
    since, later = began.isoformat(), (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    assert await counted(world.client(), since=since) == {"pending": 0, "mine": 0, "ended": 2}
    assert await counted(world.client("admin", "root"), since=since) == {"pending": 0, "mine": 0, "ended": 3}
    assert await counted(world.client(), since=later) == {"pending": 0, "mine": 0, "ended": 0}
    body = (await world.client().get("/v1/requests/cancelled")).json()
    assert began <= datetime.fromisoformat(body["ended_at"]) <= datetime.now(UTC)


async def test_many_are_counted_up_to_a_number_past_which_there_are_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "COUNTED", 3)
    began = datetime.now(UTC).isoformat()
    for n in range(3):
        await world.asked(id=f"r{n}", assignee="ann")
    assert await counted(world.client()) == {"pending": 3, "mine": 3}

    await world.asked(id="r3")
    for n in range(4):
        await world.asked(id=f"cancelled-{n}")
        await world.inbox.cancel(f"cancelled-{n}", by="bot")

    assert await counted(world.client(), since=began) == {"pending": "3+", "mine": 3, "ended": "3+"}


async def test_no_request_takes_the_address_of_the_counts(world: World) -> None:
    reply = await world.client("agent", "bot").post("/v1/requests", json={"title": "Go?", "id": "counts"})

    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "id"
