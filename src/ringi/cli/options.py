"""Options that several commands share, and JSON that they read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ringi.errors import InvalidError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
StoreUrl = Annotated[str | None, typer.Option("--url", help="The store; by default RINGI_URL, else .ringi/ringi.db.")]
Asks = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="Where to ask: a store, or a server with its token in RINGI_TOKEN; by default RINGI_URL, "
        "else .ringi/ringi.db.",
    ),
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port to listen on; 0 for any free one.", min=0, max=65535)]
Tenant = Annotated[str, typer.Option(help="The tenant.")]
By = Annotated[str | None, typer.Option("--name", help="The name in the audit trail; by default your user name.")]
OwnGroups = Annotated[str, typer.Option("--groups", help="Your groups, separated by commas.")]
Unknown = Annotated[bool, typer.Option("--unknown", help="Take names of people or groups that nobody here has.")]
MaxFields = Annotated[int, typer.Option(help="The maximum number of fields in a form.", min=1)]
PollInterval = Annotated[float, typer.Option(help="Seconds between checks for lost notifications.")]
StoreTimeout = Annotated[
    float | None,
    typer.Option(
        help="Seconds to wait for PostgreSQL or Redis at startup; by default without limit.",
        envvar="RINGI_STORE_TIMEOUT",
        min=0,
    ),
]
Agents = Annotated[str | None, typer.Option(help="Your agents: MODULE or MODULE:NAME.")]


def parse_json_option(name: str, text: str | None) -> Any:
    """Parse the JSON of an option; raise `InvalidError` with its name."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidError.of(name, f"not JSON: {error}", "not_json") from error


def read_option_file(name: str, path: Path) -> bytes:
    """Return the content of a file; raise `InvalidError` with the name of the option."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidError.of(name, f"cannot read {path}: {error.strerror}", "unreadable_file") from error


def read_json_option(name: str, path: Path) -> Any:
    """Parse a JSON file; raise `InvalidError` with the name of the option."""
    try:
        return parse_json_option(name, read_option_file(name, path).decode())
    except UnicodeDecodeError as error:
        raise InvalidError.of(name, f"{path} is not UTF-8: save it as UTF-8", "invalid_unicode") from error


def read_file_option(option: str) -> tuple[str, Path, bytes]:
    """Return the field, the path and the content of FIELD=PATH; raise `InvalidError` if it cannot be read."""
    field, equals, name = option.partition("=")
    if not field or not equals or not name:
        raise InvalidError.of("file", f"{option!r}: write it as FIELD=PATH")
    return field, Path(name), read_option_file("file", Path(name))


def split_names(text: str) -> tuple[str, ...]:
    """Return names that are separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_time_option(name: str, text: str) -> datetime:
    """Parse a day or a time, by default in the local time zone; raise `InvalidError` with the name of the option."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise InvalidError.of(name, f"{text!r} is not a day: write it as 2026-01-31") from None
