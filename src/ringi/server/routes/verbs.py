"""The routes of all verbs of an inbox, from the table of operations; those that do more over HTTP have a handler."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from types import NoneType
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from ringi.base.failpoints import failpoint
from ringi.contracts.store import MAX_PAGE_BYTES
from ringi.domain.decisions import refuse_attaching_files
from ringi.domain.record import START, CutPage, Event, Key
from ringi.domain.request import Request
from ringi.domain.urgency import urgent_query
from ringi.errors import InvalidError, NotFoundError, WaitTimeoutError
from ringi.files.attachments import Attachments, file_numbers_in_answer
from ringi.inbox import tracing
from ringi.inbox.api import Inbox, Suggestions
from ringi.inbox.inbox import StoreInbox
from ringi.inbox.operations import TABLE, Operation
from ringi.server.auth.authenticator import Principal, channel_of
from ringi.server.auth.permissions import READS_ALL, RECORDS, inbox_for, may_read, require_role, require_rule_maker
from ringi.server.calls import http_status_after_answer, json_body, json_response, refuse_unknown_parameters, reply
from ringi.server.extension import RouteContext
from ringi.server.limits import submit_for_caller
from ringi.server.routes.requests import readable_requests_query
from ringi.server.schemas import AuditPage
from ringi.server.serialize import PUBLIC_FORMS, audit_event, request_json, urgent_page_json
from ringi.server.sse.event_hub import position_of_event_id


@dataclass(frozen=True)
class VerbCall:
    """One call of a verb: its caller may make it, and its parameters are checked."""

    row: Operation
    http: HttpRequest
    caller: Principal
    parameters: Any
    """An instance of the row's `parameters`, or None."""
    inbox: StoreInbox
    """What the caller may use."""
    max_depth: int

    @property
    def id(self) -> str:
        """The id in the path."""
        return str(self.http.path_params["id"])

    async def body(self) -> Any:
        """Return the checked body; None if the verb has none."""
        if not self.row.body and self.row.method == "GET":
            return None
        sent = await json_body(self.http, max_depth=self.max_depth)
        if self.row.body:
            return self.row.parse(sent)
        if sent:  # A field such as `dry_run` that means something elsewhere.
            raise InvalidError.of("", "this call has no fields: omit the body", "unexpected")
        return None

    async def perform(self, **more: Any) -> Any:
        """Call the verb in the name of the caller, and return its result."""
        arguments = self.row.from_wire(self.http.path_params, self.parameters, await self.body())
        if self.row.caller:
            # People act with their groups and as deputies; an agent has no name of a person.
            arguments[self.row.caller] = self.caller.decider if self.row.callers == "people" else self.caller.actor
        verb: Callable[..., Awaitable[Any]] = attrgetter(self.row.place)(self.inbox)
        return await verb(**arguments, **more)


Handler = Callable[[VerbCall], Awaitable[HttpResponse]]


