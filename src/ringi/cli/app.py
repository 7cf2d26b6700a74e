"""The commands of `ringi`, and their error messages."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from inspect import getdoc
from io import TextIOWrapper

import typer
from typer.core import TyperGroup

from ringi.base.extras import raise_missing_extra
from ringi.base.settings import SettingError, Settings, unknown_settings
from ringi.cli.commands import audit, delegation, gateways, hook, operations, policy, requests, serve, upkeep, watch
from ringi.cli.error_texts import cli_error_text, cli_usage_error_text
from ringi.cli.format.output import escape_hidden_characters
from ringi.cli.help import GroupWithHeadings, global_options, translate_help
from ringi.cli.session import with_session_options
from ringi.cli.texts import cli_text, cli_text_or, translate_cli_error
from ringi.connect import home_folder
from ringi.errors import InvalidError, NotFoundError, RingiError

log = logging.getLogger(__name__)


def command_group(
    name: str,
    commands: dict[str, Callable[..., None]],
    help: str | None = None,
    *,
    default: Callable[..., None] | None = None,
    kind: type[TyperGroup] | None = None,
) -> typer.Typer:
    """Return a group of commands; with a default, that runs if no command is named."""
    made = typer.Typer(name=name, cls=kind, no_args_is_help=default is None, help=help or getdoc(default))
    if default:
        made.callback(invoke_without_command=True)(with_session_options(default))
    for own, command in commands.items():
        made.command(own)(with_session_options(command))
    return made


COMMANDS: dict[str, tuple[Callable[..., None] | typer.Typer, ...]] = {
    "Ask": (requests.ask, requests.list_, requests.show, requests.cancel, requests.outcome),
    "Answer": (
        *(watch.watch, requests.respond, requests.undo, requests.claim, requests.release, requests.reassign),
        *(delegation.away, delegation.back, delegation.absences, delegation.grants, delegation.revoke),
        command_group("suggestions", {"accept": delegation.accept_suggestion}, default=delegation.list_suggestions),
    ),
    "Serve": (
        *(serve.demo, serve.serve, serve.worker, upkeep.config, upkeep.link),
        command_group(
            "token",
            {"create": upkeep.token_create, "show": upkeep.token_show, "revoke": upkeep.token_revoke},
            "Tokens for agents, people and administrators.",
        ),
    ),
    "Operate": (
        *(operations.runs, operations.retry, operations.ask_again, operations.abandon),
        *(operations.pause, operations.pauses, operations.unpause, operations.deliveries, operations.redeliver),
        *(upkeep.offboard, upkeep.migrate, upkeep.backup, upkeep.restore),
    ),
    "Audit": (
        audit.report,
        upkeep.verify,
        audit.erase,
        command_group("checks", {"plant": audit.plant_checks}, default=audit.list_checks),
    ),
    "Connect": (
        gateways.mcp,
        gateways.acp,
        command_group(
            "gate",
            {"run": gateways.run_gate, "install": gateways.install_gate, "uninstall": gateways.uninstall_gate},
            "A gate before MCP servers.",
            kind=gateways.GateGroup,
        ),
        command_group(
            "hook",
            {
                "claude-code": hook.claude_code,
                "codex": hook.answer_codex,
                "install": hook.install_hooks,
                "uninstall": hook.uninstall_hooks,
            },
            "Hooks of coding agents: answer their calls in the inbox.",
        ),
        command_group("policy", {"test": policy.policy_test}, "Policies for tool calls."),
        command_group("webhooks", {"test": operations.webhooks_test}, "Webhook endpoints."),
        command_group("secret", {"create": upkeep.secret_create}, "Secrets that sign webhook deliveries."),
    ),
}
"""All commands, each below its heading in the help."""
app = typer.Typer(
    name="ringi",
    cls=GroupWithHeadings,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(global_options)
for heading, commands in COMMANDS.items():
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=heading)
        else:
            name = command.__name__.rstrip("_").replace("_", "-")
            app.command(name, rich_help_panel=heading)(with_session_options(command))


def run_command_line() -> None:
    """Run the command. Exit codes: 0 success, 1 failure, 2 wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # A terminal in Latin-1 would fail on a Japanese title.
    try:
        _log_to_stderr(Settings.load().log)
        _refuse_broken_text(sys.argv[1:])
        _warn_of_unknown_settings()
        _call()
    except (SettingError, InvalidError) as error:
        _fail(cli_error_text(error), 2)
    except NotFoundError as error:
        _fail(f"{cli_error_text(error)}{cli_text_or(f'hint.{error.kind}', cli_text('hint.other'))}", 1)
    except RingiError as error:
        log.debug("failed", exc_info=True)
        _fail(cli_error_text(error), 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader closed the pipe, as in `ringi list | head`; otherwise Python would report it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        log.debug("stopped by the system", exc_info=True)
        file = f"{error.filename}: " if error.filename else ""
        why = translate_cli_error(error.strerror or str(error))
        _fail(cli_text("system_error", why=f"{file}{why}", home=repr(str(home_folder()))), 1)
    except Exception as error:
        log.debug("unexpected", exc_info=True)
        _fail(cli_text("unexpected", type=f"{type(error).__name__}: {error}"), 1)


def _call() -> None:
    try:
        command = typer.main.get_command(app)
        translate_help(command)
        code = command(standalone_mode=False)
    except ModuleNotFoundError as error:
        raise_missing_extra(f"`ringi {sys.argv[1]}`" if len(sys.argv) > 1 else "the command", error)
    except typer.Abort:
        _fail(cli_text("aborted"), 1)
    except Exception as error:
        if message := cli_usage_error_text(error):
            _fail(message, 2)
        raise
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _warn_of_unknown_settings() -> None:
    for name, near in unknown_settings().items():
        text = cli_text("unknown_setting", name=name) + (cli_text("unknown_setting.near", near=near) if near else "")
        log.warning(escape_hidden_characters(text))


def _refuse_broken_text(arguments: list[str]) -> None:
    for text in arguments:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise SettingError("arguments", text, "not UTF-8: pass whole characters") from error


def _log_to_stderr(level: str) -> None:
    if level.upper() not in logging.getLevelNamesMapping():
        raise SettingError("RINGI_LOG", level, "choose DEBUG, INFO, WARNING or ERROR")
    logging.basicConfig(level=level.upper(), format="%(levelname)s %(name)s: %(message)s")


def _fail(message: str, code: int) -> None:
    sys.stderr.write(f"{cli_text('error', message=escape_hidden_characters(message))}\n")
    sys.exit(code)
