"""The option `--version`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer


def print_version(is_set: bool) -> None:
    """Print the version and exit if the option is set."""
    if is_set:
        typer.echo(f"ringi {version('ringi')}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Ask people for decisions, and answer requests."""
