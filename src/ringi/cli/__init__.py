"""The command `ringi`. It names the missing extra if a part of Ringi is not installed."""

from __future__ import annotations

import sys

from ringi.base.extras import MissingExtraError, raise_missing_extra

EXTRAS_OF = {
    "serve": "server",
    "link": "server",
    "worker": "server,langgraph",
    "demo": "server,langgraph",
    "mcp": "mcp",
    "gate": "mcp",
    "acp": "acp",
}
"""All that a command needs, if even the command line is missing."""


def main() -> None:
    """Run the command. Exit codes: 0 success, 1 failure, 2 wrong usage."""
    if sys.argv[1:] == ["--version"]:
        return print(version_line())  # noqa: T201
    try:
        if is_called_as_hook(sys.argv[1:]):
            from ringi.gateways.hooks.allowed import answer_allowed_call

            answer_allowed_call(sys.argv[2:])
            from ringi.cli.commands.hook import run_hook_command as run
        else:
            from ringi.cli.app import run_command_line as run
    except ModuleNotFoundError as error:
        exit_for_missing_extra(error)
    else:
        run()


def version_line() -> str:
    """Return the line that `ringi --version` prints, without what the commands import."""
    from importlib.metadata import version

    return f"ringi {version('ringi')}"


def is_called_as_hook(arguments: list[str]) -> bool:
    """Return whether a coding agent runs the command: then only a part of it is imported, for each call of a tool."""
    return arguments[:1] == ["hook"] and arguments[1:2] in (["claude-code"], ["codex"]) and "--help" not in arguments


def exit_for_missing_extra(failed: ModuleNotFoundError) -> None:
    """Print which extra is missing, and exit."""
    command = next(iter(sys.argv[1:]), "")
    try:
        if extra := EXTRAS_OF.get(command):
            raise MissingExtraError(f"`ringi {command}`", extra)
        raise_missing_extra("the command", failed)
    except MissingExtraError as error:
        from ringi.cli.error_texts import cli_error_text
        from ringi.cli.texts import cli_text

        sys.stderr.write(f"{cli_text('error', message=cli_error_text(error))}\n")
        sys.exit(1)
