"""The gate before the MCP servers in the configuration of a client: each command is wrapped, and can be restored."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from ringi.base.settings import SettingError
from ringi.gateways.client_config import (
    ClientSettings,
    FileChange,
    change_json_config,
    change_toml_config,
    parsed_config,
    read_config_text,
)

GateClient = Literal["claude-code", "cursor", "vscode", "codex"]
SettingsChange = Callable[[str, ClientSettings], ClientSettings]
TABLE = "mcp_servers"
"""The servers in the configuration of Codex, which is TOML."""
GATE = ("gate", "--policy")


def mcp_config_file(client: GateClient, project: Path | None) -> Path:
    """Return the file with the MCP servers of a client.

    Args:
        client: The client.
        project: The folder of a project; None for the file of the user.
    """
    base, home = project or Path.home(), Path.home()
    if client == "claude-code":
        return base / (".mcp.json" if project else ".claude.json")
    if client == "cursor":
        return base / ".cursor" / "mcp.json"
    if client == "codex":
        return (base / ".codex" if project else Path(os.environ.get("CODEX_HOME") or home / ".codex")) / "config.toml"
    if project:
        return base / ".vscode" / "mcp.json"
    settings = home / ("Library/Application Support" if sys.platform == "darwin" else ".config")
    return settings / "Code" / "User" / "mcp.json"


def changes_that_add_gates(client: GateClient, path: Path, program: str, policy: str) -> Iterator[FileChange]:
    """Yield the changes that put a gate before each server over stdio; write each before you take the next one.

    Args:
        client: The client.
        path: Its file.
        program: The command `ringi`, with its folder if the client may not find it.
        policy: The path of the policy.

    Raises:
        SettingError: The file cannot be changed safely, or a server is behind a URL.
    """

    def wrapped(name: str, entry: ClientSettings) -> ClientSettings:
        if is_gated_server(entry):
            return entry
        if not isinstance(entry.get("command"), str):
            why = "this server has no command: put `ringi gate --url` in its place by hand"
            raise SettingError("server", name, why)
        args = [*GATE, policy, "--", entry["command"], *entry.get("args", ())]
        return {**entry, "command": program, "args": args}

    return _changes(client, path, wrapped)


def changes_that_remove_gates(client: GateClient, path: Path) -> Iterator[FileChange]:
    """Yield the changes that restore the servers behind a gate; write each before you take the next one.

    Raises:
        SettingError: The file cannot be changed safely.
    """

    def restored(_: str, entry: ClientSettings) -> ClientSettings:
        if not is_gated_server(entry):
            return entry
        command, *args = entry["args"][entry["args"].index("--") + 1 :]
        return {**entry, "command": command, "args": args}

    return _changes(client, path, restored)


def is_gated_server(entry: ClientSettings) -> bool:
    """Return whether the command of a server is a gate that `installed` wrote."""
    args, command = entry.get("args"), entry.get("command")
    if not isinstance(args, list) or not isinstance(command, str):
        return False
    return Path(command).name == "ringi" and (*args[:2],) == GATE and "--" in args[:-1]


def _changes(client: GateClient, path: Path, change: SettingsChange) -> Iterator[FileChange]:
    if client != "codex":
        key = "servers" if client == "vscode" else "mcpServers"
        yield change_json_config(path, lambda settings: _with_servers(path, settings, key, change))
        return
    servers = parsed_config(path, read_config_text(path), "TOML", tomllib.loads).get(TABLE, {})
    after = _with_servers(path, {TABLE: servers}, TABLE, change)[TABLE]
    for name, entry in after.items():
        yield change_toml_config(path, TABLE, name, entry)


def _with_servers(path: Path, settings: ClientSettings, key: str, change: SettingsChange) -> ClientSettings:
    servers = settings.get(key, {})
    if not isinstance(servers, dict) or not all(isinstance(entry, dict) for entry in servers.values()):
        raise SettingError("file", str(path), f"{key} are not objects: correct it first")
    if not servers:
        raise SettingError("file", str(path), "it has no MCP servers")
    return {**settings, key: {name: change(name, entry) for name, entry in servers.items()}}
