"""Canonical JSON (RFC 8785) of plain JSON data, and its SHA-256 digest."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import Any

import rfc8785
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from ringi.errors import InvalidError

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
        return text.encode() if is_plain(value) else rfc8785.dumps(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidError.of("", f"is not portable JSON ({error}): send the value as text") from error


def is_plain(value: Any) -> bool:
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
        elif not is_plain_number(part):
            return False
    return True


def is_plain_number(value: Any) -> bool:
    """Return whether both encoders write the number alike: few digits and no exponent."""
    kind = type(value)
    if kind is int:
        return bool(-SAFE <= value <= SAFE)
    return kind is float and bool(1e-4 <= abs(value) < 1e16 and value % 1)


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
    return sha256_of(canonical(value))


def sha256_of(text: bytes) -> str:
    """Return `sha256:` and the hex digest of a text."""
    return "sha256:" + hashlib.sha256(text).hexdigest()
