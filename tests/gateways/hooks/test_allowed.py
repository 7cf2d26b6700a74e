"""The small path of a hook: it allows what the full path allows, or leaves the call to the full path."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import threading
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.gateways.hooks.process import Hooks
from tests.runs.world import until

from ringi.gateways.hooks.allowed import allowed_reply, answer_allowed_call, read_hook_options
from ringi.gateways.hooks.process import HookOptions

POLICY = """
[[rules]]
tools = ["Bash"]
where = { command = { matches = "git (status|diff).*" } }
effect = "allow"
[[rules]]
name = "no sudo"
tools = ["Sudo"]
effect = "deny"
[[rules]]
tools = ["Write"]
"""
LIST = {"command": "git status"}
BOTH = pytest.mark.parametrize("client", ["claude-code", "codex"])


@pytest.fixture
def project(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    """A project with a policy, in whose folder this process is, as a hook would be."""
    for name in ("RINGI_URL", "RINGI_HOME", "RINGI_POLICY", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RINGI_URL", hooks.environment["RINGI_URL"])
    monkeypatch.chdir(hooks.folder)
    (hooks.folder / ".ringi").mkdir()
    (hooks.folder / ".ringi" / "policy.toml").write_text(POLICY)
    return hooks


def small(hooks: Hooks, client: str = "claude-code", tool: str = "Bash", args: Any = LIST, **more: Any) -> str | None:
    """Return what the small path of a hook prints about a call; None if it leaves the call to the full path."""
    options = HookOptions(**more.pop("options", {}))
    event = hooks.event("PreToolUse", tool, args, "c1") | more
    return allowed_reply(client, options, json.dumps(event).encode())


async def checked(hooks: Hooks, client: str = "claude-code") -> dict[str, Any] | None:
    """Run the full path once, which marks the policy as valid, and return its output."""
    reply = await hooks.run(client, hooks.event("PreToolUse", "Bash", LIST, "c0"))
    assert reply.code == 0, reply
    return reply.output


@BOTH
async def test_the_small_path_prints_what_the_full_path_prints(project: Hooks, client: str) -> None:
    with pytest.raises(FileNotFoundError):  # Nobody has checked the policy.
        small(project, client)
    full = await checked(project, client)
    reply = small(project, client)
    assert reply is not None
    assert (json.loads(reply) if reply else None) == full


async def test_the_small_path_only_allows(project: Hooks) -> None:
    await checked(project)
    calls: list[tuple[str, object]] = [
        *(("Bash", {"command": "rm -rf /"}), ("Bash", {}), ("Bash", {"command": 1}), ("Bash", "git status")),
        *(("Sudo", {}), ("Write", {"file_path": "a"}), ("Unknown", {}), ("Read", {"file_path": "a"})),
        *(("Bash", {"command": "git status .ringi/policy.toml"}), ("Bash", {**LIST, "cwd": ".claude/settings.json"})),
    ]
    assert [small(project, tool=tool, args=args) for tool, args in calls] == [None] * len(calls)
    for name in ("session_id", "cwd", "tool_use_id", "tool_name"):
        assert small(project, **{name: ""}) is None
    assert small(project, hook_event_name="PermissionRequest") is None
    assert small(project) is not None


async def test_each_call_reads_the_policy_anew(project: Hooks) -> None:
    await checked(project)
    file = project.folder / ".ringi" / "policy.toml"
    file.write_text(POLICY + '[[rules]]\nname = "none"\ntools = ["Bash"]\neffect = "deny"\n')
    assert small(project) is None
    file.write_text("not a policy")
    assert small(project) is None
    reply = await project.run("claude-code", project.event("PreToolUse", "Bash", LIST, "c1"))
    assert (reply.code, "is not TOML" in reply.errors) == (2, True)
    file.write_text(POLICY)
    assert small(project) is not None
    file.unlink()
    assert small(project) is None  # Without a policy, people are asked.
    assert small(project, tool="Read") == ""


async def test_a_forged_mark_cannot_allow_what_the_policy_does_not(project: Hooks) -> None:
    await checked(project)
    (mark,) = (project.folder / ".ringi" / "checked-policies").iterdir()
    (project.folder / ".ringi" / "policy.toml").write_text(POLICY.replace('effect = "allow"', 'effect = "ask"'))
    for text in ("", "0" * 64, '{"rules": [{"tools": ["*"], "effect": "allow"}]}'):
        mark.write_text(text)
        assert small(project) is None


@BOTH
async def test_a_pause_takes_the_full_path_which_refuses(project: Hooks, client: str) -> None:
    await checked(project, client)
    for agent in (None, client):
        pause = await project.inbox.pauses.begin("a release", agent=agent, by="root")
        assert small(project, client) is None
        reply = await project.run(client, project.event("PreToolUse", "Bash", LIST, "c1"))
        assert "a release" in reply.specific["permissionDecisionReason"]
        await project.inbox.pauses.end(pause.id, by="root")
        assert small(project, client) is not None
    await project.inbox.pauses.begin("another one", agent="other", by="root")
    assert small(project, client) is not None


async def test_a_pause_that_is_over_stops_nothing(project: Hooks) -> None:
    await checked(project)
    await project.inbox.pauses.begin("soon over", until=datetime.now(UTC) + timedelta(seconds=1), by="root")
    assert small(project) is None

    async def is_over() -> str | None:
        return small(project)

    assert await until(is_over, "the pause is over")


async def test_a_store_that_this_version_does_not_know_takes_the_full_path(project: Hooks) -> None:
    await checked(project)
    with closing(sqlite3.connect(project.folder / "ringi.db")) as connection, connection:
        connection.execute("INSERT INTO migrations (number, oldest) VALUES (900, 0)")
    assert small(project) is None
    for url in ("postgresql://127.0.0.1:1/x", "redis://127.0.0.1:1/0", "https://127.0.0.1:1", "sqlite:///~/a.db", "x"):
        assert small(project, options={"url": url}) is None
    with pytest.raises(sqlite3.Error):
        small(project, options={"url": "sqlite:///missing.db"})
    assert not (project.folder / "missing.db").exists()


@pytest.fixture
def replies() -> Iterator[tuple[str, list[tuple[int, bytes]], list[str]]]:
    """A server with the prepared replies, and the authorizations that it got."""
    prepared: list[tuple[int, bytes]] = []
    got: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            got.append(f"{self.path} {self.headers['authorization']}")
            status, body = prepared.pop(0)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", prepared, got
        server.shutdown()


async def test_a_server_on_this_machine_is_asked_for_pauses_at_each_call(
    project: Hooks, replies: tuple[str, list[tuple[int, bytes]], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    await checked(project)
    url, prepared, got = replies
    monkeypatch.setenv("RINGI_TOKEN", " secret ")
    prepared += [(200, b'{"items": [], "next": null}')]
    assert small(project, options={"url": url}) is not None
    assert got == ["/v1/pauses Bearer secret"]
    prepared += [
        (200, b'{"items": [{"agent": "other"}]}'),
        (401, b'{"items": []}'),
        (307, b'{"items": []}'),
        (200, b"{}"),
    ]
    assert [small(project, options={"url": url}) for _ in range(4)] == [None] * 4
    prepared += [(200, b"[")]
    with pytest.raises(json.JSONDecodeError):
        small(project, options={"url": url})
    monkeypatch.delenv("RINGI_TOKEN")
    with pytest.raises(KeyError):
        small(project, options={"url": url})


@pytest.mark.parametrize(
    "words",
    [
        *(["--timeout"], ["--timeout", "-1"], ["--timeout", "x"], ["--policy", ""], ["--policy", "--url"], ["--other"]),
        *(["--timeout=5"], ["x"], ["--url", "-h"], ["--confirm-stop", "x"]),
    ],
)
def test_options_that_are_not_plain_take_the_full_path(words: list[str]) -> None:
    assert read_hook_options(words) is None


def test_the_installed_options_are_understood() -> None:
    words = ["--policy", "a b.toml", "--url", "http://localhost:8080", "--timeout", "60", "--confirm-stop"]
    assert read_hook_options(words) == HookOptions(60.0, "a b.toml", "http://localhost:8080")


@pytest.mark.parametrize("name", ["RINGI_ENABLED", "RINGI_CHECKS", "RINGI_UNKNOWN", "HTTP_PROXY"])
def test_another_setting_takes_the_full_path(project: Hooks, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "0")
    monkeypatch.setattr(sys, "stdin", None)  # It does not even read the event.
    answer_allowed_call(["claude-code"])


async def test_a_process_on_the_small_path_imports_no_model_classes_and_writes_nothing(project: Hooks) -> None:
    await checked(project)
    before = sorted(project.folder.rglob("*"))
    event = json.dumps(project.event("PreToolUse", "Bash", LIST, "c1")).encode()
    program = "import os, sys; sys.argv[1:] = ['hook', 'claude-code']; exit = os._exit\n"
    program += "os._exit = lambda code: (print(*sys.modules, file=sys.stderr, flush=True), exit(code))\n"
    program += "from ringi.cli import main; main()"
    command = [sys.executable, "-c", program]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=project.environment, cwd=project.folder
    )
    output, errors = await asyncio.wait_for(process.communicate(event), 60)
    assert json.loads(output)["hookSpecificOutput"]["permissionDecision"] == "allow"
    imported = set(errors.decode().split())
    assert "ringi.gateways.hooks.allowed" in imported
    assert not imported & {"pydantic", "typer", "asyncio", "httpx", "ringi.inbox.api", "importlib.metadata"}
    assert sorted(project.folder.rglob("*")) == before
