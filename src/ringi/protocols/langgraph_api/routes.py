"""The routes of LangGraph's API that Agent Inbox, agent-chat-ui and the SDK call, under `/langgraph`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from itertools import islice
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.types import Receive, Scope, Send

from ringi.base.canonical_json import JsonObject, jsonable
from ringi.domain.ask import parse_body
from ringi.domain.thread import Thread
from ringi.errors import InvalidError, NotFoundError
from ringi.files.images import NewImage
from ringi.protocols.langgraph_api import models
from ringi.protocols.langgraph_api.access import MAX_SERVED, CallerAccess, ServedRequests
from ringi.protocols.langgraph_api.runs import StartedRun, send_langgraph_run
from ringi.protocols.langgraph_api.views import (
    ALL_REQUESTS,
    REQUEST_PREFIX,
    assistant_id,
    langgraph_thread_json,
    list_assistants,
)
from ringi.runs.announcements import AgentDescription
from ringi.server.auth.permissions import refuse_hidden_thread
from ringi.server.calls import StrictPlainRoute, json_body, json_response
from ringi.server.extension import Extension, RouteContext
from ringi.server.refusals import RefusalError, UnauthenticatedError
from ringi.server.serialize import plain_json_bytes
from ringi.server.sse.conversation import Conversations, StreamAfterAction, agent_accepts_messages, parse_run_input
from ringi.server.sse.sse import COMMENT, EventStream, StreamHeaders

PREFIX = "/langgraph"
KEY = "x-api-key"
NO_STATE = "clients cannot write a state: answer the open request, or mark it as resolved with as_node '__end__'"


class LangGraphRoutes:
    """LangGraph's API."""

    def __init__(self, context: RouteContext) -> None:
        self._context, self._components, self._auth = context, context.components, context.auth
        self._conversations = Conversations(context.components, context.limits)
        self._served, self._since = ServedRequests(MAX_SERVED), jsonable(context.components.inbox.clock())

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, include_in_schema=False)
        add(f"{PREFIX}/info", self.info, methods=["GET"])
        add(f"{PREFIX}/assistants/search", self.search_assistants, methods=["POST"])
        add(f"{PREFIX}/assistants/{{id}}", self.get_assistant, methods=["GET"])
        add(f"{PREFIX}/threads", self.create, methods=["POST"])
        add(f"{PREFIX}/threads/search", self.search, methods=["POST"])
        add(f"{PREFIX}/threads/{{id}}", self.get, methods=["GET"])
        add(f"{PREFIX}/threads/{{id}}/state", self.state, methods=["GET"])
        add(f"{PREFIX}/threads/{{id}}/state", self.update, methods=["POST"])
        add(f"{PREFIX}/threads/{{id}}/history", self.history, methods=["POST"])
        add(f"{PREFIX}/threads/{{id}}/runs", self.run, methods=["POST"])
        # LangGraph's SDK takes a bare `retry` for an unnamed event, on which its React hook fails.
        stream = EventStream(self._auth, self._context.streams, hint=bytes, heartbeat=COMMENT)
        run = RunStream(self._begin_run, send_langgraph_run, stream)
        api.router.routes.append(StrictPlainRoute(f"{PREFIX}/threads/{{id}}/runs/stream", run, methods=["POST"]))

    async def info(self, http: HttpRequest) -> HttpResponse:
        """Return information about the server, which tools request before they send a key."""
        flags = {"assistants": True, "crons": False, "langsmith": False, "langsmith_tracing_replicas": False}
        host = {"kind": "self-hosted", "project_id": None, "revision_id": None, "tenant_id": None}
        return langgraph_json_reply({"version": version("ringi"), "flags": flags, "host": host})

    async def search_assistants(self, http: HttpRequest) -> HttpResponse:
        """List the agents, and the assistant whose threads are all requests."""
        access, criteria = self._access(http), parse_body(models.AssistantSearch, await self._body(http) or {})
        found = filter(criteria.matches, list_assistants(await access.available_agents(), self._since))
        return langgraph_json_reply(list(islice(found, criteria.offset, criteria.offset + criteria.limit)))

    async def get_assistant(self, http: HttpRequest, id: str) -> HttpResponse:
        """Return one assistant by its name or id."""
        access = self._access(http)
        name, found = await access.graph(id), list_assistants(await access.available_agents(), self._since)
        return langgraph_json_reply(next(each for each in found if each["graph_id"] == name))

    async def create(self, http: HttpRequest) -> HttpResponse:
        """Return a new thread; it is stored with its first run."""
        access, body = self._access(http), parse_body(models.NewThread, await self._body(http))
        id = body.thread_id or str(uuid.uuid4())
        if id.startswith(REQUEST_PREFIX):
            raise InvalidError.of("thread_id", f"{REQUEST_PREFIX!r} is the reserved prefix of the threads of requests")
        try:
            found = await access.find(id)
        except NotFoundError:
            await refuse_hidden_thread(self._components.backend.store, access.caller, id)
            graph, now = str((body.metadata or {}).get("graph_id") or ""), self._components.inbox.clock()
            thread = langgraph_thread_json(id, graph, "idle", {}, None, created_at=now, updated_at=now)
            return langgraph_json_reply(thread)
        if body.if_exists != "do_nothing":
            what = f"thread {id!r} exists: give another thread_id, or if_exists 'do_nothing'"
            raise RefusalError(409, "exists", what)
        return langgraph_json_reply(found.view)

    async def search(self, http: HttpRequest) -> HttpResponse:
        """List threads, each with the request that waits for the caller."""
        access, criteria = self._access(http), parse_body(models.ThreadSearch, await self._body(http))
        async with self._components.large_reads:
            return langgraph_json_reply(await access.search(criteria))

    async def get(self, http: HttpRequest, id: str) -> HttpResponse:
        """Return one thread."""
        return langgraph_json_reply((await self._access(http).find(id)).view)

    async def state(self, http: HttpRequest, id: str, subgraphs: bool = False) -> HttpResponse:
        """Return the state of a thread; LangGraph's client always says that it wants none of the inner graphs."""
        if subgraphs:
            raise InvalidError.of("subgraphs", "states of inner graphs are not available: send false, or remove it")
        return langgraph_json_reply(await self._access(http).state(id))

    async def history(self, http: HttpRequest, id: str) -> HttpResponse:
        """Return only the newest state; earlier states are not available."""
        access, _ = self._access(http), parse_body(models.HistoryQuery, await self._body(http) or {})
        return langgraph_json_reply([await access.state(id)])

    async def update(self, http: HttpRequest, id: str) -> HttpResponse:
        """Mark a thread as resolved; other updates are refused."""
        access, body = self._access(http), parse_body(models.StateUpdate, await self._body(http))
        if body.as_node != models.END or body.values not in (None, {}):
            raise InvalidError.of("as_node" if body.as_node != models.END else "values", NO_STATE)
        await access.resolve(id)
        checkpoint = {"thread_id": id, "checkpoint_ns": "", "checkpoint_id": str(uuid.uuid4())}
        return langgraph_json_reply({"checkpoint": checkpoint, "configurable": checkpoint})

    async def run(self, http: HttpRequest, id: str) -> HttpResponse:
        """Answer the open request, or start a run, and return immediately."""
        started, now = await self._begin_run(http), jsonable(self._components.inbox.clock())
        run = {"run_id": started.run_id, "thread_id": id, "assistant_id": assistant_id(started.graph)}
        more = {"created_at": now, "updated_at": now, "status": "pending", "metadata": {}, "kwargs": {}}
        answered_request = langgraph_json_reply({**run, **more, "multitask_strategy": "reject"})
        answered_request.headers["content-location"] = run_location_header(started)
        return answered_request

    async def _begin_run(self, http: HttpRequest) -> StartedRun:
        access, id = self._access(http), str(http.path_params["id"])
        body = parse_body(models.RunInput, await self._body(http))
        graph, command = await access.graph(body.assistant_id), body.command
        if command and command.goto in (models.END, [models.END]):
            thread, answered_request = await access.resolve(id)
        elif command and command.resume is not None and command.update is None and command.goto is None:
            thread, answered_request = await access.answer(id, command.resume, body.checkpoint)
        elif command:
            raise InvalidError.of("command", "only resume, or goto '__end__', is supported")
        else:
            thread = await self._start(http, access, id, graph, body)
            return StartedRun(access, id, graph, str(thread.run_id), body.modes, thread)
        run = thread if thread is not None and answered_request.run_id == thread.run_id else None
        run_id = answered_request.run_id or answered_request.id
        return StartedRun(access, id, graph, run_id, body.modes, run, answered_request)

    async def _start(
        self, http: HttpRequest, access: CallerAccess, id: str, graph: str, body: models.RunInput
    ) -> Thread:
        if id.startswith(REQUEST_PREFIX) or graph == ALL_REQUESTS:
            why = f"{ALL_REQUESTS!r} is not an agent: send command.resume, or name an agent"
            raise InvalidError.of("assistant_id", why)
        if body.input is None:
            raise InvalidError.of("input", "send the input of a run, or command.resume")
        parse_body(models.NewThread, {"thread_id": id})
        thread = await self._conversations.thread(access.caller, id)
        refuse_old_checkpoint(thread, body.checkpoint)
        agent = (await access.available_agents()).get(graph)
        if agent is None:  # Its worker has ended since the lookup.
            raise NotFoundError("agent", graph)
        run_input, images = run_input_from_client(agent, body.input)
        poll = self._context.long_poll(api_key_as_bearer(http.scope))
        return await self._conversations.begin(poll, thread, id, graph, run_input, images)

    def _access(self, http: HttpRequest) -> CallerAccess:
        return CallerAccess(self._context, self._served, HttpRequest(api_key_as_bearer(http.scope)))

    async def _body(self, http: HttpRequest) -> Any:
        body = await json_body(http, max_depth=self._components.settings.max_depth)
        self._auth.caller(api_key_as_bearer(http.scope))  # The token may have been revoked before the body arrived.
        return body


