"""What passes a gate: a client sees the same with and without it, over stdio, over HTTP, with several servers."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    Root,
    TextContent,
)
from tests.gateways.mcp_gate.gates import ALLOW, ASK, SERVER, Place, answer, text
from tests.runs.world import until

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("write", {"text": "x"}),
    ("read", {"path": "p"}),
    ("fail", {"code": 3}),
    ("show", {}),
    ("order", {"item": "hat"}),
    ("think", {}),
    ("grow", {}),
    ("grown", {}),
    ("nope", {}),
    ("write", {"bad": 1}),
    ("write", {"text": "x", "times": 2**70}),
]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path).rules(ALLOW)


class Seen:
    """Everything that a client with all capabilities sees of a server, in order."""

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self.notices: list[Any] = []

    @property
    def callbacks(self) -> dict[str, Any]:
        """The arguments of a client."""

        async def elicit(_: Any, params: Any) -> ElicitResult:
            self.notices.append(params.model_dump())
            return ElicitResult(action="accept", content={"size": 42})

        async def sample(_: Any, params: Any) -> CreateMessageResult:
            self.notices.append(params.model_dump())
            return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Hi!"), model="m-1")

        async def roots(_: Any) -> ListRootsResult:
            return ListRootsResult(roots=[Root(uri="file:///x")])

        async def on_message(message: Any) -> None:
            self.notices.append(message if isinstance(message, Exception) else message.model_dump(by_alias=True))

        callbacks = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
        return callbacks | {"message_handler": on_message, "log_level": "info"}

    async def see(self, client: Client) -> None:
        """Use everything that the server has."""
        self.replies += [client.server_info, client.server_capabilities, client.instructions, client.protocol_version]
        self.replies.append(await client.list_tools())
        for tool, arguments in CALLS:
            self.replies.append(await self.called(client, tool, arguments))
        await self.called(client, "work", {"steps": 20})
        reference = PromptReference(type="ref/prompt", name="greet")
        for work in (
            client.list_resources(),
            client.list_resource_templates(),
            client.read_resource("note://1"),
            client.read_resource("note://7/body"),
            client.list_prompts(),
            client.get_prompt("greet", {"name": "Ann"}),
            client.complete(reference, {"name": "name", "value": "q"}),
            client.list_tools(),
        ):
            self.replies.append(await work)
        for wrong in (client.read_resource("other://1"), client.get_prompt("other"), client.get_prompt("greet")):
            with pytest.raises(MCPError) as caught:
                await wrong
            self.replies.append(caught.value.error)

    async def called(self, client: Client, tool: str, arguments: dict[str, Any]) -> Any:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            self.notices.append((progress, total, message))

        try:
            return await client.call_tool(tool, arguments, progress_callback=on_progress)
        except MCPError as error:
            return error.error

    @property
    def texts(self) -> list[str]:
        """What was seen as JSON, so that 1 and 1.0 differ."""
        return [str(each) if not hasattr(each, "model_dump_json") else each.model_dump_json() for each in self.replies]


@MODES
async def test_a_client_sees_the_same_with_and_without_a_gate(place: Place, mode: str) -> None:
    seen = list[Seen]()
    for command in (place.server, place.gate()):
        seen.append(Seen())
        async with place.client(command=command, mode=mode, **seen[-1].callbacks) as client:
            await seen[-1].see(client)
    bare, gated = seen
    assert gated.texts == bare.texts
    assert gated.notices == bare.notices
    assert len(bare.notices) > 60
    ran = [(call["tool"], call["args"]) for call in place.ran()]
    assert ran[: len(ran) // 2] == ran[len(ran) // 2 :]


@asynccontextmanager
async def http_server(place: Place) -> AsyncIterator[str]:
    """Serve the stock server over HTTP; it wants a token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(SERVER), str(place.journal), str(port)]
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, "TOKEN": "secret"})

    async def listens() -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        return True

    try:
        await until(listens, "the server listens")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.wait()


@MODES
async def test_a_server_over_http_with_a_token(place: Place, mode: str) -> None:
    place.rules(ASK)
    async with http_server(place) as url, place.inbox() as inbox:
        with pytest.raises(Exception, match=r"."):
            async with Client(streamable_http_client(url), mode=mode):
                pass
        seen = Seen()
        gate = place.gate("--url", url, "--header", "Authorization: Bearer ${SHOP_TOKEN}", command=())
        async with place.client(command=gate, mode=mode, env={"SHOP_TOKEN": "secret"}, **seen.callbacks) as client:
            assert len((await client.list_tools()).tools) > 8
            assert text(await client.call_tool("read", {"path": "a"})).startswith("{")
            asked = asyncio.create_task(client.call_tool("order", {"item": "hat"}))
            await answer(inbox)
            assert text(await asked) == "ordered hat in 42"
            asked = asyncio.create_task(seen.called(client, "work", {"steps": 3}))
            await answer(inbox)
            assert text(await asked) == "did 3 steps"
            assert (3.0, 3.0, "step 3") in seen.notices
            hanging = asyncio.create_task(client.call_tool("hang", {"name": "a"}))
            await answer(inbox)

            async def ran(tool: str) -> bool:
                return bool(place.ran(tool))

            await until(lambda: ran("hang"), "it runs")
            hanging.cancel()
            await until(lambda: ran("canceled"), "it is canceled")


