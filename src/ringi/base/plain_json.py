"""Plain JSON, which has exactly one form of each value: how other values become it, and which ones cannot."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel, RootModel

from ringi.base.canonical_json import jsonable
from ringi.errors import FieldError, InvalidError

DEEPEST = 200
REMEDIES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (Decimal, "send str(value), or float(value) if rounding is acceptable"),
    ((set, frozenset), "a set has no order: send sorted(value)"),
    ((bytes, bytearray, memoryview), "send text, such as base64.b64encode(value).decode()"),
    (datetime, "give it a time zone, such as datetime.now(UTC)"),
)


def non_finite_paths(value: object) -> Iterator[tuple[str, ...]]:
    """Yield the path to each number in models and JSON data that JSON cannot represent: NaN and the infinities."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield ()
    elif isinstance(value, dict | list | tuple | BaseModel):
        is_named = isinstance(value, dict | BaseModel)
        for name, each in dict(value).items() if is_named else enumerate(value):
            yield from ((str(name), *rest) for rest in non_finite_paths(each))


class PlainJsonConverter:
    """Converts values to plain JSON and collects the errors."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def convert(self, value: object, path: str, depth: int = 0) -> Any:
        """Return a value as plain JSON: text, numbers, booleans, None, lists, and objects with text keys."""
        if value is None or type(value) in (str, bool, int, float):
            return value
        if depth > DEEPEST:
            return self._refuse(path, "is nested too deeply, or contains itself")
        if isinstance(value, Enum):
            return self.convert(value.value, path, depth + 1)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            kind = next(kind for kind in (str, int, float) if isinstance(value, kind))
            return kind.__str__(value) if kind is str else kind(value)
        has_zone = not isinstance(value, datetime) or value.tzinfo is not None
        if isinstance(value, UUID | date) and has_zone:
            return jsonable(value)
        return self._of_many(value, path, depth)

    def _of_many(self, value: object, path: str, depth: int) -> Any:
        if isinstance(value, RootModel):
            return self.convert(value.root, path, depth + 1)
        if isinstance(value, BaseModel):
            value = _fields_of(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if isinstance(value, Mapping):
            return {self._key(key, path): self.convert(each, f"{path}.{key}", depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.convert(each, f"{path}.{n}", depth + 1) for n, each in enumerate(value)]
        remedy = next((remedy for kind, remedy in REMEDIES if isinstance(value, kind)), "send text, numbers or lists")
        return self._refuse(path, f"{type(value).__name__} is not JSON: {remedy}")

    def _key(self, key: object, path: str) -> str:
        if isinstance(key, str) and key.encode("utf-8", "ignore").decode() == key:
            return str.__str__(key.value if isinstance(key, Enum) else key)
        self._refuse(path, f"the key {key!r} is not Unicode text: use str(key)")
        return ""

    def _refuse(self, path: str, why: str) -> None:
        self.errors.append(FieldError(path, why))


def _fields_of(value: BaseModel) -> dict[str, Any]:
    """Return the serialized fields of a model, by their JSON names and without excluded fields."""
    fields = {name: field for name, field in type(value).model_fields.items() if not field.exclude}
    named = {field.serialization_alias or field.alias or name: getattr(value, name) for name, field in fields.items()}
    return named | (value.model_extra or {})


def values_as_plain_json(values: Mapping[str, object]) -> dict[str, Any]:
    """Return fields as plain JSON; raise `InvalidError` that names each value without exactly one JSON form."""
    plain = PlainJsonConverter()
    found = {name: plain.convert(value, name) for name, value in values.items()}
    if plain.errors:
        raise InvalidError(plain.errors)
    return found
