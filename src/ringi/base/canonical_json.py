"""The canonical bytes of plain JSON (RFC 8785), and their SHA-256 digest.

It imports no model classes: a hook of a coding agent, which starts for each call of a tool, loads it.
"""

from __future__ import annotations

import hashlib
import json
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from ringi.errors import InvalidError

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
    from pydantic_core import to_jsonable_python

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
        if is_canonical_encoding(value):
            return text.encode()
        import rfc8785

        return rfc8785.dumps(value)
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
