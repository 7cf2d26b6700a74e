"""Policies as data, made in Python or read from JSON or TOML: they decide which tool calls wait for a person."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator

from ringi.base.canonical_json import canonical
from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, invalid_error, path_of, safe_repr
from ringi.domain.ask import Decision, Name, Priority
from ringi.errors import InvalidError
from ringi.forms.json_schema import check_pattern, matches_whole

Args = Mapping[str, Any]
RuleName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")]
MISSING = object()
"""Stands for an absent argument: the tool may have any default."""


def _pattern(value: str) -> str:
    check_pattern(value)
    return value


class PolicyData(StrictModel):
    """The base of policy data: validation errors contain the path."""

    @classmethod
    def _error_root(cls, data: dict[str, Any]) -> str:
        return ""

    @classmethod
    def parse(cls, data: object) -> Self:
        """Return the policy, rule or condition that plain JSON data describes.

        Args:
            data: The data, such as the content of a JSON or TOML file.

        Raises:
            InvalidError: The data is invalid; paths look like `rules[0].tools`.
        """
        try:
            return cls.model_validate(data, extra="forbid")
        except ValidationError as error:
            raise invalid_error(error, "") from None


class Condition(PolicyData):
    """A condition on an argument; if several fields are set, all of them must hold.

    If the argument is missing, or its type differs from the type in the condition, its effect on the tool is unknown.
    Such a call waits for a person.
    """

    equals: Any = None
    one_of: Annotated[tuple[Any, ...], Field(min_length=1)] | None = None
    at_least: float | None = Field(default=None, allow_inf_nan=False)
    at_most: float | None = Field(default=None, allow_inf_nan=False)
    above: float | None = Field(default=None, allow_inf_nan=False)
    below: float | None = Field(default=None, allow_inf_nan=False)
    matches: Annotated[str, AfterValidator(_pattern)] | None = None
    """A regular expression for the whole text, as in JSON Schema; for a text longer than 10,000 characters the
    result is unknown."""

    @model_validator(mode="after")
    def _has_condition(self) -> Self:
        if not self.model_fields_set:
            raise FieldValidationError("", f"has no condition: set one of {', '.join(type(self).model_fields)}")
        # Only `equals` can be null: a comparison without a limit or a pattern would hold for nothing, or for anything.
        if empty := sorted(name for name in self.model_fields_set - {"equals"} if getattr(self, name) is None):
            raise FieldValidationError(empty[0], "is null: set it or remove it")
        return self

    def holds(self, value: object) -> bool | None:
        """Return whether the condition holds.

        Args:
            value: The value of the argument, as JSON data.

        Returns:
            True or False; None if it is unknown, because the argument is missing or has another type.
        """
        return _all(CHECKS[name](value, getattr(self, name)) for name in sorted(self.model_fields_set))


Where = dict[Name, Condition]
"""Conditions by argument; `customer.country` is a nested value of an argument."""


class AutoApproval(PolicyData):
    """Calls that run without a person; the audit trail names the rule."""

    name: RuleName
    """The name of the rule in the audit trail; unique in its policy."""
    where: Where = {}
    """Conditions by argument; all must certainly hold. Without conditions, every call is approved."""


class Rule(PolicyData):
    """A rule by which calls of some tools wait for a person.

    It applies unless a condition in `where` is false. An unknown condition counts as true.
    """

    tools: Annotated[tuple[Name, ...], Field(min_length=1)]
    """The names of the tools."""
    where: Where = {}
    """Conditions by argument; the rule applies unless one of them certainly fails."""
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

    def covers(self, tool: str, args: Args) -> bool:
        """Return whether the rule applies to a call; an unknown condition counts as true.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
        """
        return tool in self.tools and _holds(self.where, args) is not False

    def approver(self, args: Args) -> str | None:
        """Return the name of the `AutoApproval` that approves a call without a person; None if a person must decide.

        An unknown condition counts as false.

        Args:
            args: The arguments of the call by name.
        """
        return next((rule.name for rule in self.auto_approve if _holds(rule.where, args)), None)


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

    def rule_of(self, tool: str, args: Args) -> Rule | None:
        """Return the first rule that applies to a call; None if the call runs without asking.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
        """
        return next((rule for rule in self.rules if rule.covers(tool, args)), None)

    def check_tools(self, arguments: Mapping[str, frozenset[str] | None]) -> None:
        """Check that the rules name only these tools and their arguments.

        Args:
            arguments: The names of each tool's arguments, by tool; None for unknown arguments.

        Raises:
            InvalidError: A rule names another tool, or an argument that its tool does not have.
        """
        for place, tool, where in self._named():
            if tool not in arguments:
                raise InvalidError.of(
                    f"{place}.tools", f"{safe_repr(tool)} is not a tool of this agent: use {_names(arguments)}"
                )
            has = arguments[tool]
            for argument in [name for name in where if has is not None and name.partition(".")[0] not in has]:
                wrong = f"{safe_repr(argument)} is not an argument of {tool}: use {_names(has or ())}"
                raise InvalidError.of(f"{place}.where", wrong)

    def _named(self) -> Iterable[tuple[str, str, Where]]:
        for number, rule in enumerate(self.rules):
            for tool in rule.tools:
                yield f"rules[{number}]", tool, rule.where
                for position, auto in enumerate(rule.auto_approve):
                    yield f"rules[{number}].auto_approve[{position}]", tool, auto.where


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _holds(where: Where, args: Args) -> bool | None:
    return _all(condition.holds(_value(args, path)) for path, condition in where.items())


def _all(results: Iterable[bool | None]) -> bool | None:
    values = list(results)
    return False if False in values else None if None in values else True


def _value(args: Args, path: str) -> object:
    value: object = args
    for part in path.split("."):
        value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
    return value


def _equals(value: object, wanted: object) -> bool | None:
    if _type(value) is None or _type(value) != _type(wanted):
        return None
    try:
        return canonical(value) == canonical(wanted)
    except InvalidError:
        return None


def _one_of(value: object, wanted: Iterable[object]) -> bool | None:
    results = [_equals(value, each) for each in wanted]
    return True if True in results else None if None in results else False


def _matches(value: object, pattern: str) -> bool | None:
    return matches_whole(pattern, value) if isinstance(value, str) else None


def _compared(is_so: Callable[[Any, float], bool]) -> Callable[[object, float], bool | None]:
    return lambda value, limit: is_so(value, limit) if _type(value) is float else None


def _type(value: object) -> type | None:
    """Return the JSON type of a value, with one type for all numbers; None if it is not JSON."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float if math.isfinite(value) else None
    return next((kind for kind in (str, bool, dict, list, type(None)) if isinstance(value, kind)), None)


CHECKS: dict[str, Callable[[object, Any], bool | None]] = {
    "equals": _equals,
    "one_of": _one_of,
    "at_least": _compared(lambda value, limit: value >= limit),
    "at_most": _compared(lambda value, limit: value <= limit),
    "above": _compared(lambda value, limit: value > limit),
    "below": _compared(lambda value, limit: value < limit),
    "matches": _matches,
}
