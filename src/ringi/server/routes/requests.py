"""The routes of requests: create, list, read, answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query
from pydantic import BeforeValidator
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from ringi.base.failpoints import failpoint
from ringi.base.model import Time
from ringi.domain import record
from ringi.domain.ask import AGREEING, Answer, Ask, Kind, Priority, Receipt, parse_body
from ringi.domain.conditions import sum_of
from ringi.domain.filters import Order
from ringi.domain.people import Reassignment
from ringi.domain.precedent import MOST_READ, precedent_of
from ringi.domain.record import MAX_SEARCH
from ringi.domain.request import Request
from ringi.domain.request_data import Status
from ringi.domain.urgency import TIERS, urgent_query
from ringi.domain.voting import Tier
from ringi.errors import InvalidError, RingiError, WaitTimeoutError
from ringi.inbox import tracing
from ringi.inbox.inbox import Inbox
from ringi.privacy.candidates import Sweep
from ringi.server.auth.authenticator import Authenticator, Principal, channel_of
from ringi.server.auth.permissions import (
    CallerCheck,
    inbox_for,
    refuse_all_but_admins,
    require_answerable,
    require_cancellable,
    require_person,
    require_readable,
    require_reportable,
    require_routine,
    visible_query,
)
from ringi.server.body import json_body
from ringi.server.components import ServerComponents
from ringi.server.limits import AskLimits, submit_for
from ringi.server.openapi import route_docs
from ringi.server.problems import document_of, status_of
from ringi.server.replies import json_response, reply
from ringi.server.schemas import Amounts, BulkItem, BulkOutcome, BulkResult, Cancel, Count, Counts, Totals
from ringi.server.serialize import page_json, public_request, request_json, urgent_page_json
from ringi.server.sse.sse import Streams

SINCE = "Count also the requests that ended since this time, such as midnight in the caller's time zone"
COUNTED = 999
"""Maximum count of requests; a higher number is reported as more."""
SEARCH = "Text that the request must contain: the beginnings of words, or any part of a Chinese or Japanese text"
MINE = "Only requests that are assigned to the caller, or claimed by the caller"
UNEXECUTED = "Only approved calls that are not known to have begun: nobody has acknowledged the approval"
UNANSWERABLE = "Only pending requests that nobody here can answer, except administrators: their people are unknown"
ENDED_SINCE = "Only requests that ended at this time or later"
TOOL = "Only requests about a call of this tool or action"
AGENT = "Only requests of this agent, as `agent` of the request names it"
TIER = "Only requests with this tier; a request without a tier counts as `low`"
GROUP = "Only requests that the members of this group may decide"
ORDER = (
    "`newest` first, or `urgent`: pending requests; the overdue, those due within an hour (both by the nearer of due_at"
    " and expires_at), then the rest by priority, tier, first of its kind, and the oldest first; or `ended`: ended"
    " requests, the latest end first"
)
Cursor = Annotated[str | None, Query(description="`next` of the previous page")]
"""The cursor of a list's next page, as a query parameter; None for the first page."""


