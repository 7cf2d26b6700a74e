"""The routes of legal holds: while one is set, no erasure removes a request."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.ask import parse_body
from ringi.inbox import legal_holds
from ringi.server.auth.authenticator import Authenticator, Principal
from ringi.server.auth.permissions import inbox_for, refuse_all_but_admins
from ringi.server.body import json_body
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import json_response
from ringi.server.schemas import LegalHold
from ringi.server.serialize import request_json

PATH = "/v1/requests/{id}/legal-hold"


class LegalHoldRoutes:
    """Legal holds over HTTP; for admins."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, PATH, tags=["requests"])
        add(self.hold, methods=["POST"], **route_docs("Request", body="LegalHold"))
        add(self.lift, methods=["DELETE"], **route_docs("Request"))

    async def hold(self, http: HttpRequest, id: str) -> HttpResponse:
        """Set a legal hold: no erasure removes the request or its thread. Admins only."""
        caller = self._admin(http)
        body = await json_body(http, max_depth=self._components.settings.max_depth)
        inbox = inbox_for(self._components.inbox, caller)
        return json_response(
            request_json(await legal_holds.set_hold(inbox, id, caller.actor, parse_body(LegalHold, body).reason))
        )

    async def lift(self, http: HttpRequest, id: str) -> HttpResponse:
        """Lift a legal hold; without one, nothing changes. Admins only."""
        caller = self._admin(http)
        inbox = inbox_for(self._components.inbox, caller)
        return json_response(request_json(await legal_holds.lift_hold(inbox, id, caller.actor)))

    def _admin(self, http: HttpRequest) -> Principal:
        caller = self._auth.caller(http.scope)
        refuse_all_but_admins(caller)
        return caller
