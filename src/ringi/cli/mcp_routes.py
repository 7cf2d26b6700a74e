"""The route of MCP clients on a server."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ringi.integrations.askers import hashed
from ringi.server.app import MCP_SESSION
from ringi.server.auth.authenticator import Authenticator, VerifiedToken, base_of, bearer_token
from ringi.server.components import ServerComponents
from ringi.server.extension import Extension
from ringi.server.identity import public_url
from ringi.server.limits import AskLimits
from ringi.server.own_requests import CallerRequests
from ringi.server.refusals import UnauthenticatedError
from ringi.server.sse.sse import Streams
from ringi.server.strict_route import StrictPlainRoute

if TYPE_CHECKING:
    from ringi.integrations.mcp.http import McpHandler

HANDLER = "ringi.integrations.mcp.http"

PATH, METHODS = "/mcp", ["POST", "DELETE"]
"""Without GET: nothing is sent to a client that has not called."""


class McpEndpoint:
    """The ASGI endpoint of MCP clients: authenticates each call, which is one of the caller's open connections."""

    def __init__(self, components: ServerComponents, auth: Authenticator, limits: AskLimits, streams: Streams) -> None:
        self._components, self._auth, self._limits, self._streams = components, auth, limits, streams
        self._public_url = public_url()
        self._handler: McpHandler | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        headers = Headers(scope=scope)
        token, session = self._verified_token(scope, headers), headers.get(MCP_SESSION)
        caller = token.principal
        base = self._public_url or f"{scope['scheme']}://{headers['host']}{base_of(scope)}"
        requests = CallerRequests(
            self._components,
            self._limits,
            self._streams,
            self._auth,
            token,
            session=hashed(session)[:12] if session else None,
            base=base,
        )
        with self._streams.slot(caller):
            handler = self._handler or await self._open()
            # A name may contain any separator but a colon, and a tenant even that.
            id = ":".join((caller.role, caller.name, caller.tenant))
            await handler.handle(id, requests, scope, receive, send)

    async def _open(self) -> McpHandler:
        """Return the handler, whose libraries a server imports with the first call: they take most of a second."""
        module = await asyncio.to_thread(import_module, HANDLER)
        if self._handler is None:
            key, settings = self._components.keys.derive("mcp"), self._components.settings
            self._handler = module.McpHandler(key, settings.max_body, self._streams.wait)
        return self._handler

    def _verified_token(self, scope: Scope, headers: Headers) -> VerifiedToken:
        """Return the token of the caller. A cookie does not count, and a page of another site is refused."""
        settings = self._components.settings
        if bearer_token(scope) is None and not settings.no_auth:
            raise UnauthenticatedError
        if not {"*", headers.get("origin")} & {*settings.cors_origins}:
            self._auth.refuse_foreign(scope, headers, is_origin_needed=False)
        return self._auth.verified_token(scope)


class McpRoutes:
    """The route of MCP clients."""

    def __init__(self, components: ServerComponents, auth: Authenticator, limits: AskLimits, streams: Streams) -> None:
        self._parts = (components, auth, limits, streams)

    def add_to(self, api: FastAPI) -> None:
        """Add no route: the only one streams."""

    def streams(self) -> list[Route]:
        """Return the route."""
        return [StrictPlainRoute(PATH, McpEndpoint(*self._parts), methods=METHODS)]


EXTENSION = Extension(McpRoutes)
