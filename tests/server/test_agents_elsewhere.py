"""AG-UI and LangGraph's API know the agents that only another worker has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.world import SAMPLES, World, open_world, until

from ringi.connect import open_backend, open_inbox_on_backend
from ringi.protocols.langgraph_api.routes import EXTENSION
from ringi.runs.agent import agents_by_name
from ringi.runs.worker import Worker

CHAT = next(agent for agent in SAMPLES() if agent.name == "chat")
ELSEWHERE = [replace(CHAT, name="elsewhere"), replace(CHAT, name="inner", is_internal=True)]
TURN: dict[str, Any] = {
    **{"threadId": "t1", "runId": "r1", "state": {}, "messages": [], "tools": [], "context": []},
    "forwardedProps": {},
}
INPUT = {"messages": [{"type": "human", "content": "hello", "id": "m1"}]}


@asynccontextmanager
async def worker(url: str) -> AsyncIterator[None]:
    """Let a second process' worker work on the store."""
    async with open_backend(url, poll_interval=0.1) as backend, open_inbox_on_backend(backend) as inbox:
        stop = asyncio.Event()
        working = asyncio.create_task(Worker(backend, inbox, agents_by_name(ELSEWHERE)).work(stop))
        try:
            yield
        finally:
            stop.set()
            await working


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    url = f"sqlite:///{tmp_path / 'ringi.db'}"
    async with open_world(url, extensions=[EXTENSION]) as world, worker(url):

        async def is_known() -> bool:
            return await world.runner.is_available("elsewhere")

        await until(is_known)
        yield world


def events(reply: httpx.Response) -> list[Any]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line[5:]) for line in reply.text.splitlines() if line.startswith("data:")]


async def test_ag_uis_connect_tells_the_history_of_an_agent_elsewhere(world: World) -> None:
    ann = world.client()
    fresh = events(await ann.post("/agui/elsewhere/connect", json=TURN))
    assert [each["type"] for each in fresh] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    spoken = {**TURN, "messages": [{"id": "m1", "role": "user", "content": "hello"}]}
    events(await ann.post("/agui/elsewhere", json=spoken))

    async def is_over() -> bool:
        return bool((await ann.get("/v1/threads/t1")).json()["status"] == "done")

    await until(is_over)  # Until the other process has stored the end that it told, the run comes as a live one.
    (snapshot,) = [
        each
        for each in events(await ann.post("/agui/elsewhere/connect", json={**TURN, "runId": "r2"}))
        if each["type"] == "MESSAGES_SNAPSHOT"
    ]
    assert [each["role"] for each in snapshot["messages"]] == ["user", "assistant"]
    for unknown in ("inner", "nobody"):
        assert (await ann.post(f"/agui/{unknown}/connect", json=TURN)).status_code == 404


async def test_langgraphs_api_lists_starts_and_finds_an_agent_elsewhere(world: World) -> None:
    ann = world.client()
    found = (await ann.post("/langgraph/assistants/search", json={})).json()
    names = {each["graph_id"] for each in found}
    assert "elsewhere" in names
    assert "inner" not in names
    (own,) = [each for each in found if each["graph_id"] == "elsewhere"]
    for id in ("elsewhere", own["assistant_id"]):
        assert (await ann.get(f"/langgraph/assistants/{id}")).json() == own
        run = {"assistant_id": id, "input": INPUT, "stream_mode": ["values"]}
        events(await ann.post(f"/langgraph/threads/on-{id}/runs/stream", json=run))
    listed = (await ann.post("/langgraph/threads/search", json={"metadata": {"graph_id": "elsewhere"}})).json()
    assert {each["thread_id"] for each in listed} == {"on-elsewhere", f"on-{own['assistant_id']}"}
    everything = (await ann.post("/langgraph/threads/search", json={})).json()
    assert {each["thread_id"] for each in everything} == {each["thread_id"] for each in listed}
    for unknown in ("inner", "nobody"):
        assert (await ann.get(f"/langgraph/assistants/{unknown}")).status_code == 404
        run = {"assistant_id": unknown, "input": INPUT}
        assert (await ann.post("/langgraph/threads/x/runs", json=run)).status_code == 404
