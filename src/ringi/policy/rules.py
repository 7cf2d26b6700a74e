"""Policies as data, made in Python or read from JSON or TOML: they decide which tool calls wait for a person."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from ringi.base.validation import FieldValidationError, path_of, safe_repr
from ringi.domain.ask import Decision, Name, Priority
from ringi.errors import InvalidError
from ringi.policy.conditions import Args, PolicyData, Where, all_hold

NO_FACTS: Args = MappingProxyType({})
RuleName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")]


class AutoApproval(PolicyData):
    """Calls that run without a person; the audit trail names the rule."""

    name: RuleName
    """The name of the rule in the audit trail; unique in its policy."""
    where: Where = {}
    """Conditions by argument; all must certainly hold. Without conditions, every call is approved."""
    facts: Where = {}
    """Conditions by fact; all must certainly hold."""


class Rule(PolicyData):
    """A rule by which calls of some tools wait for a person.

    It applies unless a condition in `where` is false. An unknown condition counts as true.
    """

    tools: Annotated[tuple[Name, ...], Field(min_length=1)]
    """The names of the tools."""
    where: Where = {}
    """Conditions by argument; the rule applies unless one of them certainly fails."""
    facts: Where = {}
    """Conditions by fact, a value that your code looks up; the rule applies unless one of them certainly fails."""
    allowed: Annotated[tuple[Decision, ...], Field(min_length=1)] = ("approve", "edit", "reject")
    """The decisions that people can choose."""
    title: str | None = Field(default=None, min_length=1, max_length=500, pattern=r"\S")
    """The title of the requests; by default made from the call."""
    assignee: Name | None = None
    """The person who decides; without it and `candidate_groups`, any person of the tenant may."""
    candidate_groups: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    """The groups whose members may decide, at most 100."""
    priority: Priority | None = None
    """The priority of the requests."""
    expires_in: float | None = Field(default=None, strict=True, gt=0, le=10 * 366 * 86_400)
    """Seconds until a request expires, at most ten years; None for never."""
    auto_approve: tuple[AutoApproval, ...] = ()
    """The calls of this rule that run without a person; the first match approves."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.auto_approve and "approve" not in self.allowed:
            raise FieldValidationError(
                "auto_approve", "needs the decision approve: add it to allowed, or remove auto_approve"
            )
        if len(set(self.allowed)) < len(self.allowed):
            raise FieldValidationError("allowed", "has a duplicate decision: list each once")
        return self

    def covers(self, tool: str, args: Args, facts: Args = NO_FACTS) -> bool:
        """Return whether the rule applies to a call; an unknown condition counts as true.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
            facts: The facts about the call by name; a missing one is unknown.
        """
        is_named = tool in self.tools
        return is_named and all_hold(self.where, args) is not False and all_hold(self.facts, facts) is not False

    def approver(self, args: Args, facts: Args = NO_FACTS) -> str | None:
        """Return the name of the `AutoApproval` that approves a call without a person; None if a person must decide.

        An unknown condition counts as false.

        Args:
            args: The arguments of the call by name.
            facts: The facts about the call by name; a missing one is unknown.
        """
        rules = (rule for rule in self.auto_approve if all_hold(rule.where, args) and all_hold(rule.facts, facts))
        return next((rule.name for rule in rules), None)


class Policy(PolicyData):
    """Ordered rules: the first matching rule decides how a call is asked; a call without a rule runs at once."""

    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]
    """The rules in order, at least one."""

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        seen: set[str] = set()
        for position, rule in enumerate(self.rules):
            for number, auto in enumerate(rule.auto_approve):
                if auto.name in seen:
                    place = path_of("", ["rules", position, "auto_approve", number, "name"])
                    raise FieldValidationError(
                        place, f"{safe_repr(auto.name)} is the name of two rules: give each rule its own name"
                    )
                seen.add(auto.name)
        return self

    def rule_of(self, tool: str, args: Args, facts: Args = NO_FACTS) -> Rule | None:
        """Return the first rule that applies to a call; None if the call runs without asking.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
            facts: The facts about the call by name; a missing one is unknown.
        """
        return next((rule for rule in self.rules if rule.covers(tool, args, facts)), None)

    def facts_of(self, tool: str, args: Args) -> frozenset[str]:
        """Return the names of the facts that decide about a call.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
        """
        rules = [rule for rule in self.rules if tool in rule.tools and all_hold(rule.where, args) is not False]
        conditions = [*(rule.facts for rule in rules), *(auto.facts for rule in rules for auto in rule.auto_approve)]
        return frozenset(path.partition(".")[0] for facts in conditions for path in facts)

    def check_tools(self, arguments: Mapping[str, frozenset[str] | None], facts: Collection[str] = ()) -> None:
        """Check that the rules name only these tools, their arguments, and these facts.

        Args:
            arguments: The names of each tool's arguments, by tool; None for unknown arguments.
            facts: The names of the facts that can be looked up.

        Raises:
            InvalidError: A rule names another tool or fact, or an argument that its tool does not have.
        """
        for place, tool, where, of_facts in self._named():
            for fact in [name for name in of_facts if name.partition(".")[0] not in facts]:
                raise InvalidError.of(f"{place}.facts", f"{safe_repr(fact)} is not a fact: use {_names(facts)}")
            if tool not in arguments:
                raise InvalidError.of(
                    f"{place}.tools", f"{safe_repr(tool)} is not a tool of this agent: use {_names(arguments)}"
                )
            has = arguments[tool]
            for argument in [name for name in where if has is not None and name.partition(".")[0] not in has]:
                wrong = f"{safe_repr(argument)} is not an argument of {tool}: use {_names(has or ())}"
                raise InvalidError.of(f"{place}.where", wrong)

    def _named(self) -> Iterable[tuple[str, str, Where, Where]]:
        for number, rule in enumerate(self.rules):
            for tool in rule.tools:
                yield f"rules[{number}]", tool, rule.where, rule.facts
                for position, auto in enumerate(rule.auto_approve):
                    yield f"rules[{number}].auto_approve[{position}]", tool, auto.where, auto.facts


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
