"""The MCP server with which any client asks people."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.request_state import RequestStateSecurity
from mcp_types import ListResourcesResult, Resource

from ringi.client.client import Client
from ringi.connect import resolved_url
from ringi.errors import NotFoundError, RingiError
from ringi.integrations.client_calls import open_asker
from ringi.integrations.mcp.own_requests import OwnRequests, ProcessRequests
from ringi.integrations.mcp.request_state import RequestState, state_of
from ringi.integrations.mcp.tools import AskTools, RequestsOf

NAME = "ringi"
INSTRUCTIONS = (
    "Asks people and waits for their answers, which may take minutes or days. Ask with ask_human or request_approval, "
    "then call get_request with the id until the status is no longer pending. Never act on a pending request."
)
LISTED = 50
"""The number of requests in the list of the caller's requests."""
RESOURCES, JSON = "ringi://requests/", "application/json"
Lifespan = Callable[[MCPServer[Any]], AbstractAsyncContextManager[Any]]


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
        return await own_resources(requests_of(ctx)) if ctx.method == "resources/list" else result

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
            return state_of(await requests.get(id), requests.address(id))
        except NotFoundError as error:
            raise ResourceNotFoundError(str(error)) from error
        except RingiError as error:
            raise ResourceError(str(error)) from error

    return server


async def own_resources(requests: OwnRequests) -> ListResourcesResult:
    """Return the newest requests of the caller as resources."""
    return ListResourcesResult(
        resources=[
            Resource(uri=f"{RESOURCES}{each.id}", name=each.id, title=f"{each.title} ({each.status})", mime_type=JSON)
            for each in await requests.find(LISTED)
        ]
    )


def process_server(url: str | None, page: str | None) -> MCPServer[Any]:
    """Return the server of one process, for a single client.

    Args:
        url: The server or the store to ask in; None for the default.
        page: The address of the page, if the requests are in a store; None if it is not known.
    """

    @asynccontextmanager
    async def open_requests(_: object) -> AsyncIterator[OwnRequests]:
        async with open_asker(url) as inbox:
            yield ProcessRequests(inbox, resolved_url(url) if isinstance(inbox, Client) else page)

    return mcp_server(lambda context: context.lifespan_context, lifespan=open_requests)
