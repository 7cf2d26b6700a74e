"""The conformance tests of runtimes with agents of Pydantic AI."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.capabilities import Hooks
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

import ringi
from ringi import Policy
from ringi.runs.agent import Agent
from ringi.testing.conformance import RuntimeConformance
from ringi.testing.conformance.running_agents import ArgumentChange, Effects, ModelTurn, Refund


def scripted(turns: Sequence[ModelTurn]) -> FunctionModel:
    """Return a model that gives its turns one after the other."""
    rest = list(turns)

    async def stream(messages: Any, info: Any) -> AsyncIterator[Any]:
        turn = rest.pop(0)
        if isinstance(turn, str):
            yield turn
            return
        for n, each in enumerate(turn):
            if isinstance(each, str):
                yield each
                continue
            yield {n: DeltaToolCall(name="refund", json_args=json.dumps(each.args), tool_call_id=each.call_id)}

    return FunctionModel(stream_function=stream)


class TestPydanticAI(RuntimeConformance):
    """Agents of Pydantic AI."""

    def agent(self, turns: Sequence[ModelTurn], effects: Effects, expires_in: float | None = None) -> Agent:
        return Agent("refunds", self.shop(turns, effects, is_gated=True), expires_in=expires_in)

    def ungated_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        return Agent("refunds", self.shop(turns, effects, is_gated=False))

    def shop(self, turns: Sequence[ModelTurn], effects: Effects, *, is_gated: bool) -> Any:
        """Return an agent with the tool."""
        shop = PydanticAgent(scripted(turns))

        @shop.tool_plain(requires_approval=is_gated)
        def refund(order: int, amount: int) -> str:
            """Refund an order."""
            effects.append(Refund(order, amount))
            return "refunded"

        return shop

    def gated_agent(
        self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any], change: ArgumentChange | None = None
    ) -> Agent:
        hooks = Hooks[Any]()
        shop = PydanticAgent(scripted(turns), capabilities=[hooks])

        if change:

            @hooks.on.after_tool_validate
            async def rewrite(ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]) -> dict[str, Any]:
                return change(args)

        @shop.tool_plain
        def refund(order: int, amount: int) -> str:
            """Refund an order."""
            effects.append(Refund(order, amount))
            return "refunded"

        return Agent("refunds", shop, policy=Policy.parse(policy))

    def nested_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        pytest.skip(
            "Pydantic AI cannot pause a run inside a tool: the inner agent raises UserError, or returns "
            "DeferredToolRequests as the tool's result (pydantic-ai issue 4302); see test_waiter for waits in place"
        )

    def function_agent(self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any]) -> Agent:
        shop = PydanticAgent(scripted(turns))

        @shop.tool_plain
        @ringi.gate(policy)
        async def refund(order: int, amount: int) -> str:
            """Refund an order."""
            effects.append(Refund(order, amount))
            return "refunded"

        return Agent("refunds", shop)
