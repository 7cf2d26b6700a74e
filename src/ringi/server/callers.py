"""What the routes depend on: their caller, who has one of the roles that may call, and the components of the server."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request as HttpRequest

from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import ROLES
from ringi.server.calls import ArgumentCheck
from ringi.server.components import ServerComponents


async def any_caller(http: HttpRequest) -> Principal:
    """Return the caller of a call."""
    found: Principal = http.app.state.auth.caller(http.scope)
    return found


async def components_of(http: HttpRequest) -> ServerComponents:
    """Return the components of the server that handles a call."""
    found: ServerComponents = http.app.state.components
    return found


AnyCaller = Annotated[Principal, Depends(any_caller)]
PersonCaller = Annotated[AnyCaller, ArgumentCheck(ROLES["people"])]
ReaderCaller = Annotated[AnyCaller, ArgumentCheck(ROLES["readers"])]
AuditorCaller = Annotated[AnyCaller, ArgumentCheck(ROLES["auditors"])]
AdminCaller = Annotated[AnyCaller, ArgumentCheck(ROLES["admins"])]
Components = Annotated[ServerComponents, Depends(components_of)]
