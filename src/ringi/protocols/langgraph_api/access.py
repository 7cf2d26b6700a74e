"""Access of LangGraph API callers to threads, and the requests served to them.

An answer names no request, and may approve only the one that was served last to its token on its thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic_core import to_json
from starlette.requests import Request as HttpRequest

from ringi.base.bounded import Bounded
from ringi.base.canonical_json import JsonObject
from ringi.base.texts import reason_of
from ringi.contracts.store import MAX_PAGE_BYTES
from ringi.domain.ask import Answer
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread, ThreadStatus
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.protocols.langgraph_api.answers import answer_from_langgraph
from ringi.protocols.langgraph_api.models import ThreadSearch
from ringi.protocols.langgraph_api.views import (
    ALL_REQUESTS,
    REQUEST_PREFIX,
    assistant_id,
    langchain_message,
    langgraph_agent_thread,
    langgraph_request_values,
    langgraph_thread_state,
    request_as_langgraph_thread,
)
from ringi.runs.announcements import AgentDescription
from ringi.runs.reconciler import record_pages
from ringi.server.auth.authenticator import Principal, server_base_path
from ringi.server.auth.permissions import (
    inbox_for,
    may_read,
    may_read_thread,
    require_answerable,
    require_cancellable,
    require_person,
    require_readable_thread,
    visible_query,
)
from ringi.server.extension import RouteContext
from ringi.server.refusals import RefusalError
from ringi.server.routes.chat import may_answer_request
from ringi.server.sse.run_output import ImageLocation, RunHistory, messages_of_runs, newest_runs_before_item

PAGE: dict[str, Any] = {"limit": 200, "max_bytes": MAX_PAGE_BYTES}
MAX_REPLY = 4 * MAX_PAGE_BYTES
SCANNED = 1_000
"""Maximum number of threads or requests that one search scans."""
CHANNEL = "langgraph"
RESOLVED = reason_of("resolved")
STATUSES_OF: dict[str, tuple[ThreadStatus, ...]] = {
    "interrupted": ("running", "interrupted"),
    "busy": ("running", "interrupted"),
    "idle": ("idle", "done"),
    "error": ("error",),
}
MAX_SERVED = 50_000


class ThreadTarget(NamedTuple):
    """The target of a thread id: an agent's thread or one request, and the request that waits for the caller."""

    id: str
    thread: Thread | None
    request: Request | None
    waiting: Request | None

    @property
    def view(self) -> JsonObject:
        """The thread in LangGraph's list format."""
        if self.thread:
            return langgraph_agent_thread(self.thread, self.waiting)
        assert self.request
        return request_as_langgraph_thread(self.request)


class FoundThreads(list[ThreadTarget]):
    """The threads of a search, which together may not be larger than one reply: the protocol has no shorter pages."""

    _size = 0

    def add(self, more: Iterable[ThreadTarget]) -> None:
        """Add threads, or raise `InvalidError`."""
        for each in more:
            self._size += len(to_json(each.view))
            if self._size > MAX_REPLY and self:
                what = f"the threads found have more than {MAX_REPLY >> 20} MB: ask for at most {len(self)} at a time"
                raise InvalidError.of("limit", what)
            self.append(each)


class ServedRequests(Bounded[tuple[str, str, str], tuple[str, str]]):
    """The id and the digest of the last request that a token was served on a thread; the oldest are forgotten."""


