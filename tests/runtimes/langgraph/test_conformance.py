"""The conformance tests of runtimes with LangGraph graphs whose calls `Approval` gates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, wrap_tool_call
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, StateGraph
from tests.tiers import WIDE

import ringi
from ringi import Agent, Approval
from ringi.testing import ScriptedModel
from ringi.testing.conformance import RuntimeConformance
from ringi.testing.conformance.policies import ASK
from ringi.testing.conformance.running_agents import ArgumentChange, Effects, ModelTurn, Refund


def message(turn: ModelTurn) -> AIMessage:
    """Return a turn as a message of the model."""
    if isinstance(turn, str):
        return AIMessage(turn)
    words = "".join(each for each in turn if isinstance(each, str))
    calls = [each for each in turn if isinstance(each, Refund)]
    return AIMessage(words, tool_calls=[ToolCall(name="refund", args=each.args, id=each.call_id) for each in calls])


class TestLangGraph(RuntimeConformance):
    """Graphs of LangChain's agents."""

    def agent(self, turns: Sequence[ModelTurn], effects: Effects, expires_in: float | None = None) -> Agent:
        return Agent("refunds", self.graph(turns, effects, expires_in))

    def nested_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        outer = StateGraph(AgentState).add_node("shop", self.graph(turns, effects))
        return Agent("refunds", outer.add_edge(START, "shop").compile())

    def gated_agent(
        self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any], change: ArgumentChange | None = None
    ) -> Agent:
        return Agent("refunds", self.graph(turns, effects, policy=policy, change=change))

    def ungated_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        return Agent("refunds", self.graph(turns, effects, is_gated=False))

    def function_agent(self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any]) -> Agent:
        @tool
        @ringi.gate(policy)
        async def refund(order: int, amount: int) -> str:
            """Refund an order."""
            effects.append(Refund(order, amount))
            return "refunded"

        rest = [message(turn) for turn in turns]
        return Agent("refunds", create_agent(ScriptedModel(script=lambda _: rest.pop(0)), [refund]))

    def graph(
        self,
        turns: Sequence[ModelTurn],
        effects: Effects,
        expires_in: float | None = None,
        policy: dict[str, Any] | None = None,
        change: ArgumentChange | None = None,
        *,
        is_gated: bool = True,
    ) -> Any:
        """Return an agent with the gated tool."""

        @wrap_tool_call
        async def rewrite(request: Any, handler: Any) -> Any:
            call = request.tool_call
            return await handler(
                request.override(tool_call={**call, "args": change(call["args"])}) if change else request
            )

        @tool
        def refund(order: int, amount: int) -> str:
            """Refund an order."""
            effects.append(Refund(order, amount))
            return "refunded"

        rest = [message(turn) for turn in turns]
        rule = {"tools": ["refund"], "allowed": list(self.decisions)}
        policy = policy or {"rules": [{**rule, **({"expires_in": expires_in} if expires_in else {})}]}
        model = ScriptedModel(script=lambda messages: rest.pop(0))
        return create_agent(model, [refund], middleware=[*(self.gates(policy, refund) if is_gated else ()), rewrite])

    def gates(self, policy: dict[str, Any], refund: BaseTool) -> Sequence[AgentMiddleware[Any, Any, Any]]:
        """Return the middleware that gates the tool."""
        return [Approval(policy, [refund])]


def words(call: ToolCall, state: Any, runtime: Any) -> str:
    """Return the words before a call."""
    return next(str(each.text) for each in reversed(state["messages"]) if isinstance(each, AIMessage))


@WIDE
class TestReviewsOfTurns(TestLangGraph):
    """Graphs of LangChain's agents whose own gate reviews all calls of a turn at once."""

    mode: Any = "batched"

    def agent(self, turns: Sequence[ModelTurn], effects: Effects, expires_in: float | None = None) -> Agent:
        return Agent("refunds", self.graph(turns, effects), expires_in=expires_in)

    def gated_agent(
        self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any], change: ArgumentChange | None = None
    ) -> Agent:
        if policy != {"rules": [ASK]}:
            pytest.skip("LangChain's own gate reads no policy")
        return super().gated_agent(turns, effects, policy, change)

    def function_agent(self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any]) -> Agent:
        pytest.skip("a gated function has its own gate")

    async def test_a_restored_run_asks_the_same_questions_under_the_same_ids(self, url: str, tmp_path: Path) -> None:
        if self.mode == "batched":
            pytest.skip("a rejected turn does not go to the tools, so its later steps have other numbers")
        await super().test_a_restored_run_asks_the_same_questions_under_the_same_ids(url, tmp_path)

    def gates(self, policy: dict[str, Any], refund: BaseTool) -> Sequence[AgentMiddleware[Any, Any, Any]]:
        settings: Any = {"refund": {"allowed_decisions": list(self.decisions), "description": words}}
        return [HumanInTheLoopMiddleware(settings, interrupt_mode=self.mode)]


@WIDE
class TestReviewsOfCalls(TestReviewsOfTurns):
    """The same, with a review of each call."""

    mode = "per_call"
