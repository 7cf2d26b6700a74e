"""Approval of tool calls in LangChain agents: calls under a policy run when a person or a rule approves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool

from ringi.integrations.langchain.enabled import run_asks_people
from ringi.integrations.langchain.tool_gate import (
    ToolCallGate,
    ToolResult,
    call_with_model_arguments,
    gate_tool_call_request,
)
from ringi.policy.question import FactFunction
from ringi.policy.rules import Policy
from ringi.runs.context import find_run_context
from ringi.runtimes.langgraph.tool_arguments import tool_call_schema

Tool = BaseTool | Callable[..., Any] | str | dict[str, Any]


class Approval(AgentMiddleware[Any, Any, Any]):
    """Asks a person before a tool runs, one question for each call.

    Only the authorized call runs, with exactly the authorized arguments. If other code changes the call before the tool
    starts, a person is asked again. After the start, a person is asked only if the model calls the tool again. A
    rejected, expired or canceled call never runs.

    A rule can deny a call: nobody is asked, and the model reads the reason. Such rules count right before the tool
    starts, even after an approval, and even if `RINGI_ENABLED=0` lets all other calls run.

    While an administrator has paused the agent, no tool starts: the run stops before it, and goes on after the pause.

    If Ringi does not run the agent, calls pause it with a plain LangGraph interrupt. Rules then approve nothing,
    because an approval would not be recorded, and a denial is not recorded.

    Args:
        policy: The rules that say which calls wait for a person, as a `Policy` or as plain data.
        tools: All tools of the agent; name the tools of other middleware as text.
        facts: Functions that look up what the policy's `facts` need, by name. Each takes the arguments of the call as a
            dict and returns JSON, or an awaitable of it. People see the results with the request, and its digest covers
            them. A fact whose function fails is unknown.

    Raises:
        InvalidError: The policy is invalid, or names another tool, argument or fact.
    """

    def __init__(
        self, policy: Policy | Mapping[str, Any], tools: Sequence[Tool], facts: Mapping[str, FactFunction] | None = None
    ) -> None:
        super().__init__()
        self.facts = dict(facts or {})
        self.policy = policy if isinstance(policy, Policy) else Policy.parse(dict(policy))
        # A tool described by a dict runs at the model's provider, where it cannot be gated.
        own = [each for each in tools if not isinstance(each, dict)]
        self.policy.check_tools(dict(langchain_argument_names(each) for each in own), self.facts)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Run the call, or return a message to the model instead."""
        is_asking = run_asks_people()
        if not is_asking and not self.policy.denies:
            if host := find_run_context(request.runtime.config):
                host.check_pauses_without_await(is_gated=False)
            return handler(request)
        gate = ToolCallGate(self.policy, request, self.facts, asks=is_asking)
        call = call_with_model_arguments(request.tool_call["name"], request.tool_call["args"], request.tool)
        grant = gate.enter(call, request.tool)
        return grant if isinstance(grant, ToolMessage) else handler(gate_tool_call_request(request, gate, grant.args))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Run the call, or return a message to the model instead."""
        is_asking = run_asks_people()
        if not is_asking and not self.policy.denies:
            if host := find_run_context(request.runtime.config):
                await host.check_pauses(is_gated=False)
            return await handler(request)
        gate = ToolCallGate(self.policy, request, self.facts, asks=is_asking)
        call = call_with_model_arguments(request.tool_call["name"], request.tool_call["args"], request.tool)
        grant = await gate.aenter(call, request.tool)
        if isinstance(grant, ToolMessage):
            return grant
        return await handler(gate_tool_call_request(request, gate, grant.args))


def langchain_argument_names(tool_or_name: BaseTool | Callable[..., Any] | str) -> tuple[str, frozenset[str] | None]:
    """Return a tool's name, and the names of the arguments that a model may set; None if they are unknown."""
    if isinstance(tool_or_name, str):
        return tool_or_name, None
    made = tool_or_name if isinstance(tool_or_name, BaseTool) else tool(tool_or_name)
    schema = tool_call_schema(made) or {}
    return made.name, None if schema.get("additionalProperties") else frozenset(schema.get("properties", {}))
