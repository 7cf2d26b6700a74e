"""Passes the messages between a client and a server of MCP unchanged, except for requests that a handler takes."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.dispatcher import CallOptions, DispatchContext, OnNotify, OnRequest
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY, RequestId

RpcParams = Mapping[str, Any]
RpcResult = dict[str, Any]
Context = DispatchContext[TransportContext]
RpcHandler = Callable[[Context, RpcParams], Awaitable[RpcResult | None]]
"""Handles a request of the client; None lets it pass to the server."""
ANONYMOUS = "mcp-client"


class McpRelay:
    """The connection of one client with one server.

    Requests keep their ids, progress tokens and errors, so that either side sees the other as without a relay; methods
    that this program does not know pass too. The SDK pairs replies with requests and passes cancellations on.

    Args:
        client: The streams of the client.
        server: The streams of the server.
    """

    def __init__(self, client: TransportStreams, server: TransportStreams) -> None:
        self._client: JSONRPCDispatcher = JSONRPCDispatcher(*client)
        self._server: JSONRPCDispatcher = JSONRPCDispatcher(*server)
        self._version: str | None = None
        self._tools: dict[str, Any] | None = None
        self.client_name = ANONYMOUS
        """The name by which the client introduced itself."""

    async def run(self, handlers: Mapping[str, RpcHandler]) -> bool:
        """Pass messages until one side closes its connection; return whether that was the client.

        Args:
            handlers: Handlers of requests of the client, by method.
        """

        async def on_request(context: Context, method: str, params: RpcParams | None) -> RpcResult:
            self._introduce(method, params or {})
            handler = handlers.get(method)
            handled = await handler(context, params or {}) if handler else None
            return await self.forward(method, params, context.request_id) if handled is None else handled

        async def on_notice(context: Context, method: str, params: RpcParams | None) -> None:
            # A server may run a call that has no id too. The SDK passes cancellations of what the server got.
            if method not in (*handlers, "notifications/cancelled"):
                headers = {MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version else {}
                await self._server.notify(method, params, {"headers": headers})

        ended = list[JSONRPCDispatcher]()
        async with anyio.create_task_group() as both:

            async def until_closed(side: JSONRPCDispatcher, requests: OnRequest, notices: OnNotify) -> None:
                await side.run(requests, notices)
                ended.append(side)
                both.cancel_scope.cancel()

            both.start_soon(until_closed, self._server, self._on_server_request, self._on_server_notice)
            both.start_soon(until_closed, self._client, on_request, on_notice)
        return ended[0] is self._client

    async def forward(self, method: str, params: RpcParams | None, id: RequestId | None = None) -> RpcResult:
        """Send a request to the server and return the result.

        Args:
            method: The method.
            params: The parameters.
            id: The id of the client's request; None for a request of the gate.

        Raises:
            MCPError: The server answered with an error, or its connection is closed.
        """
        options: CallOptions = {
            "request_id": f"ringi-{uuid.uuid4().hex}" if id is None else id,
            "headers": await self._headers(method, params or {}),
            "cancel_on_abandon": method not in ("initialize", "server/discover"),  # The protocol forbids it.
        }
        result = await self._server.send_raw_request(method, params, options)
        if method == "initialize":
            self._version = result.get("protocolVersion")
        return result

    async def schema(self, tool: str, params: RpcParams) -> dict[str, Any] | None:
        """Return the JSON Schema of the arguments of a tool; None for an unknown tool.

        Args:
            tool: The name of the tool.
            params: The parameters of the call, whose metadata the list of tools needs too.
        """
        if self._tools is None or tool not in self._tools:
            tools, page = dict[str, Any](), {"_meta": gate_request_metadata(params)}
            while True:
                listed = await self.forward("tools/list", page)
                tools |= {each["name"]: each.get("inputSchema") for each in listed["tools"]}
                if not listed.get("nextCursor"):
                    break
                page = {**page, "cursor": listed["nextCursor"]}
            self._tools = tools
        return self._tools.get(tool)

    async def _headers(self, method: str, params: RpcParams) -> dict[str, str]:
        """Return the headers of a request, which only a server over HTTP sees."""
        meta = params.get("_meta") or {}
        modern = meta.get(PROTOCOL_VERSION_META_KEY)
        if not isinstance(modern, str):
            return {MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version and method != "initialize" else {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: modern, MCP_METHOD_HEADER: method}
        if (key := NAME_BEARING_METHODS.get(method)) and isinstance(name := params.get(key), str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        if method == "tools/call":
            schema = await self.schema(params["name"], params)
            headers |= mcp_param_headers(x_mcp_header_map(schema or {}), params.get("arguments") or {})
        return headers

    def _introduce(self, method: str, params: RpcParams) -> None:
        if self.client_name == ANONYMOUS:
            meta = params.get("_meta") or {}
            info = params.get("clientInfo") if method == "initialize" else meta.get(CLIENT_INFO_META_KEY)
            if isinstance(info, Mapping) and isinstance(name := info.get("name"), str) and name.strip():
                self.client_name = name.strip()

    async def _on_server_request(self, context: Context, method: str, params: RpcParams | None) -> RpcResult:
        id = context.request_id
        return await self._client.send_raw_request(method, params, {"request_id": id} if id is not None else {})

    async def _on_server_notice(self, context: Context, method: str, params: RpcParams | None) -> None:
        if method == "notifications/tools/list_changed":
            self._tools = None
        if method != "notifications/cancelled":
            await self._client.notify(method, params)


def gate_request_metadata(params: RpcParams) -> dict[str, Any]:
    """Return the metadata for a request of the gate itself: nobody waits for its progress."""
    return {name: value for name, value in (params.get("_meta") or {}).items() if name != "progressToken"}
