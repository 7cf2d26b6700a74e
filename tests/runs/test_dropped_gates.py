"""A rejected call does not run when a deploy has dropped the code that asked about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import tool
from tests.runs.world import World, model, opened, working

from ringi import Agent, Approval
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.runs.operations import retry

Middleware = Sequence[AgentMiddleware[Any, Any, Any]]


def shop(ran: list[int], *orders: int) -> Callable[..., Agent]:
    """Return a maker of agents that refund orders and add those of the calls that ran to a list."""

    @tool
    def refund(order: int) -> str:
        """Refund an order."""
        ran.append(order)
        return "refunded"

    calls = [ToolCall(name="refund", args={"order": order}, id=f"call-{order}") for order in orders]

    def script(messages: Sequence[Any]) -> Any:
        return AIMessage("", tool_calls=calls) if len(messages) == 1 else "Done."

    def make(*middleware: AgentMiddleware[Any, Any, Any]) -> Agent:
        return Agent("shop", create_agent(model(script), [refund], middleware=list(middleware)))

    make.approval = lambda: Approval({"rules": [{"tools": ["refund"]}]}, [refund])  # type: ignore[attr-defined]
    return make


def per_call(**_: Any) -> HumanInTheLoopMiddleware[Any, Any, Any]:
    return HumanInTheLoopMiddleware({"refund": True}, interrupt_mode="per_call")


async def redeployed(world: World, agent: Agent, decision: str, *requests: Request) -> Thread:
    """Answer while another deploy of the agent runs, and return the thread at rest."""
    deployed = World(world.backend, world.inbox, [agent])
    async with working(deployed):
        for request in requests[:-1]:
            await world.respond(request, decision)
        return await deployed.answer(requests[-1], decision)


async def needs_an_operator(world: World, thread: Thread, request: Request) -> bool:
    now = await world.inbox.get(request.id)
    assert thread.attention == now.attention
    assert request.id in str(thread.attention)
    assert "'shop'" in str(thread.attention)
    assert now.acknowledged_at is None
    return thread.status == "error"


@pytest.mark.parametrize("decision", ["reject", "approve"])
@pytest.mark.parametrize("gate", ["approval", "per_call"])
async def test_a_tool_whose_gate_was_dropped_does_not_run(url: str, gate: str, decision: str) -> None:
    ran: list[int] = []
    make = shop(ran, 1)
    before = make(make.approval() if gate == "approval" else per_call())  # type: ignore[attr-defined]
    async with opened(url, [before]) as world:
        async with working(world):
            await world.run("shop", {"messages": [{"role": "user", "content": "Refund 1."}]})
        request = await world.one()
        thread = await redeployed(world, make(), decision, request)
        assert ran == []
        assert await needs_an_operator(world, thread, request)
        async with working(world):
            await retry(world.backend, world.inbox, "t1", by="root")
            thread = await world.rest()
        assert (thread.status, thread.attention, ran) == ("done", None, [1] if decision == "approve" else [])
        assert (await world.inbox.get(request.id)).acknowledged_at
        await world.verified()
