"""One text for one JSON value (RFC 8785), and its digest."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785
from pydantic_core import to_jsonable_python

from ringi.errors import InvalidError


def jsonable(value: Any) -> Any:
    """Return the value as plain JSON data: models by alias, times as RFC 3339."""
    return to_jsonable_python(value, by_alias=True)


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of plain JSON data, or raise `InvalidError`."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise InvalidError.of("", f"not portable JSON: {error}; send such a value as text") from error


def digest(value: Any) -> str:
    """Return `sha256:` and the hex digest of the value's canonical JSON."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()
