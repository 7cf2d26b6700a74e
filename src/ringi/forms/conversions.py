"""Converts a form's fields to JSON Schema, and flat JSON Schemas and pydantic models to a form's fields."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, NoReturn

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from ringi.base.canonical_json import JsonObject
from ringi.base.validation import field_path, safe_repr
from ringi.errors import FieldError, InvalidError
from ringi.forms.json_schema import check_schema

LONG_TEXT = 200

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_CHOICES = {"type": "array", "uniqueItems": True}
_SHAPES: dict[str, JsonObject] = {
    "text": {"type": "string"},
    "textarea": {"type": "string", "x-widget": "textarea"},
    "select": {},
    "radio": {"x-widget": "radio"},
    "multiselect": _CHOICES,
    "checkbox": {**_CHOICES, "x-widget": "checkbox"},
    "number": {"type": "number"},
    "slider": {"type": "number", "x-widget": "slider"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "boolean": {"type": "boolean"},
    "attachment": {"type": "object", "format": "attachment"},
}
_WIDGETS = {
    "text": ("text", "textarea"),
    "choice": ("select", "radio"),
    "choices": ("multiselect", "checkbox"),
    "number": ("number", "slider"),
}
"""The field types of a shape that has several."""
_WORDS = {"label": "title", "help": "description", "default": "default", "placeholder": "x-placeholder"}
_LENGTHS = {"min_length": "minLength", "max_length": "maxLength"}
_BOUNDS = {"min": "minimum", "max": "maximum"}
_DAYS = {"min": "formatMinimum", "max": "formatMaximum"}
_DAY_BOUNDS = (("ge", "min", 0), ("gt", "min", 1), ("le", "max", 0), ("lt", "max", -1))
_FILES = {"media_types": "x-media-types", "max_size": "x-max-size"}
_FORMATS = {"date": "date", "date-time": "datetime"}
"""Maps the format of text in a JSON Schema to a form's field type."""
_OBJECT = {"properties", "required", "additionalProperties"}
_ROOT = _OBJECT | {"type", "title", "description", "$schema", "$defs", "definitions"}
_REMEDIES = {
    "exclusiveMinimum": "use an inclusive minimum, ge in pydantic",
    "exclusiveMaximum": "use an inclusive maximum, le in pydantic",
    "format": "use plain text, 'date' or 'date-time'",
    "pattern": "check it after the answer",
}
_OF_FILE = _OBJECT | {"format"}
"""The fixed keywords of a file's schema besides its type."""
_NOT_BLANK = r"\S"
_REMARKS = {"$comment", "deprecated", "readOnly", "writeOnly", "examples"}


def form_json_schema(fields: Sequence[Mapping[str, Any]]) -> JsonObject:
    """Return the JSON Schema (2020-12) of the answers to a form's fields, which are passed as JSON."""
    return {
        "$schema": _DIALECT,
        "type": "object",
        "properties": {field["name"]: _property(field) for field in fields},
        "required": [field["name"] for field in fields if field["required"]],
        "additionalProperties": False,
    }


def fields_from_model(model: type[BaseModel]) -> list[JsonObject]:
    """Return the fields for a pydantic model; raise InvalidError that names each unsupported field."""
    try:
        schema = model.model_json_schema(schema_generator=_PlainSchema)
    except PydanticInvalidForJsonSchema as error:
        raise InvalidError.of(model.__name__, f"has no JSON Schema ({error.message}): use plain types") from None
    return fields_from_json_schema(schema, field=model.__name__, within="")


def fields_from_json_schema(schema: object, *, field: str, within: str = "properties") -> list[JsonObject]:
    """Return the fields for a flat JSON Schema object; raise InvalidError that names each unsupported part."""
    check_schema(schema, field=field)
    assert isinstance(schema, dict)
    if schema.get("type") != "object":
        raise InvalidError.of(f"{field}.type", f"{safe_repr(schema.get('type'))} is not a form: use 'object'")
    errors = _misfits(field, schema, _ROOT)
    if not isinstance(schema.get("additionalProperties", False), bool):
        errors.append(FieldError(f"{field}.additionalProperties", "does not fit a form: use false"))
    definitions = {**schema.get("$defs", {}), **schema.get("definitions", {})}
    fields: list[JsonObject] = []
    for name, part in schema.get("properties", {}).items():
        path = field_path(field, [*([within] if within else []), name])
        try:
            fields.append(_Reader(part, definitions, path).field(name, name in schema.get("required", ())))
        except InvalidError as error:
            errors += error.errors
    if errors:
        raise InvalidError(errors)
    return fields


def _foreign(schema: Mapping[str, object], known: set[str]) -> list[str]:
    return [key for key in schema if key not in known and not key.startswith("x-")]


def _misfits(path: str, schema: Mapping[str, object], known: set[str]) -> list[FieldError]:
    return [
        FieldError(field_path(path, [key]), f"does not fit a form: {_REMEDIES.get(key, 'remove it')}")
        for key in _foreign(schema, known)
    ]


