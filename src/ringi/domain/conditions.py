"""Conditions on arguments and facts: true, false, or unknown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Self, cast

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from ringi.base.canonical_json import SAFE
from ringi.base.model import StrictModel
from ringi.base.patterns import check_pattern
from ringi.base.plain_conditions import PlainCondition, PlainWhere, condition_holds, conditions_hold, json_type
from ringi.base.validation import FieldValidationError, invalid_error

Args = Mapping[str, Any]
Path = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""The path of a value, such as `customer.country`."""


def _pattern(value: str) -> str:
    check_pattern(value)
    return value


class PolicyData(StrictModel):
    """The base of policy data: validation errors contain the path."""

    @classmethod
    def _error_root(cls, data: dict[str, Any]) -> str:
        return ""

    @model_validator(mode="before")
    @classmethod
    def _knows_all_fields(cls, data: object) -> object:
        """Name the known fields: without the one that was meant, a rule covers more calls."""
        unknown = [name for name in data if name not in cls.model_fields] if isinstance(data, dict) else []
        if unknown:
            known = ", ".join(cls.model_fields)
            raise FieldValidationError(str(unknown[0]), f"is not known here: use one of {known}", "unexpected")
        return data

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

    any: Annotated[dict[Path, Condition], Field(min_length=1)] | None = None
    """Conditions on the fields of a list's items, `*` for the item itself; at least one item must meet all of them."""
    all: Annotated[dict[Path, Condition], Field(min_length=1)] | None = None
    """Conditions that all items of a list must meet; an empty list meets them."""
    sum: Annotated[dict[Path, Condition], Field(min_length=1)] | None = None
    """Conditions on the sum of a field over a list's items, `*` for the sum of the items."""
    count: Condition | None = None
    """A condition on the number of a list's items."""

    @model_validator(mode="after")
    def _has_condition(self) -> Self:
        if not self.model_fields_set:
            raise FieldValidationError("", f"has no condition: set one of {', '.join(type(self).model_fields)}")
        # Only `equals` can be null: a comparison without a limit or a pattern would hold for nothing, or for anything.
        if empty := sorted(name for name in self.model_fields_set - {"equals"} if getattr(self, name) is None):
            raise FieldValidationError(empty[0], "is null: set it or remove it")
        if reason := find_contradiction(self):
            raise FieldValidationError("", f"can never hold: {reason}")
        return self

    @model_serializer(mode="wrap")
    def _set_fields(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A null that nobody set would be an error when the condition is read again.
        return {name: _as_written(value) for name, value in serialize(self).items() if name in self.model_fields_set}

    def holds(self, value: object) -> bool | None:
        """Return whether the condition holds.

        Args:
            value: The value of the argument, as JSON data.

        Returns:
            True or False; None if it is unknown, because the argument is missing or has another type.
        """
        return condition_holds(self.plain, value)

    @cached_property
    def plain(self) -> PlainCondition:
        """The condition as plain data, with what is set only."""
        return {name: _plain(getattr(self, name)) for name in self.model_fields_set}


def _as_written(value: object) -> object:
    """Return a limit of 1000, which is kept as 1000.0, as 1000: both are one JSON number."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= SAFE else value


Where = dict[Path, Condition]
"""Conditions by argument; `customer.country` is a nested value of an argument."""


def all_conditions_hold(where: Where, args: Args) -> bool | None:
    """Return whether all conditions hold; None if that is unknown.

    Args:
        where: Conditions by argument.
        args: The arguments by name.
    """
    return conditions_hold(plain_where(where), args)


def plain_where(where: Where) -> PlainWhere:
    """Return conditions as plain data."""
    return {path: condition.plain for path, condition in where.items()}


def _plain(value: object) -> object:
    """Return what a condition sets as plain data: the conditions within it, and other values as they are."""
    if isinstance(value, Condition):
        return value.plain
    is_nested = isinstance(value, dict) and any(isinstance(each, Condition) for each in value.values())
    return plain_where(cast(Where, value)) if is_nested else value


def find_contradiction(*conditions: Condition) -> str | None:
    """Return why no value can meet all these conditions; None if a value may."""
    return next(_contradictions(conditions), None)


def _contradictions(conditions: Sequence[Condition]) -> Iterator[str]:
    kinds = {KINDS[name] for each in conditions for name in each.model_fields_set & KINDS.keys()}
    if len(kinds) > 1:
        yield f"no value is both {' and '.join(sorted(kinds))}"
    limits = [(each.at_least, each.above, each.at_most, each.below) for each in conditions]
    lower = max((limit for each in limits for limit in each[:2] if limit is not None), default=-math.inf)
    upper = min((limit for each in limits for limit in each[2:] if limit is not None), default=math.inf)
    is_strict = any(above == lower or below == upper for _, above, _, below in limits)
    if lower > upper or (lower == upper and is_strict):
        yield "its lower limit is not below its upper limit"
    for values in (_values(each) for each in conditions):
        if values is not None and not any(all(each.holds(value) for each in conditions) for value in values):
            yield "none of its values meets its other conditions"
    counts = [each.count for each in conditions if each.count]
    if counts and not _can_count(counts, least=int(any(each.any for each in conditions))):
        yield "no list has this number of items"
    for path, of_item in ((path, each.any[path]) for each in conditions if each.any for path in each.any):
        # The item that meets `any` meets `all`, too.
        of_all = (each.all[path] for each in conditions if each.all and path in each.all)
        if reason := find_contradiction(of_item, *of_all):
            yield f"no item meets both any and all for {path!r}: {reason}"


def _values(condition: Condition) -> tuple[Any, ...] | None:
    """Return the values that a condition lists; None if it lists none."""
    return (condition.equals,) if "equals" in condition.model_fields_set else condition.one_of


def _can_count(conditions: Sequence[Condition], least: int) -> bool:
    """Return whether some number of items, at least `least`, meets all conditions."""
    limits = (limit for each in conditions for limit in _limits(each))
    candidates = {least, *(number for limit in limits for number in (math.floor(limit), math.ceil(limit) + 1))}
    candidates |= {number - 1 for number in candidates}
    return any(all(each.holds(number) for each in conditions) for number in candidates if number >= least)


def _limits(condition: Condition) -> Iterator[float]:
    limits = (condition.at_least, condition.at_most, condition.above, condition.below, *(_values(condition) or ()))
    return (float(limit) for limit in limits if json_type(limit) is float)


KINDS = {
    **dict.fromkeys(("at_least", "at_most", "above", "below"), "a number"),
    "matches": "a text",
    **dict.fromkeys(("any", "all", "sum", "count"), "a list"),
}
"""The type of the values for which each check is known."""
