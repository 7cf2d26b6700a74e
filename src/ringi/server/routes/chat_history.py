"""The history of a thread: each run as its user messages and the parts of the agent's message."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.files.images import named_by
from ringi.runs.leased_run import user_messages
from ringi.server.auth.authenticator import Authenticator, Principal, base_of
from ringi.server.auth.permissions import may_read, require_readable_thread
from ringi.server.components import ServerComponents
from ringi.server.message_parts import file_part
from ringi.server.openapi import route_docs
from ringi.server.replies import reply
from ringi.server.schemas import Chat, ChatRun
from ringi.server.sse.chat_parts import MessageBuilder, Part
from ringi.server.sse.run_output import open_interrupts, requests_by_id
from ringi.server.sse.run_pages import RunHistory, newest_runs, parse_cursor


class ChatHistoryRoutes:
    """`GET /v1/chat/{id}`."""

    def __init__(self, components: ServerComponents, auth: Authenticator) -> None:
        self._auth, self._backend, self._max = auth, components.backend, components.settings.max_list

    def add_to(self, api: FastAPI) -> None:
        """Add the route."""
        partial(api.add_api_route, tags=["chat"])("/v1/chat/{id}", self.get, methods=["GET"], **route_docs("Chat"))

    async def get(
        self, http: HttpRequest, id: str, limit: Annotated[int, Query(ge=1)] = 50, cursor: str | None = None
    ) -> HttpResponse:
        """Return the newest runs of a thread, the live one included, oldest first; `next` leads to older runs."""
        caller = self._auth.caller(http.scope)
        found = await self._backend.store.get_many(Thread, [Key(caller.tenant, id)])
        if not found:
            raise NotFoundError("thread", id)
        thread = require_readable_thread(caller, found[0])
        size, before = min(limit, self._max), parse_cursor(cursor)
        runs, next = await newest_runs(self._backend.stream, thread.key, size, before)
        if before is None and thread.run and thread.run.id not in [run.id for run in runs]:
            # No worker has started it yet; the sender must see that the message arrived.
            runs.append(RunHistory(thread.run.id, [message.model_dump() for message in user_messages(thread.run)]))
        requests = await self._requests(caller, [id for run in runs for id in run.request_ids])
        chat_runs = [chat_run(run, thread, requests, base_of(http.scope)) for run in runs]
        return reply(Chat(id=id, agent=thread.agent, runs=chat_runs, next=str(next) if next else None))

    async def _requests(self, caller: Principal, ids: list[str]) -> dict[str, Request]:
        found = await requests_by_id(self._backend.store, caller.tenant, ids)
        return {id: request for id, request in found.items() if may_read(caller, request)}


def chat_run(run: RunHistory, thread: Thread, requests: dict[str, Request], base: str) -> ChatRun:
    """Return one run: the user messages, and the parts of the agent's message."""
    message = MessageBuilder(run.id, thread.id, thread.agent)
    parts = [message.start()]
    for event in run.events:
        parts += message.add(event)
        for id in (interrupt["id"] for interrupt in open_interrupts(event)):
            parts += (
                message.show_request(requests[id], can_answer=False) if id in requests else message.hide_request(id)
            )
    if run.id != thread.run_id or not thread.is_live:
        parts += [part for part in message.end(thread) if part["type"] not in ("error", "abort")]
    messages = [
        {"id": each["id"], "role": "user", "parts": parts_of(each, base, thread.id)} for each in run.user_messages
    ]
    return ChatRun(id=run.id, messages=messages, parts=list(merge_deltas(parts)))


def parts_of(message: dict[str, Any], base: str, thread_id: str) -> list[Part]:
    """Return a user message as parts: its text, if any, and its images."""
    text = [{"type": "text", "text": message["content"]}] if message["content"] else []
    return text + [file_part(base, thread_id, file) for file in named_by(message.get("metadata"))]


def merge_deltas(parts: Iterable[Part]) -> Iterable[Part]:
    """Yield the parts, with the deltas of one text merged into one part."""
    last: Part | None = None
    for part in parts:
        if last and part["type"] == last["type"] == "text-delta" and part["id"] == last["id"]:
            last = {**last, "delta": last["delta"] + part["delta"]}
            continue
        if last:
            yield last
        last = part
    if last:
        yield last