class RequestRoutes:
    """Requests over HTTP."""

    def __init__(self, components: ServerComponents, auth: Authenticator, streams: Streams, limits: AskLimits) -> None:
        self._components, self._auth, self._streams = components, auth, streams
        self._settings = components.settings
        self._limits = limits

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add, at = partial(api.add_api_route, tags=["requests"]), "/v1/requests"
        add(f"{at}/{{id}}/respond", self.respond, methods=["POST"], **route_docs("Request", 200, 202, body="Answer"))
        add(at, self.ask, methods=["POST"], **route_docs("Request", 201, 200, body="Ask"))
        RequestLists(self._components, self._auth).add_to(api)
        add(f"{at}/counts", self.counts, methods=["GET"], **route_docs("Counts"))
        add(f"{at}/respond", self.respond_many, methods=["POST"], **route_docs("BulkResult", body="BulkAnswer"))
        add(f"{at}/{{id}}", self.get, methods=["GET"], **route_docs("Request"))
        add(f"{at}/{{id}}/precedent", self.precedent, methods=["GET"], **route_docs("Precedent"))
        add(f"{at}/{{id}}/undo", self.undo, methods=["POST"], **route_docs("Request"))
        add(f"{at}/{{id}}/claim", self.claim, methods=["POST"], **route_docs("Request"))
        add(f"{at}/{{id}}/release", self.release, methods=["POST"], **route_docs("Request"))
        add(f"{at}/{{id}}/cancel", self.cancel, methods=["POST"], **route_docs("Request", body="Cancel"))
        add(f"{at}/{{id}}/outcome", self.report_outcome, methods=["POST"], **route_docs("Request", body="Receipt"))
        add(f"{at}/{{id}}/erase", self.erase, methods=["POST"], **route_docs("Request"))
        add("/v1/erasures", self.erase_some, methods=["POST"], **route_docs("Erasure", body="Sweep"))
        add(f"{at}/{{id}}/reassign", self.reassign, methods=["POST"], **route_docs("Request", body="Reassignment"))

    @property
    def hottest(self) -> Route:
        """The route of answers, for a shortcut."""
        return Route("/v1/requests/{id}/respond", self.respond, methods=["POST"])

    async def ask(self, http: HttpRequest) -> HttpResponse:
        """Create a request; repeating the call with the same id and content returns the stored request."""
        caller = self._auth.caller(http.scope)
        ask = Ask.parse(await self._body(http))
        began = self._components.inbox.clock()
        request = await submit_for(self._components, self._limits, caller, ask)
        return json_response(request_json(request), 201 if request.created_at >= began else 200)

    async def counts(
        self,
        http: HttpRequest,
        since: Annotated[Time | None, BeforeValidator(blank_to_none), Query(description=SINCE)] = None,
    ) -> HttpResponse:
        """Count the readable requests: all pending, those pending for the caller, and those ended since a time."""
        caller = self._auth.caller(http.scope)
        inbox, seen = self._components.inbox.for_tenant(caller.tenant), visible_query(caller)
        pending: dict[str, Any] = {"statuses": ("pending",)}
        filters = {"pending": pending, "mine": {**pending, "assigned_or_claimed_by": caller.name}}
        if since is not None:
            filters["ended"] = {"ended_since": since}
        queries = [seen.model_copy(update={**each, "limit": COUNTED + 1}) for each in filters.values()]
        numbers = await asyncio.gather(*map(inbox.count, queries))
        counts = [Count(count=min(number, COUNTED), more=number > COUNTED) for number in numbers]
        return reply(Counts(**dict(zip(filters, counts, strict=True))))

    async def get(
        self, http: HttpRequest, id: str, wait: Annotated[float, Query(ge=0, allow_inf_nan=False)] = 0
    ) -> HttpResponse:
        """Return a request; `wait` delays the reply until the request ends, for at most that many seconds."""
        caller = self._auth.caller(http.scope)
        inbox = inbox_for(self._components.inbox, caller)
        request = await inbox.get(id)
        if caller.role == "person" and not request.is_final:
            tracing.record_seen(request)
        if self._settings.record_seen and caller.role in ("person", "admin") and not request.is_final:
            request = await inbox.record_seen(id, caller.name)
        if wait and not request.is_final:
            with self._streams.slot(caller), suppress(WaitTimeoutError):
                waiting = inbox.wait(request, min(wait, self._settings.max_wait))
                await self._streams.wait(waiting, self._auth.verified_token(http.scope))
            # Meanwhile the token may have been revoked, or an absence may have ended.
            request = await inbox_for(self._components.inbox, self._auth.caller(http.scope)).get(id)
        return json_response(request_json(request))

    async def precedent(self, http: HttpRequest, id: str) -> HttpResponse:
        """Return how people decided the calls of the same tool in 30 days, of the requests that the caller may read."""
        caller = self._auth.caller(http.scope)
        inbox = inbox_for(self._components.inbox, caller)
        request = await inbox.get(id)
        ended: list[Request] = []
        if request.action:
            filters = {"tool": request.action.name, "statuses": ("completed", "expired"), "limit": MOST_READ + 1}
            ended = await inbox.search(visible_query(caller).model_copy(update=filters))
        return reply(precedent_of(request, ended, inbox.clock()))

    async def respond(self, http: HttpRequest) -> HttpResponse:
        """Answer a request; the first answer wins."""
        caller = self._decider(http)
        answer = Answer.parse(await self._body(http))
        inbox = inbox_for(self._components.inbox, caller, require_answerable)
        request = await inbox.answer(id_of(http), answer, by=caller.decider, channel=channel_of(http.scope))
        response = json_response(request_json(request), status_after(request))
        failpoint("server.before_reply")
        return response

    async def undo(self, http: HttpRequest) -> HttpResponse:
        """Undo the caller's own answer while it is held, or take back their reassignment until somebody acts."""
        caller = self._decider(http)
        request = await self._inbox(caller, require_answerable).undo(id_of(http), by=caller.decider)
        return json_response(request_json(request))

    async def respond_many(self, http: HttpRequest) -> HttpResponse:
        """Answer several requests, each independently; a high tier is approved only alone."""
        caller = self._decider(http)
        items = bulk_items(await self._body(http), self._settings.max_bulk)
        inbox, channel = self._components.inbox, channel_of(http.scope)
        results = await asyncio.gather(*(answer_item(inbox, caller, item, channel) for item in items))
        failpoint("server.before_reply")
        return reply(BulkResult(items=results, next=None))

    async def claim(self, http: HttpRequest) -> HttpResponse:
        """Claim a request: for a limited time nobody else can answer it."""
        caller = self._decider(http)
        return json_response(
            request_json(await self._inbox(caller, require_answerable).claim(id_of(http), by=caller.decider))
        )

    async def release(self, http: HttpRequest) -> HttpResponse:
        """Release a claim."""
        caller = self._decider(http)
        return json_response(
            request_json(await self._inbox(caller, require_answerable).release(id_of(http), by=caller.decider))
        )

    async def cancel(self, http: HttpRequest) -> HttpResponse:
        """Cancel a request; only its asker and admins may."""
        caller = self._auth.caller(http.scope)
        reason = parse_body(Cancel, await self._body(http)).reason
        return json_response(
            request_json(await self._inbox(caller, require_cancellable).cancel(id_of(http), reason, by=caller.actor))
        )

    async def report_outcome(self, http: HttpRequest) -> HttpResponse:
        """Report what became of the approved call that the caller has made; only its asker and admins may."""
        caller = self._auth.caller(http.scope)
        receipt = parse_body(Receipt, await self._body(http))
        inbox = self._inbox(caller, require_reportable)
        request = await inbox.report_outcome(
            id_of(http), receipt.outcome, result_digest=receipt.result_digest, attempt=receipt.attempt, by=caller.actor
        )
        return json_response(request_json(request))

    async def erase(self, http: HttpRequest) -> HttpResponse:
        """Erase the content of an ended request and its thread, and keep status and times. Admins only."""
        caller = self._eraser(http)
        return json_response(request_json(await self._inbox(caller).erase(id_of(http), by=caller.actor)))

    async def erase_some(self, http: HttpRequest) -> HttpResponse:
        """Erase the data of one person or from before a time, in batches: repeat with `next` as `after`."""
        caller = self._eraser(http)
        sweep = parse_body(Sweep, await self._body(http))
        return reply(await self._inbox(caller).trail.erase_some(sweep, by=caller.actor))

    async def reassign(self, http: HttpRequest) -> HttpResponse:
        """Reassign a request to another person or other groups; a name that nobody here has needs `unknown` true."""
        caller = self._decider(http)
        to = parse_body(Reassignment, await self._body(http))
        if not to.assignee and not to.groups:
            raise InvalidError.of("assignee", "give an assignee or groups", "assignee_required")
        inbox = self._inbox(caller, require_answerable)
        names: dict[str, Any] = {"assignee": to.assignee, "groups": to.groups, "unknown": to.unknown}
        request = await inbox.reassign(id_of(http), by=caller.decider, **names)
        return json_response(request_json(request))

    def _inbox(self, caller: Principal, check: CallerCheck = require_readable) -> Inbox:
        return inbox_for(self._components.inbox, caller, check)

    def _decider(self, http: HttpRequest) -> Principal:
        caller = self._auth.caller(http.scope)
        require_person(caller)
        return caller

    def _eraser(self, http: HttpRequest) -> Principal:
        caller = self._auth.caller(http.scope)
        refuse_all_but_admins(caller)
        return caller

    async def _body(self, http: HttpRequest) -> Any:
        return await json_body(http, max_depth=self._settings.max_depth)


