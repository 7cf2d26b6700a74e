"""Lists of requests over HTTP: their filters, their order, and their totals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Query
from pydantic import BeforeValidator
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain import record
from ringi.domain.ask import Kind, Priority
from ringi.domain.conditions import sum_of
from ringi.domain.record import MAX_SEARCH
from ringi.domain.request import Request
from ringi.domain.request_data import Status
from ringi.domain.urgency import TIERS, place_of, urgent_query
from ringi.domain.voting import Tier
from ringi.errors import InvalidError
from ringi.server.auth.authenticator import Authenticator, Principal
from ringi.server.auth.permissions import visible_query
from ringi.server.components import ServerComponents
from ringi.server.counts import Amounts, Totals
from ringi.server.openapi import route_docs
from ringi.server.replies import json_response, reply
from ringi.server.serialize import page_json, request_json, urgent_page_json

COUNTED = 999
"""Maximum count of requests; a higher number is reported as more."""
SEARCH = "Text that the request must contain: the beginnings of words, or any part of a Chinese or Japanese text"
MINE = "Only requests that are assigned to the caller, or claimed by the caller"
UNEXECUTED = "Only approved calls that are not known to have begun: nobody has acknowledged the approval"
UNANSWERABLE = "Only pending requests that nobody here can answer, except administrators: their people are unknown"
TOOL = "Only requests about a call of this tool or action"
AGENT = "Only requests of this agent, as `agent` of the request names it"
TIER = "Only requests with this tier; a request without a tier counts as `low`"
GROUP = "Only requests that the members of this group may decide"
Order = Literal["newest", "urgent", "ended"]
ORDER = (
    "`newest` first, or `urgent`: pending requests; the overdue, those due within an hour (both by the nearer of due_at"
    " and expires_at), then the rest by priority, tier, first of its kind, and the oldest first; or `ended`: ended"
    " requests, the latest end first"
)
Cursor = Annotated[str | None, Query(description="`next` of the previous page")]
"""The cursor of a list's next page, as a query parameter; None for the first page."""


def blank_to_none(filter: object) -> Any:
    """Return the filter value of a form; an empty value is no filter."""
    return [each for each in filter if each] if isinstance(filter, list) else filter or None


def list_filters(
    status: Annotated[list[Status] | None, Query(), BeforeValidator(blank_to_none)] = None,
    assignee: Annotated[str | None, BeforeValidator(blank_to_none)] = None,
    mine: Annotated[bool, Query(description=MINE)] = False,
    kind: Annotated[Kind | None, BeforeValidator(blank_to_none)] = None,
    priority: Annotated[Priority | None, BeforeValidator(blank_to_none)] = None,
    thread_id: Annotated[str | None, BeforeValidator(blank_to_none)] = None,
    tool: Annotated[str | None, Query(description=TOOL), BeforeValidator(blank_to_none)] = None,
    agent: Annotated[str | None, Query(description=AGENT), BeforeValidator(blank_to_none)] = None,
    tier: Annotated[Tier | None, Query(description=TIER), BeforeValidator(blank_to_none)] = None,
    group: Annotated[str | None, Query(description=GROUP), BeforeValidator(blank_to_none)] = None,
    unexecuted: Annotated[bool, Query(description=UNEXECUTED)] = False,
    unanswerable: Annotated[bool, Query(description=UNANSWERABLE)] = False,
    q: Annotated[str | None, Query(max_length=MAX_SEARCH, description=SEARCH)] = None,
) -> dict[str, Any]:
    """Return the conditions of a list, as fields of a query; `mine` is for the caller to resolve."""
    equal = {"assignee": assignee, "kind": kind, "priority": priority, "thread_id": thread_id, "tool": tool}
    more = {"agent": agent, "tier": tier, "group": group, "text": q, "mine": mine}
    marks = {"unexecuted": unexecuted, "unanswerable": unanswerable}
    return {"statuses": tuple(status or ()), **equal, **more, **marks}


Filters = Annotated[dict[str, Any], Depends(list_filters)]


class RequestLists:
    """Lists of requests over HTTP."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, methods=["GET"], tags=["requests"])
        add("/v1/requests", self.find, **route_docs("RequestPage"))
        add("/v1/requests/totals", self.totals, **route_docs("Totals"))

    async def find(
        self,
        http: HttpRequest,
        filters: Filters,
        order: Annotated[Order | None, Query(description=ORDER), BeforeValidator(blank_to_none)] = None,
        limit: Annotated[int, Query(ge=1)] = 50,
        cursor: Cursor = None,
    ) -> HttpResponse:
        """List the requests that the caller may read, newest first, the most urgent first, or the latest end first."""
        caller = self._auth.caller(http.scope)
        inbox, size = self._components.inbox.for_tenant(caller.tenant), min(limit, self._components.settings.max_list)
        page = {"order": order or "newest", "before": cursor or None, "limit": size + 1}
        query = self._query(caller, filters).model_copy(update=page)
        if order == "urgent":
            query = query.model_copy(update={"now": inbox.clock()})
        found = await inbox.find(query)
        items, has_more = found[:size], len(found) > size
        if order != "urgent":
            return json_response(page_json(map(request_json, items), place_of(query, items[-1]) if has_more else None))
        urgent = urgent_query(query)
        next = urgent.cursor_of(items[-1]) if has_more else None
        return json_response(urgent_page_json(map(request_json, items), next, urgent))

    async def totals(self, http: HttpRequest, filters: Filters) -> HttpResponse:
        """Count the pending requests that the filters select, with the totals of the amounts of their tool."""
        caller = self._auth.caller(http.scope)
        if filters["statuses"] not in ((), ("pending",)):
            raise InvalidError.of("status", "totals are of pending requests only: omit the status", "pending_only")
        query = self._query(caller, filters).model_copy(update={"statuses": ("pending",), "limit": COUNTED + 1})
        return reply(totals_of(await self._components.inbox.for_tenant(caller.tenant).find(query)))

    def _query(self, caller: Principal, filters: dict[str, Any]) -> record.Query:
        conditions = {name: value for name, value in filters.items() if name != "mine"}
        mine = {"assigned_or_claimed_by": caller.name} if filters["mine"] else {}
        return visible_query(caller).model_copy(update={**conditions, **mine})


def totals_of(found: Sequence[Request]) -> Totals:
    """Return the totals of the newest requests that a list has, counted up to the bound."""
    requests = found[:COUNTED]
    tiers = {request.tier or "low" for request in requests}
    ordered = [tier for tier in TIERS if tier in tiers]
    return Totals(count=len(requests), more=len(found) > COUNTED, tiers=ordered, amounts=amounts_of(requests))


def amounts_of(requests: Sequence[Request]) -> Amounts | None:
    """Return the totals of the amounts; None unless all requests are about one tool whose author declares an amount of
    one unit."""
    declared = {(request.action and request.action.name, request.card.get("unit")) for request in requests}
    amounts = [request.card.get("amount") for request in requests]
    numbers = [amount for amount in amounts if isinstance(amount, int | float) and not isinstance(amount, bool)]
    if len(declared) != 1 or len(numbers) < len(amounts):
        return None
    ((_, unit),) = declared
    unit = unit if isinstance(unit, str) else None
    return Amounts(unit=unit, sum=sum_of(numbers), least=min(numbers), greatest=max(numbers))
