"""What concerns several requests at once, precedents and legal holds; the verbs are in the table of operations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from pydantic import BeforeValidator
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.base.failpoints import failpoint
from ringi.base.model import Time
from ringi.base.plain_conditions import exact_decimal_sum
from ringi.domain import record
from ringi.domain.ask import AGREEING, Answer, parse_body
from ringi.domain.filters import CallerFilter
from ringi.domain.precedent import MOST_READ, precedent_of_request
from ringi.domain.request import Request
from ringi.domain.urgency import TIERS
from ringi.errors import InvalidError, RingiError
from ringi.inbox import legal_holds
from ringi.inbox.inbox import StoreInbox
from ringi.server.auth.authenticator import Principal, channel_of
from ringi.server.auth.permissions import inbox_for, require_answerable, require_routine_request, visible_query
from ringi.server.callers import AdminCaller, AnyCaller, Components, PersonCaller
from ringi.server.calls import http_status_after_answer, json_body, json_response, reply
from ringi.server.openapi import route_docs, router_of
from ringi.server.problems import http_status_of_error, problem_document_of_error
from ringi.server.schemas import Amounts, BulkItem, BulkOutcome, BulkResult, Count, Counts, LegalHold, Totals
from ringi.server.serialize import public_request, request_json

SINCE = "Count also the requests that ended since this time, such as midnight in the caller's time zone"
HOLD_PATH = "/v1/requests/{id}/legal-hold"
COUNTED = 999
"""Maximum count of requests; a higher number is reported as more."""
Limit = Annotated[int, Query(ge=1)]
"""The maximum length of a page, as a query parameter."""
Cursor = Annotated[str | None, Query(description="`next` of the previous page")]
"""The cursor of a list's next page, as a query parameter; None for the first page."""


def blank_filter_to_none(filter: object) -> Any:
    """Return the filter value of a form; an empty value is no filter."""
    return [each for each in filter if each] if isinstance(filter, list) else filter or None


router = router_of("requests")


@router.get("/v1/requests/counts", **route_docs("Counts"))
async def counts(
    caller: AnyCaller,
    components: Components,
    since: Annotated[Time | None, BeforeValidator(blank_filter_to_none), Query(description=SINCE)] = None,
) -> HttpResponse:
    """Count the readable requests: all pending, those pending for the caller, and those ended since a time."""
    inbox, seen = components.inbox.for_tenant(caller.tenant), visible_query(caller)
    pending: dict[str, Any] = {"statuses": ("pending",)}
    filters = {"pending": pending, "mine": {**pending, "assigned_or_claimed_by": caller.name}}
    if since is not None:
        filters["ended"] = {"ended_since": since}
    queries = [seen.model_copy(update={**each, "limit": COUNTED + 1}) for each in filters.values()]
    numbers = await asyncio.gather(*map(inbox.count, queries))
    found = [Count(count=min(number, COUNTED), more=number > COUNTED) for number in numbers]
    return reply(Counts(**dict(zip(filters, found, strict=True))))


@router.get("/v1/requests/totals", **route_docs("Totals"))
async def totals(caller: AnyCaller, components: Components, filters: Annotated[CallerFilter, Query()]) -> HttpResponse:
    """Count the pending requests that the filters select, with the totals of the amounts of their tool."""
    if (filters.status or ("pending",)) != ("pending",):
        raise InvalidError.of("status", "totals are of pending requests only: omit the status", "pending_only")
    query = readable_requests_query(caller, filters, limit=COUNTED + 1).model_copy(update={"statuses": ("pending",)})
    found = await components.requests_to_count(components.inbox.for_tenant(caller.tenant), query)
    requests, has_more = found[:COUNTED], len(found) > COUNTED or isinstance(found, record.CutPage)
    present = {request.tier or "low" for request in requests}
    tiers = [tier for tier in TIERS if tier in present]
    return reply(Totals(count=len(requests), more=has_more, tiers=tiers, amounts=amount_totals(requests)))


@router.post("/v1/requests/respond", **route_docs("BulkResult", body="BulkAnswer"))
async def respond_many(http: HttpRequest, caller: PersonCaller, components: Components) -> HttpResponse:
    """Answer several requests, each independently; a high tier is approved only alone."""
    settings, inbox, channel = components.settings, components.inbox, channel_of(http.scope)
    items = bulk_answer_items(await json_body(http, max_depth=settings.max_depth), settings.max_bulk)
    results = await asyncio.gather(*(answer_bulk_item(inbox, caller, item, channel) for item in items))
    failpoint("server.before_reply")
    return reply(BulkResult(items=results, next=None))