def id_of(http: HttpRequest) -> str:
    """Return the id in the path."""
    return str(http.path_params["id"])


def bulk_items(body: Any, limit: int) -> list[dict[str, Any]]:
    """Return the unvalidated answers of a bulk call."""
    items = body.get("items") if isinstance(body, dict) else None
    if not isinstance(items, list) or not 0 < len(items) <= limit:
        raise InvalidError.of("items", f"give a list of 1 to {limit} answers, each with id, decision and digest")
    if set(body) != {"items"}:
        raise InvalidError.of("", "unknown field: send only items")
    return items


async def answer_item(inbox: Inbox, caller: Principal, item: object, channel: str) -> BulkOutcome:
    """Answer one of several requests; return the HTTP status with the request or the problem."""
    named = item.get("id") if isinstance(item, dict) else None
    id = named if isinstance(named, str) else None
    try:
        parsed_item = parse_body(BulkItem, item)
        answer = Answer.model_validate(parsed_item.model_dump(exclude={"id"}))
        allowed = inbox_for(inbox, caller, require_routine if answer.decision in AGREEING else require_answerable)
        request = await allowed.answer(parsed_item.id, answer, by=caller.decider, channel=channel)
    except RingiError as error:
        return BulkOutcome(id=id, status=status_of(error)[0], problem=document_of(error))
    return BulkOutcome(id=id, status=status_after(request), request=public_request(request))


