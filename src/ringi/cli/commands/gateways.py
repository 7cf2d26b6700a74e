"""Commands that stand between programs and the inbox: `mcp`, `acp`, `gate`."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from ringi.base.extras import raise_missing_extra
from ringi.base.settings import SettingError
from ringi.cli.commands.hook import InProject, Yes, show_and_write_change
from ringi.cli.commands.upkeep import server_address
from ringi.cli.options import Asks
from ringi.cli.session import run_on_event_loop
from ringi.errors import RingiError
from ringi.policy.rules import PolicyFile

if TYPE_CHECKING:
    from ringi.gateways.mcp_gate.servers import ServerAddress

VARIABLE = re.compile(r"\$\{(\w+)\}")


def mcp(url: Asks = None) -> None:
    """Serve one MCP client over stdin and stdout: its model can ask people and wait for them.

    The client starts this command. Over HTTP, `ringi serve` offers the same tools under `/mcp`.
    """
    page = None
    with divert_stdout():
        from ringi.gateways.mcp.server import mcp_process_server

        with suppress(SettingError):
            page = server_address()
        server = mcp_process_server(url, page)
    run_on_event_loop(serve_mcp_stdio(server))


async def serve_mcp_stdio(server: Any) -> None:
    """Serve until the client closes its end; the SDK keeps the standard output free for the protocol."""
    try:
        await server.run_stdio_async()
    except* RingiError as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


@contextmanager
def divert_stdout() -> Iterator[None]:
    """Send what is printed to stderr, at the level of the file: on stdout the client expects the protocol only."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)


def acp(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="The command of the agent.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="The policy; tools are the kinds of calls, such as `execute`. By default it asks."),
    ] = None,
    url: Asks = None,
) -> None:
    """Stand between an editor and its agent, which speak the Agent Client Protocol.

    The agent's requests for permission and its forms are answered in the inbox; everything else passes unchanged.
    """
    from ringi.gateways.acp.proxy import ASK, serve_acp_proxy

    file = PolicyFile(policy).policy if policy else lambda: ASK
    file()
    raise typer.Exit(run_on_event_loop(serve_acp_proxy(command, file, url)))


class GateGroup(TyperGroup):
    """Runs a gate if no other command is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the command that may be left out."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


def run_gate(
    policy: Annotated[Path, typer.Option("--policy", help="The policy: JSON, or TOML if its name ends in `.toml`.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND…", help="The command of an MCP server over stdio.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="The URL of an MCP server over HTTP.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="A header for the URL, `NAME: TEXT`; ${VARIABLE} is replaced. Repeatable."),
    ] = None,
    server: Annotated[
        list[str] | None, typer.Option("--server", help="One of several servers, `NAME=COMMAND`; repeatable.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A JSON file with servers, under `mcpServers` or `servers`.")
    ] = None,
    wait: Annotated[float, typer.Option("--wait", help="Seconds for which a call waits for people.", min=0.1)] = 50,
) -> None:
    """Serve an MCP server over stdio, and ask the policy and people about each call of a tool.

    A call runs once, with the approved arguments, after a rule allows it or a person approves it. Everything else
    passes unchanged. Requests are in the inbox of RINGI_URL, else in RINGI_HOME; without the inbox no call runs, and
    RINGI_ENABLED has no effect. The names of tools have the prefix `SERVER_` if there are several servers.
    """
    try:
        from ringi.gateways.mcp_gate.gate import serve_gate
        from ringi.gateways.mcp_gate.servers import ServerAddress
    except ModuleNotFoundError as error:
        raise_missing_extra("`ringi gate`", error)
    policies = PolicyFile(policy)
    policies.policy()
    servers = dict[str, ServerAddress]()
    if command:
        servers["server"] = ServerAddress(tuple(command))
    if url:
        servers["url"] = ServerAddress(url=url, headers=dict(map(_header, header or [])))
    for text in server or []:
        name, separator, line = text.partition("=")
        if not separator or not name or not shlex.split(line):
            raise SettingError("--server", text, "write NAME=COMMAND")
        servers[name] = ServerAddress(tuple(shlex.split(line)))
    if config:
        servers |= _read_servers(config)
    if not servers:
        raise SettingError("COMMAND", "", "give the command of a server after `--`, or --url, --server or --config")
    for name in servers:
        if shadowed := [each for each in servers if each.startswith(f"{name}_")]:
            why = f"its tools could have the names of those of {shadowed[0]!r}: rename it"
            raise SettingError("--server", name, why)
    run_on_event_loop(serve_gate(servers, policies, wait=wait))


GateClientArgument = Annotated[
    Literal["claude-code", "cursor", "vscode", "codex"], typer.Argument(help="The MCP client.")
]


def install_gate(
    client: GateClientArgument,
    policy: Annotated[Path, typer.Option("--policy", help="The policy of the gate.")],
    project: InProject = True,
    yes: Yes = False,
) -> None:
    """Put a gate before each MCP server in the configuration of a client: show the difference, ask, and write."""
    from ringi.gateways.mcp_gate.install import changes_that_add_gates, mcp_config_file

    PolicyFile(policy).policy()
    # Other people who share a project have the command and the folder elsewhere.
    program = "ringi" if project else (shutil.which("ringi") or sys.argv[0])
    path = mcp_config_file(client, Path.cwd() if project else None)
    for change in changes_that_add_gates(client, path, program, str(policy if project else policy.absolute())):
        show_and_write_change(change, yes)


def uninstall_gate(client: GateClientArgument, project: InProject = True, yes: Yes = False) -> None:
    """Restore the MCP servers in the configuration of a client: show the difference, ask, and write."""
    from ringi.gateways.mcp_gate.install import changes_that_remove_gates, mcp_config_file

    for change in changes_that_remove_gates(client, mcp_config_file(client, Path.cwd() if project else None)):
        show_and_write_change(change, yes)


def _header(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(":")
    if not separator or not name.strip():
        raise SettingError("--header", name, "write `NAME: TEXT`")
    return name.strip(), VARIABLE.sub(_variable, value.strip())


def _variable(found: re.Match[str]) -> str:
    value = os.environ.get(found[1])
    if value is None:
        raise SettingError("--header", found[0], "set this variable of the environment")
    return value


def _read_servers(path: Path) -> dict[str, ServerAddress]:
    from ringi.gateways.mcp_gate.servers import ServerAddress

    def address(entry: dict[str, Any]) -> ServerAddress:
        if "url" in entry:
            return ServerAddress(url=entry["url"], headers=entry.get("headers", {}))
        command = (entry["command"], *entry.get("args", ()))
        return ServerAddress(command, env=entry.get("env", {}), cwd=entry.get("cwd"))

    try:
        data = json.loads(path.read_bytes())
        entries = data.get("mcpServers") or data["servers"]
        return {name: address(entry) for name, entry in entries.items()}
    except OSError as error:
        raise SettingError("--config", str(path), f"it cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingError("--config", str(path), "write servers with `command` or `url` under `mcpServers`") from error
