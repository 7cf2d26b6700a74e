"""What the routes depend on: their caller, who has one of the roles that may call, and the components of the server."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request as HttpRequest

from ringi.inbox.operations import Callers
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import ROLES
from ringi.server.components import ServerComponents


def one_of(callers: Callers) -> Any:
    """Return the dependency of a route that only these roles may call; it comes before the parameters."""
    refuse = ROLES[callers]

    async def caller(http: HttpRequest) -> Principal:
        found: Principal = http.app.state.auth.caller(http.scope)
        refuse(found)
        return found

    return Depends(caller)


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