@router.get("/v1/requests/{id}/precedent", **route_docs("Precedent"))
async def precedent(caller: AnyCaller, components: Components, id: str) -> HttpResponse:
    """Return how people decided the calls of the same tool in 30 days, of the requests that the caller may read."""
    inbox = inbox_for(components.inbox, caller)
    request = await inbox.get(id)
    ended: list[Request] = []
    if request.action:
        filters = {"tool": request.action.name, "statuses": ("completed", "expired"), "limit": MOST_READ + 1}
        ended = await components.requests_to_count(inbox, visible_query(caller).model_copy(update=filters))
    return reply(precedent_of_request(request, ended, inbox.clock()))


@router.post(HOLD_PATH, **route_docs("Request", body="LegalHold"))
async def hold(http: HttpRequest, caller: AdminCaller, components: Components, id: str) -> HttpResponse:
    """Set a legal hold: no erasure removes the request or its thread. Admins only."""
    reason = parse_body(LegalHold, await json_body(http, max_depth=components.settings.max_depth)).reason
    inbox = inbox_for(components.inbox, caller)
    return json_response(request_json(await legal_holds.set_hold(inbox, id, caller.actor, reason)))


@router.delete(HOLD_PATH, **route_docs("Request"))
async def lift(caller: AdminCaller, components: Components, id: str) -> HttpResponse:
    """Lift a legal hold; without one, nothing changes. Admins only."""
    inbox = inbox_for(components.inbox, caller)
    return json_response(request_json(await legal_holds.lift_hold(inbox, id, caller.actor)))


def bulk_answer_items(body: Any, limit: int) -> list[dict[str, Any]]:
    """Return the unvalidated answers of a bulk call."""
    items = body.get("items") if isinstance(body, dict) else None
    if not isinstance(items, list) or not 0 < len(items) <= limit:
        raise InvalidError.of("items", f"give a list of 1 to {limit} answers, each with id, decision and digest")
    if set(body) != {"items"}:
        raise InvalidError.of("", "unknown field: send only items")
    return items


async def answer_bulk_item(inbox: StoreInbox, caller: Principal, item: object, channel: str) -> BulkOutcome:
    """Answer one of several requests; return the HTTP status with the request or the problem."""
    named = item.get("id") if isinstance(item, dict) else None
    id = named if isinstance(named, str) else None
    try:
        parsed_item = parse_body(BulkItem, item)
        answer = Answer.model_validate(parsed_item.model_dump(exclude={"id"}))
        check = require_routine_request if answer.decision in AGREEING else require_answerable
        allowed = inbox_for(inbox, caller, check)
        request = await allowed.answer(parsed_item.id, answer, by=caller.decider, channel=channel)
    except RingiError as error:
        return BulkOutcome(id=id, status=http_status_of_error(error)[0], problem=problem_document_of_error(error))
    return BulkOutcome(id=id, status=http_status_after_answer(request), request=public_request(request))


def readable_requests_query(
    caller: Principal, wanted: CallerFilter, *, limit: int, cursor: str | None = None
) -> record.Query:
    """Return the query of a list of the requests that the caller may read.

    Args:
        caller: The caller.
        wanted: The conditions.
        limit: The maximum number of requests.
        cursor: `next` of the page before; None for the first page.
    """
    mine = {"assigned_or_claimed_by": caller.name} if wanted.mine else {}
    of_page = {"limit": limit, "before": cursor or None}
    return visible_query(caller).model_copy(update={**wanted.conditions, **mine, **of_page})


def amount_totals(requests: Sequence[Request]) -> Amounts | None:
    """Return the totals of the amounts; None unless all requests are about one tool whose author declares an amount of
    one unit."""
    declared = {(request.action and request.action.name, request.card.get("unit")) for request in requests}
    amounts = [request.card.get("amount") for request in requests]
    numbers = [amount for amount in amounts if isinstance(amount, int | float) and not isinstance(amount, bool)]
    if len(declared) != 1 or len(numbers) < len(amounts):
        return None
    ((_, unit),) = declared
    unit = unit if isinstance(unit, str) else None
    return Amounts(unit=unit, sum=exact_decimal_sum(numbers), least=min(numbers), greatest=max(numbers))
