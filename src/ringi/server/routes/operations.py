"""Routes of operators: runs that need attention, deliveries, pauses of agents, and checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import FastAPI, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.delivery.attempts import Delivery
from ringi.delivery.webhooks import ASK_PREFIX
from ringi.domain.ask import parse_body
from ringi.domain.thread import Thread
from ringi.runs import operations
from ringi.runs.cleanup import open_requests
from ringi.server.auth.authenticator import Authenticator, Principal
from ringi.server.auth.permissions import (
    inbox_for,
    refuse_agents,
    refuse_all_but_admins,
    visible_query,
)
from ringi.server.body import json_body
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import reply
from ringi.server.schemas import DeliveryPage, OperatorReason, TroublePage
from ringi.server.serialize import thread_view

Act = Callable[..., Awaitable[Thread]]


class OperationRoutes:
    """Operations over HTTP."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["operations"])
        add("/v1/operations", self.find, methods=["GET"], **route_docs("TroublePage"))
        add("/v1/threads/{id}/retry", self.retry, methods=["POST"], **route_docs("Thread", body="Operation"))
        add("/v1/threads/{id}/ask-again", self.ask_again, methods=["POST"], **route_docs("Thread", body="Operation"))
        add("/v1/threads/{id}/abandon", self.abandon, methods=["POST"], **route_docs("Thread", body="Operation"))

    async def find(
        self, http: HttpRequest, limit: Annotated[int, Query(ge=1)] = 50, cursor: str | None = None
    ) -> HttpResponse:
        """List the runs that need an operator: failed runs first, then runs with stranded requests."""
        caller = self._auth.caller(http.scope)
        refuse_agents(caller)
        size, runner = min(limit, self._components.settings.max_list), self._components.runner
        deployed = {*runner.agents, *await runner.announced_agents()} if runner else set()
        found, next = await operations.troubles(
            self._components.backend.store,
            visible_query(caller),
            limit=size,
            cursor=cursor,
            deployed=deployed or None,
        )
        return reply(TroublePage(items=found, next=next))

    async def retry(self, http: HttpRequest, id: str) -> HttpResponse:
        """Resume a run from its last checkpoint; a thread that needs no attention is returned unchanged."""
        return await self._operate(http, id, operations.retry)

    async def ask_again(self, http: HttpRequest, id: str) -> HttpResponse:
        """Ask again the question after which a run failed; a thread that has not failed is returned unchanged."""
        return await self._operate(http, id, operations.ask_again)

    async def abandon(self, http: HttpRequest, id: str) -> HttpResponse:
        """End a run permanently and cancel its requests; a thread that needs no attention is returned unchanged."""
        return await self._operate(http, id, operations.abandon)

    async def _operate(self, http: HttpRequest, id: str, act: Act) -> HttpResponse:
        caller = self._auth.caller(http.scope)
        refuse_all_but_admins(caller)
        body = await json_body(http, max_depth=self._components.settings.max_depth)
        backend, reason = self._components.backend, parse_body(OperatorReason, body).reason
        thread = await act(
            backend, self._components.inbox.for_tenant(caller.tenant), id, by=caller.actor, reason=reason
        )
        prices = self._components.settings.prices
        return reply(thread_view(thread, await open_requests(backend, thread), prices))


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
