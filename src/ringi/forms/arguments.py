"""Checks the arguments of a call: a schema accepts the named arguments, and others only if it says so."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, TypeAlias

from ringi.base.validation import MAX_ERRORS, field_path
from ringi.errors import FieldError, InvalidError
from ringi.forms.json_schema import InstanceCheck, check_instance, check_schema

Schema: TypeAlias = dict[str, Any]
MORE = ("additionalProperties", "unevaluatedProperties", "patternProperties")
"""Keywords with which a schema accepts other properties."""
IN_PLACE = ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")
"""Keywords whose subschemas apply to the same value."""
DEFINITIONS = ("$defs", "definitions")
UNKNOWN = "is not in the schema: remove it"
MISSING = "is missing: send every argument of the call, changed or not"
CLOSED = ".closed"
"""The suffix of the names of closed definitions."""


def check_edited_arguments(schema: Schema | None, args: Mapping[str, object], edited: dict[str, Any]) -> None:
    """Raise `InvalidError` unless a person may change a call to the edited arguments.

    An edit may contain the arguments that the schema names and those that were displayed. A schema that names no
    arguments allows no new ones. Only arguments that the schema names may be left out.
    """
    known = schema or {}
    names, others = schema_property_names(known), sorted(args.keys() - declared_properties(known))
    missing = [FieldError(field_path("args", [name]), MISSING, "required") for name in others if name not in edited]
    if missing:
        raise InvalidError(missing[:MAX_ERRORS])
    if names is not None and others:
        displayed = dict.fromkeys(others, True)
        known = {**known, "properties": {**_entries(known.get("properties")), **displayed}}
    try:
        check_call_arguments(known, edited)
    except InvalidError as error:
        # The schema may name fewer arguments than the call has: a person may leave displayed arguments unchanged.
        displayed_paths = set(nested_value_paths(dict(args), "args"))
        remaining = [each for each in error.errors if each.message != UNKNOWN or each.field not in displayed_paths]
        if remaining:
            raise InvalidError(remaining) from error
        if is_schema_usable(known):
            check_instance(known, edited, field="args")


def nested_value_paths(value: object, path: str) -> Iterator[str]:
    """Yield the path of every nested value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in members:
        place = field_path(path, [name])
        yield place
        yield from nested_value_paths(each, place)


def check_call_arguments(schema: Schema, args: dict[str, Any]) -> None:
    """Check the arguments of a call by their schema; arguments that it does not name are refused.

    If the schema is recursive or too large to validate with, only the names of the arguments are checked.

    Args:
        schema: The JSON Schema of the arguments.
        args: The arguments by name, as JSON values.

    Raises:
        InvalidError: An argument is invalid or unknown; there is one error for each, with a path such as `args.amount`.
    """
    CallCheck(schema)(args)


class CallCheck:
    """`check_call_arguments` for one schema, which is parsed once.

    Args:
        schema: The JSON Schema of the arguments.
    """

    def __init__(self, schema: Schema) -> None:
        self._names = schema_property_names(schema)
        usable = next((each for each in (close_schema(schema), schema) if is_schema_usable(each)), None)
        self._check = None if usable is None else InstanceCheck(usable)

    def __call__(self, args: dict[str, Any]) -> None:
        """Raise `InvalidError` unless the arguments are valid."""
        if self._names is not None:
            refuse_unknown_arguments(args, self._names)
        if self._check is not None:
            self._check(args, field="args")


def is_schema_usable(schema: Schema) -> bool:
    """Return whether values can be validated with a schema."""
    try:
        check_schema(schema, field="schema")
    except InvalidError:
        return False
    return True


def refuse_unknown_arguments(args: Mapping[str, object], names: Container[str]) -> None:
    """Raise `InvalidError` for each argument whose name is not in `names`."""
    unknown = [FieldError(field_path("args", [name]), UNKNOWN, "unexpected") for name in args if name not in names]
    if unknown:
        raise InvalidError(unknown[:MAX_ERRORS])


def close_schema(schema: Schema) -> Schema:
    """Return an object's schema that rejects unnamed properties, except where it explicitly accepts them."""
    return _Closing(schema).root()


def schema_property_names(schema: Schema) -> frozenset[str] | None:
    """Return the properties that a schema names; None if it also accepts others."""
    if any(part.get(keyword) not in (None, False) for part in _in_place(schema, schema) for keyword in MORE):
        return None
    return declared_properties(schema)


