"""The MCP server with which any client asks people, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.request_state import RequestStateSecurity
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp_types import ListResourcesResult, Resource
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from ringi.client.client import Client
from ringi.connect import open, resolve_inbox_url
from ringi.errors import NotFoundError, RingiError
from ringi.gateways.mcp.requests import McpProcessRequests, McpRequests, RequestState, mcp_request_state
from ringi.gateways.mcp.tools import AskTools, RequestsOf

NAME = "ringi"
INSTRUCTIONS = (
    "Asks people and waits for their answers, which may take minutes or days. Ask with ask_human or request_approval, "
    "then call get_request with the id until the status is no longer pending. Never act on a pending request."
)
LISTED = 50
"""The number of requests in the list of the caller's requests."""
RESOURCES, JSON = "ringi://requests/", "application/json"
Lifespan = Callable[[MCPServer[Any]], AbstractAsyncContextManager[Any]]
OWN_REQUESTS, CALLER = "ringi.own_requests", "ringi.mcp_caller"
STATE_SECONDS = 7 * 86_400.0
"""The time within which a client may return from an elicitation."""
MAX_SESSIONS, MAX_OWN_SESSIONS = 2_000, 50
"""The maximum number of open sessions, of all callers and of one: many clients never end theirs."""


def mcp_server(
    requests_of: RequestsOf, security: RequestStateSecurity | None = None, lifespan: Lifespan | None = None
) -> MCPServer[Any]:
    """Return the server with its tools and resources.

    Args:
        requests_of: Returns the requests of the caller.
        security: Protects the state that a client carries between two calls; by default with a key of this process.
        lifespan: Opened while the server runs; what it returns is the context of each call.
    """

    async def list_own(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method != "resources/list":
            return result
        own = [(f"{each.title} ({each.status})", each.id) for each in await requests_of(ctx).find(LISTED)]
        resources = [Resource(uri=f"{RESOURCES}{id}", name=id, title=title, mime_type=JSON) for title, id in own]
        return ListResourcesResult(resources=resources)

    server: MCPServer[Any] = MCPServer(
        NAME,
        title="Ringi",
        version=version("ringi"),
        instructions=INSTRUCTIONS,
        tools=AskTools(requests_of).tools(),
        request_state_security=security,
        lifespan=lifespan,
        middleware=[list_own],
        subscriptions=False,
        log_level="WARNING",
    )

    @server.resource(f"{RESOURCES}{{id}}", title="A request that you asked", mime_type=JSON)
    async def read_request(id: str, context: Context[Any, Any]) -> RequestState:
        """Return the state of a request that you asked, as JSON."""
        requests = requests_of(context.request_context)
        try:
            return mcp_request_state(await requests.get(id), requests.address(id))
        except NotFoundError as error:
            raise ResourceNotFoundError(str(error)) from error
        except RingiError as error:
            raise ResourceError(str(error)) from error

    return server


def mcp_process_server(url: str | None, page: str | None) -> MCPServer[Any]:
    """Return the server of one process, for a single client.

    Args:
        url: The server or the store to ask in; None for the default.
        page: The address of the page, if the requests are in a store; None if it is not known.
    """

    @asynccontextmanager
    async def open_requests(_: object) -> AsyncIterator[McpRequests]:
        async with open(url) as inbox:
            yield McpProcessRequests(inbox, resolve_inbox_url(url) if isinstance(inbox, Client) else page)

    return mcp_server(lambda context: context.lifespan_context, lifespan=open_requests)


class McpHandler:
    """Handles the HTTP calls of MCP clients, in both eras of the protocol.

    Sessions of the older era live in this process; a client opens another one after a restart.

    Args:
        key: The key that protects the state that a client carries; the same in all processes of the server.
        max_body: The maximum size of a body in bytes.
        until_closed: Runs work until it ends or the server closes, and then cancels it.
    """

    def __init__(
        self, key: str, max_body: int, until_closed: Callable[[Awaitable[object]], Coroutine[Any, Any, None]]
    ) -> None:
        self._until_closed = until_closed
        security = RequestStateSecurity(
            keys=[key], ttl=STATE_SECONDS, bind_principal=lambda context: str(_scope(context)[CALLER])
        )
        server = mcp_server(lambda context: _scope(context)[OWN_REQUESTS], security)
        # Without a host, the SDK checks neither host nor origin.
        server.streamable_http_app(host="", max_request_body_size=max_body, max_sessions=MAX_SESSIONS)
        self._manager = server.session_manager
        self._running: asyncio.Task[None] | None = None
        self._is_ready = asyncio.Event()
        self._sessions: dict[str, OrderedDict[str, None]] = {}
        """The sessions of each caller, with the last used at the end."""

    async def handle(self, caller: str, requests: McpRequests, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call, whose caller, host and origin have been checked.

        Args:
            caller: Identifies the caller: a session belongs to the one who opened it.
            requests: The requests of the caller.
            scope: The ASGI scope of the call.
            receive: The function that returns the parts of the body.
            send: The function that sends the parts of the reply.
        """
        scope[OWN_REQUESTS], scope[CALLER] = requests, caller
        # The SDK compares it with the user who opened the session.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))
        if self._running is None:
            self._running = asyncio.create_task(self._until_closed(self._run()))
        await self._is_ready.wait()
        sessions = self._sessions.setdefault(caller, OrderedDict())

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start":
                session = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if session:
                    sessions[session] = None
                    sessions.move_to_end(session)
            await send(message)

        while len(sessions) >= MAX_OWN_SESSIONS and MCP_SESSION_ID_HEADER not in Headers(scope=scope):
            headers = [(MCP_SESSION_ID_HEADER.encode(), sessions.popitem(last=False)[0].encode())]
            end = {**scope, "method": "DELETE", "headers": headers}
            await self._manager.handle_request(end, end_of_empty_body, send_nothing)
        await self._manager.handle_request(scope, receive, send_and_note)

    async def _run(self) -> None:
        async with self._manager.run():
            self._is_ready.set()
            await asyncio.Event().wait()


async def end_of_empty_body() -> Message:
    """Return the end of an empty body."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def send_nothing(message: Message) -> None:
    """Send nothing."""


def _scope(context: ServerRequestContext[Any, Any]) -> Scope:
    if context.request is None:
        raise RuntimeError("the call did not come over HTTP")
    scope: Scope = context.request.scope
    return scope
