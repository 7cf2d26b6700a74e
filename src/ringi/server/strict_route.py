"""Routes that refuse unknown parameters."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Set
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send


class StrictRoute(APIRoute):
    """A route that refuses unknown query parameters: a misspelled filter would otherwise match everything."""

    def get_route_handler(self) -> Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]:
        """Return the handler, preceded by the check."""
        handle = super().get_route_handler()
        allowed = {field.alias for field in self.dependant.query_params}

        async def handle_checked(http: HttpRequest) -> HttpResponse:
            refuse_unknown(http.scope, allowed)
            return await handle(http)

        return handle_checked


class StrictPlainRoute(Route):
    """The same without FastAPI, for streams and for `respond`."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, methods: list[str], allowed: Set[str] = frozenset()):
        super().__init__(path, endpoint, methods=methods)
        self._allowed = allowed

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        if self.methods and scope["method"] in self.methods:
            refuse_unknown(scope, self._allowed)
        await super().handle(scope, receive, send)


def refuse_unknown(scope: Scope, allowed: Set[str]) -> None:
    """Raise `RequestValidationError` for unknown query parameters."""
    if scope["query_string"]:
        unknown = [name for name in QueryParams(scope["query_string"]) if name not in allowed]
        if unknown:
            raise RequestValidationError(
                [{"type": "extra_forbidden", "loc": ("query", name), "msg": remedy(allowed)} for name in unknown]
            )


def remedy(allowed: Set[str]) -> str:
    """Return the remedy for an unknown parameter."""
    return f"unknown parameter: choose {', '.join(sorted(allowed))}" if allowed else "unknown parameter: none allowed"
