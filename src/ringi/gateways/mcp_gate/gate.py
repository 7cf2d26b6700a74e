"""Serves a gate over stdio: a proxy before MCP servers that asks the policy, and people, about each call of a tool."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from mcp.client._transport import TransportStreams
from mcp.server.stdio import stdio_server

from ringi.base.canonical_json import short_json_hash
from ringi.connect import open
from ringi.gateways.client_calls import ClientGate, ClientSession
from ringi.gateways.mcp_gate.calls import GatedCalls
from ringi.gateways.mcp_gate.relay import McpRelay
from ringi.gateways.mcp_gate.servers import ServerAddress, open_server
from ringi.policy.rules import PolicyFile

WAIT_SECONDS = 50.0
"""Seconds for which a call waits for people; many clients give up after 60."""


async def serve_gate(servers: Mapping[str, ServerAddress], policy: PolicyFile, *, wait: float = WAIT_SECONDS) -> None:
    """Serve a gate over stdio until the client closes its connection; end this process if the server closes its own.

    Args:
        servers: The servers by name.
        policy: The policy.
        wait: Seconds for which a call waits for people.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    async with stdio_server() as client:
        try:
            is_over = await _serve(client, servers, policy, wait)
        except asyncio.CancelledError:
            is_over = False
        if not is_over:
            # A thread still waits for the next line of the client, and would keep the process alive.
            sys.stderr.flush()
            os._exit(1)


async def _serve(
    client: TransportStreams, servers: Mapping[str, ServerAddress], policy: PolicyFile, wait: float
) -> bool:
    async with AsyncExitStack() as stack, open_server(servers) as server:
        relay, lock, id = McpRelay(client, server), asyncio.Lock(), uuid.uuid4().hex
        gate: ClientGate | None = None

        async def open_gate() -> ClientGate:
            # The inbox is opened when it is needed, and again after a failure.
            nonlocal gate
            async with lock:
                if gate is None:
                    session = ClientSession(relay.client_name, id, str(Path.cwd()))
                    inbox = await stack.enter_async_context(open())
                    identities = {name: each.identity for name, each in sorted(servers.items())}
                    scope = f"mcp-{short_json_hash(session.client, session.folder, identities)}"
                    gate = ClientGate(policy.policy, inbox, session, scope=scope)
                return gate

        calls = GatedCalls(relay, open_gate, wait=wait)
        try:
            return await relay.run({"tools/call": calls.call, "resources/read": calls.read})
        finally:
            await calls.close()
