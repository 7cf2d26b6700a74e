"""The tools of an agent of the SDK and of all agents that it reaches, when it is loaded."""

from __future__ import annotations

from typing import Any

from agents import Agent, FunctionTool, Handoff, HostedMCPTool

from ringi.runtimes.gated_tools import AgentTools, schema_argument_names
from ringi.runtimes.openai_agents.tool_pauses import agent_inside_tool, can_pause_at_tool, tool_invoker_with_agent

HARMLESS = ("tool_search", "programmatic_tool_calling")
"""The tools of the provider that only find or call other tools."""


def reachable_openai_tools(agent: Agent[Any]) -> AgentTools:
    """Return the tools of an agent, and of all agents that it reaches."""
    tools, seen = AgentTools(), set[int]()
    add_tools_of_agent(tools, agent, seen)
    return tools


def add_tools_of_agent(tools: AgentTools, agent: Agent[Any], seen: set[int]) -> None:
    """Add the tools of an agent; `seen` are the ids of the agents that were added."""
    if id(agent) in seen:
        return
    seen.add(id(agent))
    # The capabilities of a `SandboxAgent` add tools to a copy of it in the run.
    if type(agent).get_all_tools is not Agent.get_all_tools or hasattr(agent, "capabilities"):
        tools.unstoppable.add(f"the tools of {type(agent).__name__}")
    tools.is_complete = tools.is_complete and not agent.mcp_servers
    for tool in agent.tools:
        add_reachable_tool(tools, tool, seen)
    for handoff in agent.handoffs:
        if target := agent_of_handoff(handoff):
            add_tools_of_agent(tools, target, seen)
        else:
            tools.is_complete = False


def add_reachable_tool(tools: AgentTools, tool: Any, seen: set[int]) -> None:
    """Add a tool, and the agent that it is."""
    if isinstance(tool, FunctionTool):
        tools.add(tool.qualified_name, schema_argument_names(tool.params_json_schema))
        if nested := agent_inside_tool(tool):
            add_tools_of_agent(tools, nested, seen)
            if tool_invoker_with_agent(tool, nested) is None:
                tools.unstoppable.add(f"the tools of {nested.name}")
    elif isinstance(tool, HostedMCPTool):
        tools.is_complete = False
    elif can_pause_at_tool(tool):
        tools.add(tool.name, None)
    elif tool.name not in HARMLESS:
        tools.unstoppable.add(tool.name)


def agent_of_handoff(handoff: Any) -> Agent[Any] | None:
    """Return the agent of a handoff; None if only its function knows it."""
    if isinstance(handoff, Handoff):
        reference = getattr(handoff, "_agent_ref", None)
        handoff = reference() if reference else None
    return handoff if isinstance(handoff, Agent) else None
