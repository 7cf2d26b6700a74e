"""Regular expressions as in JSON Schema, which match in linear time."""

from __future__ import annotations

import re
from functools import lru_cache

import jsonschema_rs

MAX_PATTERN_LENGTH = 500
MAX_PATTERN_MEMORY = 100_000
MAX_MATCHED_LENGTH = 10_000
"""The maximum number of characters that `matches_whole` reads."""
REGEX_OPTIONS = jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_MEMORY, dfa_size_limit=MAX_PATTERN_MEMORY)
_POSSESSIVE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|([*+?}]\+)", re.DOTALL)
"""Escapes and classes, and as group 1 Python's possessive quantifiers: the engine reads `a++` as `(a+)+`."""


def check_pattern(pattern: str) -> None:
    """Raise FieldValidationError unless `matches_whole` supports this JSON Schema regular expression."""
    from ringi.base.validation import FieldValidationError, safe_repr

    if len(pattern) > MAX_PATTERN_LENGTH:
        raise FieldValidationError("", f"has {len(pattern)} characters: write it in at most {MAX_PATTERN_LENGTH}")
    try:
        # Check the pattern alone first: the surrounding group would close the brackets of `a)|(b`.
        _linear(pattern)
        _whole(pattern)
        is_supported = not any(found[1] for found in _POSSESSIVE.finditer(pattern))
    except (jsonschema_rs.ValidationError, ValueError):
        is_supported = False
    if not is_supported:
        what = "is not a supported pattern: use a shorter one in JSON Schema syntax, without look-around (?=…)"
        why = f"{safe_repr(pattern)} {what}, back-references \\1 and possessive quantifiers a++"
        raise FieldValidationError("", why)


def matches_whole(pattern: str, text: str) -> bool | None:
    """Return whether a pattern matches a whole text, in linear time; None if the text is too long or not Unicode."""
    if len(text) > MAX_MATCHED_LENGTH:
        return None
    try:
        return _whole(pattern).is_valid(text)
    except UnicodeEncodeError:
        return None


@lru_cache(maxsize=256)
def _whole(pattern: str) -> jsonschema_rs.Validator:
    return _linear(f"^(?:{pattern})$")


def _linear(pattern: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=REGEX_OPTIONS)
