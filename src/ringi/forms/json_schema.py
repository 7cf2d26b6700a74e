"""Limits and validates untrusted JSON and JSON Schema in bounded time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Any, NamedTuple

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from ringi.base import validation
from ringi.base.canonical_json import COMPACT
from ringi.base.patterns import MAX_PATTERN_LENGTH, REGEX_OPTIONS
from ringi.base.validation import FieldValidationError, field_path, safe_repr
from ringi.errors import FieldError, InvalidError

MAX_SCHEMA_BYTES = 64 * 1024
MAX_SCHEMA_DEPTH = 24
MAX_INSTANCE_BYTES = 256 * 1024
MAX_INSTANCE_DEPTH = 64
MAX_PROPERTIES = 100
MAX_ENUM = 1_000
MAX_KEYWORDS = 20_000
MAX_PATTERNS = 200
MAX_CHECKS = 5_000_000
MAX_PATTERN_CHECKS = 262_144

_EXPLAINED_CHECKS = 20_000
_EXPLAINED_BYTES = 4_000_000
_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema")
_DEFINITIONS = ("$defs", "definitions")
_REFERENCE = re.compile(r"#/(?:\$defs|definitions)/[^/~%]+")
_MAPS = {*_DEFINITIONS, "properties", "patternProperties", "dependentSchemas", "dependencies"}
_NESTED = {
    *("allOf", "anyOf", "oneOf", "prefixItems", "items", "additionalItems", "unevaluatedItems", "contains"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema"),
    *("not", "if", "then", "else"),
}
_LIMITS = {
    **{"minLength": ("too_short", "min"), "maxLength": ("too_long", "max")},
    **{"minimum": ("below_minimum", "min"), "maximum": ("above_maximum", "max")},
    **{"exclusiveMinimum": ("not_above", "min"), "exclusiveMaximum": ("not_below", "max")},
    **{"minItems": ("too_few_items", "min"), "maxItems": ("too_many_items", "max")},
}
"""The codes of keywords with a limit, and the names of the limits."""
_PLAIN = {"enum": "not_an_option", "uniqueItems": "duplicate", "unevaluatedProperties": "unexpected"}
_REFUSED = {
    *("$id", "$anchor", "$vocabulary"),
    *("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"),
}


class JsonSize(NamedTuple):
    """The size of a JSON value."""

    nodes: int
    bytes: int


class _Weight(NamedTuple):
    """The cost of validating one value: keywords and patterns, with all references expanded."""

    keywords: int
    patterns: int


class _Definition(NamedTuple):
    """One definition of a schema: its own weight, and the definitions that it references."""

    weight: _Weight
    references: list[str]


def check_schema(schema: object, *, field: str) -> None:
    """Check that a schema is valid JSON Schema and cheap to validate with.

    Draft 2020-12 and draft 7 are accepted, with non-recursive references to the schema's own definitions and with
    patterns without look-around and back-references.

    Args:
        schema: The schema, as plain JSON data.
        field: The path of the schema, for errors.

    Raises:
        InvalidError: The schema is invalid, too large, or uses an unsupported keyword or pattern.
    """
    _compile(schema, field)


def check_instance(schema: object, data: object, *, field: str) -> None:
    """Check that data is valid by a JSON Schema, within the limits of `check_schema`.

    Args:
        schema: The schema, as plain JSON data.
        data: The data, as plain JSON data.
        field: The beginning of all paths in errors.

    Raises:
        InvalidError: The schema or the data is invalid. There is one error for each invalid place, but only one general
            error if schema and data are both large.
    """
    InstanceCheck(schema)(data, field=field)


class InstanceCheck:
    """`check_instance` for one schema, which is parsed once.

    Args:
        schema: The schema, as plain JSON data.

    Raises:
        InvalidError: The schema is invalid; see `check_schema`.
    """

    def __init__(self, schema: object) -> None:
        self._validator, self._weight = _compile(schema, "schema")

    def __call__(self, data: object, *, field: str) -> None:
        """Raise InvalidError unless the data is valid."""
        validator, weight = self._validator, self._weight
        size = check_json(data, field=field)
        if weight.keywords * size.nodes > MAX_CHECKS or weight.patterns * size.bytes > MAX_PATTERN_CHECKS:
            raise InvalidError.of(field, f"is too large for its schema ({size.bytes} bytes): send less", "too_large")
        if not validator.is_valid(data):
            raise InvalidError(_explain(validator, data, weight, size, field))


def check_json(
    value: object, *, field: str, max_bytes: int = MAX_INSTANCE_BYTES, max_depth: int = MAX_INSTANCE_DEPTH
) -> JsonSize:
    """Return the size of a JSON value.

    Args:
        value: The value.
        field: The path of the value, for errors.
        max_bytes: The maximum size of the value, in bytes of JSON.
        max_depth: The maximum number of nested levels.

    Returns:
        The number of values in the tree, and an estimate of the bytes.

    Raises:
        InvalidError: JSON cannot represent the value, or it is too large or too deep.
    """
    nodes = bytes = 0
    stack = [(value, field, 1)]
    while stack:
        item, path, level = stack.pop()
        if level > max_depth:
            raise InvalidError.of(field, f"is nested deeper than {max_depth} levels: flatten it", "too_large")
        nodes, bytes = nodes + 1, bytes + 2 + _length(item, path)
        if bytes > max_bytes:
            raise InvalidError.of(field, f"is larger than {max_bytes} bytes: shorten it", "too_large")
        stack.extend((child, field_path(path, [key]), level + 1) for key, child in _members(item, path))
    return JsonSize(nodes, bytes)


def _length(item: object, path: str) -> int:
    try:
        match item:
            case None | bool() | dict() | list():
                return 0
            case str():
                return len(validation.check_text(item).encode())
            case float():
                validation.check_finite(item)
                return len(repr(item))
            case int():
                validation.check_whole_number(item)
                return len(repr(item))
    except FieldValidationError as error:
        raise InvalidError([error.at(path)]) from None
    why = f"is {safe_repr(item)}, which is not a JSON value: send text, numbers, lists or objects"
    raise InvalidError.of(path, why)


def _members(item: object, path: str) -> Iterator[tuple[object, object]]:
    if isinstance(item, list):
        yield from enumerate(item)
    elif isinstance(item, dict):
        for key, value in item.items():
            if not isinstance(key, str):
                raise InvalidError.of(path, f"has the key {safe_repr(key)}: use text as keys")
            # A key is checked like a text value: it can be as long and as malformed.
            yield key, key
            yield key, value


def _compile(schema: object, field: str) -> tuple[jsonschema_rs.Validator, _Weight]:
    if not isinstance(schema, dict):
        raise InvalidError.of(field, f"must be a JSON Schema object, not {safe_repr(schema)}")
    check_json(schema, field=field, max_bytes=MAX_SCHEMA_BYTES, max_depth=MAX_SCHEMA_DEPTH)
    text = COMPACT.encode(schema)
    try:
        return _cached(text)
    except InvalidError:
        return _compiled(text, field)


@lru_cache(maxsize=128)
def _cached(text: str) -> tuple[jsonschema_rs.Validator, _Weight]:
    # Agents ask with the same few schemas again and again.
    return _compiled(text, "schema")


def _compiled(text: str, field: str) -> tuple[jsonschema_rs.Validator, _Weight]:
    schema = json.loads(text)
    weight = _weigh(schema, field)
    try:
        validator = jsonschema_rs.validator_for(
            schema, pattern_options=REGEX_OPTIONS, validate_formats=True, offline=True
        )
    except jsonschema_rs.ValidationError as error:
        raise InvalidError.of(field_path(field, error.instance_path), _refusal(error)) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise InvalidError.of(field, f"is not a valid JSON Schema ({_clipped(str(error))}): correct it") from None
    return validator, weight


def _refusal(error: jsonschema_rs.ValidationError) -> str:
    if error.kind.name == "format":
        return f"{_clipped(error.message)}: use a shorter pattern without look-around (?=…) and back-references \\1"
    return f"is not a valid JSON Schema ({_clipped(error.message)}): correct it"


def _weigh(schema: dict[str, Any], field: str) -> _Weight:
    if str(schema.get("$schema", _DIALECTS[0])).rstrip("#") not in _DIALECTS:
        raise InvalidError.of(f"{field}.$schema", f"{safe_repr(schema['$schema'])} is unknown: use {_DIALECTS[0]!r}")
    parts = {"#": _part({k: v for k, v in schema.items() if k not in (*_DEFINITIONS, "$schema")}, field)}
    for section in _DEFINITIONS:
        for name, part in _entries(schema.get(section)):
            parts[f"#/{section}/{name}"] = _part(part, field_path(field, [section, name]))
    weight = _unfold(parts, field)
    if weight.keywords > MAX_KEYWORDS:
        raise InvalidError.of(field, f"expands to {safe_repr(weight.keywords)} keywords: use at most {MAX_KEYWORDS}")
    if weight.patterns > MAX_PATTERNS:
        raise InvalidError.of(field, f"expands to {safe_repr(weight.patterns)} patterns: use at most {MAX_PATTERNS}")
    return weight


def _unfold(parts: dict[str, _Definition], field: str) -> _Weight:
    weights: dict[str, _Weight] = {}
    try:
        for name in TopologicalSorter({name: part.references for name, part in parts.items()}).static_order():
            if name not in parts:
                why = f"$ref {safe_repr(name)} has no definition: define it or remove the reference"
                raise InvalidError.of(field, why)
            summed = [parts[name].weight, *(weights[reference] for reference in parts[name].references)]
            weights[name] = _Weight(*map(sum, zip(*summed, strict=True)))
    except CycleError as error:
        loop = " → ".join(validation.name_safe_for_message(name) for name in error.args[1][:5])
        raise InvalidError.of(field, f"$ref is recursive ({loop}): write out the levels that you need") from None
    return weights["#"]


def _part(schema: object, field: str) -> _Definition:
    keywords = patterns = 0
    references: list[str] = []
    stack = [(schema, field)]
    while stack:
        part, path = stack.pop()
        keywords += 1
        if isinstance(part, dict):
            _check_keywords(part, path)
            keywords += len(part) + len(_sized(part, "enum"))
            patterns += len(_patterns(part))
            references += [part["$ref"]] if "$ref" in part else []
            stack.extend(_subschemas(part, path))
    return _Definition(_Weight(keywords, patterns), references)


def _subschemas(schema: dict[str, Any], path: str) -> Iterator[tuple[object, str]]:
    for key, part in schema.items():
        if key in _MAPS:
            yield from ((sub, field_path(path, [key, name])) for name, sub in _entries(part))
        elif key in _NESTED:
            subs = part if isinstance(part, list) else [part]
            yield from ((sub, field_path(path, [key])) for sub in subs)


def _entries(part: object) -> Iterable[tuple[str, object]]:
    return part.items() if isinstance(part, dict) else ()


def _check_keywords(schema: dict[str, Any], path: str) -> None:
    for key in sorted(schema.keys() & (_REFUSED | {"$schema"})):
        raise InvalidError.of(f"{path}.{key}", "is not allowed here: refer to '#/$defs/…' only")
    if "$ref" in schema and not (isinstance(schema["$ref"], str) and _REFERENCE.fullmatch(schema["$ref"])):
        raise InvalidError.of(f"{path}.$ref", f"{safe_repr(schema['$ref'])} is not local: refer to '#/$defs/…' only")
    if len(_sized(schema, "properties")) > MAX_PROPERTIES:
        raise InvalidError.of(f"{path}.properties", f"has more than {MAX_PROPERTIES} properties: remove some")
    if len(_sized(schema, "enum")) > MAX_ENUM:
        raise InvalidError.of(f"{path}.enum", f"has more than {MAX_ENUM} values: remove some")
    for pattern in _patterns(schema):
        if len(pattern) > MAX_PATTERN_LENGTH:
            why = f"has {len(pattern)} characters: write it in at most {MAX_PATTERN_LENGTH}"
            raise InvalidError.of(f"{path}.pattern", why)


def _sized(schema: dict[str, Any], key: str) -> list[Any] | dict[str, Any]:
    part = schema.get(key)
    return part if isinstance(part, list | dict) else []


def _patterns(schema: dict[str, Any]) -> list[str]:
    own = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    return own + [pattern for pattern, _ in _entries(schema.get("patternProperties"))]


def _explain(
    validator: jsonschema_rs.Validator, data: object, weight: _Weight, size: JsonSize, field: str
) -> list[FieldError]:
    # iter_errors copies the data for every error before it returns the first: without a limit, this takes minutes.
    if weight.keywords * size.nodes > _EXPLAINED_CHECKS or weight.keywords * size.bytes > _EXPLAINED_BYTES:
        why = "does not match the schema and is too large to locate the error: send less"
        return [FieldError(field, why, "too_large")]
    problems = (problem for error in validator.iter_errors(data) for problem in _problems(error, field))
    return list(islice(problems, validation.MAX_ERRORS))


def _problems(error: jsonschema_rs.ValidationError, field: str) -> Iterator[FieldError]:
    path = field_path(field, error.instance_path)
    match error.kind:
        case Kind.Required(name):
            yield FieldError(field_path(path, [name]), "is missing: add it", "required")
        case Kind.AdditionalProperties(names):
            why = "is not in the schema: remove it"
            yield from (FieldError(field_path(path, [name]), why, "unexpected") for name in names)
        case _:
            yield FieldError(path, f"{_clipped(error.message)}: send a value that fits", *_rule_of(error))


def _rule_of(error: jsonschema_rs.ValidationError) -> tuple[str, dict[str, Any]]:
    """Return the code and the parameters of the keyword that the value breaks."""
    match error.kind:
        case Kind.Type(types):
            return "wrong_type", {"types": list(types)}
        case Kind.Constant(value):
            return "only_value", {"value": _clipped(json.dumps(value, ensure_ascii=False))}
        case Kind.Pattern(pattern):
            return validation.text_pattern_rule(pattern)
        case Kind.Format(format):
            day_or_time = {"date": "invalid_day", "date-time": "invalid_time"}
            return (day_or_time[format], {}) if format in day_or_time else ("wrong_format", {"format": format})
        case Kind.MultipleOf(step):
            return "off_step", {"step": validation.json_limit_of_rule(step)}
        case Kind.MinLength(limit) | Kind.MaxLength(limit):
            code, name = _LIMITS[error.kind.name]
            return code, {"length": len(str(error.instance)), name: limit}
    code, name = _LIMITS.get(error.kind.name, (_PLAIN.get(error.kind.name, "not_accepted"), ""))
    return code, {name: validation.json_limit_of_rule(error.kind.value)} if name else {}


def _clipped(message: str) -> str:
    message = " ".join(message.split("\n\n")[0].split())
    return message if len(message) <= 240 else f"{message[:100]}…{message[-139:]}"
