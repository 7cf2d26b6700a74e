"""The routes of events: the live feed and the audit trail."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response as HttpResponse
from starlette.types import Scope

from ringi.domain.journal import WRITTEN, Journal
from ringi.domain.record import START, Key, Position
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import inbox_for
from ringi.server.callers import AuditorCaller
from ringi.server.calls import StrictPlainRoute, reply
from ringi.server.extension import RouteContext
from ringi.server.middleware import LOG
from ringi.server.openapi import route_docs
from ringi.server.routes.requests import Limit
from ringi.server.schemas import Access, AccessPage
from ringi.server.sse.event_hub import ALL, EventHub, position_of_event_id
from ringi.server.sse.sse import POSITION_PARAMETERS, EventStream, StreamOpening, last_event_id


class EventRoutes:
    """Events over HTTP."""

    def __init__(self, context: RouteContext, hub: EventHub) -> None:
        self._context, self._components, self._hub = context, context.components, hub

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        api.get("/v1/access-log", tags=["events"], **route_docs("AccessPage"))(self.access_log)
        of_all = EventStream(self._context.auth, self._context.streams, self._open_all)
        of_one = EventStream(self._context.auth, self._context.streams, self._open_one)
        api.router.routes += [
            StrictPlainRoute("/v1/events", of_all, methods=["GET"], allowed=POSITION_PARAMETERS),
            StrictPlainRoute("/v1/requests/{id}/events", of_one, methods=["GET"], allowed=POSITION_PARAMETERS),
        ]

    async def access_log(self, caller: AuditorCaller, after: str | None = None, limit: Limit = 100) -> HttpResponse:
        """List what auditors read, oldest first; for auditors and admins."""
        size, position = min(limit, self._components.settings.max_list), position_of_event_id(after) or START
        store = self._components.backend.store
        events = await store.events(position, size, tenant=caller.tenant, record_id=LOG)
        found = await store.get_many(Journal, [Key(caller.tenant, LOG)])
        items = [
            Access(at=event.at, by=event.actor, read=journal.entry_of(event).get("read", []))
            for journal in found
            for event in events
            if event.type == WRITTEN
        ]
        return reply(AccessPage(items=items, next=events[-1].position if len(events) == size else None))

    async def _open_all(self, scope: Scope, caller: Principal) -> StreamOpening:
        if (after := position_of_event_id(last_event_id(scope))) is None:
            tail = await self._hub.tail()
            return self._opening(ALL, tail)._replace(begins_after=tail)
        await self._hub.check(caller.tenant, after)
        return self._opening(ALL, after)

    async def _open_one(self, scope: Scope, caller: Principal) -> StreamOpening:
        id, after = scope["path_params"]["id"], position_of_event_id(last_event_id(scope)) or START
        await inbox_for(self._components.inbox, caller).get(id)
        await self._hub.check(caller.tenant, after)
        return self._opening(id, after)

    def _opening(self, id: str, after: Position) -> StreamOpening:
        return StreamOpening(lambda connection: self._hub.feed(connection, id, after), lambda c: self._hub.leave(c, id))