class _PlainSchema(GenerateJsonSchema):
    """pydantic's JSON Schema, with bounds of days and without titles derived from names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def date_schema(self, schema: core_schema.DateSchema) -> JsonObject:
        return _bounded(super().date_schema(schema), schema, timedelta(days=1))

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonObject:
        return _bounded(super().datetime_schema(schema), schema, timedelta(microseconds=1))


def _bounded(found: JsonObject, schema: Any, least: timedelta) -> JsonObject:
    for key, end, shift in _DAY_BOUNDS:
        if isinstance(bound := schema.get(key), date):
            found[_DAYS[end]] = (bound + shift * least).isoformat()
    return found


def _property(field: Mapping[str, Any]) -> JsonObject:
    kind = field["type"]
    found = dict(_SHAPES[kind])
    if "options" in field:
        options = _options(field["options"])
        if kind in _WIDGETS["choices"]:
            found |= {"items": options} | ({"minItems": 1} if field["required"] else {})
        else:
            found |= options
    if kind in _WIDGETS["text"]:
        found |= {"pattern": _NOT_BLANK} if field["required"] else {}
        if kind == "text" and field.get("max_length", 0) > LONG_TEXT:
            found["x-widget"] = "text"
    if kind in _WIDGETS["number"]:
        found |= _step(field)
    names = _WORDS | _LENGTHS | _FILES | (_DAYS if kind in _FORMATS.values() else _BOUNDS)
    return found | {names[key]: value for key, value in field.items() if key in names}


def _options(options: Sequence[Mapping[str, Any]]) -> JsonObject:
    kinds = {"string" if isinstance(option["value"], str) else "integer" for option in options}
    choices = [{"const": option["value"], "title": option["label"]} for option in options]
    return ({"type": kinds.pop()} if len(kinds) == 1 else {}) | {"oneOf": choices}


def _step(field: Mapping[str, Any]) -> JsonObject:
    step = field.get("step")
    if step is None:
        return {}
    if not _aligned(field.get("min"), step):
        return {"x-step": step}
    # Readers round the bounds of an integer, so only whole bounds can be written this way.
    whole = step == 1 and not any((field.get(bound) or 0) % 1 for bound in _BOUNDS)
    return {"type": "integer"} if whole else {"multipleOf": step}


def _aligned(start: float | None, step: float) -> bool:
    return Fraction(str(start or 0)) % Fraction(str(step)) == 0


class _Reader:
    """Consumes a property's keywords one by one; any keyword left at the end is unsupported in a form."""

    def __init__(self, schema: object, definitions: JsonObject, path: str) -> None:
        self.definitions, self.path = definitions, path
        self.rest, self.optional = self._unwrap(schema)

    def field(self, name: str, required: bool) -> JsonObject:
        """Return the property as a field."""
        required = required and not self.optional
        found: JsonObject = {"name": name, "required": required} | self._take(_WORDS)
        widget = self.rest.pop("widget", None)
        widget = self.rest.pop("x-widget", widget)
        shape = self._shape(found)
        if shape == "text":
            self._text(found, required, widget)
        elif shape == "choices":
            self._choices(found, required)
        elif shape == "number":
            self._number(found)
        elif shape in _FORMATS.values():
            found |= self._take(_DAYS)
        elif shape == "attachment":
            found |= self._take(_FILES)
        found["type"] = self._widget(shape, widget, found)
        if errors := _misfits(self.path, self.rest, _REMARKS):
            raise InvalidError(errors)
        return found

    def _unwrap(self, schema: object) -> tuple[JsonObject, bool]:
        """Return the keywords with references resolved, and whether null is also an answer."""
        if not isinstance(schema, dict):
            self._refuse("", f"must be an object, not {safe_repr(schema)}: give a JSON Schema")
        rest, optional = dict(schema), False
        while True:
            if "$ref" in rest:
                target = self.definitions.get(rest.pop("$ref").rpartition("/")[2])
                found = target if isinstance(target, dict) else {}
                inner = {key: value for key, value in found.items() if key not in ("title", "description")}
            elif one := _besides_null(rest):
                keyword, inner = one
                optional = optional or len(rest[keyword]) == 2
                del rest[keyword]
            else:
                break
            for key in sorted(inner.keys() & rest.keys() - {"title", "description", "default"}):
                self._refuse(key, "is set twice: merge the two")
            rest = inner | rest
        return _without_null(rest, optional)

    def _take(self, names: Mapping[str, str]) -> JsonObject:
        found = {key: self.rest.pop(keyword) for key, keyword in names.items() if keyword in self.rest}
        return {key: value for key, value in found.items() if value is not None}

    def _shape(self, found: JsonObject) -> str:
        kind = self.rest.pop("type", None)
        if (options := _take_options(self.rest)) is not None:
            found["options"] = options
            return "choice"
        if kind == "array":
            return "choices"
        if kind == "integer":
            self.rest["type"] = "integer"
            return "number"
        if kind == "string" and self.rest.get("format") in _FORMATS:
            return _FORMATS[self.rest.pop("format")]
        if kind == "object" and self.rest.get("format") == "attachment":
            self.rest = {key: value for key, value in self.rest.items() if key not in _OF_FILE}
            return "attachment"
        if kind in ("string", "number", "boolean"):
            return "text" if kind == "string" else str(kind)
        what = {"object": "an object", "None": "anything", "null": "nothing"}.get(str(kind), safe_repr(kind))
        self._refuse("", f"{what} does not fit a form: use text, number, date, datetime, boolean or fixed choices")

    def _text(self, found: JsonObject, required: bool, widget: object) -> None:
        found |= self._take(_LENGTHS)
        if required and self.rest.get("pattern") == _NOT_BLANK:
            del self.rest["pattern"]
        if widget is None and found.get("max_length", 0) > LONG_TEXT:
            found["type"] = "textarea"
        examples = self.rest.get("examples")
        if isinstance(examples, list) and examples and isinstance(examples[0], str):
            found.setdefault("placeholder", examples[0])

    def _choices(self, found: JsonObject, required: bool) -> None:
        items = _Reader(self.rest.pop("items", {}), self.definitions, f"{self.path}.items")
        items.rest.pop("type", None)
        options = _take_options(items.rest)
        if options is None or items.optional or _foreign(items.rest, {"title", "description"}):
            self._refuse("items", "does not fit a form: list fixed options, such as enum or list[Literal['a', 'b']]")
        found["options"] = options
        self.rest.pop("uniqueItems", None)
        if required and self.rest.get("minItems") == 1:
            del self.rest["minItems"]

    def _number(self, found: JsonObject) -> None:
        whole = self.rest.pop("type", None) == "integer"
        if whole:
            _round_bounds(self.rest)
        found |= self._take(_BOUNDS)
        step = self.rest.pop("multipleOf", None)
        if step is not None and not _aligned(found.get("min"), step):
            self._refuse("minimum", f"{safe_repr(found['min'])} is not a multiple of {safe_repr(step)}: make it one")
        if whole and step is not None and step % 1:
            self._refuse("multipleOf", f"{safe_repr(step)} is not a whole number: use one with integers")
        step = self.rest.pop("x-step", 1 if whole and step is None else step)
        found |= {} if step is None else {"step": step}

    def _widget(self, shape: str, widget: object, found: JsonObject) -> str:
        allowed = _WIDGETS.get(shape, (shape,))
        if widget is None:
            return str(found.get("type", allowed[0]))
        if widget not in allowed:
            why = f"{safe_repr(widget)} cannot show this type: use {' or '.join(map(repr, allowed))}"
            self._refuse("x-widget", why)
        return str(widget)

    def _refuse(self, keyword: str, message: str) -> NoReturn:
        raise InvalidError.of(field_path(self.path, [keyword] if keyword else []), message)


