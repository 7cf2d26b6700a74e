"""Plain JSON, which has exactly one form of each value, its canonical bytes (RFC 8785), and their SHA-256 digest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import Any, TypeAlias
from uuid import UUID

import rfc8785
from pydantic import BaseModel, RootModel
from pydantic_core import to_jsonable_python

from ringi.errors import FieldError, InvalidError

JsonObject: TypeAlias = dict[str, Any]
PLAIN = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)
"""Python's own encoder. It is many times faster than `rfc8785`, and its output is canonical for all plain values."""
WRITE_PLAIN = c_make_encoder(None, PLAIN.default, encode_basestring, None, ":", ",", True, False, False)
"""The function of `PLAIN`, which builds one for each call; it returns the parts of the text."""
COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False)
"""Keys in their order. `json.dumps` would build an encoder for each call, and take five times as long."""
ATOMS = frozenset((str, bool, type(None)))
SAFE = 2**53 - 1
DEEPEST = 200
REMEDIES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (Decimal, "send str(value), or float(value) if rounding is acceptable"),
    ((set, frozenset), "a set has no order: send sorted(value)"),
    ((bytes, bytearray, memoryview), "send text, such as base64.b64encode(value).decode()"),
    (datetime, "give it a time zone, such as datetime.now(UTC)"),
)


def clean_text(text: str) -> str:
    """Return text without characters that a store refuses: NUL and lone surrogates.

    Args:
        text: Any text, such as the output of a model.
    """
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def jsonable(value: object) -> Any:
    """Return the value as plain JSON data: models by alias, times as RFC 3339.

    Args:
        value: A model, a dataclass, a time, or lists and dicts of them.
    """
    return to_jsonable_python(value, by_alias=True)


def canonical(value: Any) -> bytes:
    """Return the canonical JSON (RFC 8785) of a value, as UTF-8.

    Args:
        value: Plain JSON data.

    Raises:
        InvalidError: The value is not portable JSON, such as NaN or an integer above 2**53 - 1.
    """
    try:
        text = "".join(WRITE_PLAIN(value, 0))
        return text.encode() if is_canonical_encoding(value) else rfc8785.dumps(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidError.of("", f"is not portable JSON ({error}): send the value as text") from error


def is_canonical_encoding(value: Any) -> bool:
    """Return whether Python's own encoder, which wrote the value, produced canonical JSON (RFC 8785)."""
    parts = [value]
    for part in parts:
        kind = type(part)
        if kind in ATOMS:
            continue
        if kind is dict:
            if not all(map(str.isascii, part)):
                return False
            parts.extend(part.values())
        elif kind is list or kind is tuple:
            parts.extend(part)
        # Both encoders write a number alike if it has few digits and no exponent.
        elif not (-SAFE <= part <= SAFE if kind is int else kind is float and 1e-4 <= abs(part) < 1e16 and part % 1):
            return False
    return True


def non_finite_paths(value: object) -> Iterator[tuple[str, ...]]:
    """Yield the path to each number in models and JSON data that JSON cannot represent: NaN and the infinities."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield ()
    elif isinstance(value, dict | list | tuple | BaseModel):
        is_named = isinstance(value, dict | BaseModel)
        for name, each in dict(value).items() if is_named else enumerate(value):
            yield from ((str(name), *rest) for rest in non_finite_paths(each))


def digest(value: object) -> str:
    """Return `sha256:` and the hex digest of the value's canonical JSON.

    Args:
        value: Plain JSON data.

    Raises:
        InvalidError: The value is not portable JSON.
    """
    return sha256_of_text(canonical(value))


def short_json_hash(*parts: object) -> str:
    """Return a short hash of JSON values, for an id."""
    return digest([*parts]).removeprefix("sha256:")[:32]


def sha256_of_text(text: bytes) -> str:
    """Return `sha256:` and the hex digest of a text."""
    return "sha256:" + hashlib.sha256(text).hexdigest()


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


def refuse_repeated_json_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; of a key that occurs twice, two programs could read two values.

    Args:
        pairs: The keys and values; an `object_pairs_hook` of `json.loads`.

    Raises:
        ValueError: A key occurs twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found
