"""Checks that the policy of an agent fits its tools, when the agent is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringi.errors import InvalidError, SettingError
from ringi.policy.facts import afind_facts
from ringi.policy.rules import Denial

Arguments = frozenset[str] | None
"""The names of a tool's arguments; None if they are unknown."""


class AgentTools:
    """The tools of an agent, and of all agents that it reaches."""

    def __init__(self) -> None:
        self.arguments: dict[str, Arguments] = {}
        """The arguments of each tool at whose calls a run can pause."""
        self.unstoppable: set[str] = set()
        """The names of the tools whose calls a run cannot prevent."""
        self.is_complete = True
        """Whether all tools are known; those of an MCP server are known only while it is connected."""

    def add(self, name: str, arguments: Arguments) -> None:
        """Add a tool; agents may have different tools of the same name."""
        known = self.arguments.get(name, frozenset())
        self.arguments[name] = None if known is None or arguments is None else known | arguments

    def check(self, agent: Any) -> None:
        """Raise `SettingError` if the policy of an agent names a wrong tool, or cannot hold for one of the tools."""
        policy = agent.policy
        if policy is None:
            return
        place = f"agents.{agent.name}.policy"
        for name in sorted(self.unstoppable):
            if policy.decide(name, {}).effect != "allow":
                why = f"calls of {name!r} cannot be stopped: add a rule that allows all of them, or remove the tool"
                raise SettingError(place, name, why)
        tools = self.arguments | dict.fromkeys(self.unstoppable)
        try:
            policy.check_tools(tools, policy.fact_names, None if self.is_complete else tools.keys())
        except InvalidError as error:
            wrong = error.errors[0]
            raise SettingError(f"{place}.{wrong.field}", "…", wrong.message) from error


async def denial_of(run: Any, tool: str, args: Mapping[str, Any]) -> Denial | None:
    """Return why the policy of the agent of a run denies a call, with current facts; None if it does not."""
    policy = run.agent.policy
    if policy is None:
        return None
    facts = await afind_facts(run.agent.facts, policy.facts_of_denial(tool, args), tool, dict(args))
    denial: Denial | None = policy.denial(tool, args, facts)
    return denial


def arguments_of(schema: Mapping[str, Any] | None) -> Arguments:
    """Return the names of the arguments of a tool with this JSON Schema."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping) or (schema or {}).get("additionalProperties"):
        return None
    return frozenset(properties)
