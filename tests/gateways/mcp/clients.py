"""Stock MCP clients: the official SDK's and FastMCP's, each in both eras of the protocol."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastmcp
import httpx2
import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from tests import warm

ERAS = {"2025-11-25": "legacy", "2026-07-28": "auto"}
KINDS = ("sdk", "fastmcp")
LIMIT = 30.0
COMMAND = (str(Path(sys.executable).with_name("ringi")), "mcp")


@dataclass(frozen=True)
class Stdio:
    """A server that the client starts."""

    environment: dict[str, str]
    command: tuple[str, ...] = field(default_factory=lambda: (*warm.ringi_program("ringi.gateways.mcp.server"), "mcp"))
    folder: Path | None = None


@dataclass(frozen=True)
class Http:
    """A server at an address."""

    url: str
    headers: dict[str, str]


def plain_environment(**more: str) -> dict[str, str]:
    """Return the environment without settings of Ringi."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")} | more


class Model:
    """Calls tools as a model does."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured output of a tool; fail on an error."""
        result = await self._called(tool, arguments)
        assert not is_error(result), result.content
        found: dict[str, Any] = result.structured_content
        return found

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Return the error of a tool; fail without one."""
        result = await self._called(tool, arguments)
        assert is_error(result), result
        text: str = result.content[0].text
        return text

    async def _called(self, tool: str, arguments: dict[str, Any]) -> Any:
        if isinstance(self.client, fastmcp.Client):
            return await self.client.call_tool(tool, arguments, raise_on_error=False)
        return await self.client.call_tool(tool, arguments)


def is_error(result: Any) -> bool:
    return bool(getattr(result, "is_error", False))


@asynccontextmanager
async def connected(
    server: Stdio | Http, kind: str = "sdk", era: str = "2026-07-28", elicit: Any = None
) -> AsyncIterator[Model]:
    """Connect a client, which must negotiate this era."""
    async with _client(server, kind, ERAS[era], elicit) as client:
        assert client.protocol_version == era
        yield Model(client)


@asynccontextmanager
async def _client(server: Stdio | Http, kind: str, mode: Any, elicit: Any) -> AsyncIterator[Any]:
    if kind == "fastmcp":
        async with fastmcp.Client(
            _fastmcp_transport(server), mode=mode, timeout=LIMIT, elicitation_handler=elicit
        ) as c:
            yield c
        return
    options: dict[str, Any] = {"mode": mode, "read_timeout_seconds": LIMIT, "elicitation_callback": elicit}
    if isinstance(server, Stdio):
        command, *arguments = server.command
        parameters = StdioServerParameters(command=command, args=arguments, env=server.environment, cwd=server.folder)
        async with mcp.Client(parameters, **options) as client:
            yield client
        return
    async with (
        httpx2.AsyncClient(headers=server.headers, timeout=LIMIT) as http,
        mcp.Client(streamable_http_client(server.url, http_client=http), **options) as client,
    ):
        yield client


def _fastmcp_transport(server: Stdio | Http) -> Any:
    if isinstance(server, Http):
        return StreamableHttpTransport(server.url, headers=server.headers)
    command, *arguments = server.command
    folder = str(server.folder) if server.folder else None
    return StdioTransport(command, arguments, env=server.environment, cwd=folder, keep_alive=False)