def _besides_null(schema: JsonObject) -> tuple[str, JsonObject] | None:
    for keyword, most in (("anyOf", 2), ("oneOf", 2), ("allOf", 1)):
        parts = schema.get(keyword)
        if isinstance(parts, list) and len(parts) <= most:
            others = [part for part in parts if part != {"type": "null"}]
            if len(others) == 1 and isinstance(others[0], dict) and "const" not in others[0]:
                return keyword, others[0]
    return None


def _without_null(schema: JsonObject, optional: bool) -> tuple[JsonObject, bool]:
    kinds, values = schema.get("type"), schema.get("enum")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) == 2:
        schema, optional = {**schema, "type": next(kind for kind in kinds if kind != "null")}, True
    if isinstance(values, list) and None in values:
        schema, optional = {**schema, "enum": [value for value in values if value is not None]}, True
    return schema, optional


def _take_options(schema: JsonObject) -> list[JsonObject] | None:
    if "const" in schema:
        return [{"value": schema.pop("const")}]
    if "enum" in schema:
        return [{"value": value} for value in schema.pop("enum")]
    for keyword in ("oneOf", "anyOf"):
        parts = schema.get(keyword)
        if isinstance(parts, list) and all(_is_option(part) for part in parts):
            del schema[keyword]
            return [{"value": part["const"]} | ({"label": part["title"]} if "title" in part else {}) for part in parts]
    return None


def _is_option(part: object) -> bool:
    return isinstance(part, dict) and "const" in part and not _foreign(part, {"const", "title", "type"})


def _round_bounds(schema: JsonObject) -> None:
    """Convert the bounds of an integer to whole, inclusive bounds."""
    lows = [math.ceil(schema["minimum"])] if "minimum" in schema else []
    highs = [math.floor(schema["maximum"])] if "maximum" in schema else []
    lows += [math.floor(schema.pop("exclusiveMinimum")) + 1] if "exclusiveMinimum" in schema else []
    highs += [math.ceil(schema.pop("exclusiveMaximum")) - 1] if "exclusiveMaximum" in schema else []
    schema |= ({"minimum": max(lows)} if lows else {}) | ({"maximum": min(highs)} if highs else {})
