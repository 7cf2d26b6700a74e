"""The routes of checks: an administrator plants requests that can never run, to measure whether people notice them."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.ask import parse_body
from ringi.domain.checks import NewChecks, PlantedChecks
from ringi.server.auth.authenticator import Authenticator
from ringi.server.auth.permissions import refuse_all_but_admins, refuse_all_but_auditors
from ringi.server.body import json_body
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import reply


class CheckRoutes:
    """Checks over HTTP."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["checks"])
        add("/v1/checks", self.plant, methods=["POST"], **route_docs("PlantedChecks", 201, body="NewChecks"))
        add("/v1/checks", self.find, methods=["GET"], **route_docs("CheckReport"))

    async def plant(self, http: HttpRequest) -> HttpResponse:
        """Plant requests that can never run, each a copy of a recent real one in which something is wrong."""
        caller = self._auth.caller(http.scope)
        refuse_all_but_admins(caller)
        new = parse_body(NewChecks, await json_body(http, max_depth=self._components.settings.max_depth))
        inbox = self._components.inbox.for_tenant(caller.tenant)
        ids = await inbox.plant_checks(new.checks, by=caller.actor, share=new.share)
        return reply(PlantedChecks(ids=ids), 201)

    async def find(self, http: HttpRequest) -> HttpResponse:
        """List the newest checks and the shares that people noticed; for administrators and auditors."""
        caller = self._auth.caller(http.scope)
        refuse_all_but_auditors(caller)
        return reply(await self._components.inbox.for_tenant(caller.tenant).checks())
