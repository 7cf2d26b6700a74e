"""The help of the commands in the language of the environment, and the version."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ringi.cli import version_line
from ringi.cli.texts import cli_text, cli_translations, environment_language

MARKS = ("required", "default: ", "env var: ")
"""The words of Typer after the help of an option."""
UNITS = re.compile("[（「]*(?:`[^`]+`|[!-~]+|[^ ])[。、，：；）」！？]*| +")
"""A text is wrapped between these: commands, words, and characters of Chinese and Japanese."""
AS_IT_IS = "\b"
"""The line before a paragraph that Typer does not wrap: it would count characters, not columns."""


def short_help(text: str, width: int) -> str:
    """Return the help of a command in one line, in the language of the environment."""
    if (reader := environment_language()) == "en":
        return str(TyperCommand(None, help=text).get_short_help_str(width))
    sentence = re.sub("。.*", "。", cli_translations("help").get(text, {}).get(reader, text), flags=re.DOTALL)
    first, *rest = wrap_wide_text(sentence, width - 1)
    return f"{first}…" if rest else first


def wrap_wide_text(text: str, width: int) -> list[str]:
    """Return the lines of a text with Chinese or Japanese characters, which are twice as wide as others."""
    from rich.cells import cell_len

    lines = [""]
    for unit in UNITS.findall(" ".join(text.split())):
        if lines[-1] and cell_len(lines[-1] + unit.rstrip()) > width:
            lines.append("")
        lines[-1] += unit
    return [line.strip() for line in lines]


def translate_help(command: Any) -> None:
    """Set the help of a command, of its options and of the commands of its group in the reader's language."""
    if (reader := environment_language()) == "en":
        return
    option = command.get_help_option(typer.Context(command))
    for each in (command, *command.params, *([option] if option else [])):
        # Arguments without a description have no help.
        if text := getattr(each, "help", None):
            each.help = cli_translations("help").get(text, {}).get(reader, text)
    below = getattr(command, "commands", {})
    for each in below.values() if isinstance(below, dict) else ():  # Others are translated when they are imported.
        translate_help(each)
    context = command.context_class
    words = {"formatter_class": _formatter(context.formatter_class)}
    command.context_class = type(context.__name__, (context,), words)


def _formatter(base: Any) -> Any:
    """Return a formatter of help that replaces the words of Typer itself."""

    class Formatter(base):  # type: ignore[misc]
        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            for name in ("[OPTIONS]", "COMMAND [ARGS]"):
                args = args.replace(name, cli_text(f"help.{name}"))
            super().write_usage(prog, args, cli_text("help.usage"))

        def write_heading(self, heading: str) -> None:
            super().write_heading(cli_text(f"help.{heading.lower()}"))

        def write_text(self, text: str) -> None:
            paragraphs = (wrap_wide_text(each, self.width - self.current_indent) for each in text.split("\n\n"))
            super().write_text("\n\n".join("\n".join([AS_IT_IS, *each]) for each in paragraphs))

        def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
            width = self.width - min(max(len(name) for name, _ in rows), col_max) - col_spacing - 2
            wrapped = [(name, wrap_wide_text(_with_own_marks(text), width)) for name, text in rows]
            super().write_dl([(name, "\n".join([AS_IT_IS, *lines])) for name, lines in wrapped], col_max, col_spacing)

    return Formatter


def _with_own_marks(text: str) -> str:
    """Return the help of an option with the marks after it, such as `[default: 50]`, in the reader's language."""
    help, bracket, marks = text.rpartition("[")
    for mark in MARKS if bracket else ():
        marks = marks.replace(mark, cli_text(f"help.{mark.strip(': ')}"))
    return f"{help}{bracket}{marks}"


def print_version(is_set: bool) -> None:
    """Print the version and exit if the option is set."""
    if is_set:
        typer.echo(version_line())
        raise typer.Exit


def global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Ask people for decisions, and answer requests."""
