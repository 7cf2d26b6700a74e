"""Access of LangGraph API callers to threads, and to the requests served to them."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from starlette.requests import Request as HttpRequest

from ringi.domain.ask import Answer
from ringi.domain.record import Query, cursor_of
from ringi.domain.request import Request
from ringi.domain.thread import Thread, ThreadStatus
from ringi.errors import FinalError, NotFoundError
from ringi.runs.announcements import AgentDescription
from ringi.server.auth.authenticator import Authenticator, Principal, VerifiedToken, base_of
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
from ringi.server.platform import Platform
from ringi.server.routes.chat import may_answer
from ringi.server.routes.langgraph_api.answers import answer_of
from ringi.server.routes.langgraph_api.models import ThreadSearch
from ringi.server.routes.langgraph_api.served import Served
from ringi.server.routes.langgraph_api.views import (
    EVERYTHING,
    REQUEST,
    Json,
    assistant_id,
    langchain_messages,
    request_values,
    request_view,
    state_view,
    thread_view,
)
from ringi.server.sse.run_pages import newest_runs
from ringi.server.sse.transcript import Place, messages_of

PAGE = 200
SCANNED = 1_000
"""Maximum number of threads or requests that one search scans."""
CHANNEL = "langgraph"
RESOLVED = "marked as resolved"
WANTED: dict[str, tuple[ThreadStatus, ...]] = {
    "interrupted": ("running", "interrupted"),
    "busy": ("running", "interrupted"),
    "idle": ("idle", "done"),
    "error": ("error",),
}


class Found(NamedTuple):
    """The target of a thread id: an agent's thread or one request, and the request that waits for the caller."""

    id: str
    thread: Thread | None
    request: Request | None
    waiting: Request | None

    @property
    def view(self) -> Json:
        """The thread in LangGraph's list format."""
        if self.thread:
            return thread_view(self.thread, self.waiting)
        assert self.request
        return request_view(self.request)


