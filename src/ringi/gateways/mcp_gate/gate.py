"""Serves a gate over stdio: a proxy before MCP servers that asks the policy, and people, about each call of a tool."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import quote, urlsplit

from mcp.client._transport import TransportStreams
from mcp.server.stdio import stdio_server

from ringi.connect import resolved_url
from ringi.gateways.client_calls import ClientGate, Session, open_asker
from ringi.gateways.mcp_gate.calls import GatedCalls
from ringi.gateways.mcp_gate.relay import Relay
from ringi.gateways.mcp_gate.servers import ServerAddress, open_server
from ringi.integrations.askers import hashed
from ringi.policy.rules import PolicyFile

log = logging.getLogger(__name__)
WAIT_SECONDS = 50.0
"""Seconds for which a call waits for people; many clients give up after 60."""


class ConnectionGate:
    """The authorization of the calls of one connection; opens the inbox when it is needed, again after a failure.

    Args:
        policy: The policy.
        relay: The connection.
        servers: The servers, which belong to the identity of a call.
        stack: Closes the inbox.
    """

    def __init__(
        self, policy: PolicyFile, relay: Relay, servers: Mapping[str, ServerAddress], stack: AsyncExitStack
    ) -> None:
        self._policy, self._relay, self._stack = policy, relay, stack
        self._servers = {name: server.identity for name, server in sorted(servers.items())}
        self._id, self._lock = uuid.uuid4().hex, asyncio.Lock()
        self._gate: ClientGate | None = None

    async def opened(self) -> ClientGate:
        """Return the authorization.

        Raises:
            RingiError: The inbox cannot be opened now.
        """
        async with self._lock:
            if self._gate is None:
                session = Session(self._relay.client_name, self._id, str(Path.cwd()))
                inbox = await self._stack.enter_async_context(open_asker())
                scope = f"mcp-{hashed(session.client, session.folder, self._servers)}"
                self._gate = ClientGate(self._policy.policy, inbox, session, scope=scope)
            return self._gate


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
        relay = Relay(client, server)
        gate = ConnectionGate(policy, relay, servers, stack)
        calls = GatedCalls(relay, gate.opened, wait=wait, link=link)
        try:
            return await relay.run({"tools/call": calls.call, "resources/read": calls.read})
        finally:
            await calls.close()


def link(id: str) -> str:
    """Return the address where people answer a request; its id without a server."""
    url = resolved_url(None)
    return f"{url.rstrip('/')}/r/{quote(id, safe='')}" if urlsplit(url).scheme in ("http", "https") else id
