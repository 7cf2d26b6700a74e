"""Agents that are tools: the SDK runs each one by a function that holds the agent."""

from __future__ import annotations

import copy
from types import CellType, FunctionType
from typing import Any

from agents import Agent, FunctionTool

AGENT_CELL = "self"
"""The name by which the SDK's function holds the agent that it runs."""


def nested_agent(tool: FunctionTool) -> Agent[Any] | None:
    """Return the agent that a tool is; None for other tools."""
    agent = getattr(tool, "_agent_instance", None)
    return agent if isinstance(agent, Agent) else None


def with_agent(tool: FunctionTool, agent: Agent[Any]) -> Any:
    """Return the invoker of an agent that is a tool, with another agent; None if this version of the SDK has another.

    The tools of the agent itself run without the guards of its copy.

    Args:
        tool: The tool.
        agent: The agent that the invoker runs in place of the agent of the tool.
    """
    invoker: Any = tool.on_invoke_tool
    function = getattr(invoker, "_invoke_tool_impl", None)
    if not isinstance(function, FunctionType) or AGENT_CELL not in function.__code__.co_freevars:
        return None
    position = function.__code__.co_freevars.index(AGENT_CELL)
    cells = list(function.__closure__ or ())
    if cells[position].cell_contents is not nested_agent(tool):
        return None
    cells[position] = CellType(agent)
    other = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells)
    )
    other.__kwdefaults__ = function.__kwdefaults__
    other.__dict__.update(function.__dict__)
    bound = copy.copy(invoker)
    bound._invoke_tool_impl = other
    return bound
