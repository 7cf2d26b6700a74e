"""The routes of legal holds: while one is set, no erasure removes a request."""

from __future__ import annotations

from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.ask import parse_body
from ringi.inbox import legal_holds
from ringi.server.auth.permissions import inbox_for
from ringi.server.callers import AdminCaller, Components
from ringi.server.calls import json_body, json_response
from ringi.server.openapi import route_docs, router_of
from ringi.server.schemas import LegalHold
from ringi.server.serialize import request_json

router = router_of("requests")
PATH = "/v1/requests/{id}/legal-hold"


@router.post(PATH, **route_docs("Request", body="LegalHold"))
async def hold(http: HttpRequest, caller: AdminCaller, components: Components, id: str) -> HttpResponse:
    """Set a legal hold: no erasure removes the request or its thread. Admins only."""
    reason = parse_body(LegalHold, await json_body(http, max_depth=components.settings.max_depth)).reason
    inbox = inbox_for(components.inbox, caller)
    return json_response(request_json(await legal_holds.set_hold(inbox, id, caller.actor, reason)))


@router.delete(PATH, **route_docs("Request"))
async def lift(caller: AdminCaller, components: Components, id: str) -> HttpResponse:
    """Lift a legal hold; without one, nothing changes. Admins only."""
    inbox = inbox_for(components.inbox, caller)
    return json_response(request_json(await legal_holds.lift_hold(inbox, id, caller.actor)))