class VerbRoutes:
    """The verbs of an inbox over HTTP."""

    def __init__(self, context: RouteContext) -> None:
        self._components, self._auth, self._streams = context.components, context.auth, context.streams
        self._limits, self._settings = context.limits, context.components.settings
        self._attachments = Attachments(context.components.backend.stream)
        self._handlers: dict[Any, Handler] = {
            Inbox.ask: self._ask,
            Inbox.find: self._find,
            Inbox.get: self._get,
            Inbox.respond: self._respond,
            Inbox.attach: self._attach,
            Inbox.attachment: self._attachment,
            Inbox.events: self._events,
            Suggestions.list: self._suggestions,
            Suggestions.accept: self._accept,
        }

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        api.router.routes += [self.route(row) for row in TABLE]

    @property
    def hottest(self) -> Route:
        """The route of answers, for a shortcut."""
        return next(self.route(row) for row in TABLE if row.verb is Inbox.respond)

    def route(self, row: Operation) -> Route:
        """Return the route of a verb.

        The order of its refusals is part of the contract: 401, 422 of the query, 403 of the role, 422 of the body, then
        404 and 403 of the record.
        """
        handle, check = self._handlers.get(row.verb, perform), RECORDS[row.records]
        if row.reply not in (*PUBLIC_FORMS, bytes, NoneType):
            raise TypeError(f"{row.place}: {row.reply} has no public form: add it to `serialize.PUBLIC_FORMS`")
        fields = row.parameters.model_fields if row.parameters else ()
        known = frozenset(name for name in fields if f"{{{name}}}" not in row.path)
        max_depth, max_list = self._settings.max_depth, self._settings.max_list

        async def answer(http: HttpRequest) -> HttpResponse:
            caller = self._auth.caller(http.scope)
            refuse_unknown_parameters(http.scope, known)
            parameters = parameters_of(row.parameters, http, max_list) if row.parameters else None
            require_role(caller, row.callers)
            tenant = self._components.inbox
            inbox = inbox_for(tenant, caller, check) if check else tenant.for_tenant(caller.tenant)
            return await handle(VerbCall(row, http, caller, parameters, inbox, max_depth))

        return Route(row.path, answer, methods=[row.method])

    async def _ask(self, call: VerbCall) -> HttpResponse:
        ask, began = await call.body(), self._components.inbox.clock()
        request = await submit_for_caller(self._components, self._limits, call.caller, ask)
        return json_response(request_json(request), 201 if request.created_at >= began else 200)

    async def _find(self, call: VerbCall) -> HttpResponse:
        wanted = call.parameters
        query = readable_requests_query(call.caller, wanted, limit=wanted.limit, cursor=wanted.cursor)
        if query.order != "urgent":
            return response_of(call.row, await call.inbox.page(query))
        query = query.model_copy(update={"now": call.inbox.clock()})
        page = await call.inbox.page(query)
        return json_response(urgent_page_json(map(request_json, page), page.next, urgent_query(query)))

    async def _get(self, call: VerbCall) -> HttpResponse:
        caller, wait, inbox = call.caller, call.parameters.wait, call.inbox
        request = await inbox.get(call.id)
        if caller.role == "person" and not request.is_final:
            tracing.record_seen(request)
        if self._settings.record_seen and caller.role in ("person", "admin") and not request.is_final:
            request = await inbox.record_seen(call.id, caller.name)
        if wait and not request.is_final:
            with self._streams.slot(caller), suppress(WaitTimeoutError):
                waiting = inbox.wait(request, min(wait, self._settings.max_wait))
                await self._streams.wait(waiting, self._auth.verified_token(call.http.scope))
            # Meanwhile the token may have been revoked, or an absence may have ended.
            request = await inbox_for(self._components.inbox, self._auth.caller(call.http.scope)).get(call.id)
        return json_response(request_json(request))

    async def _respond(self, call: VerbCall) -> HttpResponse:
        answer, channel = await call.body(), channel_of(call.http.scope)
        request = await call.inbox.answer(call.id, answer, by=call.caller.decider, channel=channel)
        response = json_response(request_json(request), http_status_after_answer(request))
        failpoint("server.before_reply")
        return response

    async def _attach(self, call: VerbCall) -> HttpResponse:
        person = call.caller.decider
        # Before the body is read: a caller who may not answer must not send ten megabytes.
        refuse_attaching_files(await call.inbox.get(call.id), person, call.inbox.clock())
        upload = await call.body()
        try:
            content = await asyncio.to_thread(base64.b64decode, upload.data, validate=True)
        except ValueError as error:
            raise InvalidError.of("data", f"is not valid base64 ({error})") from None
        file = await call.inbox.attach(call.id, upload.field, upload.name, content, by=person)
        return response_of(call.row, file)

    async def _attachment(self, call: VerbCall) -> HttpResponse:
        caller, number = call.caller, call.parameters.number
        request = await call.inbox.get(call.id)
        stored = await self._attachments.find(request.key, number)
        # Before the answer is sent, only the uploader may read it.
        is_own = caller.role != "agent" and stored is not None and stored.by == caller.name
        if not stored or not (is_own or number in file_numbers_in_answer(request)):
            raise NotFoundError("attachment", f"{call.id}/{number}")
        name = quote(stored.file["name"], safe="")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return HttpResponse(await call.inbox.attachment(call.id, number), 200, headers, stored.file["media_type"])

    async def _events(self, call: VerbCall) -> HttpResponse:
        wanted, tenant = call.parameters, call.inbox.tenant
        id, size, position = wanted.request_id, wanted.limit, position_of_event_id(wanted.after) or START
        if id is not None:
            await call.inbox.get(id)
        events = await call.inbox.store.events(position, size, tenant=tenant, record_id=id, max_bytes=MAX_PAGE_BYTES)
        items = list(map(audit_event, await self._visible(call.caller, events, id)))
        has_more = len(events) == size or isinstance(events, CutPage)
        return reply(AuditPage(items=items, next=events[-1].position if has_more else None))

    async def _visible(self, caller: Principal, events: Sequence[Event], request_id: str | None) -> Sequence[Event]:
        if request_id is not None:
            return [event for event in events if event.record == Request.record]
        if caller.role in READS_ALL:
            return events
        keys = {Key(event.tenant, event.record_id) for event in events if event.record == Request.record}
        found = await self._components.backend.store.get_many(Request, list(keys))
        seen = {request.id for request in found if may_read(caller, request)}
        return [event for event in events if event.record == Request.record and event.record_id in seen]

    async def _suggestions(self, call: VerbCall) -> HttpResponse:
        # An auditor reads all; others those that they may switch on.
        allowed = inbox_for(self._components.inbox, call.caller, require_rule_maker)
        inbox = call.inbox if call.caller.role == "auditor" else allowed
        return response_of(call.row, await inbox.suggestions.list())

    async def _accept(self, call: VerbCall) -> HttpResponse:
        return response_of(call.row, await call.perform(channel=channel_of(call.http.scope)))


async def perform(call: VerbCall) -> HttpResponse:
    """Call the verb, and return its result as the reply that the table declares."""
    return response_of(call.row, await call.perform())


def response_of(row: Operation, result: Any) -> HttpResponse:
    """Return a result of a verb as the reply that the table declares: what is stored beside it never leaves."""
    if result is None:
        return HttpResponse(status_code=row.statuses[0])
    return json_response(PUBLIC_FORMS[row.reply].write(result), row.statuses[0])


def parameters_of(model: type[BaseModel], http: HttpRequest, max_list: int) -> BaseModel:
    """Return the checked parameters of a call; no limit is above that of the server, and an empty cursor is none."""
    query = http.query_params
    values = {name: query.getlist(name) if name == "status" else query[name] for name in query if name != "cursor"}
    if query.get("cursor"):
        values["cursor"] = query["cursor"]
    in_path = {name: value for name, value in http.path_params.items() if name != "id"}
    try:
        found = model.model_validate({**values, **in_path})
    except ValidationError as error:
        wrong: list[Any] = [{**each, "loc": ("query", *each["loc"])} for each in error.errors(include_url=False)]
        raise RequestValidationError(wrong) from None
    limit = getattr(found, "limit", None)
    return found.model_copy(update={"limit": min(limit, max_list)}) if limit else found
