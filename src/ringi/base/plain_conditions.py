"""Conditions on plain JSON: true, false, or unknown. A condition is a mapping from the name of each check to its value.

A hook of a coding agent evaluates a policy with this file alone: it imports no model classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ringi.base.canonical_json import canonical
from ringi.errors import InvalidError

PlainCondition = Mapping[str, Any]
PlainWhere = Mapping[str, PlainCondition]
"""Conditions by path, such as `customer.country`."""
ITEM = "*"
"""The path of a list's item itself."""
MISSING = object()
"""Stands for an absent argument: the tool may have any default."""


def condition_holds(condition: PlainCondition, value: object) -> bool | None:
    """Return whether a condition holds.

    Args:
        condition: The value of each check by name, at least one.
        value: The value of the argument, as JSON data.

    Returns:
        True or False; None if it is unknown, because the argument is missing or has another type.
    """
    return _all(CHECKS[name](value, condition[name]) for name in sorted(condition))


def conditions_hold(where: PlainWhere, args: Mapping[str, Any]) -> bool | None:
    """Return whether all conditions hold; None if that is unknown.

    Args:
        where: Conditions by argument.
        args: The arguments by name.
    """
    return _all(condition_holds(condition, argument_at_path(args, path)) for path, condition in where.items())


def argument_at_path(args: object, path: str) -> object:
    """Return the value at a path such as `customer.country`; `MISSING` if there is none."""
    value = args
    for part in path.split("."):
        value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
    return value


def exact_decimal_sum(numbers: Iterable[Any]) -> int | float:
    """Return the sum of numbers as decimals: three times 0.1 is 0.3. Whole numbers have a whole sum."""
    from decimal import Decimal

    numbers = list(numbers)
    is_whole = all(isinstance(number, int) for number in numbers)
    return sum(numbers) if is_whole else float(sum(Decimal(str(number)) for number in numbers))


def json_type(value: object) -> type | None:
    """Return the JSON type of a value, with one type for all numbers; None if it is not JSON."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float if math.isfinite(value) else None
        except OverflowError:  # A whole number beyond all floats.
            return None
    return next((kind for kind in (str, bool, dict, list, type(None)) if isinstance(value, kind)), None)


def _all(results: Iterable[bool | None]) -> bool | None:
    values = list(results)
    return False if False in values else None if None in values else True


def _any(results: Iterable[bool | None]) -> bool | None:
    values = list(results)
    return True if True in values else None if None in values else False


def _item_results(items: Iterable[object], where: PlainWhere) -> Iterator[bool | None]:
    for item in items:
        yield _all(condition_holds(each, _value_of_item(item, path)) for path, each in where.items())


def _value_of_item(item: object, path: str) -> object:
    return item if path == ITEM else argument_at_path(item, path)


def _total(items: Iterable[object], path: str) -> object:
    numbers = [_value_of_item(item, path) for item in items]
    if not all(json_type(number) is float for number in numbers):
        return MISSING
    return float(exact_decimal_sum(numbers))


def _sums_hold(items: list[object], where: PlainWhere) -> bool | None:
    return _all(condition_holds(each, _total(items, path)) for path, each in where.items())


def _equals(value: object, wanted: object) -> bool | None:
    if json_type(value) is None or json_type(value) != json_type(wanted):
        return None
    try:
        return canonical(value) == canonical(wanted)
    except InvalidError:
        return None


def _matches(value: object, pattern: str) -> bool | None:
    if not isinstance(value, str):
        return None
    from ringi.base.patterns import matches_whole  # The engine loads slowly, and few policies need it.

    return matches_whole(pattern, value)


def _compared(is_so: Callable[[Any, float], bool]) -> Callable[[object, float], bool | None]:
    return lambda value, limit: is_so(value, limit) if json_type(value) is float else None


def _of_list(check: Callable[[list[object], Any], bool | None]) -> Callable[[object, Any], bool | None]:
    return lambda value, wanted: check(value, wanted) if isinstance(value, list) else None


CHECKS: dict[str, Callable[[object, Any], bool | None]] = {
    "equals": _equals,
    "one_of": lambda value, wanted: _any(_equals(value, each) for each in wanted),
    "at_least": _compared(lambda value, limit: value >= limit),
    "at_most": _compared(lambda value, limit: value <= limit),
    "above": _compared(lambda value, limit: value > limit),
    "below": _compared(lambda value, limit: value < limit),
    "matches": _matches,
    "any": _of_list(lambda items, where: _any(_item_results(items, where))),
    "all": _of_list(lambda items, where: _all(_item_results(items, where))),
    "sum": _of_list(_sums_hold),
    "count": _of_list(lambda items, condition: condition_holds(condition, len(items))),
}
