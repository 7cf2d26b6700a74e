"""The routes of memories: answers that the caller approved for their later threads."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import FastAPI, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.ask import parse_body
from ringi.inbox.inbox import Inbox
from ringi.server.auth.authenticator import Authenticator
from ringi.server.auth.permissions import require_person
from ringi.server.body import json_body
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.replies import reply
from ringi.server.routes.requests import Cursor
from ringi.server.schemas import MemoryEdit, MemoryPage
from ringi.server.serialize import memory_view


class MemoryRoutes:
    """The caller's own memories over HTTP; no role can read those of other people."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._components, self._auth = components, auth

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["memories"])
        add("/v1/memories", self.find, methods=["GET"], **route_docs("MemoryPage"))
        add("/v1/memories/{id}", self.get, methods=["GET"], **route_docs("Memory"))
        add("/v1/memories/{id}", self.edit, methods=["PATCH"], **route_docs("Memory", body="MemoryEdit"))
        add("/v1/memories/{id}", self.delete, methods=["DELETE"], **route_docs(None, 204))

    async def find(
        self, http: HttpRequest, limit: Annotated[int, Query(ge=1)] = 50, cursor: Cursor = None
    ) -> HttpResponse:
        """List the caller's memories, newest question first."""
        inbox, person = self._of_caller(http)
        size = min(limit, self._components.settings.max_list)
        page = await inbox.memories.list(person, limit=size, cursor=cursor or None)
        return reply(MemoryPage(items=list(map(memory_view, page)), next=page.next))

    async def get(self, http: HttpRequest, id: str) -> HttpResponse:
        """Return one memory; its id is the id of the request that asked the question."""
        inbox, person = self._of_caller(http)
        return reply(memory_view(await inbox.memories.get(id, person)))

    async def edit(self, http: HttpRequest, id: str) -> HttpResponse:
        """Change a memory; the original answer of the request stays unchanged."""
        inbox, person = self._of_caller(http)
        change = parse_body(MemoryEdit, await json_body(http, max_depth=self._components.settings.max_depth))
        memory = await inbox.memories.edit(id, change.data, by=person, told_at=change.told_at)
        return reply(memory_view(memory))

    async def delete(self, http: HttpRequest, id: str) -> HttpResponse:
        """Delete a memory permanently; the original answer of the request stays."""
        inbox, person = self._of_caller(http)
        await inbox.memories.delete(id, by=person)
        return HttpResponse(status_code=204)

    def _of_caller(self, http: HttpRequest) -> tuple[Inbox, str]:
        caller = self._auth.caller(http.scope)
        require_person(caller)
        return self._components.inbox.for_tenant(caller.tenant), caller.name
