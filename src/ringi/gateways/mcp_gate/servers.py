"""Opens the connection to the server behind a gate: a command, a URL, or several of them as one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from ringi.gateways.client_calls import gated_program_environment

CONNECT_SECONDS = 30.0
CONFIG = "MCP_GATE_SERVERS"
"""The variable with several servers, in the form of `mcpServers`; a command line would show their secrets."""
MODULE = "ringi.gateways.mcp_gate.servers"
"""This module, as the process that serves several servers as one over stdio."""


class ServerAddress(NamedTuple):
    """Where a server is."""

    command: tuple[str, ...] = ()
    """The command line of a server over stdio."""
    url: str | None = None
    headers: Mapping[str, str] = {}
    """The headers of each request to the URL."""
    env: Mapping[str, str] = {}
    """Further variables of the command."""
    cwd: str | None = None
    """The folder of the command."""

    @property
    def identity(self) -> list[str]:
        """The server in the identity of its calls, without secrets."""
        return [*self.command] if self.url is None else [self.url]

    @property
    def settings(self) -> dict[str, Any]:
        """The server in the form of `mcpServers`."""
        if self.url is not None:
            return {"url": self.url, "headers": dict(self.headers)}
        command, *args = self.command
        return {"command": command, "args": args, "env": {**gated_program_environment(), **self.env}, "cwd": self.cwd}


@asynccontextmanager
async def open_server(servers: Mapping[str, ServerAddress]) -> AsyncIterator[TransportStreams]:
    """Connect to a server, or to several as one: then FastMCP prefixes the names of their tools.

    Args:
        servers: The servers by name.
    """
    if len(servers) > 1:
        config = json.dumps({"mcpServers": {name: server.settings for name, server in servers.items()}})
        servers = {"all": ServerAddress((sys.executable, "-P", "-m", MODULE), env={CONFIG: config})}
    (server,) = servers.values()
    if server.url is not None:
        # A call may take longer than any limit; the client gives up when it likes.
        timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
        async with (
            httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout) as http,
            streamable_http_client(server.url, http_client=http) as streams,
        ):
            yield streams
        return
    async with stdio_client(StdioServerParameters(**server.settings), sys.stderr) as streams:
        yield streams


def serve_several() -> None:
    """Serve the servers of the environment as one over stdio until the gate closes its end."""
    from fastmcp.server import create_proxy

    create_proxy(json.loads(os.environ.pop(CONFIG))).run("stdio", show_banner=False)


if __name__ == "__main__":
    serve_several()
