"""Routes that refuse unknown parameters, and a way around the framework for the hottest route."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Set
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ringi.inbox import tracing


class StrictRoute(APIRoute):
    """A route that refuses unknown query parameters: a misspelled filter would otherwise match everything."""

    def get_route_handler(self) -> Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]:
        """Return the handler, preceded by the check."""
        handle = super().get_route_handler()
        allowed = query_names(self.dependant)

        async def handle_checked(http: HttpRequest) -> HttpResponse:
            refuse_unknown_parameters(http.scope, allowed)
            return await handle(http)

        return handle_checked


class StrictPlainRoute(Route):
    """The same without FastAPI, for streams."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, methods: list[str], allowed: Set[str] = frozenset()):
        super().__init__(path, endpoint, methods=methods)
        self._allowed = allowed

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        if self.methods and scope["method"] in self.methods:
            refuse_unknown_parameters(scope, self._allowed)
        await super().handle(scope, receive, send)


class Shortcut:
    """Handles the calls of one route before the framework, whose layers take as long as the route.

    A call with parameters passes through the framework, which refuses them. So do all calls if OpenTelemetry is
    configured, because the framework writes a span for each.

    Args:
        route: The route; the middleware around this object answers its errors.
        app: The application that handles all other calls.
    """

    def __init__(self, route: Route, app: ASGIApp) -> None:
        self._route, self._app = route, app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        match, values = self._route.matches(scope)
        if match is not Match.FULL or scope["query_string"] or tracing.is_enabled():
            await self._app(scope, receive, send)
            return
        scope.update(values)
        response = await self._route.endpoint(HttpRequest(scope, receive))
        await response(scope, receive, send)


def query_names(dependant: Dependant) -> set[str]:
    """Return the names of the query parameters of a route and of what it depends on."""
    kinds = {field.alias: field.field_info.annotation for field in dependant.query_params}
    own = {name for alias, kind in kinds.items() for name in getattr(kind, "model_fields", (alias,))}
    return own.union(*map(query_names, dependant.dependencies))


def refuse_unknown_parameters(scope: Scope, allowed: Set[str]) -> None:
    """Raise `RequestValidationError` for unknown query parameters."""
    if scope["query_string"]:
        unknown = [name for name in QueryParams(scope["query_string"]) if name not in allowed]
        if unknown:
            raise RequestValidationError(
                [
                    {"type": "extra_forbidden", "loc": ("query", name), "msg": unknown_parameter_remedy(allowed)}
                    for name in unknown
                ]
            )


def unknown_parameter_remedy(allowed: Set[str]) -> str:
    """Return the remedy for an unknown parameter."""
    return f"unknown parameter: choose {', '.join(sorted(allowed))}" if allowed else "unknown parameter: none allowed"
