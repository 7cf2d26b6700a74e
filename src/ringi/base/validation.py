"""Validation messages that are safe to print for untrusted input."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Annotated, Any

import pydantic
from pydantic import AfterValidator, StringConstraints

from ringi.errors import FieldError, InvalidError

MAX_ERRORS = 50
MAX_WHOLE_NUMBER = 2**53 - 1
ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._~:@-]{0,199}$"
NOT_BLANK = r"\S"

_ROUNDING = 1e-9
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line separators, text directions, and halves of a character."""
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[+-]\d{2}:\d{2})", re.ASCII)

_TYPES = "text, textarea, select, multiselect, radio, checkbox, number, slider, date, datetime, boolean, attachment"
"""The types of fields."""
_NOUNS = {"string": "text", "bool": "true or false", "int": "a whole number", "tuple": "a list", "model": "an object"}


_RULES: dict[str, str] = {
    **{"missing": "required", "extra_forbidden": "unexpected", "string_unicode": "invalid_unicode"},
    **{"string_too_short": "too_short", "string_too_long": "too_long"},
    **{"too_short": "too_few_items", "too_long": "too_many_items", "literal_error": "not_an_option"},
    **{"enum": "not_an_option", "greater_than": "not_above", "greater_than_equal": "below_minimum"},
    **{"less_than": "not_below", "less_than_equal": "above_maximum", "multiple_of": "off_step"},
    **{"finite_number": "not_finite", "time": "invalid_time", "date": "invalid_day", "datetime": "invalid_time"},
}
"""The codes of pydantic's types of errors, by the whole type or by its first word."""
_JSON_TYPES = {
    **{"string": "string", "int": "integer", "float": "number", "bool": "boolean", "none": "null", "list": "array"},
    **{"tuple": "array", "set": "array", "dict": "object", "model": "object", "dataclass": "object"},
}
_PARAMS = {
    **{"min_length": "min", "max_length": "max", "ge": "min", "gt": "min", "le": "max", "lt": "max"},
    "multiple_of": "step",
}


_PATTERN_RULES = {ID_PATTERN: "invalid_id", NOT_BLANK: "required"}
"""The codes of patterns that a person would not understand."""


class FieldValidationError(ValueError):
    """A value breaks a rule; `part` is the path below the value, or '' for the whole value.

    `code` and `params` give the rule for translation, as in `FieldError`.
    """

    def __init__(self, part: str, message: str, code: str = "invalid", **params: Any) -> None:
        self.part, self.code, self.params = part, code, params
        super().__init__(message)

    def at(self, path: str) -> FieldError:
        """Return the error of the value at a path."""
        return FieldError(field_path(path, [self.part] if self.part else []), str(self), self.code, self.params)


def check_name(name: str) -> str:
    """Return a name; raise FieldValidationError if it is blank, or has a character that nobody can see or type.

    A store may refuse such a character later, where nothing can be corrected; and two names would look alike.
    """
    if not name.strip():
        raise FieldValidationError("", "is blank: give a name", "required")
    if hidden := _HIDDEN.search(name):
        what = f"has the control character U+{ord(hidden[0]):04X}: remove it"
        raise FieldValidationError("", what, "control_character", character=f"U+{ord(hidden[0]):04X}")
    return name


Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(check_name)]
"""The name of a person, a group, an agent or a tool: 1 to 200 characters, without control characters."""


def field_path(root: str, steps: Iterable[object]) -> str:
    """Return the dotted path of a place, such as `args.items[0].price`."""
    for step in steps:
        dot = "." if root else ""
        root += f"[{step}]" if isinstance(step, int) else f"{dot}{name_safe_for_message(step)}"
    return root if len(root) <= 200 else f"{root[:199]}…"


def name_safe_for_message(name: object) -> str:
    """Return a name as safe text for a message, even if the input is hostile."""
    if isinstance(name, str) and 0 < len(name) <= 64 and name.isprintable():
        return name
    return safe_repr(name)


def safe_repr(value: object) -> str:
    """Return a short, safe representation of a value for a message, even if the input is hostile."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return repr(value if len(value) <= 60 else f"{value[:59]}…")
        case float():
            return repr(value)
        case int():
            return repr(int(value)) if abs(value) < 10**30 else "a number of more than 30 digits"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
    return f"a Python {type(value).__name__}"


def check_whole_number(value: int) -> None:
    """Raise FieldValidationError for a whole number that other JSON readers would round."""
    if abs(value) > MAX_WHOLE_NUMBER:
        why = f"{safe_repr(value)} is outside ±{MAX_WHOLE_NUMBER}, where JSON loses precision: send it as text"
        raise FieldValidationError("", why, "inexact_number")


def check_finite(value: float) -> None:
    """Raise FieldValidationError for NaN and the infinities."""
    if not math.isfinite(value):
        raise FieldValidationError("", f"{value!r} is not a JSON number: send a finite number", "not_finite")


def check_text(value: str) -> str:
    """Return a text; raise FieldValidationError for one that no store can save."""
    if "\x00" in value:
        raise FieldValidationError("", "contains a NUL character: remove it", "nul_character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        why = f"contains an unpaired surrogate at index {error.start}: send valid Unicode text"
        raise FieldValidationError("", why, "invalid_unicode") from None
    return value


def check_number(value: object) -> int | float:
    """Return a number; raise FieldValidationError for any other type and for numbers that JSON cannot represent."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        why = f"must be a number, not {safe_repr(value)}: send it without quotes"
        raise FieldValidationError("", why, "wrong_type", types=["number"])
    check_whole_number(value) if isinstance(value, int) else check_finite(value)
    return value


