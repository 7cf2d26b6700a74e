"""The hooks of Ringi in the configuration of Claude Code and Codex."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ringi.base.settings import SettingError
from ringi.gateways.client_config import ClientSettings, FileChange, change_json_config
from ringi.gateways.hooks.events import HookClient

CALLS = {
    "claude-code": ("PreToolUse", "PermissionRequest", "Elicitation"),
    "codex": ("PreToolUse", "PermissionRequest"),
}
"""The events that wait for an answer."""
REPORTS = {"claude-code": ("PostToolUse", "PostToolUseFailure"), "codex": ("PostToolUse",)}
"""The events that report what became of a call."""
FILES = {
    "claude-code": (".claude", "CLAUDE_CONFIG_DIR", "settings.json"),
    "codex": (".codex", "CODEX_HOME", "hooks.json"),
}
"""The folder of each client, the variable that names another one for the user, and the file in it."""
REPORT_SECONDS = 60
OWN = re.compile(r"\bringi\b.* hook (claude-code|codex)\b")
UNLESS = "|| { echo 'Ringi did not answer, so the call is blocked' >&2; exit 2; }"
"""A shell's words after the command: a hook that is killed, or that is not installed, blocks the call too."""


def hook_config_file(client: HookClient, project: Path | None) -> Path:
    """Return the file with the hooks of a client.

    Args:
        client: The client.
        project: The folder of a project; None for the file of the user.
    """
    folder, variable, name = FILES[client]
    return (project / folder if project else Path(os.environ.get(variable) or Path.home() / folder)) / name


def change_that_adds_hooks(
    client: HookClient, path: Path, command: Sequence[str], timeout: int, *, confirms: bool
) -> FileChange:
    """Return the change that adds the hooks to a file, or brings them up to date; other hooks stay.

    Args:
        client: The client.
        path: The file.
        command: The command of the hook, with its options.
        timeout: Seconds after which the client ends a hook that waits for people.
        confirms: True if people confirm that the work is done.

    Raises:
        SettingError: The file cannot be changed safely.
    """
    text = shlex.join(command)
    waits: ClientSettings = {"type": "command", "command": f"{text} {UNLESS}", "timeout": timeout}
    if client == "claude-code":
        waits["onFailure"] = "block"  # Without it, Claude Code runs the call when the hook times out.
    hooks = dict.fromkeys(CALLS[client], waits)
    reports: ClientSettings = {"type": "command", "command": text, "timeout": REPORT_SECONDS}
    hooks |= dict.fromkeys(REPORTS[client], reports)
    if confirms:
        hooks["Stop"] = {**reports, "timeout": timeout}
    return change_json_config(path, lambda settings: _with_own(path, settings, hooks))


def change_that_removes_hooks(path: Path) -> FileChange:
    """Return the change that removes the hooks from a file; other hooks stay.

    Raises:
        SettingError: The file cannot be changed safely.
    """
    return change_json_config(path, lambda settings: _with_own(path, settings, {}))


def _with_own(path: Path, settings: ClientSettings, own: dict[str, ClientSettings]) -> ClientSettings:
    before = settings.get("hooks", {})
    if not isinstance(before, dict):
        raise SettingError("file", str(path), "its hooks are not an object: correct it first")
    hooks: ClientSettings = {}
    for event in dict.fromkeys([*before, *own]):
        groups = _with_group(path, before.get(event, []), own.get(event))
        if groups or (event in before and not before[event]):
            hooks[event] = groups
    if hooks or (before == {} and "hooks" in settings):
        return {**settings, "hooks": hooks}
    return {name: value for name, value in settings.items() if name != "hooks"}


def _with_group(path: Path, groups: object, own: ClientSettings | None) -> list[ClientSettings]:
    """Return the groups of an event with our hook in the place that it has, or at the end."""
    new = [{"hooks": [own]}] if own else []
    found: list[ClientSettings] = []
    for group in groups if isinstance(groups, list) else [groups]:
        if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
            raise SettingError("file", str(path), "its hooks are not lists of groups: correct it first")
        others = [hook for hook in group["hooks"] if not _is_own(hook)]
        if len(others) == len(group["hooks"]):
            found.append(group)
            continue
        found += [{**group, "hooks": others}] if others else new
        new = new if others else []
    return found + new


def _is_own(hook: object) -> bool:
    return isinstance(hook, dict) and OWN.search(str(hook.get("command"))) is not None
