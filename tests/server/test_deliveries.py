"""What was sent to others, over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.delivery.office import SECRET, endpoint, settings
from tests.delivery.receivers import OK, Receiver, Writer, answers, receiving
from tests.server.world import World, open_world, until


async def deliveries(world: World, id: str, role: str = "admin", name: str = "root") -> Any:
    reply = await world.client(role, name).get(f"/v1/deliveries?request_id={id}")
    assert reply.status_code == 200, reply.text
    return reply.json()["items"]


async def test_the_tries_of_a_request_are_told_with_code_and_next_try(store_url: str) -> None:
    delivery_settings = settings(schedule=(0.0, 3600.0))
    async with receiving(answers(500)) as crm:
        delivery_settings = delivery_settings.model_copy(update={"endpoints": (endpoint(crm.url + "?key=abc"),)})
        async with open_world(store_url, delivery=delivery_settings) as world:
            request = await world.asked()
            await until(lambda: was_tried(world, request.id))
            (item,) = await deliveries(world, request.id)

    assert (item["status"], item["endpoint"], item["type"]) == ("waiting", "crm", "request.created")
    assert (item["tries"][0]["code"], item["tries"][0]["next_at"]) == (500, item["next_at"])
    assert item["host"] == crm.url.removesuffix("/hook")


async def was_tried(world: World, id: str) -> bool:
    return bool(await deliveries(world, id))


async def test_unfinished_deliveries_are_counted_by_the_names_of_endpoints(store_url: str) -> None:
    may_end = asyncio.Event()

    async def takes_time(receiver: Receiver, writer: Writer) -> None:
        await may_end.wait()
        await OK(receiver, writer)

    async with receiving(answers(500)) as crm, receiving(takes_time) as slow:
        endpoints = (
            endpoint(crm.url, tenant="default"),
            endpoint(slow.url, "slow"),
            endpoint(slow.url, "z", events=()),
        )
        configured = settings(*endpoints, schedule=(0.0, 3600.0), timeout=60.0)
        async with open_world(store_url, delivery=configured) as world:
            for number in range(2):
                await world.asked(webhooks=[{"url": f"{slow.url}/{number}"}])
            expected = [
                {"endpoint": "crm", "waiting": 0, "running": 0, "retrying": 2},
                {"endpoint": "per request", "waiting": 0, "running": 2, "retrying": 0},
                {"endpoint": "slow", "waiting": 0, "running": 2, "retrying": 0},
                {"endpoint": "z", "waiting": 0, "running": 0, "retrying": 0},
            ]

            async def counts(tenant: str) -> Any:
                client = world.client("admin", "root", tenant=tenant)
                return (await client.get("/v1/deliveries/counts")).json()["items"]

            async def are_begun() -> bool:
                return bool(await counts("default") == expected)

            await until(are_begun)
            assert await counts("other") == expected[1:]
            text = (await world.stranger().get("/metrics")).text
            may_end.set()
    assert 'ringi_unfinished_deliveries{endpoint="crm",state="retrying"} 2.0\n' in text
    assert 'ringi_unfinished_deliveries{endpoint="per request",state="running"} 2.0\n' in text
    assert "127.0.0.1" not in text


async def test_an_admin_delivers_again_and_nobody_else(store_url: str) -> None:
    async with (
        receiving(answers(410), OK) as crm,
        open_world(store_url, delivery=settings(endpoint(crm.url))) as world,
    ):
        request = await world.asked()
        await until(lambda: was_tried(world, request.id))
        (item,) = await deliveries(world, request.id)
        path = f"/v1/deliveries/{item['id']}/redeliver"

        for client, status in (
            (world.client("person", "ann"), 403),
            (world.client("agent", "bot"), 403),
            (world.client("admin", "root", tenant="other"), 404),
        ):
            assert (await client.post(path)).status_code == status
        reply = await world.client("admin", "root").post(path)
        assert (reply.status_code, reply.json()["status"]) == (202, "queued")
        await crm.calls(2)
        await until(lambda: has_status(world, request.id, "delivered"))
        (item,) = await deliveries(world, request.id)

    assert [(each["status"], each["by"]) for each in item["tries"]] == [
        ("gone", None), ("queued", "root"), ("delivered", None),
    ]  # fmt: skip


async def has_status(world: World, id: str, status: str) -> bool:
    return [each["status"] for each in await deliveries(world, id)] == [status]


@pytest.mark.parametrize("id", ["nothing", "crm.1.nowhere", "crm.x.y", "..", "crm.1."])
async def test_there_is_nothing_to_deliver_again_where_nothing_was_sent(world: World, id: str) -> None:
    reply = await world.client("admin", "root").post(f"/v1/deliveries/{id}/redeliver")

    assert reply.status_code in (404, 405)


async def test_what_an_ask_says_of_its_receivers_is_never_told_to_anybody(store_url: str) -> None:
    async with receiving() as own, open_world(store_url, delivery=settings(endpoint("https://a.invalid"))) as world:
        webhook = {"url": f"{own.url}?key=s3cret", "headers": {"authorization": "Bearer s3cret"}, "secret_ref": "crm"}
        asked = await world.client("agent", "bot").post("/v1/requests", json={"title": "Go?", "webhooks": [webhook]})
        (got,) = await own.calls(1)
        id = asked.json()["id"]
        await until(lambda: has_status_of(world, id, "ask-0", "delivered"))
        admin = world.client("admin", "root")
        paths = (f"/v1/requests/{id}", "/v1/requests", f"/v1/audit?request_id={id}", f"/v1/deliveries?request_id={id}")
        texts = [asked.text, got.body.decode(), *[(await admin.get(path)).text for path in paths]]

    assert [text for text in texts if "s3cret" in text or SECRET in text or "secret_ref" in text] == []
    assert got.headers["authorization"] == "Bearer s3cret"


async def has_status_of(world: World, id: str, endpoint: str, status: str) -> bool:
    return any(each["endpoint"] == endpoint and each["status"] == status for each in await deliveries(world, id))


async def test_an_ask_with_receivers_that_cannot_be_told_is_refused(world: World) -> None:
    for webhook, field in (
        ({"url": "http://a.example"}, "webhooks.0.url"),
        ({"url": "https://a.example", "secret_ref": "nobody"}, "webhooks.0.secret_ref"),
    ):
        body = {"title": "Go?", "webhooks": [webhook]}
        reply = await world.client("agent", "bot").post("/v1/requests", json=body)
        assert (reply.status_code, [error["field"] for error in reply.json()["errors"]]) == (422, [field])
