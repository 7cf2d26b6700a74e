"""The commands of `ringi`, and their error messages."""

from __future__ import annotations

import ast
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from io import TextIOWrapper
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from ringi.base.extras import raise_missing_extra
from ringi.base.settings import SettingError, Settings, unknown_settings
from ringi.cli.error_texts import cli_error_text, cli_usage_error_text
from ringi.cli.format.output import escape_hidden_characters
from ringi.cli.help import global_options, short_help, translate_help
from ringi.cli.texts import cli_text, cli_text_or, translate_cli_error
from ringi.errors import InvalidError, NotFoundError, RingiError

log = logging.getLogger(__name__)
RENAMED = {"resume": "use `ringi unpause` to end a pause"}
"""The right command for a name that people may expect."""


class CommandGroup(NamedTuple):
    """A group of commands, each as module and function; with a default, that runs if no command is named."""

    name: str
    commands: dict[str, str]
    help: str | None = None
    default: str | None = None
    kind: str | None = None
    """The class of the group, as module and class."""


COMMANDS: dict[str, tuple[str | CommandGroup, ...]] = {
    "Ask": ("requests.ask", "requests.list_", "requests.show", "requests.cancel", "requests.outcome"),
    "Answer": (
        *("watch.watch", "requests.respond", "requests.undo", "requests.claim", "requests.release"),
        *("requests.reassign", "delegation.away", "delegation.back", "delegation.absences", "delegation.grants"),
        "delegation.revoke",
        CommandGroup("suggestions", {"accept": "delegation.accept_suggestion"}, default="delegation.list_suggestions"),
    ),
    "Serve": (
        *("serve.demo", "serve.serve", "serve.worker", "upkeep.config", "upkeep.link"),
        CommandGroup(
            "token",
            {"create": "upkeep.token_create", "show": "upkeep.token_show", "revoke": "upkeep.token_revoke"},
            "Tokens for agents, people and administrators.",
        ),
    ),
    "Operate": (
        *("operations.runs", "operations.retry", "operations.ask_again", "operations.abandon", "operations.pause"),
        *("operations.pauses", "operations.unpause", "operations.deliveries", "operations.redeliver"),
        *("upkeep.offboard", "upkeep.migrate", "upkeep.backup", "upkeep.restore"),
    ),
    "Audit": (
        *("audit.report", "upkeep.verify", "audit.erase"),
        CommandGroup("checks", {"plant": "audit.plant_checks"}, default="audit.list_checks"),
    ),
    "Connect": (
        *("gateways.mcp", "gateways.acp"),
        CommandGroup(
            "gate",
            {"run": "gateways.run_gate", "install": "gateways.install_gate", "uninstall": "gateways.uninstall_gate"},
            "A gate before MCP servers.",
            kind="gateways.GateGroup",
        ),
        CommandGroup(
            "hook",
            {
                "claude-code": "hook.claude_code",
                "codex": "hook.answer_codex",
                "install": "hook.install_hooks",
                "uninstall": "hook.uninstall_hooks",
            },
            "Hooks of coding agents: answer their calls in the inbox.",
        ),
        CommandGroup("policy", {"test": "policy.policy_test"}, "Policies for tool calls."),
        CommandGroup("webhooks", {"test": "operations.webhooks_test"}, "Webhook endpoints."),
        CommandGroup("secret", {"create": "upkeep.secret_create"}, "Secrets that sign webhook deliveries."),
    ),
}
"""All commands, each below its heading in the help. A command imports its module when it runs."""
OPTIONS: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


def command_name(command: str | CommandGroup) -> str:
    """Return the name of a command or a group."""
    if isinstance(command, CommandGroup):
        return command.name
    return command.partition(".")[2].rstrip("_").replace("_", "-")


def command_help(command: str | CommandGroup) -> str:
    """Return the help of a command or a group, without importing its module."""
    if isinstance(command, CommandGroup):
        return command.help or command_help(command.default or "")
    module, _, name = command.partition(".")
    own = _docstrings(f"cli/commands/{module}.py")
    # A verb of the inbox has the help of the method.
    return own[name] if name in own else _docstrings("inbox/api.py")[name].partition("\n\n")[0]


@cache
def _docstrings(file: str) -> dict[str, str]:
    found = ast.walk(ast.parse((files("ringi") / file).read_text("utf-8")))
    functions = [each for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {each.name: ast.get_docstring(each) or "" for each in functions}


def _imported(place: str) -> Any:
    module, _, name = place.partition(".")
    return getattr(import_module(f"ringi.cli.commands.{module}"), name)


def load_command(command: str | CommandGroup, heading: str) -> Any:
    """Import a command or the commands of a group, and return it with its help in the reader's language."""
    from ringi.cli.session import with_session_options

    name = command_name(command)
    if isinstance(command, CommandGroup):
        made = typer.Typer(name=name, no_args_is_help=not command.default, help=command_help(command), **OPTIONS)
        if command.kind:
            made.info.cls = _imported(command.kind)
        # A callback, because a group of one command would be that command.
        run = with_session_options(_imported(command.default)) if command.default else lambda: None
        made.callback(invoke_without_command=bool(command.default))(run)
        own = command.commands
    else:
        made, own = typer.Typer(**OPTIONS), {name: command}
    for each, place in own.items():
        made.command(each)(with_session_options(_imported(place)))
    loaded = typer.main.get_command(made)
    loaded.name, loaded.rich_help_panel = name, heading  # type: ignore[attr-defined]
    translate_help(loaded)
    return loaded


class LazyCommands(Mapping[str, Any]):
    """The commands of `ringi` by their names, each imported when it is taken."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}
        self._found = {command_name(each): (each, heading) for heading, own in COMMANDS.items() for each in own}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = load_command(*self._found[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class GroupWithHeadings(TyperGroup):
    """The group of all commands, which lists them below headings."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = LazyCommands()  # type: ignore[assignment]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Refuse an expected name with the right one."""
        if args[0] in RENAMED:
            raise SettingError("command", args[0], RENAMED[args[0]])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command, below its heading."""
        names = max(map(len, self.commands))
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                rows = [(command_name(each), command_help(each)) for each in commands]
                width = formatter.width - names - 6
                formatter.write_dl([(name.ljust(names), short_help(text, width)) for name, text in rows])


app = typer.Typer(name="ringi", cls=GroupWithHeadings, no_args_is_help=True, **OPTIONS)
app.callback()(global_options)


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
        from ringi.connect import home_folder

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
