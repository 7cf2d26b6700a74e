"""The option `--version`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer


def say_version(asked: bool) -> None:
    """Print the version and end, if that was asked."""
    if asked:
        typer.echo(f"ringi {version('ringi')}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Ask people, and answer them."""