async def test_several_servers_behind_one_gate(place: Place) -> None:
    place.rules(
        {"rules": [{"tools": ["two_read"], "effect": "allow"}, {"tools": ["one_read"], "effect": "deny", "name": "no"}]}
    )
    options = [part for name in ("one", "two") for part in ("--server", f"{name}={shlex.join(place.server)}")]
    async with place.client(command=place.gate(*options, command=()), mode="auto") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"one_read", "two_read", "one_write"} <= {*names}
        assert (await client.call_tool("one_read", {"path": "a"})).is_error
        assert text(await client.call_tool("two_read", {"path": "b"})).startswith("{")
    assert [call["args"] for call in place.ran()] == [{"path": "b"}]


async def test_a_file_with_one_server_needs_no_prefix(place: Place) -> None:
    command, *args = place.server
    shop = {"command": command, "args": args, "env": {"A": "1"}}
    (place.folder / "mcp.json").write_text(json.dumps({"mcpServers": {"shop": shop}}), encoding="utf-8")
    gate = place.gate("--config", str(place.folder / "mcp.json"), command=())
    transport = StdioTransport(gate[0], gate[1:], env={**os.environ, "RINGI_URL": place.store})
    async with FastClient(transport) as client:
        assert (await client.call_tool("read", {"path": "a"})).data["path"] == "a"


async def test_the_server_does_not_get_the_token_of_ringi(place: Place) -> None:
    seen = "import os, sys; open(sys.argv[1], 'w').write(repr(sorted(os.environ)))"
    gate = place.gate(command=[sys.executable, "-c", seen, str(place.folder / "env")])
    env = {"RINGI_URL": "http://127.0.0.1:9", "RINGI_TOKEN": "token", "SHOP_TOKEN": "1"}
    with pytest.raises(Exception, match=r"."):
        async with place.client(command=gate, env=env):
            pass
    found = (place.folder / "env").read_text()
    assert "SHOP_TOKEN" in found
    assert "RINGI_" not in found


LAX = """import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        open("ran", "a").write(line)
    print(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": {}}), flush=True)
"""


@pytest.mark.parametrize("id", [{}, {"id": None}])
async def test_a_call_without_an_id_does_not_reach_the_server(place: Place, id: dict[str, None]) -> None:
    place.rules({"otherwise": "deny", "rules": [{"tools": ["read"], "effect": "allow"}]})
    (place.folder / "lax.py").write_text(LAX)
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "rm", "arguments": {}}, **id}
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    lines = "".join(f"{json.dumps(each)}\n" for each in (begin, call, {"jsonrpc": "2.0", "id": 2, "method": "ping"}))
    env = {**os.environ, "RINGI_URL": place.store}
    command = place.gate(command=[sys.executable, "lax.py"])
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, cwd=place.folder, env=env)
    assert process.stdin
    assert process.stdout
    process.stdin.write(lines.encode())
    try:
        async with asyncio.timeout(30):
            # The answer to the last message shows that the one before it has been handled.
            while json.loads(await process.stdout.readline()).get("id") != 2:
                pass
    finally:
        process.kill()
        await process.communicate()
    assert not (place.folder / "ran").exists()


async def test_servers_whose_tools_could_have_equal_names_are_refused(place: Place) -> None:
    command = place.gate("--server", "a=x", "--server", "a_b=y", command=[])
    process = await asyncio.create_subprocess_exec(*command, stderr=PIPE, stdin=PIPE)
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert b"its tools could have the names of those of 'a_b'" in errors


async def test_a_module_in_the_folder_does_not_run_in_the_gate(place: Place) -> None:
    place.rules(ALLOW)
    options = [part for name in ("one", "two") for part in ("--server", f"{name}={shlex.join(place.server)}")]
    (place.folder / "fastmcp.py").write_text("open('stolen', 'w'); raise SystemExit(1)")
    async with place.client(command=place.gate(*options, command=()), mode="auto") as client:
        assert (await client.list_tools()).tools
    assert not (place.folder / "stolen").exists()
