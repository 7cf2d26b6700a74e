"""The route of MCP clients on a server; a caller reaches its own requests, with the checks of the other routes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from ringi.base.canonical_json import short_json_hash
from ringi.domain.ask import Answer, Ask
from ringi.domain.decisions import MCP
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import NotFoundError, WaitTimeoutError
from ringi.inbox.inbox import StoreInbox
from ringi.server.app import MCP_SESSION
from ringi.server.auth.authenticator import Principal, VerifiedToken, bearer_token, server_base_path
from ringi.server.auth.permissions import (
    inbox_for,
    is_theirs_to_answer,
    require_answerable,
    require_cancellable,
    require_person,
)
from ringi.server.calls import StrictPlainRoute
from ringi.server.extension import Extension, RouteContext
from ringi.server.identity import public_url
from ringi.server.limits import submit_for_caller
from ringi.server.refusals import UnauthenticatedError

if TYPE_CHECKING:
    from ringi.gateways.mcp.server import McpHandler

HANDLER = "ringi.gateways.mcp.server"

PATH, METHODS = "/mcp", ["POST", "DELETE"]
"""Without GET: nothing is sent to a client that has not called."""


class McpRoutes:
    """The route of MCP clients, and its endpoint: it authenticates each call, an open connection of the caller."""

    def __init__(self, context: RouteContext) -> None:
        self.context, self.components = context, context.components
        self._public_url = public_url()
        self._handler: McpHandler | None = None

    def add_to(self, api: FastAPI) -> None:
        """Add the route."""
        api.router.routes.append(StrictPlainRoute(PATH, self, methods=METHODS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        headers = Headers(scope=scope)
        token, session = self._verified_token(scope, headers), headers.get(MCP_SESSION)
        caller = token.principal
        base = self._public_url or f"{scope['scheme']}://{headers['host']}{server_base_path(scope)}"
        requests = McpCallerRequests(self, token, session=short_json_hash(session)[:12] if session else None, base=base)
        with self.context.streams.slot(caller):
            handler = self._handler or await self._open()
            # A name may contain any separator but a colon, and a tenant even that.
            id = ":".join((caller.role, caller.name, caller.tenant))
            await handler.handle(id, requests, scope, receive, send)

    async def _open(self) -> McpHandler:
        """Return the handler, whose libraries a server imports with the first call: they take most of a second."""
        module = await asyncio.to_thread(import_module, HANDLER)
        if self._handler is None:
            key, settings = self.components.keys.derive("mcp"), self.components.settings
            self._handler = module.McpHandler(key, settings.max_body, self.context.streams.wait)
        return self._handler

    def _verified_token(self, scope: Scope, headers: Headers) -> VerifiedToken:
        """Return the token of the caller. A cookie does not count, and a page of another site is refused."""
        settings = self.components.settings
        if bearer_token(scope) is None and not settings.no_auth:
            raise UnauthenticatedError
        if not {"*", headers.get("origin")} & {*settings.cors_origins}:
            self.context.auth.refuse_foreign(scope, headers, is_origin_needed=False)
        return self.context.auth.verified_token(scope)


class McpCallerRequests:
    """The requests that one caller has asked; those of others do not exist here.

    Args:
        routes: The route, with the parts of the server.
        token: The token of the caller.
        session: The session of the client; None without sessions.
        base: The address of the page.
    """

    def __init__(self, routes: McpRoutes, token: VerifiedToken, *, session: str | None, base: str) -> None:
        self._routes, self._token, self._caller = routes, token, token.principal
        self._base, self.session = base, session
        self._is_signed_in = self._caller.role in ("person", "admin") and not routes.components.settings.no_auth

    async def submit(self, ask: Ask) -> Request:
        """Store an ask, or return the stored request."""
        return await submit_for_caller(self._routes.components, self._routes.context.limits, self._caller, ask)

    async def get(self, id: str) -> Request:
        """Return a request of the caller."""
        return await self._inbox.get(id)

    async def find(self, limit: int) -> list[Request]:
        """Return the newest requests of the caller."""
        return await self._inbox.page(Query(asked_by=self._caller.actor, limit=limit))

    async def wait(self, id: str, seconds: float) -> Request:
        """Return a request once it has ended, or as it is after some seconds."""
        inbox = self._inbox
        request = await inbox.get(id)
        if not request.is_final and seconds > 0:
            seconds = min(seconds, self._routes.components.settings.max_wait)
            # A wait goes on after its HTTP call was aborted, so it counts on its own; no name has a colon.
            waiter = self._caller._replace(name=f"mcp:{self._caller.name}")
            with self._routes.context.streams.slot(waiter), suppress(WaitTimeoutError):
                await self._routes.context.streams.wait(inbox.wait(request, seconds), self._token)
            request = await self._inbox.get(id)
        return request

    async def cancel(self, id: str, reason: str | None) -> Request:
        """Cancel a request of the caller."""
        await self.get(id)
        inbox = inbox_for(self._routes.components.inbox, self._caller, require_cancellable)
        return await inbox.cancel(id, reason, by=self._caller.actor)

    def may_answer(self, request: Request) -> bool:
        """Return whether the caller is signed in as a person to whom the request is open."""
        caller = self._caller
        return self._is_signed_in and (caller.role == "admin" or is_theirs_to_answer(caller, request))

    async def answer(self, id: str, answer: Answer) -> Request:
        """Answer a request as the person who is signed in, with the checks of each answer."""
        self._routes.context.auth.refuse_revoked(self._token)  # A form can last longer than the token.
        require_person(self._caller)
        inbox = inbox_for(self._routes.components.inbox, self._caller, require_answerable)
        return await inbox.answer(id, answer, by=self._caller.decider, channel=MCP)

    def address(self, id: str) -> str | None:
        """Return the address of the page of a request."""
        return f"{self._base}/r/{id}"

    @property
    def _inbox(self) -> StoreInbox:
        self._routes.context.auth.refuse_revoked(self._token)  # A wait can last longer than the token.
        return inbox_for(self._routes.components.inbox, self._caller, require_own_mcp_request)


def require_own_mcp_request(caller: Principal, request: Request) -> None:
    """Raise `NotFoundError` unless the caller has asked this request."""
    if request.tenant != caller.tenant or not request.is_from(caller.actor):
        raise NotFoundError("request", request.id)


EXTENSION = Extension(McpRoutes)
