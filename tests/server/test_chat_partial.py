"""Answers that come one by one, by each protocol: each is kept, and nothing runs until all are there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.protocols.test_langgraph_api import tool
from tests.server.test_chat import payer, run_turn, ui
from tests.server.world import World, open_world

from ringi.protocols.langgraph_api.routes import EXTENSION


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A server with an agent of which one batch of LangChain's asks twice."""
    async with open_world("memory://", serves=True, extensions=[EXTENSION]) as world:
        world.runner.agents = {**world.runner.agents, "talk": payer()}
        yield world


def message_of(parts: list[Any], *approved: str) -> tuple[str, dict[str, Any]]:
    """Return what `useChat` sends: the message as it was received, with the approvals that were given."""
    metadata = {**parts[0]["messageMetadata"], **parts[-1]["messageMetadata"]}
    requests = [part for part in parts if part["type"] == "data-ringi-request"]
    calls = [
        {"type": "dynamic-tool", "state": "approval-responded", "approval": {"id": id, "approved": True}}
        for id in approved
    ]
    message = {"id": parts[0]["messageId"], "role": "assistant", "metadata": metadata, "parts": [*requests, *calls]}
    return "/v1/chat", {"id": "t1", "messages": [message]}


async def statuses(world: World, *ids: str) -> list[str]:
    return [(await world.client().get(f"/v1/requests/{id}")).json()["status"] for id in ids]


async def test_the_ai_sdk_may_answer_a_part(world: World) -> None:
    client = world.client()
    asked = await run_turn(client, ui("go", "m1"))
    first, second = [part["approvalId"] for part in asked if part["type"] == "tool-approval-request"]
    again = await run_turn(client, message_of(asked, first))
    assert (again[-1]["finishReason"], await statuses(world, first, second)) == ("tool-calls", ["completed", "pending"])
    assert not [part for part in again if part["type"] == "tool-output-available"]
    ended = await run_turn(client, message_of(asked, second))
    assert ended[-1]["finishReason"] == "stop"
    assert sorted(part["output"] for part in ended if part["type"] == "tool-output-available") == ["paid 1", "paid 2"]


async def test_agent_inbox_answers_one_of_a_batch_after_the_other(world: World) -> None:
    client = tool(world)
    client.base_url = f"{world.url}/langgraph/"
    await run_turn(world.client(), ui("go", "m1"))
    outputs = []
    for _ in range(2):
        (interrupt,) = (await client.get("threads/t1")).json()["interrupts"].values()
        amount = interrupt[0]["value"]["action_request"]["args"]["amount"]
        body = {
            "assistant_id": "talk",
            "command": {"resume": [{"type": "accept", "args": None}]},
            "stream_mode": "values",
        }
        reply = await client.post("threads/t1/runs/stream", json=body)
        outputs.append((amount, reply.text.count('"__interrupt__"'), "paid 1" in reply.text))
    assert outputs == [(1, 1, False), (2, 0, True)]
