"""Gates before the servers in the configuration of clients: wrapped once, and restored as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringi.base.settings import SettingError
from ringi.gateways.client_config import FileChange
from ringi.gateways.mcp_gate.install import (
    GateClient,
    changes_that_add_gates,
    changes_that_remove_gates,
    mcp_config_file,
)

SHOP: dict[str, Any] = {"type": "stdio", "command": "npx", "args": ["-y", "shop", "--", "x"], "env": {"TOKEN": "${T}"}}
FILES = {"claude-code": ".mcp.json", "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json"}


def written(changes: Any) -> list[FileChange]:
    """Write each change before the next one."""
    done = list[FileChange]()
    for change in changes:
        change.write()
        done.append(change)
    return done


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode"])
def test_servers_are_wrapped_once_and_restored(tmp_path: Path, client: GateClient) -> None:
    key, path = "servers" if client == "vscode" else "mcpServers", mcp_config_file(client, tmp_path)
    assert path == tmp_path / FILES[client]
    path.parent.mkdir(exist_ok=True)
    before = json.dumps({"inputs": [1], key: {"shop": SHOP, "bare": {"command": "run"}}}, indent=4) + "\n"
    path.write_text(before, encoding="utf-8")
    (change,) = written(changes_that_add_gates(client, path, "ringi", "policy.json"))
    assert "+" in change.diff
    servers = json.loads(path.read_text("utf-8"))[key]
    args = ["gate", "--policy", "policy.json", "--", "npx", "-y", "shop", "--", "x"]
    assert servers["shop"] == {**SHOP, "command": "ringi", "args": args}
    assert written(changes_that_add_gates(client, path, "ringi", "policy.json"))[0].diff == ""
    written(changes_that_remove_gates(client, path))
    assert json.loads(path.read_text("utf-8"))[key]["shop"] == SHOP
    assert json.loads(path.read_text("utf-8"))["inputs"] == [1]


def test_servers_of_codex_keep_their_comments(tmp_path: Path) -> None:
    path = mcp_config_file("codex", tmp_path)
    assert path == tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    text = '# mine\nmodel = "m"\n\n[mcp_servers.a]\ncommand = "one"\n\n[mcp_servers.b]\ncommand = "two"\nargs = ["x"]\n'
    path.write_text(text, encoding="utf-8")
    written(changes_that_add_gates("codex", path, "/bin/ringi", "/p.toml"))
    after = path.read_text("utf-8")
    assert after.count("/bin/ringi") == 2
    assert "# mine" in after
    written(changes_that_remove_gates("codex", path))
    restored = path.read_text("utf-8")
    assert "ringi" not in restored
    assert 'command = "two"' in restored


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"mcpServers": {"shop": {"url": "https://x.example"}}}', "has no command"),
        ('{"mcpServers": {}}', "has no MCP servers"),
        ('{"mcpServers": ["x"]}', "are not objects"),
        ("{", "is not JSON"),
    ],
)
def test_a_file_that_cannot_be_gated_whole_stays(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingError, match=why):
        written(changes_that_add_gates("claude-code", path, "ringi", "p.json"))
    assert path.read_text("utf-8") == text
