"""Conditions on arguments and facts: true, false, or unknown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from ringi.base.canonical_json import SAFE, canonical
from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, invalid_error
from ringi.errors import InvalidError
from ringi.forms.json_schema import check_pattern, matches_whole

Args = Mapping[str, Any]
Path = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""The path of a value, such as `customer.country`."""
ITEM = "*"
"""The path of a list's item itself."""
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
        return _all(CHECKS[name](value, getattr(self, name)) for name in sorted(self.model_fields_set))


def _as_written(value: object) -> object:
    """Return a limit of 1000, which is kept as 1000.0, as 1000: both are one JSON number."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= SAFE else value


Where = dict[Path, Condition]
"""Conditions by argument; `customer.country` is a nested value of an argument."""


def all_conditions_hold(where: Mapping[str, Condition], args: Args) -> bool | None:
    """Return whether all conditions hold; None if that is unknown.

    Args:
        where: Conditions by argument.
        args: The arguments by name.
    """
    return _all(condition.holds(argument_at_path(args, path)) for path, condition in where.items())


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
    return (float(limit) for limit in limits if _type(limit) is float)


def _all(results: Iterable[bool | None]) -> bool | None:
    values = list(results)
    return False if False in values else None if None in values else True


def _any(results: Iterable[bool | None]) -> bool | None:
    values = list(results)
    return True if True in values else None if None in values else False


def argument_at_path(args: object, path: str) -> object:
    """Return the value at a path such as `customer.country`; `MISSING` if there is none."""
    value = args
    for part in path.split("."):
        value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
    return value


def _item_results(items: Iterable[object], where: Where) -> Iterator[bool | None]:
    for item in items:
        yield _all(each.holds(_value_of_item(item, path)) for path, each in where.items())


def _value_of_item(item: object, path: str) -> object:
    return item if path == ITEM else argument_at_path(item, path)


def _total(items: Iterable[object], path: str) -> object:
    numbers = [_value_of_item(item, path) for item in items]
    if not all(_type(number) is float for number in numbers):
        return MISSING
    return float(exact_decimal_sum(numbers))


def exact_decimal_sum(numbers: Iterable[Any]) -> int | float:
    """Return the sum of numbers as decimals: three times 0.1 is 0.3. Whole numbers have a whole sum."""
    numbers = list(numbers)
    is_whole = all(isinstance(number, int) for number in numbers)
    return sum(numbers) if is_whole else float(sum(Decimal(str(number)) for number in numbers))


def _equals(value: object, wanted: object) -> bool | None:
    if _type(value) is None or _type(value) != _type(wanted):
        return None
    try:
        return canonical(value) == canonical(wanted)
    except InvalidError:
        return None


def _compared(is_so: Callable[[Any, float], bool]) -> Callable[[object, float], bool | None]:
    return lambda value, limit: is_so(value, limit) if _type(value) is float else None


def _of_list(check: Callable[[list[object], Any], bool | None]) -> Callable[[object, Any], bool | None]:
    return lambda value, wanted: check(value, wanted) if isinstance(value, list) else None


def _type(value: object) -> type | None:
    """Return the JSON type of a value, with one type for all numbers; None if it is not JSON."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float if math.isfinite(value) else None
        except OverflowError:  # A whole number beyond all floats.
            return None
    return next((kind for kind in (str, bool, dict, list, type(None)) if isinstance(value, kind)), None)


CHECKS: dict[str, Callable[[object, Any], bool | None]] = {
    "equals": _equals,
    "one_of": lambda value, wanted: _any(_equals(value, each) for each in wanted),
    "at_least": _compared(lambda value, limit: value >= limit),
    "at_most": _compared(lambda value, limit: value <= limit),
    "above": _compared(lambda value, limit: value > limit),
    "below": _compared(lambda value, limit: value < limit),
    "matches": lambda value, pattern: matches_whole(pattern, value) if isinstance(value, str) else None,
    "any": _of_list(lambda items, where: _any(_item_results(items, where))),
    "all": _of_list(lambda items, where: _all(_item_results(items, where))),
    "sum": _of_list(lambda items, where: _all(each.holds(_total(items, path)) for path, each in where.items())),
    "count": _of_list(lambda items, condition: condition.holds(len(items))),
}
KINDS = {
    **dict.fromkeys(("at_least", "at_most", "above", "below"), "a number"),
    "matches": "a text",
    **dict.fromkeys(("any", "all", "sum", "count"), "a list"),
}
"""The type of the values for which each check is known."""
