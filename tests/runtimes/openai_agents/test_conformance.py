"""The conformance tests of runtimes with agents of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent as SDKAgent
from agents import AgentHooks, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

import ringi
from ringi import Policy
from ringi.runs.agent import Agent
from ringi.testing.conformance import RuntimeConformance
from ringi.testing.conformance.running_agents import ArgumentChange, Effects, ModelTurn, Refund

set_tracing_disabled(True)


def answer(turn: ModelTurn) -> list[Any]:
    """Return a turn in the format of the SDK."""
    if isinstance(turn, str):
        return [assistant_message(turn)]
    return [
        assistant_message(each) if isinstance(each, str) else function_call("refund", each.args, call_id=each.call_id)
        for each in turn
    ]


def shop(turns: Sequence[ModelTurn], effects: Effects, *, is_gated: bool = True) -> Any:
    """Return an agent with the gated tool."""

    @function_tool(needs_approval=is_gated)
    def refund(order: int, amount: int) -> str:
        """Refund an order."""
        effects.append(Refund(order, amount))
        return "refunded"

    return SDKAgent(name="shop", model=ScriptedModel(map(answer, turns)), tools=[refund])


class TestOpenAIAgents(RuntimeConformance):
    """Agents of the SDK."""

    def agent(self, turns: Sequence[ModelTurn], effects: Effects, expires_in: float | None = None) -> Agent:
        return Agent("refunds", shop(turns, effects), expires_in=expires_in)

    def ungated_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        return Agent("refunds", shop(turns, effects, is_gated=False))

    def gated_agent(
        self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any], change: ArgumentChange | None = None
    ) -> Agent:
        class Rewriter(AgentHooks[Any]):
            async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
                if change:
                    changed = json.dumps(change(json.loads(context.tool_arguments)))
                    context.tool_arguments = context.tool_call.arguments = changed

        @function_tool
        def refund(order: int, amount: int) -> str:
            """Refund an order."""
            effects.append(Refund(order, amount))
            return "refunded"

        model = ScriptedModel(map(answer, turns))
        target = SDKAgent(name="shop", model=model, tools=[refund], hooks=Rewriter())
        return Agent("refunds", target, policy=Policy.parse(policy))

    def function_agent(self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any]) -> Agent:
        @function_tool
        @ringi.gate(policy)
        async def refund(order: int, amount: int) -> str:
            """Refund an order."""
            effects.append(Refund(order, amount))
            return "refunded"

        model = ScriptedModel(map(answer, turns))
        return Agent("refunds", SDKAgent(name="shop", model=model, tools=[refund]))

    def nested_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        tool = shop(turns, effects).as_tool("shop", "Refunds orders")
        script = [[function_call("shop", {"input": "Refund it."}, call_id="outer")], [assistant_message("All done.")]]
        return Agent("refunds", SDKAgent(name="desk", model=ScriptedModel(script), tools=[tool]))


class TestHandoffs(RuntimeConformance):
    """Agents of the SDK that hand the conversation over."""

    def agent(self, turns: Sequence[ModelTurn], effects: Effects, expires_in: float | None = None) -> Agent:
        return Agent("refunds", self.desk(shop(turns, effects)), expires_in=expires_in)

    def ungated_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        return Agent("refunds", self.desk(shop(turns, effects, is_gated=False)))

    def desk(self, target: Any) -> Any:
        """Return an agent that hands over to another one."""
        hand_over: Any = [function_call("transfer_to_shop", {}, call_id="outer")]
        return SDKAgent(name="desk", model=ScriptedModel([hand_over, hand_over]), handoffs=[target])

    def gated_agent(
        self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any], change: ArgumentChange | None = None
    ) -> Agent:
        pytest.skip("the tools of an agent after a handoff are those of `TestOpenAIAgents`")

    def function_agent(self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any]) -> Agent:
        pytest.skip("the tools of an agent after a handoff are those of `TestOpenAIAgents`")
