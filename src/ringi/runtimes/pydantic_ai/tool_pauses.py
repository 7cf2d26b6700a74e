"""Pauses of a run of Pydantic AI at the calls of tools that its policy does not allow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import ApprovalRequired, DeferredToolResults, RunContext, ToolApproved
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.toolsets import (
    AbstractToolset,
    CombinedToolset,
    ExternalToolset,
    FunctionToolset,
    ToolsetTool,
    WrapperToolset,
)

from ringi.base.canonical_json import jsonable
from ringi.contracts.runtime import Run
from ringi.errors import NotAuthorizedError
from ringi.runtimes.policy_checks import AgentTools, arguments_of

TOOL_SEARCH = "tool_search"
"""The native tool that only loads the definitions of other tools."""
SAME_NAMES = ("ApprovalRequiredToolset", "SetMetadataToolset", "IncludeReturnSchemasToolset")
"""The wrappers whose tools have the names and arguments of the wrapped ones."""


@dataclass
class ToolPauses(AbstractCapability[Any]):
    """The capability of one run that pauses it; the agent keeps its own capabilities."""

    run: Run
    approved: Collection[str]
    """The ids of the calls that people or the policy approved."""

    def get_ordering(self) -> CapabilityOrdering:
        """Return the innermost position: what other capabilities make of a call is what the policy decides about."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Return the tools of the run; the SDK adds those for its output afterwards."""
        return PausingToolset(toolset, self.run, self.approved)


@dataclass
class PausingToolset(WrapperToolset[Any]):
    """All tools of a run, with a pause before each call that the policy does not allow."""

    run: Run
    approved: Collection[str]

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Run a call that people or the policy approve."""
        id, is_approved = str(ctx.tool_call_id), ctx.tool_call_approved
        if not (is_approved and id in self.approved) and await self.run.must_pause(name, json_args(tool_args)):
            if is_approved:
                raise NotAuthorizedError(id, f"a capability of the agent approved {name!r}, which its policy forbids")
            raise ApprovalRequired
        return await super().call_tool(name, tool_args, ctx, tool)


def json_args(args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as JSON, without those that have none: conditions on them are unknown."""
    found = {}
    for name, value in args.items():
        try:
            found[name] = jsonable(value)
        except ValueError:
            continue
    return found


def approved_ids(results: DeferredToolResults | None) -> frozenset[str]:
    """Return the ids of the approved calls."""
    approvals = results.approvals if results else {}
    return frozenset(id for id, each in approvals.items() if isinstance(each, ToolApproved))


def tools_of(agent: PydanticAgent[Any, Any]) -> AgentTools:
    """Return the tools of an agent."""
    tools = AgentTools()
    add_tools(tools, agent.toolsets)
    for native in agent.root_capability.get_native_tools():
        name = native.kind if isinstance(native, AbstractNativeTool) else getattr(native, "__name__", "native tool")
        if name != TOOL_SEARCH:
            tools.unstoppable.add(name)
    return tools


def add_tools(tools: AgentTools, toolsets: Sequence[AbstractToolset[Any]]) -> None:
    """Add the tools of some toolsets."""
    for toolset in toolsets:
        match toolset:
            case FunctionToolset():
                for name, tool in toolset.tools.items():
                    tools.add(name, arguments_of(tool.function_schema.json_schema))
            case CombinedToolset():
                add_tools(tools, toolset.toolsets)
            case WrapperToolset() if type(toolset).__name__ in SAME_NAMES:
                add_tools(tools, [toolset.wrapped])
            case ExternalToolset():
                for definition in toolset.tool_defs:
                    tools.add(definition.name, arguments_of(definition.parameters_json_schema))
            case _:
                tools.is_complete = False
