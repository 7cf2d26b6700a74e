"""The help of the commands in the language of the environment, and the version."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer

from ringi.cli.texts import language, text_of, translations

MARKS = ("required", "default: ", "env var: ")
"""The words of Typer after the help of an option."""


def translate_help(command: Any) -> None:
    """Set the help of a command, of its options and of the commands below it in the language of the environment."""
    if (reader := language()) == "en":
        return
    option = command.get_help_option(typer.Context(command))
    for each in (command, *command.params, *([option] if option else [])):
        # Arguments without a description have no help.
        if text := getattr(each, "help", None):
            each.help = translations("help").get(text, {}).get(reader, text)
    for below in getattr(command, "commands", {}).values():
        translate_help(below)
    context = command.context_class
    words = {"formatter_class": _formatter(context.formatter_class)}
    command.context_class = type(context.__name__, (context,), words)


def _formatter(base: Any) -> Any:
    """Return a formatter of help that replaces the words of Typer itself."""

    class Formatter(base):  # type: ignore[misc]
        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            for name in ("[OPTIONS]", "COMMAND [ARGS]"):
                args = args.replace(name, text_of(f"help.{name}"))
            super().write_usage(prog, args, text_of("help.usage"))

        def write_heading(self, heading: str) -> None:
            super().write_heading(text_of(f"help.{heading.lower()}"))

        def write_dl(self, rows: Sequence[tuple[str, str]], *options: Any, **named: Any) -> None:
            super().write_dl([(name, _with_own_marks(text)) for name, text in rows], *options, **named)

    return Formatter


def _with_own_marks(text: str) -> str:
    """Return the help of an option with the marks after it, such as `[default: 50]`, in the reader's language."""
    help, bracket, marks = text.rpartition("[")
    for mark in MARKS if bracket else ():
        marks = marks.replace(mark, text_of(f"help.{mark.strip(': ')}"))
    return f"{help}{bracket}{marks}"


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
