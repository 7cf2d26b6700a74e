"""The calls of a coding agent: each is answered in the inbox, and whatever fails blocks it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest
from tests import tiers
from tests.gateways.hooks.process import Hooks, ended

from ringi.domain import Query
from ringi.gateways.hooks.events import HookClient
from ringi.gateways.hooks.install import change_that_adds_hooks, hook_config_file

BOTH = pytest.mark.parametrize("client", ["claude-code", "codex"])
COMMAND = {"command": "rm -rf build"}
POLICY = """
otherwise = "ask"
[[rules]]
tools = ["Bash"]
where = { command = { equals = "ls" } }
effect = "allow"
[[rules]]
name = "no sudo"
reason = "ask an administrator"
tools = ["Sudo"]
effect = "deny"
"""


@BOTH
async def test_an_approved_call_runs_and_its_outcome_is_reported(hooks: Hooks, client: str) -> None:
    reply = await hooks.decided(client, hooks.event("PreToolUse", "Bash", COMMAND, "c1"), "approve")
    if client == "claude-code":
        assert reply.specific["permissionDecision"] == "allow"
        assert "updatedInput" not in reply.specific
    else:
        assert reply == (0, None, "")  # Codex counts a bare "allow" as an error of the hook, and runs the call.
    (request,) = await hooks.inbox.search(Query())
    assert request.action
    assert (request.action.args, request.thread_id) == (COMMAND, f"{client}:5f1c")
    assert request.context == {"client": client, "folder": str(hooks.folder)}
    assert request.outcome == "unknown"
    assert await hooks.run(client, hooks.event("PostToolUse", "Bash", COMMAND, "c1")) == (0, None, "")
    assert (await hooks.inbox.get(request.id)).outcome == "committed"


async def test_a_failed_call_is_reported_as_failed(hooks: Hooks) -> None:
    await hooks.decided("claude-code", hooks.event("PreToolUse", "Bash", COMMAND, "c1"), "approve")
    await hooks.run("claude-code", hooks.event("PostToolUseFailure", "Bash", COMMAND, "c1", error="Exit code 1"))
    (request,) = await hooks.inbox.search(Query())
    assert request.outcome == "failed"


@BOTH
async def test_an_edited_call_runs_with_the_new_arguments(hooks: Hooks, client: str) -> None:
    edited = {"command": "rm -rf build/tmp"}
    event = hooks.event("PreToolUse", "Bash", COMMAND, "c1")
    reply = await hooks.decided(client, event, "edit", args=edited)
    assert reply.specific["permissionDecision"] == "allow"
    assert reply.specific["updatedInput"] == edited
    await hooks.run(client, hooks.event("PostToolUse", "Bash", edited, "c1"))
    (request,) = await hooks.inbox.search(Query())
    assert request.outcome == "committed"


@BOTH
async def test_a_rejected_call_is_denied_with_the_words_of_the_person(hooks: Hooks, client: str) -> None:
    event = hooks.event("PreToolUse", "Bash", COMMAND, "c1")
    reply = await hooks.decided(client, event, "reject", message="build is shared")
    assert reply.specific["permissionDecision"] == "deny"
    assert "ann decided reject: build is shared" in reply.specific["permissionDecisionReason"]


@BOTH
async def test_a_call_without_an_answer_is_denied_and_the_same_call_waits_on(hooks: Hooks, client: str) -> None:
    reply = await hooks.run(client, hooks.event("PreToolUse", "Bash", COMMAND, "c1"), "--timeout", "1")
    assert reply.specific["permissionDecision"] == "deny"
    assert "make exactly the same call again" in reply.specific["permissionDecisionReason"]
    reply = await hooks.decided(client, hooks.event("PreToolUse", "Bash", COMMAND, "c2"), "approve")
    assert reply.code == 0
    assert await hooks.count() == 1
    # The approval is used: the next call asks again.
    reply = await hooks.decided(client, hooks.event("PreToolUse", "Bash", COMMAND, "c3"), "reject")
    assert reply.specific["permissionDecision"] == "deny"
    assert await hooks.count() == 2


async def test_a_killed_hook_finds_its_request_when_it_is_run_again(hooks: Hooks) -> None:
    event = hooks.event("PreToolUse", "Bash", COMMAND, "c1")
    process = await hooks.start("claude-code", event)
    await hooks.opened()
    process.kill()
    assert (await process.communicate())[0] == b""
    assert process.returncode == -9
    await hooks.respond("approve")
    for _ in range(2):
        assert (await hooks.run("claude-code", event)).specific["permissionDecision"] == "allow"
    assert await hooks.count() == 1


async def test_a_hook_ends_with_its_client(hooks: Hooks) -> None:
    process = await hooks.start("claude-code", hooks.event("PreToolUse", "Bash", COMMAND, "c1"))
    request = await hooks.opened()
    process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
    assert await asyncio.wait_for(process.wait(), 30) == 2
    await hooks.respond("approve")
    assert (await hooks.inbox.get(request.id)).receipt is None


async def test_two_sessions_at_once_have_a_request_each(hooks: Hooks) -> None:
    events = [hooks.event("PreToolUse", "Bash", COMMAND, f"c{n}") | {"session_id": f"s{n}"} for n in range(2)]
    processes = [await hooks.start("claude-code", event) for event in events]
    decided = {}
    for decision in ("approve", "reject"):
        request = await hooks.respond(decision)
        decided[request.thread_id] = decision
    replies = [(await ended(process)).specific["permissionDecision"] for process in processes]
    wanted = {"approve": "allow", "reject": "deny"}
    assert replies == [wanted[decided[f"claude-code:s{n}"]] for n in range(2)]


@BOTH
async def test_the_policy_comes_first(hooks: Hooks, client: str) -> None:
    (hooks.folder / ".ringi").mkdir()
    (hooks.folder / ".ringi" / "policy.toml").write_text(POLICY)
    allowed = await hooks.run(client, hooks.event("PreToolUse", "Bash", {"command": "ls"}, "c1"))
    assert allowed.code == 0
    assert (allowed.output is None) == (client == "codex")
    denied = await hooks.run(client, hooks.event("PreToolUse", "Sudo", {}, "c2"))
    assert "'no sudo' denies it: ask an administrator" in denied.specific["permissionDecisionReason"]
    asked = await hooks.run(client, hooks.event("PreToolUse", "Read", {"file_path": "a"}, "c3"), "--timeout", "1")
    assert asked.specific["permissionDecision"] == "deny"


async def test_without_a_policy_the_client_decides_about_reading(hooks: Hooks) -> None:
    event = hooks.event("PreToolUse", "Read", {"file_path": "/etc/passwd"}, "c1")
    assert await hooks.run("claude-code", event) == (0, None, "")
    prompt = hooks.event("PermissionRequest", "Read", {"file_path": "/etc/passwd"}, "")
    reply = await hooks.decided("claude-code", prompt, "approve")
    assert reply.specific == {"decision": {"behavior": "allow"}}


@BOTH
async def test_the_folder_of_a_call_changes_neither_the_policy_nor_the_store(hooks: Hooks, client: str) -> None:
    # Codex names the folder that the model has chosen for the command, Claude Code that of the last `cd`.
    other = hooks.folder / "other"
    (other / ".ringi").mkdir(parents=True)
    (other / ".ringi" / "policy.toml").write_text('otherwise = "allow"\n[[rules]]\ntools = ["x"]\n')
    del hooks.environment["RINGI_URL"]
    if client == "claude-code":
        hooks.environment["CLAUDE_PROJECT_DIR"] = str(hooks.folder)
    event = hooks.event("PreToolUse", "Bash", COMMAND, "c1") | {"cwd": str(other)}
    reply = await hooks.run(client, event, "--timeout", "1")
    assert reply.specific["permissionDecision"] == "deny"
    assert (hooks.folder / ".ringi" / "ringi.db").exists()
    assert [path.name for path in (other / ".ringi").iterdir()] == ["policy.toml"]


async def test_the_switch_opens_no_hook(hooks: Hooks) -> None:
    hooks.environment["RINGI_ENABLED"] = "0"
    reply = await hooks.run("claude-code", hooks.event("PreToolUse", "Bash", COMMAND, "c1"), "--timeout", "1")
    assert reply.specific["permissionDecision"] == "deny"


@BOTH
async def test_a_prompt_is_answered_and_each_one_needs_its_own_approval(hooks: Hooks, client: str) -> None:
    event = hooks.event("PermissionRequest", "Bash", COMMAND, "")
    for _ in range(2):
        reply = await hooks.decided(client, event, "approve")
        assert reply.specific == {"decision": {"behavior": "allow"}}
    assert await hooks.count() == 2
    await hooks.run(client, hooks.event("PostToolUse", "Bash", COMMAND, "c9"))
    assert sorted(str(each.outcome) for each in await hooks.inbox.search(Query())) == ["committed", "unknown"]
    reply = await hooks.decided(client, event, "reject", message="no")
    assert reply.specific["decision"]["behavior"] == "deny"
    assert "ann decided reject: no" in reply.specific["decision"]["message"]


async def test_an_edit_of_a_prompt_is_a_denial_in_codex_which_refuses_other_arguments(hooks: Hooks) -> None:
    edited = {"command": "ls"}
    event = hooks.event("PermissionRequest", "Bash", COMMAND, "")
    claude = await hooks.decided("claude-code", event, "edit", args=edited)
    assert claude.specific == {"decision": {"behavior": "allow", "updatedInput": edited}}
    codex = await hooks.decided("codex", event, "edit", args=edited)
    assert codex.specific["decision"]["behavior"] == "deny"
    assert json.dumps(edited) in codex.specific["decision"]["message"]
    assert {each.outcome for each in await hooks.inbox.search(Query())} == {"unknown", "failed"}


def without(event: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != name}


@pytest.mark.parametrize("fault", ["session_id", "tool_name", "tool_input", "tool_use_id", "cwd", "hook_event_name"])
async def test_an_incomplete_event_blocks(hooks: Hooks, fault: str) -> None:
    reply = await hooks.run("codex", without(hooks.event("PreToolUse", "Bash", COMMAND, "c1"), fault))
    assert (reply.code, reply.output) == (2, None)
    assert fault in reply.errors


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b"[" * 99999])
async def test_what_is_not_an_event_blocks(hooks: Hooks, text: bytes) -> None:
    reply = await hooks.run("claude-code", text)
    assert (reply.code, reply.output) == (2, None)
    assert reply.errors.startswith("Ringi: ")


@BOTH
@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"RINGI_URL": "http://127.0.0.1:9"}, ()),
        ({"RINGI_URL": "nonsense://x"}, ()),
        ({"RINGI_URL": "sqlite:////proc/none/ringi.db"}, ()),
        ({"RINGI_POLICY": "/none/policy.toml"}, ()),
        ({}, ("--policy", "broken.toml")),
        ({}, ("--nonsense",)),
        ({}, ("--timeout", "soon")),
    ],
)
async def test_whatever_fails_blocks(
    hooks: Hooks, client: str, change: dict[str, str], options: tuple[str, ...]
) -> None:
    (hooks.folder / "broken.toml").write_text("rules = 3")
    hooks.environment |= change
    tool, args = ("Bash", COMMAND) if client == "codex" else ("Read", {"file_path": "a"})
    reply = await hooks.run(client, hooks.event("PreToolUse", tool, args, "c1"), *options)
    assert (reply.code, reply.output) == (2, None)
    assert len(reply.errors) > 10


@BOTH
async def test_an_event_that_ringi_does_not_answer_blocks(hooks: Hooks, client: str) -> None:
    reply = await hooks.run(client, hooks.event("UserPromptSubmit", "Bash", COMMAND, "c1"))
    assert (reply.code, reply.output) == (2, None)
    assert "'UserPromptSubmit' is none that Ringi answers" in reply.errors


async def test_arguments_that_cannot_be_bound_to_a_digest_block(hooks: Hooks) -> None:
    event = json.dumps(hooks.event("PreToolUse", "Bash", {"command": "x", "limit": "N"}, "c1")).replace('"N"', "NaN")
    reply = await hooks.run("claude-code", event.encode())
    assert (reply.code, reply.output) == (2, None)


async def test_a_report_that_fails_does_not_stop_the_agent(hooks: Hooks) -> None:
    hooks.environment["RINGI_URL"] = "nonsense://x"
    reply = await hooks.run("claude-code", hooks.event("PostToolUse", "Bash", COMMAND, "c1"))
    assert (reply.code, reply.output) == (1, None)


@tiers.WIDE
@BOTH
async def test_the_installed_command_answers_a_client_that_starts_it_by_a_shell(
    hooks: Hooks, client: HookClient
) -> None:
    change_that_adds_hooks(
        client, hook_config_file(client, hooks.folder), ["ringi", "hook", client], 120, confirms=False
    ).write()
    settings = json.loads(hook_config_file(client, hooks.folder).read_text())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    async def start(name: str, event: bytes) -> asyncio.subprocess.Process:
        (group,) = settings["hooks"][name]
        process = await asyncio.create_subprocess_shell(
            group["hooks"][0]["command"],
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=hooks.environment | {"PATH": path},
            cwd=hooks.folder,
        )
        assert process.stdin
        process.stdin.write(event)
        process.stdin.close()
        return process

    waiting = await start("PreToolUse", json.dumps(hooks.event("PreToolUse", "Bash", COMMAND, "c1")).encode())
    edited = {"command": "rm -rf build/tmp"}
    await hooks.respond("edit", args=edited)
    reply = await ended(waiting)
    assert (reply.specific["permissionDecision"], reply.specific["updatedInput"]) == ("allow", edited)

    event = json.dumps(hooks.event("PostToolUse", "Bash", edited, "c1")).encode()
    reported = await ended(await start("PostToolUse", event))
    assert reported == (0, None, "")
    (request,) = await hooks.inbox.search(Query())
    assert request.outcome == "committed"

    blocked = await ended(await start("PreToolUse", b"{"))
    assert (blocked.code, blocked.output) == (2, None)
    assert "the call is blocked" in blocked.errors
