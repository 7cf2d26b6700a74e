"""Two servers on one Redis are one: what is asked at one is seen, answered and waited for at the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from tests.server.world import LIMIT, SECRET, World, listening, served

from ringi.connect import open_backend, open_inbox_on_backend
from ringi.delivery.deliveries import Deliveries
from ringi.delivery.settings import DeliverySettings
from ringi.server import Keys, ServerComponents, ServerSettings
from ringi.server.app import App


@asynccontextmanager
async def serving(url: str) -> AsyncIterator[World]:
    """Serve requests, and no agents, on a port."""
    async with (
        open_backend(url, notify="pubsub", poll_interval=3_600) as backend,
        open_inbox_on_backend(backend) as inbox,
    ):
        keys, deliveries = Keys(SECRET), Deliveries(backend, inbox, DeliverySettings())
        app = App(ServerComponents(backend, inbox, None, keys, ServerSettings(), deliveries))
        world = World(backend, inbox, None, keys, app)  # type: ignore[arg-type]
        async with served(world):
            yield world
            await app.close()


@pytest.fixture
async def worlds(durable_redis_url: str) -> AsyncIterator[tuple[World, World]]:
    url = f"{durable_redis_url}?prefix=t{uuid4().hex}"
    async with serving(url) as here, serving(url) as there:
        yield here, there


async def test_what_is_asked_here_is_answered_there(worlds: tuple[World, World]) -> None:
    here, there = worlds
    agent, person = here.client("agent", "bot"), there.client("person", "ann")
    async with listening(person, "/v1/events") as events:
        await events.placed()
        asked = (await agent.post("/v1/requests", json={"title": "Go on?"})).json()
        seen = await events.next()
        waiting = asyncio.create_task(agent.get(f"/v1/requests/{asked['id']}", params={"wait": LIMIT}))
        body = {"decision": "respond", "message": "yes", "digest": asked["digest"]}
        responses = [await person.post(f"/v1/requests/{asked['id']}/respond", json=body) for _ in range(2)]

        assert (seen.name, seen.data["request"]["id"]) == ("request.created", asked["id"])
        assert [response.status_code for response in responses] == [200, 200]
        assert (await waiting).json()["response"]["message"] == "yes"
        assert (await events.next()).name == "request.completed"


async def test_a_stream_of_events_goes_on_at_another_server(worlds: tuple[World, World]) -> None:
    here, there = worlds
    for n in range(3):
        await here.asked(id=f"r{n}")
    async with listening(here.client(), "/v1/events", **{"last-event-id": "0"}) as events:
        first = await events.next()
    async with listening(there.client(), "/v1/events", **{"last-event-id": first.id}) as events:
        rest = await events.take(2)

    assert [sent.data["request"]["id"] for sent in (first, *rest)] == ["r0", "r1", "r2"]


async def test_readiness_says_how_durable_the_store_is(worlds: tuple[World, World]) -> None:
    answer = await worlds[0].stranger().get("/readyz")

    assert answer.json() == {"status": "ready", "store": "redis", "durability": "always"}