class Access:
    """Threads and requests as visible to one caller."""

    def __init__(self, platform: Platform, door: Authenticator, served: Served, http: HttpRequest) -> None:
        known: VerifiedToken = door.entry(http.scope)
        self._platform, self._served, self.who = platform, served, known.principal
        self._base = base_of(http.scope)
        # A page session or a proxied person has no individual token to distinguish.
        self._token = known.issued.mark if known.issued else known.principal.actor

    async def offers(self) -> dict[str, AgentDescription]:
        """Return the agents that people and programs may start, including those of workers, by name."""
        return await self._platform.runner.available_agents() if self._platform.runner else {}

    async def graph(self, named: str) -> str:
        """Return the name of an assistant from its name or id, or raise `NotFoundError`."""
        for name in (EVERYTHING, *await self.offers()):
            if named in (name, assistant_id(name)):
                return name
        raise NotFoundError("assistant", named)

    async def find(self, id: str) -> Found:
        """Return the target of a thread id, and record the served request; raises `NotFoundError`."""
        found = await self.look(id)
        self.note(id, found.waiting)
        return found

    async def look(self, id: str) -> Found:
        """Return the target of a thread id; raises `NotFoundError`."""
        if id.startswith(REQUEST):
            request = await inbox_for(self._platform.inbox, self.who).get(id.removeprefix(REQUEST))
            return Found(id, None, request, None if request.is_final or not is_shown(self.who, request) else request)
        thread = require_readable_thread(self.who, await self._platform.backend.store.get(Thread, self.who.tenant, id))
        return Found(id, thread, None, await self._waiting(thread))

    def note(self, id: str, waiting: Request | None) -> None:
        """Record the request that the caller is shown on a thread."""
        self._served.note(self.who.tenant, self._token, id, waiting)

    async def search(self, wanted: ThreadSearch) -> list[Json]:
        """Return threads, newest first; an unknown assistant has none."""
        try:
            graph = await self.graph(wanted.graph) if wanted.graph else None
        except NotFoundError:
            return []
        if wanted.ids is not None:
            named = [await self._found(id) for id in wanted.ids[:PAGE]]
            return [each.view for each in named if each]
        end = wanted.offset + wanted.limit
        found = await (self._requests(wanted, end) if graph == EVERYTHING else self._threads(wanted, graph, end))
        page = found[wanted.offset : end]
        for each in page:
            self.note(each.id, each.waiting)
        return [each.view for each in page]

    async def state(self, id: str) -> Json:
        """Return the state of a thread with its messages."""
        found = await self.find(id)
        if found.thread is None:
            assert found.request
            at = found.request.ended_at or found.request.created_at
            return state_view(id, request_values(found.request), found.request.id, at, found.waiting)
        values = await self.values(found.thread)
        checkpoint = found.waiting.id if found.waiting else f"{found.thread.run_id}.{found.thread.version}"
        return state_view(id, values, checkpoint, found.thread.updated_at, found.waiting)

    def place(self, thread: Thread) -> Place:
        """Return the location of the thread's images."""
        return Place(self._base, thread.id)

    async def values(self, thread: Thread) -> Json:
        """Return the visible state of an agent, with the messages of the thread."""
        runs, _ = await newest_runs(self._platform.backend.stream, thread.key, self._platform.settings.max_list, None)
        messages = langchain_messages(messages_of(runs, self.place(thread)))
        return {**thread.values, "messages": messages} if messages else dict(thread.values)

    async def answer(self, id: str, resume: Any, checkpoint: Json | None = None) -> tuple[Thread | None, Request]:
        """Answer the request served on a thread with a tool's resume value; the first answer wins."""
        require_person(self.who)
        request, digest = await self._asked(id, checkpoint)
        answer = Answer.parse({**answer_of(request, resume), "digest": digest})
        inbox = inbox_for(self._platform.inbox, self.who, require_answerable)
        return await self._thread(id), await inbox.answer(request.id, answer, by=self.who.name, channel=CHANNEL)

    async def resolve(self, id: str) -> tuple[Thread | None, Request]:
        """End the request served on a thread without consent: reject it, or else cancel it if the caller may."""
        require_person(self.who)
        request, digest = await self._asked(id, None)
        inbox = self._platform.inbox
        if "reject" in request.allowed:
            answer = Answer(decision="reject", digest=digest, message=RESOLVED)
            told = inbox_for(inbox, self.who, require_answerable).answer(
                request.id, answer, by=self.who.name, channel=CHANNEL
            )
        else:
            told = inbox_for(inbox, self.who, require_cancellable).cancel(request.id, self.who.actor, RESOLVED)
        return await self._thread(id), await told

    async def _asked(self, id: str, checkpoint: Json | None) -> tuple[Request, str]:
        """Return the request of an answer, and the digest with which it was served."""
        inbox = inbox_for(self._platform.inbox, self.who)
        if id.startswith(REQUEST):
            # Such an id always refers to the same content.
            request = await inbox.get(id.removeprefix(REQUEST))
            return request, request.digest
        await self._thread(id)
        seen = self._served.seen(self.who.tenant, self._token, id)
        shown = (checkpoint or {}).get("checkpoint_id")
        request = await inbox.get(seen.request_id)
        if shown is not None and shown != seen.request_id:
            raise FinalError(str(shown), "superseded")
        return request, seen.digest

    async def _thread(self, id: str) -> Thread | None:
        if id.startswith(REQUEST):
            return None
        return require_readable_thread(self.who, await self._platform.backend.store.get(Thread, self.who.tenant, id))

    async def _found(self, id: str) -> Found | None:
        try:
            return await self.find(id)
        except NotFoundError:
            return None

    async def _requests(self, wanted: ThreadSearch, end: int) -> list[Found]:
        pending = {"interrupted": ("pending",), "idle": ("completed", "cancelled", "expired"), None: ()}
        if wanted.status not in pending:
            return []
        found: list[Found] = []
        query = visible_query(self.who).model_copy(update={"statuses": pending[wanted.status], "limit": PAGE})
        inbox = self._platform.inbox.of(self.who.tenant)
        for _ in range(SCANNED // PAGE):
            page = await inbox.find(query)
            shown = [each for each in page if is_shown(self.who, each)]
            found += [Found(f"{REQUEST}{each.id}", None, each, None if each.is_final else each) for each in shown]
            if len(found) >= end or len(page) < PAGE:
                break
            query = query.model_copy(update={"before": cursor_of(page[-1])})
        return found

    async def _threads(self, wanted: ThreadSearch, graph: str | None, end: int) -> list[Found]:
        found: list[Found] = []
        store, before = self._platform.backend.store, None
        graphs = {graph} if graph else set(await self.offers())
        for _ in range(SCANNED // PAGE):
            statuses = WANTED[wanted.status] if wanted.status else ()
            query = Query(tenant=self.who.tenant, limit=PAGE, before=before, statuses=statuses)
            page = await store.find(Thread, query)
            theirs = [each for each in page if each.agent in graphs and may_read_thread(self.who, each)]
            waiting = await asyncio.gather(*map(self._waiting, theirs))
            each_found = [Found(each.id, each, None, asked) for each, asked in zip(theirs, waiting, strict=True)]
            found += [each for each in each_found if not wanted.status or each.view["status"] == wanted.status]
            if len(found) >= end or len(page) < PAGE:
                break
            before = cursor_of(page[-1])
        return found

    async def _waiting(self, thread: Thread) -> Request | None:
        """Return the oldest request of a thread that is shown to the caller: tools answer one at a time."""
        # A run asks shortly before it is marked as waiting, and its followers see the request at that moment.
        if not thread.is_live or self._platform.runner is None:
            return None
        asked = [each for each in await self._platform.runner.pending(thread) if is_shown(self.who, each)]
        return min(asked, key=lambda each: (each.created_at, each.id), default=None)


def is_shown(who: Principal, request: Request) -> bool:
    """Return whether a request is shown: to people if they may answer it, to agents if they asked it."""
    return may_read(who, request) and (who.role == "agent" or may_answer(who, request))
