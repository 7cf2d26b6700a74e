"""A revoked token ends what its calls wait for, and starts nothing afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import httpx
import pytest
from tests.apps.assistant.served import Office
from tests.server.test_every_route import calls, filled
from tests.server.world import LIMIT, SECRET, World, open_world, until

from ringi.connect import open_backend, open_inbox_on_backend
from ringi.delivery.deliveries import Deliveries
from ringi.delivery.settings import DeliverySettings
from ringi.domain.record import Query
from ringi.domain.thread import Thread
from ringi.protocols.agui import EXTENSION as AGUI
from ringi.protocols.langgraph_api.routes import EXTENSION as LANGGRAPH
from ringi.runs.agent import agents_by_name
from ringi.runs.worker import Worker
from ringi.server import Keys, ServerComponents, ServerSettings
from ringi.server.app import App
from ringi.server.auth.revocations import Revocation
from ringi.server.sse import conversation
from ringi_apps.assistant import access
from ringi_apps.assistant.routes import EXTENSION as ASSISTANTS

Call = Callable[[httpx.AsyncClient], Coroutine[Any, Any, httpx.Response]]
AT = "/v1/assistants/c1"
MESSAGE = {"id": "m1", "role": "user", "content": "Hi", "parts": [{"type": "text", "text": "Hi"}]}
RUN = {"assistant_id": "office", "input": {"messages": [{"type": "human", "content": "Hi", "id": "m1"}]}}


def posting(path: str, **body: Any) -> Call:
    return lambda client: client.post(path, json=body)


WAITS: dict[str, Call] = {
    "an action of an assistant": posting(f"{AT}/actions/ask:goals", agent="office"),
    "a chat message": posting("/v1/chat", id="c1", messages=[MESSAGE]),
    "a message over AG-UI": posting("/agui/office", threadId="c1", runId="r1", messages=[MESSAGE]),
    "a run of LangGraph's API": posting("/langgraph/threads/c1/runs", **RUN),
    "a stream of LangGraph's API": posting("/langgraph/threads/c1/runs/stream", **RUN),
}


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A server without a worker: what has started stays running. Nothing wakes a wait by itself."""
    monkeypatch.setattr(access, "WAIT_SECONDS", 3600.0)
    monkeypatch.setattr(conversation, "BUSY_WAIT_SECONDS", 3600.0)
    async with open_backend("memory://", poll_interval=3600) as backend, open_inbox_on_backend(backend) as inbox:
        runner = Worker(backend, inbox, agents_by_name(Office().assistant().agents()))
        deliveries, keys = Deliveries(backend, inbox, DeliverySettings()), Keys(SECRET)
        components = ServerComponents(backend, inbox, runner, keys, ServerSettings(), deliveries)
        world = World(backend, inbox, runner, keys, App(components, [AGUI, ASSISTANTS, LANGGRAPH]))
        yield world
        for client in world.clients:
            await client.aclose()
        await world.app.close()


async def revoke(world: World, name: str = "ann") -> None:
    """Revoke what somebody has, and return once the server knows."""
    revocations = world.app.api.state.auth.revocations
    at = revocations.now()
    await revocations.revoke(Revocation(tenant="default", name=name, at=at, by="root"))
    await revocations._read()


async def begun(world: World) -> Thread:
    """Begin a run that answers no message."""
    reply = await posting(f"{AT}/actions/ask:goals", agent="office")(world.client())
    assert reply.status_code == 202, reply.text
    return await world.runner.get("default", "c1")


async def check_ends(world: World, call: Call) -> None:
    before = await world.backend.store.find(Thread, Query())
    waiting = asyncio.create_task(call(world.client()))
    await until(lambda: waiting.done() or len(world.app._streams._waits) == 1)
    assert not waiting.done(), waiting.result().text
    await revoke(world)
    reply = await asyncio.wait_for(waiting, LIMIT)
    assert (reply.status_code, "revoked" in reply.json()["detail"]) == (401, True)
    assert await world.backend.store.find(Thread, Query()) == before


@pytest.mark.parametrize("name", WAITS)
async def test_a_wait_for_a_busy_conversation_ends_and_starts_nothing(world: World, name: str) -> None:
    await begun(world)
    await check_ends(world, WAITS[name])


async def test_a_wait_for_the_end_of_a_run_ends(world: World) -> None:
    await begun(world)
    await world.runner.cancel("default", "c1", by="root")
    waiting = asyncio.create_task(world.client().delete(f"{AT}/memory"))
    await until(lambda: waiting.done() or len(world.app._streams._waits) == 1)
    await revoke(world)
    assert (await asyncio.wait_for(waiting, LIMIT)).status_code == 401


async def test_a_message_of_a_token_revoked_while_the_conversation_is_read_starts_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, ann = world.backend.store.get, world.client()

    async def get_and_revoke(kind: Any, *key: str) -> Any:
        await revoke(world)
        return await read(kind, *key)

    monkeypatch.setattr(world.backend.store, "get", get_and_revoke)
    reply = await WAITS["an action of an assistant"](ann)
    assert (reply.status_code, await world.backend.store.find(Thread, Query())) == (401, [])


async def test_a_body_that_arrives_after_the_token_was_revoked_is_refused_by_every_route() -> None:
    async with open_world("memory://") as world:
        wrong, late = list[str](), list[str]()
        writes = [(method, path) for method, path, _ in calls(world) if method != "GET"]
        for number, (method, path) in enumerate(writes):
            name = f"root{number}"
            admin = world.client("admin", name)

            async def body(name: str = name, call: str = f"{method} {path}") -> AsyncIterator[bytes]:
                late.append(call)
                await revoke(world, name)
                yield b"{}"

            headers = {"content-type": "application/json"}
            reply = await admin.request(method, filled(path), content=body(), headers=headers)
            if late[-1:] == [f"{method} {path}"] and reply.status_code != 401:
                wrong.append(f"{method} {path}: {reply.status_code}")
        assert wrong == []
        assert len(late) > 20


async def test_a_body_under_a_key_of_langgraph_s_api_is_refused_too(world: World) -> None:
    async def body() -> AsyncIterator[bytes]:
        await revoke(world)
        yield json.dumps(RUN).encode()

    headers = {"x-api-key": world.token("person", "ann"), "content-type": "application/json"}
    reply = await world.stranger(**headers).post("/langgraph/threads/c1/runs", content=body())
    assert (reply.status_code, await world.backend.store.find(Thread, Query())) == (401, [])
