"""The commands of `ringi`, and their error messages."""

from __future__ import annotations

import logging
import os
import sys
from io import TextIOWrapper

import typer

from ringi.base.extras import missing
from ringi.base.settings import Settings, unknown_settings
from ringi.cli.commands import gate as gates
from ringi.cli.commands.absence import absences, away, back
from ringi.cli.commands.acp import acp
from ringi.cli.commands.answer import cancel, claim, outcome, reassign, release, respond, undo
from ringi.cli.commands.ask import ask, list_, show
from ringi.cli.commands.audit import checks, plant, report
from ringi.cli.commands.backup import backup, restore
from ringi.cli.commands.deliveries import deliveries, redeliver, webhooks_test
from ringi.cli.commands.erase import erase
from ringi.cli.commands.grants import accept, grants, revoke, suggestions
from ringi.cli.commands.hook import claude_code, codex, install, uninstall
from ringi.cli.commands.mcp import mcp
from ringi.cli.commands.policy import policy_test
from ringi.cli.commands.runs import abandon, ask_again, pause, pauses, resume, retry, runs
from ringi.cli.commands.serve import demo, serve, worker
from ringi.cli.commands.upkeep import (
    config,
    link,
    migrate,
    offboard,
    secret_create,
    token_create,
    token_revoke,
    token_show,
    verify,
)
from ringi.cli.commands.watch import watch
from ringi.cli.format.output import visible
from ringi.cli.help import options, translate_help
from ringi.cli.session import error_text, usage_text
from ringi.cli.texts import text_of, text_or, translated
from ringi.connect import home
from ringi.errors import InvalidError, NotFoundError, RingiError, SettingError

log = logging.getLogger(__name__)
app = typer.Typer(
    name="ringi", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
COMMANDS = (
    *(demo, serve, worker, mcp, acp),
    *(ask, list_, show, watch),
    *(respond, undo, claim, release, reassign, cancel, outcome),
    *(away, back, absences),
    *(runs, retry, ask_again, abandon),
    *(pause, pauses, resume, grants, revoke),
    *(deliveries, redeliver),
    *(link, offboard, erase, config, migrate, verify, report, backup, restore),
)
for command in COMMANDS:
    app.command(command.__name__.rstrip("_").replace("_", "-"))(command)
app.callback()(options)
token_app = typer.Typer(no_args_is_help=True, help="Tokens for agents, people and administrators.")
token_app.command("create")(token_create)
token_app.command("show")(token_show)
token_app.command("revoke")(token_revoke)
app.add_typer(token_app, name="token")
secret_app = typer.Typer(no_args_is_help=True, help="Secrets that sign webhook deliveries.")
secret_app.command("create")(secret_create)
app.add_typer(secret_app, name="secret")
webhooks_app = typer.Typer(no_args_is_help=True, help="Webhook endpoints.")
webhooks_app.command("test")(webhooks_test)
app.add_typer(webhooks_app, name="webhooks")
gate_app = typer.Typer(cls=gates.GateGroup, no_args_is_help=True, help="A gate before MCP servers.")
gate_app.command("run")(gates.gate)
gate_app.command("install")(gates.install)
gate_app.command("uninstall")(gates.uninstall)
app.add_typer(gate_app, name="gate")
checks_app = typer.Typer()
checks_app.callback(invoke_without_command=True)(checks)
checks_app.command("plant")(plant)
app.add_typer(checks_app, name="checks")
suggestions_app = typer.Typer()
suggestions_app.callback(invoke_without_command=True)(suggestions)
suggestions_app.command("accept")(accept)
app.add_typer(suggestions_app, name="suggestions")
policy_app = typer.Typer(no_args_is_help=True, help="Policies for tool calls.")
policy_app.command("test")(policy_test)
app.add_typer(policy_app, name="policy")
hook_app = typer.Typer(no_args_is_help=True, help="Hooks of coding agents: answer their calls in the inbox.")
hook_app.command("claude-code")(claude_code)
hook_app.command("codex")(codex)
hook_app.command("install")(install)
hook_app.command("uninstall")(uninstall)
app.add_typer(hook_app, name="hook")


def main() -> None:
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
        _fail(error_text(error), 2)
    except NotFoundError as error:
        _fail(f"{error_text(error)}{text_or(f'hint.{error.kind}', text_of('hint.other'))}", 1)
    except RingiError as error:
        log.debug("failed", exc_info=True)
        _fail(error_text(error), 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader closed the pipe, as in `ringi list | head`; otherwise Python would report it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        log.debug("stopped by the system", exc_info=True)
        file = f"{error.filename}: " if error.filename else ""
        why = translated(error.strerror or str(error))
        _fail(text_of("system_error", why=f"{file}{why}", home=repr(str(home()))), 1)
    except Exception as error:
        log.debug("unexpected", exc_info=True)
        _fail(text_of("unexpected", type=f"{type(error).__name__}: {error}"), 1)


def _call() -> None:
    try:
        command = typer.main.get_command(app)
        translate_help(command)
        code = command(standalone_mode=False)
    except ModuleNotFoundError as error:
        missing(f"`ringi {sys.argv[1]}`" if len(sys.argv) > 1 else "the command", error)
    except typer.Abort:
        _fail(text_of("aborted"), 1)
    except Exception as error:
        if message := usage_text(error):
            _fail(message, 2)
        raise
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _warn_of_unknown_settings() -> None:
    for name, near in unknown_settings().items():
        text = text_of("unknown_setting", name=name) + (text_of("unknown_setting.near", near=near) if near else "")
        log.warning(visible(text))


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
    sys.stderr.write(f"{text_of('error', message=visible(message))}\n")
    sys.exit(code)
