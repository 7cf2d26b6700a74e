"""An editor on the official SDK, the proxy as a process, and an agent on the official SDK behind it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import ClientCapabilities
from tests import warm
from tests.runs.world import until

from ringi import Request
from ringi.connect import store_inbox
from ringi.domain import Query
from ringi.inbox.inbox import StoreInbox

AGENT = str(Path(__file__).with_name("agent.py"))
COMMAND = (sys.executable, "-c", "from ringi.cli import main; main()", "acp")


class Editor:
    """An editor that collects what the agent says, and allows nothing itself."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.updates: list[str] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.session_update)
        if update.session_update == "agent_message_chunk":
            self.texts.append(update.content.text)

    async def request_permission(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the editor was asked")


class Place:
    """A folder with an inbox, in which editors work."""

    def __init__(self, folder: Path, inbox: StoreInbox) -> None:
        self.folder, self.inbox = folder, inbox
        self.editor: Any = Editor()
        self.environment = {**os.environ, "RINGI_URL": f"sqlite:///{folder / 'ringi.db'}", "RINGI_ENABLED": "0"}

    @asynccontextmanager
    async def agent(self, *options: str) -> AsyncIterator[tuple[Any, Any]]:
        proxy = warm.ringi_program("ringi.gateways.acp.proxy")
        command = (*proxy, "acp", *options, "--", *warm.program(AGENT, "acp"))
        spawned = acp.spawn_agent_process(
            self.editor, *command, env=self.environment, transport_kwargs={"stderr": None}, use_unstable_protocol=True
        )
        async with spawned as (connection, process):
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=ClientCapabilities())
            await connection.new_session(cwd=str(self.folder), mcp_servers=[])
            yield connection, process

    def prompt(self, connection: Any, **wanted: Any) -> asyncio.Task[Any]:
        return asyncio.create_task(connection.prompt(session_id="s1", prompt=[acp.text_block(json.dumps(wanted))]))

    @property
    def ran(self) -> list[str]:
        file = self.folder / "ran"
        return file.read_text().splitlines() if file.exists() else []

    async def opened(self, count: int = 1) -> list[Request]:
        async def found() -> tuple[list[Request]] | None:
            requests = await self.inbox.search(Query(statuses=("pending",)))
            return (requests,) if len(requests) == count else None

        return (await until(found, f"{count} requests are open"))[0]

    async def answer(self, decision: Any = "approve", **more: Any) -> Request:
        (request,) = await self.opened()
        return await self.inbox.respond(request, decision, by="ann", **more)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with store_inbox(f"sqlite:///{tmp_path / 'ringi.db'}", poll_interval=0.05) as inbox:
        yield Place(tmp_path, inbox)


async def test_a_command_waits_for_the_inbox_and_its_outcome_is_on_record(place: Place) -> None:
    async with place.agent() as (connection, _):
        prompt = place.prompt(connection, commands=["make clean"])
        (request,) = await place.opened()
        assert request.action
        assert (request.action.name, request.action.args) == ("execute", {"command": "make clean"})
        assert (request.thread_id, request.asked_by) == ("shell-agent:s1", "agent:shell agent")
        assert request.context == {"client": "shell agent", "folder": str(place.folder)}
        assert request.allowed == ("approve", "reject")
        assert place.ran == []
        await place.answer()
        assert (await prompt).stop_reason == "end_turn"
        assert (place.ran, place.editor.texts) == (["make clean"], ["make clean: once"])
        assert place.editor.updates == ["tool_call", "agent_message_chunk", "tool_call_update"]

        async def committed() -> bool:
            return (await place.inbox.get(request.id)).outcome == "committed"

        await until(committed, "the outcome is on record")


async def test_a_rejection_and_a_denial_run_nothing(place: Place) -> None:
    policy = place.folder / "policy.json"
    rules = [
        {"tools": ["execute"], "where": {"command": {"matches": "rm .*"}}, "effect": "deny", "name": "no rm"},
        {"tools": ["execute"], "where": {"command": {"matches": "ls.*"}}, "effect": "allow"},
    ]
    policy.write_text(json.dumps({"rules": rules}))
    async with place.agent("--policy", str(policy)) as (connection, _):
        await place.prompt(connection, commands=["rm -r .", "ls"])
        assert sorted(place.editor.texts) == ["ls: once", "rm -r .: no"]
        prompt = place.prompt(connection, commands=["make clean"])
        await place.answer("reject")
        await prompt
    assert place.ran == ["ls"]
    assert place.editor.texts[-1] == "make clean: no"