def declared_properties(schema: Schema) -> frozenset[str]:
    """Return the properties that a schema names, whether or not it accepts others too."""
    parts = ({*_entries(part.get("properties")), *_listed(part, "required")} for part in _in_place(schema, schema))
    return frozenset[str]().union(*parts)


class _Closing:
    """A copy of a schema in which every object rejects unnamed properties."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._definitions = {name: dict(_entries(schema[name])) for name in DEFINITIONS if name in schema}
        self._used: dict[str, Schema] = {name: {} for name in self._definitions}
        self._has_mixed = False

    def root(self) -> Schema:
        """Return the whole schema, with the definitions that it uses."""
        own = {name: part for name, part in self._schema.items() if name not in DEFINITIONS}
        made = self._of(own, is_root=True)
        open_ones = self._definitions if self._has_mixed else {}
        return {**made, **{name: {**open_ones.get(name, {}), **parts} for name, parts in self._used.items()}}

    def _of(self, part: object, *, is_root: bool = False) -> Any:
        if not isinstance(part, dict):
            return part
        made = {keyword: self._member(keyword, value) for keyword, value in part.items()}
        if any(part.get(keyword) is not None for keyword in ("additionalProperties", "unevaluatedProperties")):
            return made
        alternatives = self._alternatives(part)
        is_mixed = "properties" in part or len(_listed(part, "allOf")) > 1
        return self._shut(part, made) if is_mixed or (is_root and not alternatives) else {**made, **alternatives}

    def _member(self, keyword: str, value: object) -> Any:
        if keyword in ("properties", "patternProperties"):
            return {name: self._of(each) for name, each in _entries(value).items()}
        if keyword in ("items", "prefixItems", "additionalProperties"):
            return [self._of(each) for each in value] if isinstance(value, list) else self._of(value)
        return value

    def _shut(self, part: Schema, made: Schema) -> Schema:
        is_mixed = any(keyword in part for keyword in (*IN_PLACE, "$ref"))
        if not is_mixed and set(_listed(part, "required")) <= _entries(part.get("properties")).keys():
            return {**made, "additionalProperties": False}
        self._has_mixed = True
        names = schema_property_names({**part, **self._definitions})
        # Each alternative knows only its own properties: closed alone, it would reject those of its siblings.
        return made if names is None or "propertyNames" in part else {**made, "propertyNames": {"enum": sorted(names)}}

    def _alternatives(self, part: Schema) -> Schema:
        """Close the alternatives and the references of a schema."""
        lists = {name: _listed(part, name) for name in ("anyOf", "oneOf", "allOf")}
        made = {name: [self._of(each) for each in parts] for name, parts in lists.items() if parts}
        return {**made, **({"$ref": self._referred(str(part["$ref"]))} if "$ref" in part else {})}

    def _referred(self, reference: str) -> str:
        section, _, name = reference.removeprefix("#/").partition("/")
        parts, used = self._definitions.get(section, {}), self._used.get(section, {})
        if name in parts and f"{name}{CLOSED}" not in used:
            used[f"{name}{CLOSED}"] = True
            used[f"{name}{CLOSED}"] = self._of(parts[name])
        return f"{reference}{CLOSED}" if name in parts else reference


def _in_place(part: object, root: Schema) -> Iterator[Schema]:
    """Yield a schema and its subschemas that apply to the same value."""
    stack, seen = [part], set[str]()
    while stack:
        part = stack.pop()
        if not isinstance(part, dict):
            continue
        yield part
        reference = str(part.get("$ref", ""))
        if reference and reference not in seen:
            seen.add(reference)
            section, _, name = reference.removeprefix("#/").partition("/")
            stack.append(_entries(root.get(section)).get(name))
        for keyword in IN_PLACE:
            below = part.get(keyword)
            stack.extend(_listed(part, keyword))
            if keyword == "dependentSchemas":
                stack.extend(_entries(below).values())
            elif isinstance(below, dict):
                stack.append(below)


def _entries(part: object) -> Schema:
    return part if isinstance(part, dict) else {}


def _listed(part: Schema, keyword: str) -> list[Any]:
    below = part.get(keyword)
    return below if isinstance(below, list) else []
