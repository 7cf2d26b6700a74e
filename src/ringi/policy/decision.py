"""The decision of a policy about a call, on plain data: for `Policy.decide` and for the hook of a coding agent.

It imports no model classes, because a hook starts for each call of a tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from ringi.base.plain_conditions import PlainWhere, conditions_hold

Effect = Literal["ask", "allow", "deny"]
ORDER: tuple[Effect, ...] = ("deny", "ask", "allow")
"""The order in which the effects of rules count."""


class PlainRule(NamedTuple):
    """What decides whether a rule covers a call."""

    tools: tuple[str, ...]
    effect: Effect
    where: PlainWhere
    facts: PlainWhere

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> PlainRule:
        """Return the rule in the plain data of a policy."""
        return cls(tuple(data["tools"]), data.get("effect", "ask"), data.get("where", {}), data.get("facts", {}))

    def covers(self, tool: str, args: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
        """Return whether the rule applies to a call; see `Rule.covers`."""
        if not any(is_tool_named_by_rule(tool, name) for name in self.tools):
            return False
        results = (conditions_hold(self.where, args), conditions_hold(self.facts, facts))
        return results == (True, True) if self.effect == "allow" else False not in results


def deciding_rule(
    rules: Iterable[PlainRule], tool: str, args: Mapping[str, Any], facts: Mapping[str, Any]
) -> int | None:
    """Return the number of the rule that decides about a call; None if no rule covers it.

    Args:
        rules: The rules in the order of the policy.
        tool: The name of the tool.
        args: The arguments of the call by name.
        facts: The facts about the call by name; a missing one is unknown.
    """
    for number, rule in sorted(enumerate(rules), key=lambda each: ORDER.index(each[1].effect)):
        if rule.covers(tool, args, facts):
            return number
    return None


def allows_certainly(policy: Mapping[str, Any], tool: str, args: Mapping[str, Any]) -> bool:
    """Return whether a rule or the default of a valid policy allows a call, with all facts unknown.

    Args:
        policy: The plain data of a policy that was found valid.
        tool: The name of the tool.
        args: The arguments of the call by name.
    """
    rules = [PlainRule.of(each) for each in policy["rules"]]
    number = deciding_rule(rules, tool, args, {})
    return (policy.get("otherwise") if number is None else rules[number].effect) == "allow"


def is_tool_named_by_rule(tool: str, name: str) -> bool:
    """Return whether a name in a rule stands for a tool; `*` in it stands for any characters."""
    first, *others = name.split("*")
    if not others:
        return tool == name
    *middle, last = others
    position = len(first) if tool.startswith(first) else len(tool) + 1
    for part in middle:
        found = tool.find(part, position)
        position = found + len(part) if found >= 0 else len(tool) + 1
    return tool.endswith(last) and position + len(last) <= len(tool)
