"""The part of the command that coding agents run: it starts fast, and every failure is a block."""

from __future__ import annotations

import logging

import typer

from ringi.cli.commands.hook import answer_codex, claude_code
from ringi.gateways.hooks.process import BLOCKED, exit_with_hook_failure

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
hook_app = typer.Typer()
hook_app.command("claude-code")(claude_code)
hook_app.command("codex")(answer_codex)
app.add_typer(hook_app, name="hook")


def run_hook_command() -> None:
    """Answer one event of a hook. Exit codes: 0 for a reply, 2 for a failure, 1 if nothing waits for the reply."""
    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    try:
        typer.main.get_command(app)(standalone_mode=False)
    except BaseException as error:
        exit_with_hook_failure(getattr(error, "format_message", error.__str__)(), BLOCKED)
