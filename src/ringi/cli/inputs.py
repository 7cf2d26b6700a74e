"""Readers of JSON options and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ringi.errors import InvalidError


def parsed_json(name: str, text: str | None) -> Any:
    """Parse the JSON of an option; raise `InvalidError` with its name."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidError.of(name, f"not JSON: {error}", "not_json") from error


def read_json(name: str, path: Path) -> Any:
    """Parse a JSON file; raise `InvalidError` with the name of the option."""
    try:
        return parsed_json(name, path.read_text("utf-8"))
    except OSError as error:
        raise InvalidError.of(name, f"cannot read {path}: {error.strerror}", "unreadable_file") from error
    except UnicodeDecodeError as error:
        raise InvalidError.of(name, f"{path} is not UTF-8: save it as UTF-8", "invalid_unicode") from error


def read_file(option: str) -> tuple[str, Path, bytes]:
    """Return the field, the path and the content of FIELD=PATH; raise `InvalidError` if it cannot be read."""
    field, equals, name = option.partition("=")
    if not field or not equals or not name:
        raise InvalidError.of("file", f"{option!r}: write it as FIELD=PATH")
    try:
        return field, Path(name), Path(name).read_bytes()
    except OSError as error:
        raise InvalidError.of("file", f"cannot read {name}: {error.strerror}", "unreadable_file") from error


def names_in(text: str) -> tuple[str, ...]:
    """Return names that are separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())
