"""The routes of pauses: an administrator stops agents, and lets them go on."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.ask import parse_body
from ringi.domain.pauses import NewPause, PausePage
from ringi.server.auth.authenticator import Authenticator
from ringi.server.auth.permissions import refuse_all_but_admins
from ringi.server.body import json_body
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import reply


class PauseRoutes:
    """Pauses over HTTP."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["pauses"])
        add("/v1/pauses", self.pause, methods=["POST"], **route_docs("Pause", 201, body="NewPause"))
        add("/v1/pauses", self.find, methods=["GET"], **route_docs("PausePage"))
        add("/v1/pauses/{id}", self.resume, methods=["DELETE"], **route_docs(None, 204))

    async def pause(self, http: HttpRequest) -> HttpResponse:
        """Pause an agent or, without a name, all agents of the tenant; within a second no approved call begins."""
        caller = self._auth.caller(http.scope)
        refuse_all_but_admins(caller)
        new = parse_body(NewPause, await json_body(http, max_depth=self._components.settings.max_depth))
        inbox = self._components.inbox.for_tenant(caller.tenant)
        return reply(await inbox.pause(new.reason, by=caller.actor, agent=new.agent, until=new.until), 201)

    async def find(self, http: HttpRequest) -> HttpResponse:
        """List the pauses in force; an agent sees all, because one token may serve several agents."""
        caller = self._auth.caller(http.scope)
        return reply(PausePage(items=await self._components.inbox.for_tenant(caller.tenant).pauses(), next=None))

    async def resume(self, http: HttpRequest, id: str) -> HttpResponse:
        """End a pause; waiting runs go on."""
        caller = self._auth.caller(http.scope)
        refuse_all_but_admins(caller)
        await self._components.inbox.for_tenant(caller.tenant).resume(id, by=caller.actor)
        return HttpResponse(status_code=204)
