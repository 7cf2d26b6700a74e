"""A gate before the tools of a LangChain agent: what a policy names runs when a person, or one of its rules, agrees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command

from ringi.integrations.langchain.enabled import asks
from ringi.integrations.langchain.tool_gate import Call, ToolGate, gated
from ringi.policy.rules import Policy
from ringi.runs.tool_arguments import injected, schema_of

Result = ToolMessage | Command[Any]
Tool = BaseTool | Callable[..., Any] | str | dict[str, Any]


class Approval(AgentMiddleware[Any, Any, Any]):
    """Asks a person before a tool runs, one question for each call.

    What runs is what was authorized, to the last argument: whatever changes a call between the answer and the tool
    has it asked anew; once the tool was begun, only when the model calls again. Nothing runs after a rejection, a
    silence or a withdrawal. Where no thread of Ringi runs the agent, its calls pause it with LangGraph's own
    interrupt, and no rule approves anything: nobody would record it.
    """

    def __init__(self, policy: Policy | Mapping[str, Any], tools: Sequence[Tool]) -> None:
        """Gate what the policy names of these tools: all that the agent has, those of other middlewares by name.

        Raises `InvalidError` for a policy that names another tool, another argument or an unknown decision.
        """
        super().__init__()
        self.policy = policy if isinstance(policy, Policy) else Policy.parse(dict(policy))
        # What is described by a dict runs at the provider of the model, where nothing can hold it.
        own = [each for each in tools if not isinstance(each, dict)]
        self.policy.check_tools(dict(arguments_of(each) for each in own))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        """Run the call, or return what the model is told instead."""
        if not asks():
            return handler(request)
        passage = ToolGate(self.policy, request)
        permit = passage.enter(call_of(request), request.tool)
        return permit if isinstance(permit, ToolMessage) else handler(gated(request, passage, permit.args))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Run the call, or return what the model is told instead."""
        if not asks():
            return await handler(request)
        passage = ToolGate(self.policy, request)
        permit = await passage.aenter(call_of(request), request.tool)
        return permit if isinstance(permit, ToolMessage) else await handler(gated(request, passage, permit.args))


def call_of(request: ToolCallRequest) -> Call:
    """Return the call without what the model may not give: the agent's own code overwrites that anyway."""
    own = injected(request.tool) if request.tool else frozenset()
    call = request.tool_call
    return Call(call["name"], {name: value for name, value in call["args"].items() if name not in own})


def arguments_of(given: BaseTool | Callable[..., Any] | str) -> tuple[str, frozenset[str] | None]:
    """Return a tool's name, and the names of the arguments that a model may give; None where they are not known."""
    if isinstance(given, str):
        return given, None
    made = given if isinstance(given, BaseTool) else tool(given)
    schema = schema_of(made) or {}
    return made.name, None if schema.get("additionalProperties") else frozenset(schema.get("properties", {}))
