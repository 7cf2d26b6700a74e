"""Routes of operators: runs that need attention, and deliveries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.delivery.attempt_log import Delivery
from ringi.delivery.receivers import ASK_PREFIX
from ringi.domain.ask import parse_body
from ringi.domain.thread import Thread
from ringi.runs import operations
from ringi.runs.cleanup import open_requests
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import inbox_for, visible_query
from ringi.server.callers import AdminCaller, AnyCaller, AuditorCaller, Components, ReaderCaller
from ringi.server.calls import json_body, reply
from ringi.server.openapi import route_docs, router_of
from ringi.server.routes.requests import Limit
from ringi.server.schemas import DeliveryPage, EndpointCountsPage, OperatorReason, TroublePage
from ringi.server.serialize import thread_view

router = router_of("operations")
deliveries = router_of("deliveries")


@router.get("/v1/operations", name="find", **route_docs("TroublePage"))
async def troubles(
    caller: ReaderCaller, components: Components, limit: Limit = 50, cursor: str | None = None
) -> HttpResponse:
    """List the runs that need an operator: failed runs first, then runs with stranded requests."""
    size, runner, store = min(limit, components.settings.max_list), components.runner, components.backend.store
    deployed = {*runner.agents, *await runner.announced_agents()} if runner else set()
    found, next = await operations.runs_needing_attention(
        store, visible_query(caller), limit=size, cursor=cursor, deployed=deployed or None
    )
    return reply(TroublePage(items=found, next=next))


def add_operation(name: str, act: Callable[..., Awaitable[Thread]], does: str) -> None:
    """Add the route of an operation on a run."""

    async def operate(http: HttpRequest, caller: AdminCaller, components: Components, id: str) -> HttpResponse:
        reason = parse_body(OperatorReason, await json_body(http, max_depth=components.settings.max_depth)).reason
        backend, inbox = components.backend, components.inbox.for_tenant(caller.tenant)
        thread = await act(backend, inbox, id, by=caller.actor, reason=reason)
        return reply(thread_view(thread, await open_requests(backend, thread), components.settings.prices))

    docs = route_docs("Thread", body="Operation")
    router.post(f"/v1/threads/{{id}}/{name.replace('_', '-')}", name=name, description=does, **docs)(operate)


UNCHANGED = "that needs no attention is returned unchanged."
add_operation("retry", operations.retry_failed_run, f"Resume a run from its last checkpoint; a thread {UNCHANGED}")
add_operation(
    "ask_again",
    operations.ask_run_questions_again,
    "Ask again the question after which a run failed; a thread that has not failed is returned unchanged.",
)
add_operation("abandon", operations.abandon, f"End a run permanently and cancel its requests; a thread {UNCHANGED}")


@deliveries.get("/v1/deliveries", **route_docs("DeliveryPage"))
async def find(caller: AnyCaller, components: Components, request_id: str) -> HttpResponse:
    """List the deliveries of a request, each with its attempts."""
    await inbox_for(components.inbox, caller).get(request_id)
    found = await components.deliveries.of_request(caller.tenant, request_id)
    return reply(DeliveryPage(items=[delivery_as_visible_to(caller, each) for each in found], next=None))


@deliveries.get("/v1/deliveries/counts", **route_docs("EndpointCountsPage"))
async def counts(caller: AuditorCaller, components: Components) -> HttpResponse:
    """Count the unfinished deliveries of each endpoint, of all tenants."""
    return reply(EndpointCountsPage(items=await components.deliveries.counts(caller.tenant), next=None))


@deliveries.post("/v1/deliveries/{id}/redeliver", **route_docs("Delivery", 202))
async def redeliver(caller: AdminCaller, components: Components, id: str) -> HttpResponse:
    """Send a delivery again immediately, regardless of its status."""
    return reply(await components.deliveries.redeliver(caller.tenant, id, by=caller.actor), 202)


def delivery_as_visible_to(caller: Principal, delivery: Delivery) -> Delivery:
    """Return a delivery as visible to the caller: the hosts of the server's own receivers are hidden from agents."""
    is_named_by_ask = delivery.endpoint.startswith(ASK_PREFIX)
    return delivery if caller.role != "agent" or is_named_by_ask else delivery.model_copy(update={"host": ""})