async def test_a_call_that_can_only_be_allowed_for_ever_is_refused(place: Place) -> None:
    async with place.agent() as (connection, _):
        await place.prompt(connection, commands=["make"], options=["always"])
    assert (place.ran, place.editor.texts) == ([], ["make: False"])
    assert await place.inbox.find() == []


async def test_calls_at_once_are_answered_one_by_one(place: Place) -> None:
    async with place.agent() as (connection, _):
        prompt = place.prompt(connection, commands=["a", "b", "c", "a"])
        for request in await place.opened(3):
            decision: Any = "reject" if request.action and request.action.args["command"] == "b" else "approve"
            await place.inbox.respond(request, decision, by="ann")
        # The same command twice needs two approvals.
        await place.answer()
        await prompt
    assert sorted(place.ran) == ["a", "a", "c"]


async def test_a_stopped_turn_cancels_its_requests(place: Place) -> None:
    async with place.agent() as (connection, _):
        prompt = place.prompt(connection, commands=["make clean"])
        (request,) = await place.opened()
        await connection.cancel(session_id="s1")
        await prompt
        await place.opened(0)
    ended = await place.inbox.get(request.id)
    assert (ended.status, ended.reason, place.ran) == ("cancelled", "the editor has stopped this turn", [])


async def test_an_editor_that_ends_leaves_no_open_request(place: Place) -> None:
    async with place.agent() as (connection, _):
        prompt = place.prompt(connection, commands=["make clean"])
        (request,) = await place.opened()
    with pytest.raises(ConnectionError):
        await prompt
    assert ((await place.inbox.get(request.id)).status, place.ran) == ("cancelled", [])


async def test_a_killed_proxy_runs_nothing(place: Place) -> None:
    async with AsyncExitStack() as stack:
        connection, process = await stack.enter_async_context(place.agent())
        prompt = place.prompt(connection, commands=["make clean"])
        await place.opened()
        process.kill()
        await process.wait()
        with pytest.raises(ConnectionError):
            await prompt
        await place.answer()
    assert place.ran == []


async def test_without_ringi_nothing_is_allowed(place: Place) -> None:
    place.environment |= {"RINGI_URL": "http://127.0.0.1:9", "RINGI_TOKEN": "token"}
    policy = place.folder / "policy.json"
    policy.write_text('{"rules": [{"tools": ["execute"], "effect": "allow"}]}')
    async with place.agent("--policy", str(policy)) as (connection, _):
        prompt = place.prompt(connection, commands=["make clean"])
        await connection.cancel(session_id="s1")
        await prompt
    assert (place.ran, place.editor.texts) == ([], ["make clean: False"])


@pytest.mark.parametrize(
    ("decision", "more", "result"),
    [
        ("respond", {"data": {"name": "shop"}}, {"action": "accept", "content": {"name": "shop"}}),
        ("reject", {}, {"action": "decline"}),
    ],
)
async def test_a_form_of_the_agent_is_answered_in_the_inbox(
    place: Place, decision: str, more: Any, result: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    async with place.agent() as (connection, _):
        prompt = place.prompt(connection, form={"message": "How is the project called?", "schema": schema})
        await place.answer(decision, **more)
        await prompt
    (text,) = place.editor.texts
    assert {name: value for name, value in json.loads(text).items() if value is not None} == result


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{}}' % (b"1" * 5_000),
        b'{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"x":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"session/request_permission","method":"session/update","params":{}}',
        b'[{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{}}]',
        b"[" * 100_000,
    ],
    ids=["number", "bytes", "keys", "batch", "depth"],
)
async def test_a_line_that_others_could_read_otherwise_does_not_reach_the_editor(place: Place, line: bytes) -> None:
    (place.folder / "line").write_bytes(line + b'\n{"jsonrpc":"2.0","method":"next"}\n')
    code = "import shutil, sys; shutil.copyfileobj(open('line', 'rb'), sys.stdout.buffer)"
    assert await output_of(place, code) == b'{"jsonrpc":"2.0","method":"next"}\n'


async def test_the_agent_does_not_get_the_token_of_the_proxy(place: Place) -> None:
    code = "import json, os; print(json.dumps({'names': [name for name in os.environ if name.startswith('RINGI')]}))"
    assert json.loads(await output_of(place, code, *COMMAND)) == {"names": []}


async def output_of(place: Place, code: str, *command: str) -> bytes:
    """Return what an editor gets from an agent that is this code, through a command or a fork that starts at once."""
    proxy = command or (*warm.ringi_program("ringi.gateways.acp.proxy"), "acp")
    process = await asyncio.create_subprocess_exec(
        *proxy, "--", sys.executable, "-c", code, stdin=PIPE, stdout=PIPE, env=place.environment, cwd=place.folder
    )
    assert process.stdout
    output = await process.stdout.read()
    await process.communicate()
    return output
