"""What people type and files hold, read as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ringi.errors import InvalidError


def parsed_json(name: str, text: str | None) -> Any:
    """Return JSON as data, or raise `InvalidError` that names the option."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidError.of(name, f"not JSON: {error}") from error


def read_json(name: str, path: Path) -> Any:
    """Return the JSON of a file, or raise `InvalidError` that names the option."""
    try:
        return parsed_json(name, path.read_text("utf-8"))
    except OSError as error:
        raise InvalidError.of(name, f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidError.of(name, f"{path} is not UTF-8: save it as UTF-8") from error


def read_file(given: str) -> tuple[str, Path, bytes]:
    """Return the field, the path and the content of FIELD=PATH, or raise `InvalidError`."""
    field, equals, name = given.partition("=")
    if not field or not equals or not name:
        raise InvalidError.of("file", f"{given!r}: say FIELD=PATH")
    try:
        return field, Path(name), Path(name).read_bytes()
    except OSError as error:
        raise InvalidError.of("file", f"cannot read {name}: {error.strerror}") from error
