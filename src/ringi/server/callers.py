"""What the routes depend on: their caller, who has one of the roles that may call, and the components of the server."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request as HttpRequest

from ringi.errors import RingiError
from ringi.inbox.operations import Callers
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import require_role
from ringi.server.components import ServerComponents


def one_of(callers: Callers) -> Any:
    """Return the dependency of a route that only these roles may call; a wrong query is refused before a role."""

    async def caller(http: HttpRequest) -> Principal:
        found: Principal = http.app.state.auth.caller(http.scope)
        try:
            require_role(found, callers)
        except RingiError:
            refuse_wrong_query(http)
            raise
        return found

    return Depends(caller)


def refuse_wrong_query(http: HttpRequest) -> None:
    """Raise `RequestValidationError` if the route's own query parameters have wrong values."""
    route = http.scope.get("route")
    if isinstance(route, APIRoute):
        _, errors = request_params_to_args(route.dependant.query_params, http.query_params)
        if errors:
            raise RequestValidationError(errors)


async def components_of(http: HttpRequest) -> ServerComponents:
    """Return the components of the server that handles a call."""
    found: ServerComponents = http.app.state.components
    return found


AnyCaller = Annotated[Principal, one_of("anybody")]
PersonCaller = Annotated[Principal, one_of("people")]
ReaderCaller = Annotated[Principal, one_of("readers")]
AuditorCaller = Annotated[Principal, one_of("auditors")]
AdminCaller = Annotated[Principal, one_of("admins")]
Components = Annotated[ServerComponents, Depends(components_of)]