class RunStream(StreamAfterAction):
    """An ASGI endpoint that starts or answers a run, sends its location, and streams it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream the run that the call has started."""
        await super().__call__(api_key_as_bearer(scope), receive, send)

    def _headers(self, context: StartedRun) -> StreamHeaders:
        return [(b"content-location", run_location_header(context).encode())]


def api_key_as_bearer(scope: Scope) -> Scope:
    """Return a call with its key in the `x-api-key` header as a call with a bearer token."""
    headers = Headers(scope=scope)
    keys = headers.getlist(KEY)
    if not keys or "authorization" in headers:
        return scope
    if len(keys) > 1 or not keys[0].strip().isascii():
        raise UnauthenticatedError.unknown()
    bearer = (b"authorization", b"Bearer " + keys[0].strip().encode())
    return {**scope, "headers": [*scope["headers"], bearer]}


def run_input_from_client(agent: AgentDescription, input: JsonObject) -> tuple[JsonObject, Sequence[NewImage | str]]:
    """Return the client's input as a run input: only the newest message counts, as a user message."""
    if not agent_accepts_messages(agent):
        return input, ()
    messages = input.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, dict) or last.get("type", last.get("role")) not in ("human", "user"):
        raise InvalidError.of("input.messages", "the newest message is not a user message: send one")
    return parse_run_input(last, str(uuid.uuid4()))


def refuse_old_checkpoint(thread: Thread | None, checkpoint: JsonObject | None) -> None:
    """Raise `InvalidError` for an input to another checkpoint than the newest of a thread: a run cannot begin there."""
    id = (checkpoint or {}).get("checkpoint_id")
    if id is not None and (thread is None or not str(id).startswith(f"{thread.run_id}.")):
        raise InvalidError.of("checkpoint", "is not the newest state of the thread: read the state, or remove it")


def run_location_header(started: StartedRun) -> str:
    """Return the header from which LangGraph's clients read the run id."""
    return f"/threads/{started.thread_id}/runs/{started.run_id}"


def langgraph_json_reply(value: object) -> HttpResponse:
    """Return JSON."""
    return json_response(plain_json_bytes(value))


EXTENSION = Extension(LangGraphRoutes)
