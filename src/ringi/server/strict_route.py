"""Routes that refuse what they do not know."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse


class StrictRoute(APIRoute):
    """A route that refuses query parameters that it does not have: a misspelt filter would find everything."""

    def get_route_handler(self) -> Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]:
        """Return the handler with the check before it."""
        handle = super().get_route_handler()
        known = {field.alias for field in self.dependant.query_params}

        async def checked(http: HttpRequest) -> HttpResponse:
            unknown = [name for name in http.query_params if name not in known] if http.url.query else []
            if unknown:
                raise RequestValidationError([{"loc": ("query", name), "msg": remedy(known)} for name in unknown])
            return await handle(http)

        return checked


def remedy(known: set[str]) -> str:
    """Return what to do about an unknown parameter."""
    return (
        f"unknown parameter: choose {', '.join(sorted(known))}" if known else "unknown parameter: there are none here"
    )
