"""The hooks in the configuration of a coding agent."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from ringi.base.settings import SettingError
from ringi.gateways.hooks.events import CLIENTS, HookClient
from ringi.gateways.hooks.install import change_that_adds_hooks, change_that_removes_hooks, hook_config_file

BOTH = pytest.mark.parametrize("client", CLIENTS)
COMMAND = ["ringi", "hook", "claude-code"]
OTHER: dict[str, Any] = {"type": "command", "command": "lint.sh", "timeout": 5}


def ringi(folder: Path, *arguments: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    command = [*warm.ringi_program("ringi.gateways.hooks.install"), "hook", *arguments]
    environment = {"HOME": str(folder), "PATH": ""}
    return subprocess.run(
        command, cwd=folder, env=environment, input=answer, capture_output=True, text=True, timeout=60, check=False
    )


def hooks_in(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the hooks of each event in a file."""
    hooks: dict[str, list[dict[str, Any]]] = json.loads(path.read_text())["hooks"]
    return {event: [hook for group in groups for hook in group["hooks"]] for event, groups in hooks.items()}


@BOTH
def test_the_difference_comes_first_and_nothing_is_written_without_consent(tmp_path: Path, client: HookClient) -> None:
    done = ringi(tmp_path, "install", client, answer="n\n")
    assert done.returncode == 1
    assert '+    "PreToolUse": [' in done.stdout
    assert not list(tmp_path.rglob("*.json"))
    assert ringi(tmp_path, "install", client, answer="y\n").returncode == 0
    assert list(tmp_path.rglob("*.json")) == [hook_config_file(client, tmp_path)]
    assert "needs no change" in ringi(tmp_path, "install", client).stdout


@BOTH
def test_the_command_ends_before_the_client_does_and_a_dead_one_blocks(tmp_path: Path, client: HookClient) -> None:
    ringi(tmp_path, "install", client, "--timeout", "300", "--confirm-stop", "--policy", "p.toml", "--yes")
    hooks = hooks_in(hook_config_file(client, tmp_path))
    (waits,) = hooks["PreToolUse"]
    assert waits["timeout"] == 300
    assert waits["command"].startswith(f"ringi hook {client} --policy p.toml --timeout 240 --confirm-stop || ")
    # Without onFailure, Claude Code runs the call of a hook that it ends.
    assert waits.get("onFailure") == ("block" if client == "claude-code" else None)
    assert "exit 2" in waits["command"]
    assert all("exit 2" not in hook["command"] for hook in [*hooks["PostToolUse"], *hooks["Stop"]])
    dead = subprocess.run(["/bin/sh", "-c", waits["command"]], env={"PATH": ""}, capture_output=True, check=False)
    assert dead.returncode == 2
    assert dead.stderr


@BOTH
def test_the_default_wait_is_a_minute_less_than_the_installed_one(tmp_path: Path, client: HookClient) -> None:
    ringi(tmp_path, "install", client, "--yes")
    (waits,) = hooks_in(hook_config_file(client, tmp_path))["PreToolUse"]
    help = ringi(tmp_path, client, "--help").stdout
    default = re.search(r"default: (\d+)", help)
    assert default
    assert int(default[1]) == waits["timeout"] - 60


@BOTH
def test_other_settings_and_hooks_stay(tmp_path: Path, client: HookClient) -> None:
    path = hook_config_file(client, tmp_path)
    path.parent.mkdir()
    before = {"model": "x", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [OTHER]}], "Stop": []}}
    path.write_text(json.dumps(before))
    ringi(tmp_path, "install", client, "--yes")
    after = hooks_in(path)
    assert after["PreToolUse"][0] == OTHER
    assert len(after["PreToolUse"]) == 2
    ringi(tmp_path, "uninstall", client, "--yes")
    assert json.loads(path.read_text()) == before


def test_an_older_entry_is_replaced_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    old = {"type": "command", "command": "/opt/bin/ringi hook claude-code --policy old.toml", "timeout": 5}
    groups = [{"hooks": [old, OTHER]}, {"hooks": [old]}, {"hooks": [OTHER]}]
    path.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    change_that_adds_hooks("claude-code", path, COMMAND, 600, confirms=False).write()
    groups = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert [len(group["hooks"]) for group in groups] == [1, 1, 1]
    assert (groups[0]["hooks"], groups[2]["hooks"]) == ([OTHER], [OTHER])
    assert groups[1]["hooks"][0]["command"].startswith("ringi hook claude-code || ")
    change_that_removes_hooks(path).write()
    assert json.loads(path.read_text())["hooks"]["PreToolUse"] == [{"hooks": [OTHER]}, {"hooks": [OTHER]}]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', '{"hooks": {"PreToolUse": [{"hooks": 1}]}}']
)
def test_a_file_of_another_form_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(SettingError, match="correct it first"):
        change_that_adds_hooks("claude-code", path, COMMAND, 600, confirms=False)
    with pytest.raises(SettingError, match="correct it first"):
        change_that_removes_hooks(path)
    assert path.read_text() == text


def test_the_file_of_the_user_is_where_the_client_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    assert hook_config_file("claude-code", None) == tmp_path / ".claude" / "settings.json"
    assert hook_config_file("codex", None) == tmp_path / ".codex" / "hooks.json"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/a")
    monkeypatch.setenv("CODEX_HOME", "/b")
    assert hook_config_file("claude-code", None) == Path("/a/settings.json")
    assert hook_config_file("codex", None) == Path("/b/hooks.json")