class CallerAccess:
    """Threads and requests as visible to one caller."""

    def __init__(self, context: RouteContext, served: ServedRequests, http: HttpRequest) -> None:
        verified = context.auth.verified_token(http.scope)
        self.components, self._served, self.caller = context.components, served, verified.principal
        self._base = server_base_path(http.scope)
        # A page session or a proxied person has no individual token to distinguish.
        self._token = verified.metadata.mark if verified.metadata else verified.principal.actor

    async def available_agents(self) -> dict[str, AgentDescription]:
        """Return the agents that people and programs may start, including those of workers, by name."""
        return await self.components.runner.available_agents() if self.components.runner else {}

    async def graph(self, name_or_id: str) -> str:
        """Return the name of an assistant from its name or id, or raise `NotFoundError`."""
        for name in (ALL_REQUESTS, *await self.available_agents()):
            if name_or_id in (name, assistant_id(name)):
                return name
        raise NotFoundError("assistant", name_or_id)

    async def find(self, id: str) -> ThreadTarget:
        """Return the target of a thread id, and record the served request; raises `NotFoundError`."""
        found = await self.look(id)
        self._record_served(found)
        return found

    async def look(self, id: str) -> ThreadTarget:
        """Return the target of a thread id; raises `NotFoundError`."""
        if id.startswith(REQUEST_PREFIX):
            request = await inbox_for(self.components.inbox, self.caller).get(id.removeprefix(REQUEST_PREFIX))
            return self._target(request)
        thread = await self._thread(id)
        return ThreadTarget(id, thread, None, await self._waiting(thread) if thread else None)

    def _target(self, request: Request) -> ThreadTarget:
        is_waiting = not request.is_final and is_request_served_to(self.caller, request)
        return ThreadTarget(f"{REQUEST_PREFIX}{request.id}", None, request, request if is_waiting else None)

    async def search(self, criteria: ThreadSearch) -> list[JsonObject]:
        """Return threads, newest first; an unknown assistant has none."""
        try:
            graph = await self.graph(criteria.graph) if criteria.graph else None
        except NotFoundError:
            return []
        end = criteria.offset + criteria.limit
        if criteria.ids is not None:
            found = FoundThreads()
            for id in criteria.ids:
                with suppress(NotFoundError):
                    target = await self.look(id)
                    found.add([target] if criteria.matches(target.view, graph) else [])
        elif graph == ALL_REQUESTS:
            found = await self._requests(criteria, end)
        else:
            found = await self._threads(criteria, graph, end)
        page = found[criteria.offset : end]
        for each in page:
            self._record_served(each)
        return [each.view for each in page]

    async def state(self, id: str) -> JsonObject:
        """Return the state of a thread with its messages."""
        found = await self.find(id)
        if found.thread is None:
            assert found.request
            values, at = langgraph_request_values(found.request), found.request.ended_at or found.request.created_at
            return langgraph_thread_state(id, values, found.request.id, at, found.waiting)
        values = await self.values(found.thread)
        checkpoint = found.waiting.id if found.waiting else f"{found.thread.run_id}.{found.thread.version}"
        return langgraph_thread_state(id, values, checkpoint, found.thread.updated_at, found.waiting)

    def image_location(self, thread: Thread) -> ImageLocation:
        """Return the location of the thread's images."""
        return ImageLocation(self._base, thread.id)

    async def newest_runs(self, thread: Thread) -> list[RunHistory]:
        """Return the newest runs of a thread, oldest first."""
        size = self.components.settings.max_list
        return (await newest_runs_before_item(self.components.backend.stream, thread.key, size, None))[0]

    async def values(self, thread: Thread) -> JsonObject:
        """Return the visible state of an agent, with the messages of the thread."""
        runs, location = await self.newest_runs(thread), self.image_location(thread)
        messages = [langchain_message(message) for message in messages_of_runs(runs, location)]
        return {**thread.values, "messages": messages} if messages else dict(thread.values)

    async def answer(
        self, id: str, resume: object, checkpoint: JsonObject | None = None
    ) -> tuple[Thread | None, Request]:
        """Answer the request served on a thread with a tool's resume value; the first answer wins."""
        require_person(self.caller)
        request, digest = await self._served_request(id, checkpoint)
        answer = Answer.parse({**answer_from_langgraph(request, resume), "digest": digest})
        inbox = inbox_for(self.components.inbox, self.caller, require_answerable)
        return await self._thread(id), await inbox.answer(request.id, answer, by=self.caller.decider, channel=CHANNEL)

    async def resolve(self, id: str) -> tuple[Thread | None, Request]:
        """End the request served on a thread without consent: reject it, or else cancel it if the caller may."""
        require_person(self.caller)
        request, digest = await self._served_request(id, None)
        thread, can_reject = await self._thread(id), "reject" in request.allowed
        check = require_answerable if can_reject else require_cancellable
        inbox = inbox_for(self.components.inbox, self.caller, check)
        if not can_reject:
            return thread, await inbox.cancel(request.id, RESOLVED, by=self.caller.actor)
        answer = Answer(decision="reject", digest=digest, message=RESOLVED)
        return thread, await inbox.answer(request.id, answer, by=self.caller.decider, channel=CHANNEL)

    async def _served_request(self, id: str, checkpoint: JsonObject | None) -> tuple[Request, str]:
        """Return the request of an answer, and the digest with which it was served."""
        inbox = inbox_for(self.components.inbox, self.caller)
        if id.startswith(REQUEST_PREFIX):
            # Such an id always refers to the same content.
            request = await inbox.get(id.removeprefix(REQUEST_PREFIX))
            return request, request.digest
        await self._thread(id)
        served = self._served.get((self.caller.tenant, self._token, id))
        if served is None:
            what = f"this token has not read the open request of thread {id!r}: load the thread first"
            raise RefusalError(409, "not_served", what)
        request_id, digest = served
        checkpoint_id = (checkpoint or {}).get("checkpoint_id")
        request = await inbox.get(request_id)
        if checkpoint_id is not None and checkpoint_id != request_id:
            raise ConflictError.ended(str(checkpoint_id), "superseded")
        return request, digest

    def _record_served(self, found: ThreadTarget) -> None:
        key = (self.caller.tenant, self._token, found.id)
        self._served.pop(key, None)
        if found.waiting:
            self._served[key] = (found.waiting.id, found.waiting.digest)

    async def _thread(self, id: str) -> Thread | None:
        if id.startswith(REQUEST_PREFIX):
            return None
        thread = await self.components.backend.store.get(Thread, self.caller.tenant, id)
        return require_readable_thread(self.caller, thread)

    async def _requests(self, search: ThreadSearch, end: int) -> FoundThreads:
        pending = {"interrupted": ("pending",), "idle": ("completed", "cancelled", "expired"), None: ()}
        if search.status not in pending:
            return FoundThreads()
        found, scanned = FoundThreads(), 0
        query = visible_query(self.caller).model_copy(update={"statuses": pending[search.status], **PAGE})
        async for page in record_pages(self.components.backend.store, Request, query):
            found.add(self._target(each) for each in page if is_request_served_to(self.caller, each))
            scanned += len(page)
            if len(found) >= end or scanned >= SCANNED:
                break
        return found

    async def _threads(self, search: ThreadSearch, graph: str | None, end: int) -> FoundThreads:
        found, scanned, store = FoundThreads(), 0, self.components.backend.store
        graphs = {graph} if graph else set(await self.available_agents())
        statuses = STATUSES_OF[search.status] if search.status else ()
        query = Query(tenant=self.caller.tenant, statuses=statuses, **PAGE)
        async for page in record_pages(store, Thread, query):
            readable = [each for each in page if each.agent in graphs and may_read_thread(self.caller, each)]
            waiting = await asyncio.gather(*map(self._waiting, readable))
            targets = [ThreadTarget(each.id, each, None, asked) for each, asked in zip(readable, waiting, strict=True)]
            found.add(each for each in targets if not search.status or each.view["status"] == search.status)
            scanned += len(page)
            if len(found) >= end or scanned >= SCANNED:
                break
        return found

    async def _waiting(self, thread: Thread) -> Request | None:
        """Return the oldest request of a thread that is shown to the caller: tools answer one at a time."""
        # A run asks shortly before it is marked as waiting, and its followers see the request at that moment.
        if not thread.is_live or self.components.runner is None:
            return None
        pending = await self.components.runner.pending(thread)
        asked = [each for each in pending if is_request_served_to(self.caller, each)]
        return min(asked, key=lambda each: (each.created_at, each.id), default=None)


def is_request_served_to(caller: Principal, request: Request) -> bool:
    """Return whether a request is shown: to people if they may answer it, to agents if they asked it."""
    return may_read(caller, request) and (caller.role == "agent" or may_answer_request(caller, request))
