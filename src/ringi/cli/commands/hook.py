"""The commands `hook claude-code` and `hook codex`, which answer a coding agent, and those that install them."""

from __future__ import annotations

import logging
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ringi.cli.options import Asks
from ringi.gateways.hooks.process import BLOCKED, MARGIN, WAIT, HookOptions, answer_hook, exit_with_hook_failure

if TYPE_CHECKING:
    from ringi.gateways.client_config import FileChange

PolicyOption = Annotated[
    str | None,
    typer.Option(help="The policy; by default RINGI_POLICY, else .ringi/policy.toml of the project, else every call."),
]
Confirms = Annotated[bool, typer.Option("--confirm-stop", help="Ask whether the work is done when the agent stops.")]
WaitSeconds = Annotated[int, typer.Option("--timeout", help="Seconds to wait for an answer.", min=1)]


def claude_code(
    policy: PolicyOption = None, url: Asks = None, timeout: WaitSeconds = WAIT - MARGIN, confirm_stop: Confirms = False
) -> None:
    """Answer a hook of Claude Code: read its event from standard input, and print the reply.

    Install it with `ringi hook install claude-code`. Any failure blocks the call.
    """
    answer_hook("claude-code", HookOptions(timeout, policy, url, confirm_stop))


def answer_codex(
    policy: PolicyOption = None, url: Asks = None, timeout: WaitSeconds = WAIT - MARGIN, confirm_stop: Confirms = False
) -> None:
    """Answer a hook of Codex: read its event from standard input, and print the reply.

    Install it with `ringi hook install codex`. Any failure blocks the call.
    """
    answer_hook("codex", HookOptions(timeout, policy, url, confirm_stop))


def run_hook_command() -> None:
    """Answer one event of a hook. Exit codes: 0 for a reply, 2 for a failure, 1 if nothing waits for the reply.

    Coding agents run this part of the command: it starts fast, and every failure is a block.
    """
    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    hook = typer.Typer()
    hook.command("claude-code")(claude_code)
    hook.command("codex")(answer_codex)
    app.add_typer(hook, name="hook")
    try:
        typer.main.get_command(app)(standalone_mode=False)
    except BaseException as error:
        exit_with_hook_failure(getattr(error, "format_message", error.__str__)(), BLOCKED)


HookClientArgument = Annotated[Literal["claude-code", "codex"], typer.Argument(help="The coding agent.")]
InProject = Annotated[bool, typer.Option("--project/--user", help="The file of this project, or your own.")]
Yes = Annotated[bool, typer.Option("--yes", help="Write without asking.")]


def install_hooks(
    client: HookClientArgument,
    project: InProject = True,
    policy: Annotated[str | None, typer.Option(help="The policy of the hook, as in `ringi hook CLIENT`.")] = None,
    url: Asks = None,
    timeout: Annotated[int, typer.Option(help="Seconds for an answer.", min=2 * MARGIN, max=24 * 86_400)] = WAIT,
    confirm_stop: Confirms = False,
    yes: Yes = False,
) -> None:
    """Add the hooks to the configuration of a coding agent: show the difference, ask, and write.

    The command waits a minute less than the coding agent would, and then answers itself: an agent may run the call of a
    hook that it ends.
    """
    from ringi.cli.texts import cli_text
    from ringi.gateways.hooks.install import change_that_adds_hooks, hook_config_file

    # Other people who share a project have the command elsewhere.
    program = "ringi" if project else (shutil.which("ringi") or sys.argv[0])
    if policy and not project:
        policy = str(Path(policy).absolute())
    wait = str(timeout - MARGIN) if timeout != WAIT else None
    options = [("--policy", policy), ("--url", url), ("--timeout", wait)]
    command = [program, "hook", client, *(word for option, value in options if value for word in (option, value))]
    command += ["--confirm-stop"] * confirm_stop
    path = hook_config_file(client, Path.cwd() if project else None)
    show_and_write_change(change_that_adds_hooks(client, path, command, timeout, confirms=confirm_stop), yes)
    if client == "codex":
        typer.echo(cli_text("hook.trust"), err=True)


def uninstall_hooks(client: HookClientArgument, project: InProject = True, yes: Yes = False) -> None:
    """Remove the hooks from the configuration of a coding agent: show the difference, ask, and write."""
    from ringi.gateways.hooks.install import change_that_removes_hooks, hook_config_file

    show_and_write_change(change_that_removes_hooks(hook_config_file(client, Path.cwd() if project else None)), yes)


def show_and_write_change(change: FileChange, yes: bool) -> None:
    """Show a change of a file, ask, and write it."""
    from ringi.cli.format.output import escape_hidden_characters, escape_hidden_in_lines
    from ringi.cli.texts import cli_text

    if not change.diff:
        typer.echo(cli_text("config.same", file=escape_hidden_characters(str(change.path))))
        return
    typer.echo(escape_hidden_in_lines(change.diff))
    if not yes:
        typer.confirm(cli_text("config.write", file=escape_hidden_characters(str(change.path))), abort=True)
    change.write()
    typer.echo(cli_text("config.written", file=escape_hidden_characters(str(change.path))))
