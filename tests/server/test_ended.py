"""The list of ended requests in the order `ended`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.world import World

from ringi.connect import open
from ringi.domain.record import cursor_after_record


async def page(world: World, **params: Any) -> dict[str, Any]:
    reply = await world.client().get("/v1/requests", params={"order": "ended", **params})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


async def end_all(world: World) -> None:
    """Ask four times, and end three in another order; one of them is another person's."""
    for name in ("a", "b", "open", "c"):
        await world.asked(id=name)
    await world.asked(id="bobs", assignee="bob")
    for name in ("c", "bobs", "a", "b"):
        await world.inbox.cancel(name, by="ann")


async def test_pages_begin_with_the_latest_end(world: World) -> None:
    await end_all(world)

    first = await page(world, limit=2)
    last = await page(world, limit=2, cursor=first["next"])

    assert first.keys() == {"items", "next"}
    assert [item["id"] for item in first["items"]] == ["b", "a"]
    assert [item["id"] for item in last["items"]] == ["c"]
    assert last["next"] is None
    assert (await page(world, status=["completed", "expired"]))["items"] == []
    assert len((await page(world, status="cancelled"))["items"]) == 3


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"order": "ended", "status": "pending"}, "order"),
        ({"order": "ended", "status": ["completed", "pending"]}, "order"),
        ({"order": "ended", "cursor": "ended:1:2"}, "cursor"),
        ({"order": "ended", "cursor": "urgent:1:due:2:3:r"}, "cursor"),
        ({"order": "urgent", "cursor": "ended:1:2:r"}, "cursor"),
        ({"cursor": "ended:1:2:r"}, "cursor"),
    ],
)
async def test_what_the_order_cannot_do_is_named(world: World, params: dict[str, Any], field: str) -> None:
    reply = await world.client().get("/v1/requests", params=params)

    assert reply.status_code == 422
    assert [error["field"] for error in reply.json()["errors"]] == [field]


async def test_a_cursor_of_the_plain_list_is_refused(world: World) -> None:
    cursor = cursor_after_record(await world.asked())
    reply = await world.client().get("/v1/requests", params={"order": "ended", "cursor": cursor})

    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "cursor"


async def test_a_client_reads_all_pages_in_this_order(live: World) -> None:
    await end_all(live)
    async with open(live.url, token=live.token("person", "ann")) as client:
        found = await client.find(order="ended", limit=3)

    assert [request.id for request in found] == ["b", "a", "c"]
