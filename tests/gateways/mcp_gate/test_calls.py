"""The gate before an MCP server: each call runs once, with the approved arguments, or never."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client, MCPError
from mcp_types import ElicitResult, TextResourceContents
from tests.gateways.mcp_gate.gates import ALLOW, ASK, RINGI, Place, answer, has_run, opened, text
from tests.runs.world import until

from ringi.audit.verify import verify_store
from ringi.domain import Query
from ringi.inbox.inbox import StoreInbox

RULES = {
    "rules": [
        {"tools": ["read"], "effect": "allow"},
        {"tools": ["fail"], "effect": "deny", "name": "no failures", "reason": "ask the owner"},
        {"tools": ["write"], "where": {"times": {"at_most": 10}}, "effect": "allow"},
    ]
}
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path).rules(ASK)


@pytest.fixture
async def inbox(place: Place) -> AsyncIterator[StoreInbox]:
    async with place.inbox() as inbox:
        yield inbox
        assert (await verify_store(inbox.store))[1] == []


@MODES
async def test_a_policy_allows_denies_and_asks(place: Place, inbox: StoreInbox, mode: str) -> None:
    async with place.rules(RULES).client(mode=mode) as client:
        assert text(await client.call_tool("write", {"text": "a", "times": 3})) == "wrote a 3 times"
        denied = await client.call_tool("fail", {"code": 1})
        assert denied.is_error
        assert "the rule 'no failures' denies it: ask the owner" in text(denied)

        asked = asyncio.create_task(client.call_tool("write", {"text": "b", "times": 30}))
        (request,) = await opened(inbox)
        assert request.action
        assert (request.action.name, request.action.args) == ("write", {"text": "b", "times": 30})
        assert request.action.args_schema
        assert request.context == {"client": "mcp", "folder": str(place.folder)}
        await answer(inbox, "edit", args={"text": "b", "times": 20})
        assert text(await asked) == "wrote b 20 times"
        assert (await inbox.get(request.id)).outcome == "committed"

        asked = asyncio.create_task(client.call_tool("write", {"text": "c", "times": 30}))
        await answer(inbox, "reject", message="too many")
        refused = await asked
        assert refused.is_error
        assert "ann decided reject: too many" in text(refused)
    assert [call["args"] for call in place.ran()] == [{"text": "a", "times": 3}, {"text": "b", "times": 20}]


async def test_without_an_answer_the_client_is_told_to_come_again(place: Place, inbox: StoreInbox) -> None:
    async with place.client("--wait", "0.3") as client:
        # At first the inbox opens, which may take longer.
        await until(partial(is_asked, client, "write", {"text": "a"}), "people are asked")
        waiting = await client.call_tool("write", {"text": "a"})
        (request,) = await opened(inbox)
        assert waiting.is_error
        assert f"Not run yet: request {request.id} waits for a person." in text(waiting)
        await answer(inbox)
        await has_run(place, "write")
        resource = f"ringi://requests/{request.id}"

        async def found() -> Any:
            (content,) = (await client.read_resource(resource)).contents
            assert isinstance(content, TextResourceContents)
            body = json.loads(content.text)
            return body if "result" in body else None

        body = await until(found, "the result is there")
        assert (body["status"], body["outcome"], body["decision"]) == ("completed", "committed", "approve")
        assert text(await client.call_tool("write", {"text": "a"})) == "wrote a 1 times"
        with pytest.raises(MCPError, match="no request"):
            await client.read_resource("ringi://requests/other")
        await until(partial(is_asked, client, "write", {"text": "a"}), "people are asked again")
    assert len(place.ran()) == 1
    assert await inbox.count(Query()) == 2


async def is_asked(client: Client, tool: str, arguments: dict[str, Any]) -> bool:
    """Call a tool once more; return whether people are asked about the call."""
    return "Not run yet" in text(await client.call_tool(tool, arguments))


async def test_an_error_of_the_server_is_an_error_of_the_call(place: Place, inbox: StoreInbox) -> None:
    async with place.client() as client:
        asked = asyncio.create_task(client.call_tool("fail", {"code": 3}))
        request = await answer(inbox)
        result = await asked
        assert result.is_error
        assert "Error executing tool fail" in text(result)
    assert (await inbox.get(request.id)).outcome == "failed"


async def test_a_call_that_the_client_gave_up_runs_when_a_person_approves(place: Place, inbox: StoreInbox) -> None:
    async with place.client() as client:
        asked = asyncio.create_task(client.call_tool("write", {"text": "a"}))
        await opened(inbox)
        asked.cancel()
        await asyncio.wait({asked})
        # The cancellation was sent before this request, so it has arrived.
        assert text(await client.call_tool("read", {"path": "a"}))
        await answer(inbox)
        await has_run(place, "write")
        assert text(await client.call_tool("write", {"text": "a"})) == "wrote a 1 times"
    assert len(place.ran("write")) == await inbox.count(Query()) == 1


async def test_a_call_that_runs_is_canceled_at_the_server(place: Place, inbox: StoreInbox) -> None:
    async with place.client() as client:
        hanging = asyncio.create_task(client.call_tool("hang", {"name": "a"}))
        request = await answer(inbox)
        await has_run(place, "hang")
        hanging.cancel()
        await has_run(place, "canceled")
        assert (await inbox.get(request.id)).outcome == "unknown"
        assert text(await client.call_tool("read", {"path": "a"}))
        # The approval is used up.
        again = asyncio.create_task(client.call_tool("hang", {"name": "a"}))
        await answer(inbox, "reject")
        assert (await again).is_error
    assert len(place.ran("hang")) == 1


async def test_two_equal_calls_at_once_need_two_approvals(place: Place, inbox: StoreInbox) -> None:
    async with place.client() as client:
        calls = [asyncio.create_task(client.call_tool("write", {"text": "a"})) for _ in range(2)]
        await answer(inbox)
        done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        await answer(inbox, "reject", message="once is enough")
        assert [text(call.result()) for call in done] == ["wrote a 1 times"]
        assert "once is enough" in text(await waiting.pop())
    assert len(place.ran()) == 1


def gate_process(place: Place) -> psutil.Process:
    """Return the process of the gate, whose child is the server."""
    (gate,) = [each for each in psutil.Process().children(recursive=True) if str(place.policy) in each.cmdline()]
    return gate


async def lost(call: asyncio.Task[Any]) -> None:
    """Wait for the error of a call whose connection is gone."""
    with pytest.raises(MCPError):
        await call


async def test_a_gate_that_was_killed_while_it_waited_goes_on(place: Place, inbox: StoreInbox) -> None:
    async with place.client() as client:
        call = asyncio.create_task(client.call_tool("write", {"text": "a"}))
        (first,) = await opened(inbox)
        gate_process(place).kill()
        await lost(call)
    async with place.client() as client:
        call = asyncio.create_task(client.call_tool("write", {"text": "a"}))
        assert (await answer(inbox)).id == first.id
        assert text(await call) == "wrote a 1 times"
    assert len(place.ran()) == await inbox.count(Query()) == 1


async def test_a_call_whose_gate_was_killed_does_not_run_again_by_itself(place: Place, inbox: StoreInbox) -> None:
    async with place.client() as client:
        call = asyncio.create_task(client.call_tool("hang", {"name": "a"}))
        first = await answer(inbox)
        await has_run(place, "hang")
        gate_process(place).kill()
        await lost(call)
    assert (await inbox.get(first.id)).outcome == "unknown"
    async with place.client() as client:
        call = asyncio.create_task(client.call_tool("hang", {"name": "a"}))
        assert (await answer(inbox, "reject")).id != first.id
        assert (await call).is_error
    assert len(place.ran("hang")) == 1


async def test_a_server_that_dies_ends_the_gate_and_leaves_the_outcome_open(place: Place, inbox: StoreInbox) -> None:
    async with place.client() as client:
        gate = gate_process(place)
        call = asyncio.create_task(client.call_tool("die", {"name": "a"}))
        request = await answer(inbox)
        await lost(call)

        async def ended() -> bool:
            return not gate.is_running() or gate.status() == psutil.STATUS_ZOMBIE

        await until(ended, "the gate has ended")
    assert (await inbox.get(request.id)).outcome == "unknown"
    assert len(place.ran()) == 1


async def test_without_the_inbox_tools_are_listed_and_no_call_runs(place: Place) -> None:
    env = {"RINGI_URL": "http://127.0.0.1:9", "RINGI_TOKEN": "token"}
    async with place.rules(RULES).client("--wait", "0.5", env=env) as client:
        assert (await client.list_tools()).tools
        for arguments in ({"text": "a"}, {"text": "a", "times": 30}):
            result = await client.call_tool("write", arguments)
            assert result.is_error
            assert "Not run: the inbox did not answer in time" in text(result)
    async with place.client(env={"RINGI_URL": "http://127.0.0.1:9", "RINGI_TOKEN": ""}) as client:
        assert "RINGI_TOKEN" in text(await client.call_tool("write", {"text": "a"}))
    assert place.ran() == []


async def test_a_policy_that_breaks_stops_all_calls(place: Place, inbox: StoreInbox) -> None:
    async with place.client(env={"RINGI_ENABLED": "0"}) as client:
        for broken in ("{", "[]", '{"rules": [{"tool": "write"}]}'):
            place.rules(broken)
            result = await client.call_tool("read", {"path": "a"})
            assert result.is_error
            assert text(result).startswith("Not run: ")
        place.policy.unlink()
        assert "cannot read" in text(await client.call_tool("read", {"path": "a"}))
        # RINGI_ENABLED does not open the gate, and a rule that came later holds.
        place.rules(ASK)
        asked = asyncio.create_task(client.call_tool("write", {"text": "a"}))
        await opened(inbox)
        place.rules({"rules": [{"tools": ["write"], "effect": "deny", "name": "closed"}]})
        await answer(inbox)
        assert "'closed' denies it" in text(await asked)
    assert place.ran() == []


async def test_a_policy_that_only_asks_asks_about_all_tools(place: Place, inbox: StoreInbox) -> None:
    async with place.rules({"rules": [{"tools": ["write"]}]}).client() as client:
        asked = asyncio.create_task(client.call_tool("read", {"path": "a"}))
        await answer(inbox, "reject")
        assert (await asked).is_error
    assert place.ran() == []


@MODES
async def test_a_call_that_asks_its_client_is_approved_once(place: Place, inbox: StoreInbox, mode: str) -> None:
    async def elicit(*_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"size": 42})

    async with place.client(mode=mode, elicitation_callback=elicit) as client:
        call = asyncio.create_task(client.call_tool("order", {"item": "hat"}))
        request = await answer(inbox, "edit", args={"item": "cap"})
        assert text(await call) == "ordered cap in 42"
    assert (await inbox.get(request.id)).outcome == "committed"
    assert [call["args"] for call in place.ran()] == [{"item": "cap", "size": 42}]
    assert await inbox.count(Query()) == 1


@MODES
async def test_a_client_learns_for_whom_it_waits(place: Place, inbox: StoreInbox, mode: str) -> None:
    heard_of = list[tuple[float, str | None]]()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard_of.append((progress, message))

    async with place.client(mode=mode) as client:
        call = asyncio.create_task(client.call_tool("work", {"steps": 2}, progress_callback=on_progress))
        (request,) = await opened(inbox)

        async def heard() -> bool:
            return bool(heard_of)

        await until(heard, "the client heard of it")
        await answer(inbox)
        await call
    assert heard_of[0][1] == f"waiting for a person: {request.id}"
    assert [each for each in heard_of if each[0] >= 1] == [(1, "step 1"), (2, "step 2")]
    assert [done for done, _ in heard_of] == sorted(done for done, _ in heard_of)


async def test_a_gate_that_is_stopped_stops_its_server(place: Place) -> None:
    command = place.rules(ALLOW).gate(program=[str(RINGI)])
    async with place.client(command=command) as client:
        gate = gate_process(place)
        (server,) = gate.children()
        call = asyncio.create_task(client.call_tool("hang", {"name": "a"}))
        await has_run(place, "hang")
        gate.send_signal(signal.SIGTERM)
        await lost(call)

        async def ended() -> bool:
            return not server.is_running() or server.status() == psutil.STATUS_ZOMBIE

        await until(ended, "the server has ended")


async def test_malformed_calls_do_not_reach_the_server(place: Place) -> None:
    async with place.rules(ALLOW).client() as client:
        malformed: list[dict[str, Any]] = [{"name": "write", "arguments": ["a"]}, {"arguments": {}}, {"name": 1}]
        for params in malformed:
            with pytest.raises(MCPError, match="a call has a name"):
                await raw(client, "tools/call", params)
    assert place.ran() == []


async def raw(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request that the client would not."""
    result: dict[str, Any] = await client.session._dispatcher.send_raw_request(method, params)
    return result