def check_date_text(value: object) -> str:
    """Return a day as text; raise FieldValidationError unless it is an existing day in the form YYYY-MM-DD."""
    try:
        # fromisoformat alone also accepts 20260131 and 2026-W05-6.
        if isinstance(value, str) and len(value) == 10 and date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    why = f"{safe_repr(value)} is not a valid date: send an existing day as YYYY-MM-DD"
    raise FieldValidationError("", why, "invalid_day")


def check_time_text(value: object) -> datetime:
    """Return a time in UTC; raise FieldValidationError unless the value is RFC 3339 with an offset."""
    try:
        # fromisoformat alone also accepts times without an offset, and each reader would interpret those differently.
        if isinstance(value, str) and _MOMENT.fullmatch(value):
            return datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    why = f"{safe_repr(value)} is not a valid date-time: send one with a UTC offset, such as 2026-11-24T09:30:00+09:00"
    raise FieldValidationError("", why, "invalid_time")


def is_number_on_step(number: int | float, start: int | float, step: int | float) -> bool:
    """Return whether the number is a whole number of steps from the start, allowing for float rounding."""
    if isinstance(number, int) and isinstance(start, int) and isinstance(step, int):
        return (number - start) % step == 0
    steps = (number - start) / step
    rounding = _ROUNDING + 4 * sys.float_info.epsilon * (abs(number) + abs(start)) / step
    return math.isfinite(steps) and abs(steps - round(steps)) <= rounding


def invalid_error(error: pydantic.ValidationError, root: str, known: Iterable[str] = ()) -> InvalidError:
    """Return pydantic's errors as an `InvalidError`; the paths begin with `root`, and `known` are the fields."""
    details = [detail for detail in error.errors(include_url=False) if not _is_consequence(detail)]
    return InvalidError([_field_error(detail, root, known) for detail in details[:MAX_ERRORS]])


def _is_consequence(detail: Any) -> bool:
    """Return whether the error only follows from another one.

    pydantic does not count broken entries and gives them no label.
    """
    kind = detail["type"]
    return kind == "default_factory_not_called" or (kind == "too_short" and bool(detail["input"]))


def _field_error(detail: Any, root: str, known: Iterable[str]) -> FieldError:
    steps = list(detail["loc"])
    if steps[:1] == ["fields"] and len(steps) > 2 and steps[2] in _TYPES.split(", "):
        del steps[2]
    path, context = field_path(root, steps), detail.get("ctx", {})
    if detail["type"] == "extra_forbidden" and len(steps) == 1 and (names := ", ".join(known)):
        return FieldError(path, f"is not a known field: use one of {names}", "unexpected")
    match detail["type"], detail["input"]:
        case "value_error" | "assertion_error", _:
            cause = context["error"]
            return cause.at(path) if isinstance(cause, FieldValidationError) else FieldError(path, str(cause))
        case "union_tag_invalid", value:
            kind = value["type"] if isinstance(value, dict) else context["tag"]
            return FieldError(f"{path}.type", f"{safe_repr(kind)} is not a field type: use one of {_TYPES}")
        case "union_tag_not_found", _:
            return FieldError(f"{path}.type", f"is missing: use one of {_TYPES}")
        case kind, value:
            message = _message(kind, value, context) or f"{detail['msg']}, not {safe_repr(value)}: change it"
            return FieldError(path, message, *pydantic_error_rule(detail))


def pydantic_error_rule(detail: Any) -> tuple[str, dict[str, Any]]:
    """Return the code and the parameters of one of pydantic's errors."""
    kind, value, context = detail["type"], detail.get("input"), detail.get("ctx", {})
    if isinstance(cause := context.get("error"), FieldValidationError):
        return cause.code, cause.params
    first, last = kind.partition("_")[0], kind.rpartition("_")[2]
    if last in ("type", "parsing", "float", "required") and first in _JSON_TYPES:
        return ("wrong_type", {"types": [_JSON_TYPES[first]]}) if value is not None else ("required", {})
    if kind == "string_pattern_mismatch":
        return text_pattern_rule(context["pattern"])
    params = {_PARAMS[name]: json_limit_of_rule(each) for name, each in context.items() if name in _PARAMS}
    length = {"length": len(value)} if kind.startswith("string_too") and isinstance(value, str) else {}
    return _RULES.get(kind) or _RULES.get(first, "invalid"), params | length


def text_pattern_rule(pattern: str) -> tuple[str, dict[str, Any]]:
    """Return the code and the parameters of a pattern that a text does not match."""
    code = _PATTERN_RULES.get(pattern)
    return (code, {}) if code else ("pattern_mismatch", {"pattern": pattern})


def json_limit_of_rule(value: object) -> object:
    """Return the limit in a rule as JSON."""
    return value if isinstance(value, bool | int | float | str) else str(value)


def _message(kind: str, value: object, context: dict[str, Any]) -> str | None:
    if kind == "extra_forbidden":
        return "is not a known field: remove it"
    if kind == "missing" or value is None:
        return "is missing: add it"
    if kind == "string_unicode":
        return "contains an unpaired surrogate: send valid Unicode text"
    if kind in ("string_too_long", "string_too_short"):
        return f"has {len(str(value))} characters: send {_limit(context)}"
    if kind in ("too_long", "too_short"):
        return f"has {context.get('actual_length') or 'no'} entries: send {_limit(context)}"
    noun = _NOUNS.get(kind.split("_")[0])
    return f"must be {noun}, not {safe_repr(value)}: change it" if noun else None


def _limit(context: dict[str, Any]) -> str:
    return f"at least {context['min_length']}" if "min_length" in context else f"at most {context['max_length']}"
