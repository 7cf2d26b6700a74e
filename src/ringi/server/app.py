"""The server as one ASGI application."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache, partial
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from ringi.errors import RingiError
from ringi.server import problems
from ringi.server.auth.absences import AbsenceTable
from ringi.server.auth.authenticator import (
    IS_COPY,
    LOCAL,
    NEW_COOKIES,
    READERS,
    Authenticator,
    Principal,
    VerifiedToken,
)
from ringi.server.auth.links import SignInLinks
from ringi.server.auth.oidc_provider import OidcBearerTokens, OidcProvider
from ringi.server.auth.revocations import LoadedRevocations
from ringi.server.calls import RouteShortcut, StrictPlainRoute, StrictRoute
from ringi.server.components import ServerComponents
from ringi.server.extension import Extension, RouteContext, RouteGroup
from ringi.server.limits import AskLimits
from ringi.server.middleware import CALLER, WRITES, AuditorReadLog, BodyOfCaller, Caller, SecurityMiddleware
from ringi.server.openapi import openapi_document, openapi_operation_id
from ringi.server.routes import chat as chats
from ringi.server.routes import operations, people, requests
from ringi.server.routes.chat import ChatRoutes
from ringi.server.routes.events import EventRoutes
from ringi.server.routes.health import HealthRoutes
from ringi.server.routes.pages import PageRoutes
from ringi.server.routes.session import SessionRoutes
from ringi.server.routes.sign_in import SignInRoutes
from ringi.server.routes.statistics import StatisticsRoutes
from ringi.server.routes.threads import ThreadRoutes
from ringi.server.routes.verbs import VerbRoutes
from ringi.server.settings import ServerSettings
from ringi.server.sse.event_hub import EventHub
from ringi.server.sse.sse import Streams
from ringi.server.sse.thread_hub import ThreadHub

log = logging.getLogger(__name__)
MCP_SESSION = "mcp-session-id"
ROUTERS = (requests.router, chats.router, operations.router, operations.deliveries, people.router)
"""The routes that need nothing but the caller and the components; they come before the verbs, because the `counts` of
`/v1/requests/counts` is no id."""
COMPRESSED_FROM, COMPRESSION = 2_000, 1
"""The size in bytes from which a reply is compressed, and the level. On a list, higher levels save a tenth of the bytes
for twice the time or more."""


class App:
    """The ASGI application with requests, threads, events and the page; close it before its components.

    Args:
        components: The open components that the application uses.
        extensions: Additional routes, such as those of protocols and applications.
    """

    def __init__(self, components: ServerComponents, extensions: Sequence[Extension] = ()) -> None:
        backend, settings = components.backend, components.settings
        self._streams, self._inbox = Streams(settings), components.inbox
        self._events = EventHub(backend.store, backend.notifier, components.inbox.feed)
        self._threads = ThreadHub(backend.stream, backend.notifier, backend.store)
        self._revocations = LoadedRevocations(backend, lambda: self._streams.end_revoked(auth))
        provider = OidcProvider(settings.oidc) if settings.oidc else None
        self._bearers = OidcBearerTokens(settings.oidc, provider) if settings.oidc and provider else None
        self._absences = AbsenceTable(backend, lambda: self._streams.end_changed(auth))
        auth = self._auth = Authenticator(components.keys, settings, self._revocations, self._absences)
        context = RouteContext(components, auth, AskLimits(settings), self._streams)
        events, threads = EventRoutes(context, self._events), ThreadRoutes(context, self._threads)
        chat, verbs = ChatRoutes(context), VerbRoutes(context)
        session = SessionRoutes(auth, SignInLinks(components.keys, backend), settings)
        sign_in = SignInRoutes(auth, settings, provider)
        health = HealthRoutes(components, self._streams)
        self.api = api_without_routes(extensions)
        self.api.state.components, self.api.state.auth = components, auth
        statistics = self._statistics = StatisticsRoutes(components)
        added = [extension.routes(context) for extension in extensions]
        for router in ROUTERS:
            self.api.router.routes += router.routes
        groups: tuple[RouteGroup, ...] = (verbs, events, threads, chat, statistics, session, sign_in, health, *added)
        for group in groups:
            group.add_to(self.api)
        # Streams first: otherwise each of thousands of simultaneous calls would be compared with all other routes.
        self.api.router.routes.sort(key=lambda route: not isinstance(route, StrictPlainRoute))
        pages = PageRoutes(settings)
        self.api.router.routes += pages.routes()
        self.api.add_exception_handler(404, pages.not_found)
        # Inside the guard, which hands event streams its own `send`: they are never compressed.
        compressed = GZipMiddleware(self.api, minimum_size=COMPRESSED_FROM, compresslevel=COMPRESSION)
        self._shortcut = RouteShortcut(verbs.hottest, compressed)
        guard = SecurityMiddleware(self._handle, settings, AuditorReadLog(backend))
        self._guard, self._proxy = allow_configured_origins(guard, settings), settings.proxy
        self._is_copy, self._bodies = settings.no_deliveries, dict[Caller, int]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI call.

        Args:
            scope: The ASGI scope of the call.
            receive: The function that returns the parts of the body.
            send: The function that sends the parts of the reply.
        """
        await self._revocations.begin()
        if scope["type"] == "http":
            scope = self._proxy.with_original_scheme(scope) if self._proxy else scope
            if self._is_copy:
                scope[IS_COPY] = True
            if self._bearers:
                await self._bearers.authenticate(scope)
            await self._auth.load_absences(scope)
        await self._guard(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a call that passed the guard."""
        if scope["type"] == "http" and (token := self._token_of(scope)):
            await self._note_person(token.principal)
            caller = scope["state"][CALLER] = token.principal[:3]
            if scope["method"] in WRITES:
                # A body may arrive long after its headers, by which the route has authenticated the caller.
                check = partial(self._auth.refuse_revoked, token)
                body = BodyOfCaller(self._bodies, caller, check, receive, send)
                try:
                    return await self._shortcut(scope, body.receive, body.send)
                finally:
                    body.end()
        await self._shortcut(scope, receive, send)

    def _token_of(self, scope: Scope) -> VerifiedToken | None:
        # Only the route renews a session and records a read.
        scope = dict(scope)
        scope.pop(NEW_COOKIES, None)
        scope.pop(READERS, None)
        try:
            return self._auth.verified_token(scope)
        except RingiError:
            return None  # The route refuses the call.

    async def _note_person(self, person: Principal) -> None:
        if person.role not in ("person", "admin") or person is LOCAL:
            return  # Without tokens, everybody has the same name.
        if self._inbox.known_people.has(person.tenant, person.name, person.groups):
            return
        try:
            await self._inbox.for_tenant(person.tenant).note_person(person.name, person.groups)
        except RingiError as error:
            log.warning("a person who called is not on record yet, trying again at the next call: %s", error)

    @property
    def routes(self) -> list[BaseRoute]:
        """All routes of the application."""
        return self.api.routes

    async def close(self) -> None:
        """End all streams and long polls immediately, with a `closing` event, and refuse new ones."""
        self._streams.close()
        for each in (self._statistics, self._revocations, self._absences, self._threads, self._events):
            await each.close()


def api_without_routes(extensions: Sequence[Extension] = ()) -> FastAPI:
    """Return an API without routes that answers every error with a problem document."""
    api = FastAPI(
        title="Ringi",
        version=version("ringi"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=openapi_operation_id,
    )
    api.router.route_class = StrictRoute
    api.add_exception_handler(RingiError, problems.respond_to_ringi_error)
    api.add_exception_handler(HTTPException, problems.respond_to_http_error)
    api.add_exception_handler(RequestValidationError, problems.respond_to_invalid_parameter)
    api.add_exception_handler(Exception, problems.respond_to_ringi_error)
    api.openapi = cache(partial(openapi_document, api, extensions))  # type: ignore[method-assign]
    return api


def allow_configured_origins(app: ASGIApp, settings: ServerSettings) -> ASGIApp:
    """Allow pages of the configured origins to call with a token, never with the page's cookie."""
    if not settings.cors_origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        # Clients send additional headers, such as `x-api-key`.
        allow_headers=["*"],
        # A public page may be the front end of a private server, whose administrator has allowed its origin.
        allow_private_network=True,
        # LangGraph's clients read the id of a run from the last two.
        expose_headers=["retry-after", "x-vercel-ai-ui-message-stream", MCP_SESSION, "content-location", "location"],
    )