def status_after(request: Request) -> int:
    """Return the HTTP status of an answer: 202 if it is stored, and the request still pending."""
    return 200 if request.is_final else 202


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
    ended_since: Annotated[Time | None, BeforeValidator(blank_to_none), Query(description=ENDED_SINCE)] = None,
    q: Annotated[str | None, Query(max_length=MAX_SEARCH, description=SEARCH)] = None,
) -> dict[str, Any]:
    """Return the conditions of a list, as fields of a query; `mine` is for the caller to resolve."""
    equal = {"assignee": assignee, "kind": kind, "priority": priority, "thread_id": thread_id, "tool": tool}
    more = {"agent": agent, "tier": tier, "group": group, "ended_since": ended_since, "text": q, "mine": mine}
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
        of_page = {"order": order or "newest", "before": cursor or None, "limit": size}
        query = self._query(caller, filters).model_copy(update=of_page)
        if order == "urgent":
            query = query.model_copy(update={"now": inbox.clock()})
        page = await inbox.page(query)
        items = map(request_json, page)
        if order != "urgent":
            return json_response(page_json(items, page.next))
        return json_response(urgent_page_json(items, page.next, urgent_query(query)))

    async def totals(self, http: HttpRequest, filters: Filters) -> HttpResponse:
        """Count the pending requests that the filters select, with the totals of the amounts of their tool."""
        caller = self._auth.caller(http.scope)
        if filters["statuses"] not in ((), ("pending",)):
            raise InvalidError.of("status", "totals are of pending requests only: omit the status", "pending_only")
        query = self._query(caller, filters).model_copy(update={"statuses": ("pending",), "limit": COUNTED + 1})
        return reply(totals_of(await self._components.inbox.for_tenant(caller.tenant).search(query)))

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
