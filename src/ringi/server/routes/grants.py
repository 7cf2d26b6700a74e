"""The routes of grants: what people have approved in advance, and its end."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.grant_journal import GrantPage
from ringi.server.auth.authenticator import Authenticator
from ringi.server.auth.permissions import inbox_for, require_answerable, require_person
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import reply


class GrantRoutes:
    """Grants over HTTP; an answer to a request makes one."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["grants"])
        add("/v1/grants", self.find, methods=["GET"], **route_docs("GrantPage"))
        add("/v1/grants/{id}/revoke", self.revoke, methods=["POST"], **route_docs(None, 204))

    async def find(self, http: HttpRequest) -> HttpResponse:
        """List the grants on requests that the caller may read, until their end, also revoked and used-up ones."""
        caller = self._auth.caller(http.scope)
        return reply(GrantPage(items=await inbox_for(self._components.inbox, caller).grants(), next=None))

    async def revoke(self, http: HttpRequest, id: str) -> HttpResponse:
        """Revoke a grant on a request that the caller may answer: from now on people are asked again."""
        caller = self._auth.caller(http.scope)
        require_person(caller)
        await inbox_for(self._components.inbox, caller, require_answerable).revoke_grant(id, by=caller.name)
        return HttpResponse(status_code=204)
