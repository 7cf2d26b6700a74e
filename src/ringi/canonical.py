"""One text for one JSON value (RFC 8785), and its digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import rfc8785
from pydantic_core import to_jsonable_python

from ringi.errors import InvalidError

PLAIN = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)
"""Python's own encoder: many times faster, and right for all values that are plain."""
ATOMS = frozenset((str, bool, type(None)))
SAFE = 2**53 - 1


def jsonable(value: Any) -> Any:
    """Return the value as plain JSON data: models by alias, times as RFC 3339."""
    return to_jsonable_python(value, by_alias=True)


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of plain JSON data, or raise `InvalidError`."""
    try:
        return quickly(value) or rfc8785.dumps(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidError.of("", f"not portable JSON: {error}; send such a value as text") from error


def quickly(value: Any) -> bytes | None:
    """Return the canonical JSON of a plain value; None for one that Python's encoder may write otherwise."""
    return PLAIN.encode(value).encode() if is_plain(value) else None


def is_plain(value: Any) -> bool:
    """Whether Python's own encoder writes the value as RFC 8785 asks."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is dict:
        return all(type(name) is str and name.isascii() for name in value) and all(map(is_plain, value.values()))
    if kind is list or kind is tuple:
        return all(map(is_plain, value))
    if kind is int:
        return bool(-SAFE <= value <= SAFE)
    return kind is float and bool(1e-4 <= abs(value) < 1e16 and value % 1)


def digest(value: Any) -> str:
    """Return `sha256:` and the hex digest of the value's canonical JSON."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()
