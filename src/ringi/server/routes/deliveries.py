"""The routes of deliveries to external receivers."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.delivery.attempts import Delivery
from ringi.delivery.webhooks import ASK_PREFIX
from ringi.server.auth.authenticator import Authenticator, Principal
from ringi.server.auth.permissions import inbox_for, refuse_all_but_admins
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import reply
from ringi.server.schemas import DeliveryPage


class DeliveryRoutes:
    """Deliveries over HTTP."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["deliveries"])
        add("/v1/deliveries", self.find, methods=["GET"], **route_docs("DeliveryPage"))
        add("/v1/deliveries/{id}/redeliver", self.redeliver, methods=["POST"], **route_docs("Delivery", 202))

    async def find(self, http: HttpRequest, request_id: str) -> HttpResponse:
        """List the deliveries of a request, each with its attempts."""
        caller = self._auth.caller(http.scope)
        await inbox_for(self._components.inbox, caller).get(request_id)
        found = await self._components.deliveries.of_request(caller.tenant, request_id)
        return reply(DeliveryPage(items=[visible_to(caller, each) for each in found], next=None))

    async def redeliver(self, http: HttpRequest, id: str) -> HttpResponse:
        """Send a delivery again immediately, regardless of its status."""
        caller = self._auth.caller(http.scope)
        refuse_all_but_admins(caller)
        return reply(await self._components.deliveries.redeliver(caller.tenant, id, by=caller.actor), 202)


def visible_to(caller: Principal, delivery: Delivery) -> Delivery:
    """Return a delivery as visible to the caller: the hosts of the server's own receivers are hidden from agents."""
    is_named_by_ask = delivery.endpoint.startswith(ASK_PREFIX)
    return delivery if caller.role != "agent" or is_named_by_ask else delivery.model_copy(update={"host": ""})
