"""Pauses of a run of the SDK at the calls of tools that its policy does not allow."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from agents import Agent, ApplyPatchTool, CustomTool, FunctionTool, Handoff, HostedMCPTool, ShellTool

from ringi.contracts.runtime import Run
from ringi.errors import NotAuthorizedError
from ringi.runtimes.openai_agents.nested_agents import nested_agent, with_agent
from ringi.runtimes.policy_checks import AgentTools, arguments_of
from ringi.runtimes.tool_calls import args_of

Approval: TypeAlias = bool | Callable[[Any, Any, str], Any]
"""Whether a tool needs approval; a function gets the SDK's context, the arguments, and the id of the call."""
HARMLESS = ("tool_search", "programmatic_tool_calling")
"""The tools of the provider that only find or call other tools."""


class ToolPauses:
    """Decides at which calls a run pauses."""

    def __init__(self, run: Run) -> None:
        self._run, self.has_policy = run, run.agent.policy is not None
        self._allowed: set[tuple[str, str, str]] = set()
        """The name, id and arguments of the calls that run without a pause."""

    def of_function(self, tool: FunctionTool) -> Any:
        """Return whether a function tool needs approval."""
        own, name = tool.needs_approval, tool.qualified_name
        if own is True or not self.has_policy:
            return own

        async def needs_approval(context: Any, args: dict[str, Any], call_id: str) -> bool:
            if await is_needed(own, context, args, call_id) or await self._run.must_pause(name, args):
                return True
            self._allowed.add((name, call_id, str(args)))
            return False

        return needs_approval

    async def check(self, tool: FunctionTool, args: str, call_id: str) -> None:
        """Raise `NotAuthorizedError` for a call that the SDK runs without having asked whether it needs approval."""
        # An agent that is a tool is called again when its own run resumes.
        if not self.has_policy or tool._is_agent_tool:
            return
        name, read = tool.qualified_name, args_of(args) or {}
        if (name, call_id, str(read)) not in self._allowed and await self._run.must_pause(name, read):
            raise NotAuthorizedError(call_id, f"the policy does not allow this call of {name!r}")

    def of_other(self, tool: Any) -> Any:
        """Return a copy of a tool that is no function, which pauses at its calls; the tool itself without a policy."""
        if not self.has_policy or not is_stoppable(tool):
            return tool
        paused = copy.copy(tool)
        if isinstance(paused, HostedMCPTool):
            config: Any = {**paused.tool_config, "require_approval": "always"}
            paused.tool_config, paused.on_approval_request = config, None
            return paused
        own, name = tool.needs_approval, tool.name

        async def needs_approval(context: Any, call: Any, call_id: str) -> bool:
            # The arguments are in no format that a policy knows: only a rule that allows all calls allows this one.
            return await is_needed(own, context, call, call_id) or await self._run.must_pause(name, {})

        # A function of the agent's author would approve in place of the policy.
        paused.needs_approval, paused.on_approval = needs_approval, None
        return paused


async def is_needed(own: Approval, context: Any, args: Any, call_id: str) -> bool:
    """Return whether a tool's own setting asks for approval of a call."""
    if not callable(own):
        return own
    found = own(context, args, call_id)
    return bool(await found if inspect.isawaitable(found) else found)


def is_stoppable(tool: Any) -> bool:
    """Return whether a run can pause at the calls of a tool that is no function."""
    if type(tool) is ShellTool:
        environment: Any = tool.environment or {}
        return bool(environment.get("type") == "local")
    return type(tool) in (ApplyPatchTool, CustomTool, HostedMCPTool)


def tools_of(agent: Agent[Any]) -> AgentTools:
    """Return the tools of an agent, and of all agents that it reaches."""
    tools, seen = AgentTools(), set[int]()
    add_agent(tools, agent, seen)
    return tools


def add_agent(tools: AgentTools, agent: Agent[Any], seen: set[int]) -> None:
    """Add the tools of an agent; `seen` are the ids of the agents that were added."""
    if id(agent) in seen:
        return
    seen.add(id(agent))
    if type(agent).get_all_tools is not Agent.get_all_tools:
        tools.unstoppable.add(f"the tools of {type(agent).__name__}")
    tools.is_complete = tools.is_complete and not agent.mcp_servers
    for tool in agent.tools:
        add_tool(tools, tool, seen)
    for handoff in agent.handoffs:
        target = handed_to(handoff)
        if target is None:
            tools.is_complete = False
        else:
            add_agent(tools, target, seen)


def add_tool(tools: AgentTools, tool: Any, seen: set[int]) -> None:
    """Add a tool, and the agent that it is."""
    if isinstance(tool, FunctionTool):
        tools.add(tool.qualified_name, arguments_of(tool.params_json_schema))
        if nested := nested_agent(tool):
            add_agent(tools, nested, seen)
            if with_agent(tool, nested) is None:
                tools.unstoppable.add(f"the tools of {nested.name}")
    elif isinstance(tool, HostedMCPTool):
        tools.is_complete = False
    elif is_stoppable(tool):
        tools.add(tool.name, None)
    elif tool.name not in HARMLESS:
        tools.unstoppable.add(tool.name)


def handed_to(handoff: Any) -> Agent[Any] | None:
    """Return the agent of a handoff; None if only its function knows it."""
    if isinstance(handoff, Handoff):
        reference = getattr(handoff, "_agent_ref", None)
        handoff = reference() if reference else None
    return handoff if isinstance(handoff, Agent) else None
