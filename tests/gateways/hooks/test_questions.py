"""Forms of MCP servers, and the end of the work."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gateways.hooks.process import Hooks, ended

SCHEMA = {"type": "object", "properties": {"branch": {"type": "string"}, "force": {"type": "boolean"}}}
BOTH = pytest.mark.parametrize("client", ["claude-code", "codex"])


def form(hooks: Hooks, **more: Any) -> dict[str, Any]:
    """Return the event of a form, as Claude Code writes it."""
    event = hooks.event("Elicitation", "", {}, "")
    own = {name: event[name] for name in ("session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id")}
    asked = {"mcp_server_name": "git", "message": "Which branch?", "mode": "form", "requested_schema": SCHEMA}
    return own | asked | more


async def test_a_form_is_filled_in_in_the_inbox(hooks: Hooks) -> None:
    process = await hooks.start("claude-code", form(hooks))
    request = await hooks.opened()
    assert (request.title, request.kind, request.allowed) == ("git: Which branch?", "form", ("respond", "reject"))
    assert request.form
    assert [field.name for field in request.form.fields] == ["branch", "force"]
    await hooks.respond("respond", data={"branch": "main", "force": False})
    content = {"branch": "main", "force": False}
    assert (await ended(process)).specific == {"action": "accept", "content": content}


async def test_a_rejected_form_is_declined_and_another_one_cancelled(hooks: Hooks) -> None:
    assert (await hooks.decided("claude-code", form(hooks), "reject")).specific == {"action": "decline"}
    process = await hooks.start("claude-code", form(hooks))
    request = await hooks.opened()
    await hooks.inbox.cancel(request.id, by="ann")
    assert (await ended(process)).specific == {"action": "cancel"}
    assert (await hooks.run("claude-code", form(hooks), "--timeout", "1")).specific == {"action": "cancel"}
    assert await hooks.count() == 3


async def test_the_same_form_again_waits_for_the_open_request(hooks: Hooks) -> None:
    for _ in range(2):
        reply = await hooks.run("claude-code", form(hooks), "--timeout", "1")
        assert reply.specific == {"action": "cancel"}
    assert await hooks.count() == 1


async def test_a_page_is_left_to_the_client_and_a_form_that_cannot_be_shown_blocks(hooks: Hooks) -> None:
    assert await hooks.run("claude-code", form(hooks, mode="url", url="https://a")) == (0, None, "")
    nested = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
    reply = await hooks.run("claude-code", form(hooks, requested_schema=nested))
    assert (reply.code, reply.output) == (2, None)
    assert await hooks.count() == 0


def stop(hooks: Hooks) -> dict[str, Any]:
    """Return the event of an agent that stops."""
    event = hooks.event("Stop", "", {}, "")
    own = {name: event[name] for name in ("session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id")}
    return own | {"stop_hook_active": False, "last_assistant_message": "The parser is fixed.\nAll tests pass."}


@BOTH
async def test_an_agent_stops_without_a_question_unless_it_is_wanted(hooks: Hooks, client: str) -> None:
    assert await hooks.run(client, stop(hooks)) == (0, None, "")
    assert await hooks.count() == 0


@BOTH
async def test_a_person_confirms_that_the_work_is_done(hooks: Hooks, client: str) -> None:
    process = await hooks.start(client, stop(hooks), "--confirm-stop")
    request = await hooks.opened()
    assert (request.title, request.kind) == ("Is this finished: The parser is fixed. All tests pass.", "finish")
    assert request.context["summary"] == "The parser is fixed.\nAll tests pass."
    await hooks.respond("approve")
    assert await ended(process) == (0, None, "")


@BOTH
@pytest.mark.parametrize("decision", ["reject", "respond"])
async def test_words_go_back_to_the_agent(hooks: Hooks, client: str, decision: str) -> None:
    reply = await hooks.decided(client, stop(hooks), decision, "--confirm-stop", message="add a test")
    assert reply.output == {"decision": "block", "reason": "ann says that this is not finished: add a test"}


async def test_a_word_of_consent_is_a_confirmation(hooks: Hooks) -> None:
    reply = await hooks.decided("claude-code", stop(hooks), "respond", "--confirm-stop", message="はい。")
    assert reply == (0, None, "")


async def test_an_agent_that_nobody_answers_stops(hooks: Hooks) -> None:
    assert await hooks.run("claude-code", stop(hooks), "--confirm-stop", "--timeout", "1") == (0, None, "")
    hooks.environment["RINGI_URL"] = "nonsense://x"
    reply = await hooks.run("claude-code", stop(hooks), "--confirm-stop")
    assert (reply.code, reply.output) == (1, None)
