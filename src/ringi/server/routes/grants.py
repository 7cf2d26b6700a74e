"""The routes of grants: what people have approved in advance, and its end."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.base.model import without_nulls
from ringi.domain.ask import parse_body
from ringi.domain.grants import GrantPage
from ringi.domain.suggestions import NewRule, SuggestionPage
from ringi.server.auth.authenticator import Authenticator, channel_of
from ringi.server.auth.permissions import (
    inbox_for,
    refuse_agents,
    require_answerable,
    require_in_audience,
    require_person,
    require_readable,
    require_rule_maker,
)
from ringi.server.body import json_body
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import json_response, reply
from ringi.server.serialize import request_json


class GrantRoutes:
    """Grants over HTTP; an answer to a request makes one."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["grants"])
        add("/v1/grants", self.find, methods=["GET"], **route_docs("GrantPage"))
        add("/v1/suggestions", self.suggest, methods=["GET"], **route_docs("SuggestionPage"))
        add("/v1/suggestions/{id}/accept", self.accept, methods=["POST"], **route_docs("Request", 201, body="NewRule"))
        add("/v1/grants/{id}/revoke", self.revoke, methods=["POST"], **route_docs(None, 204))

    async def find(self, http: HttpRequest) -> HttpResponse:
        """List the grants on requests that the caller may read, until their end, also revoked and used-up ones."""
        caller = self._auth.caller(http.scope)
        return reply(GrantPage(items=await inbox_for(self._components.inbox, caller).grants.list(), next=None))

    async def suggest(self, http: HttpRequest) -> HttpResponse:
        """List the rules that the decisions of people suggest, which the caller may switch on or audit."""
        caller = self._auth.caller(http.scope)
        refuse_agents(caller)
        check = require_readable if caller.role == "auditor" else require_rule_maker
        found = await inbox_for(self._components.inbox, caller, check).suggestions.list()
        return reply(SuggestionPage(items=found))

    async def accept(self, http: HttpRequest, id: str) -> HttpResponse:
        """Switch on a suggested rule: a grant of which people still see some calls, and which a refusal ends."""
        caller = self._auth.caller(http.scope)
        require_person(caller)
        new = parse_body(NewRule, without_nulls(await self._body(http), NewRule))
        rule = await inbox_for(self._components.inbox, caller, require_in_audience).suggestions.accept(
            id,
            by=caller.decider,
            until=new.until,
            max_uses=new.max_uses,
            one_in=new.one_in,
            channel=channel_of(http.scope),
        )
        return json_response(request_json(rule), 201)

    async def _body(self, http: HttpRequest) -> Any:
        return await json_body(http, max_depth=self._components.settings.max_depth)

    async def revoke(self, http: HttpRequest, id: str) -> HttpResponse:
        """Revoke a grant on a request that the caller may answer: from now on people are asked again."""
        caller = self._auth.caller(http.scope)
        require_person(caller)
        await inbox_for(self._components.inbox, caller, require_answerable).grants.revoke(id, by=caller.name)
        return HttpResponse(status_code=204)
