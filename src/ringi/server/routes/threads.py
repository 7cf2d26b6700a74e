"""The routes of agents and threads: runs and their output."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import FastAPI, Path, Query
from pydantic import BeforeValidator
from starlette.datastructures import QueryParams
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.types import Scope

from ringi.base.model import StrictModel
from ringi.domain.ask import Id, parse_body
from ringi.domain.record import CutPage, Key, cursor_after_record
from ringi.domain.thread import Thread, ThreadStatus
from ringi.errors import NotFoundError
from ringi.files.images import Images, NewImage
from ringi.server import schemas
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import may_read, may_read_thread, not_the_creator_error, require_readable_thread
from ringi.server.callers import AnyCaller
from ringi.server.calls import StrictPlainRoute, json_body, reply
from ringi.server.extension import RouteContext
from ringi.server.message_parts import decode_base64_image
from ringi.server.openapi import route_docs
from ringi.server.refusals import MalformedError
from ringi.server.routes.requests import Cursor, Limit, blank_filter_to_none
from ringi.server.schemas import NewRun, OperatorReason
from ringi.server.serialize import thread_summary, thread_view
from ringi.server.sse.sse import POSITION_PARAMETERS, EventStream, StreamOpening, last_event_id
from ringi.server.sse.thread_hub import ThreadHub

if TYPE_CHECKING:
    from ringi.runs.runner import Runner

SCANNED = 1_000
"""Maximum number of threads that one call scans for those of an agent."""


class ThreadName(StrictModel):
    """A thread id chosen by the caller."""

    thread_id: Id
    """1 to 200 letters, digits and `._~:@-` in ASCII; the first is a letter or a digit."""


class ThreadRoutes:
    """Threads over HTTP."""

    def __init__(self, context: RouteContext, hub: ThreadHub) -> None:
        self._context, self._components, self._hub = context, context.components, hub
        self._settings = context.components.settings

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["threads"])
        add("/v1/agents", self.agents, methods=["GET"], **route_docs("AgentPage"))
        add("/v1/threads", self.find, methods=["GET"], **route_docs("ThreadPage"))
        add("/v1/threads/{id}", self.get, methods=["GET"], **route_docs("Thread"))
        add("/v1/threads/{id}/runs", self.start, methods=["POST"], **route_docs("RunStarted", 202, body="NewRun"))
        add("/v1/threads/{id}/cancel", self.cancel, methods=["POST"], **route_docs("Thread", body="Operation"))
        image = route_docs(None, file="image/*")
        add("/v1/threads/{id}/images/{number}", self.image, methods=["GET"], **image)
        stream = EventStream(self._context.auth, self._context.streams, self._open)
        allowed = POSITION_PARAMETERS | {"follow"}
        api.router.routes.append(StrictPlainRoute("/v1/threads/{id}/stream", stream, methods=["GET"], allowed=allowed))

    async def agents(self, caller: AnyCaller) -> HttpResponse:
        """List the agents that callers can start."""
        agents = (await self._components.runner.available_agents()).values() if self._components.runner else ()
        items = [schemas.AgentView.model_validate(agent, from_attributes=True) for agent in agents]
        return reply(schemas.AgentPage(items=items, next=None))

    async def start(self, http: HttpRequest, caller: AnyCaller, id: str) -> HttpResponse:
        """Start a run and return immediately; the run continues in the background."""
        thread_id = parse_body(ThreadName, {"thread_id": id}).thread_id
        run = parse_body(NewRun, await json_body(http, max_depth=self._settings.max_depth))
        runner = self._components.runner
        if runner is None or not await runner.is_available(run.agent):
            raise NotFoundError("agent", run.agent)
        if caller.role == "agent":
            await self._context.count_run(caller)
        images = [NewImage(image.name, decode_base64_image(image.data)) for image in run.images]
        check = partial(require_readable_thread, caller)
        thread = await runner.start(
            caller.tenant, thread_id, run.agent, run.input, by=caller.asker, images=images, check=check
        )
        return reply(schemas.RunStarted(thread_id=thread.id, run_id=str(thread.run_id)), 202)

    async def find(
        self,
        caller: AnyCaller,
        status: Annotated[list[ThreadStatus] | None, Query(), BeforeValidator(blank_filter_to_none)] = None,
        agent: Annotated[str | None, Query()] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> HttpResponse:
        """List the threads that the caller may read, newest first; a page may be shorter than its limit."""
        runner, size, statuses = self._components.runner, min(limit, self._settings.max_list), tuple(status or ())
        if runner is None:
            return reply(schemas.ThreadPage(items=[], next=None))
        found: list[tuple[schemas.ThreadSummary, str]] = []
        next, scanned, is_end, is_cut = cursor or None, 0, False, False
        # The values of threads can be large: with the first that fill a page of bytes, the reply is complete.
        while len(found) <= size and scanned < SCANNED and not is_end and not (is_cut and found):
            page = await runner.find(caller.tenant, size + 1, next, statuses)
            wanted = [each for each in page if agent in (None, "", each.agent) and may_read_thread(caller, each)]
            found += [(thread_summary(each), cursor_after_record(each)) for each in wanted]
            is_cut = isinstance(page, CutPage)
            is_end = len(page) <= size and not is_cut
            next = None if is_end else cursor_after_record(page[-1])
            scanned += len(page)
        if len(found) > size:
            next = found[size - 1][1]
        return reply(schemas.ThreadPage(items=[each for each, _ in found[:size]], next=next))

    async def get(self, caller: AnyCaller, id: str) -> HttpResponse:
        """Return one thread with its pending requests."""
        return await self._reply_with(caller, *await self._readable(caller, id))

    async def cancel(self, http: HttpRequest, caller: AnyCaller, id: str) -> HttpResponse:
        """Cancel a thread's run and its pending requests."""
        runner, thread = await self._readable(caller, id)
        if caller.role != "admin" and thread.started_by != caller.actor:
            raise not_the_creator_error("thread", id)
        reason = parse_body(OperatorReason, await json_body(http, max_depth=self._settings.max_depth)).reason
        thread = await runner.cancel(caller.tenant, id, by=caller.actor, reason=reason)
        return await self._reply_with(caller, runner, thread)

    async def image(self, caller: AnyCaller, id: str, number: Annotated[int, Path(ge=1)]) -> HttpResponse:
        """Return an image of a message; browsers may display it inline, because only images are stored."""
        backend, images = self._components.backend, Images(self._components.backend.stream)
        thread = require_readable_thread(caller, await backend.store.get(Thread, caller.tenant, id))
        if number not in (thread.images or ()):
            raise NotFoundError("image", f"{id}/{number}")
        file = await images.find(thread.key, number)
        headers = {"content-disposition": f"inline; filename*=UTF-8''{quote(file['name'], safe='')}"}
        return HttpResponse(await images.content(thread.key, file), 200, headers, file["media_type"])

    async def _reply_with(self, caller: Principal, runner: Runner, thread: Thread) -> HttpResponse:
        pending = await runner.pending(thread)
        readable = [request for request in pending if may_read(caller, request)]
        view = thread_view(thread, readable, self._settings.prices)
        return reply(view, exclude=None if caller.role == "admin" else {"traceback"})

    async def _readable(self, caller: Principal, id: str) -> tuple[Runner, Thread]:
        runner = self._components.runner
        if runner is None:
            raise NotFoundError("thread", id)
        return runner, require_readable_thread(caller, await runner.get(caller.tenant, id))

    async def _open(self, scope: Scope, caller: Principal) -> StreamOpening:
        key = Key(caller.tenant, scope["path_params"]["id"])
        await self._readable(caller, key.id)
        after = await self._hub.check(key, last_event_id(scope))
        follows = QueryParams(scope["query_string"]).get("follow", "true")
        if follows not in ("true", "false"):
            raise MalformedError("`follow` is true or false")
        feed = partial(self._hub.feed, key=key, after=after, follows=follows == "true")
        return StreamOpening(feed, lambda connection: self._hub.leave(connection, key))
