"""The AI SDK's UI message stream over threads, and their history: `useChat` works with any agent for messages."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple, get_args

from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.types import Scope

from ringi.base.model import StrictModel
from ringi.base.validation import Name
from ringi.domain.ask import parse_body
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.files.images import images_named_by_message
from ringi.runs.messages import run_user_messages
from ringi.server.auth.authenticator import Principal, channel_of, server_base_path
from ringi.server.auth.permissions import is_theirs_to_answer, may_read, require_readable_thread
from ringi.server.callers import AnyCaller, Components
from ringi.server.calls import StrictPlainRoute, json_body, reply
from ringi.server.extension import RouteContext
from ringi.server.language import server_texts_for_caller
from ringi.server.message_parts import MessagePart, image_as_ai_sdk_part, parse_user_message
from ringi.server.openapi import route_docs, router_of
from ringi.server.refusals import RefusalError
from ringi.server.routes.requests import Limit
from ringi.server.schemas import Chat, ChatRun, ChatTurn
from ringi.server.sse.chat_parts import NEWEST, ChatMessageBuilder, Sdk, encode_parts
from ringi.server.sse.conversation import Conversations, StreamAfterAction, choose_chat_agent, user_text_as_run_input
from ringi.server.sse.run_output import (
    RunHistory,
    interrupts_of_pause,
    newest_runs_before_item,
    parse_cursor,
    readable_requests_by_id,
    run_output,
)
from ringi.server.sse.sse import COMMENT, HEADERS, EventStream, StreamConnection

FORMAT = frozenset({"hold", "sdk"})
"""The parameters that select the format of the stream."""
MESSAGE_STREAM = [*HEADERS, (b"x-vercel-ai-ui-message-stream", b"v1")]
DONE = b"data: [DONE]\n\n"
STOPPING = encode_parts([{"type": "error", "errorText": "the server is stopping: resume the stream"}])


class ChatMessage(StrictModel):
    """One message as `useChat` keeps it."""

    id: Name
    role: Literal["user", "assistant"]
    parts: list[dict[str, Any]]
    metadata: dict[str, Any] | None = None

    @property
    def approvals(self) -> list[dict[str, Any]]:
        """The tool approvals and rejections in this message, as reported by the client."""
        approvals = [part.get("approval") for part in self.parts if part.get("state") == "approval-responded"]
        return [approval for approval in approvals if isinstance(approval, dict)]

    def digest_of(self, id: str) -> str:
        """Return the digest under which a request was shown in this message, or raise `InvalidError`."""
        for part in self.parts:
            data = part.get("data") if (part.get("type"), part.get("id")) == ("data-ringi-request", id) else None
            if isinstance(data, dict) and isinstance(data.get("digest"), str):
                return str(data["digest"])
        raise InvalidError.of("messages", f"the message does not show request {id!r}: send it as you received it")


class StreamFormat(NamedTuple):
    """What the query and the language of a caller select."""

    hold: bool
    """True to keep the stream open while only tool approvals are pending."""
    sdk: Sdk
    others_text: str
    """The text stating that other people are asked."""


class ChatContext(NamedTuple):
    """One run that a client follows."""

    caller: Principal
    thread: Thread
    format: StreamFormat
    after: int = 0
    """The position up to which the client has received the stream."""


class ChatRoutes:
    """`POST /v1/chat`, and the stream for reconnecting."""

    def __init__(self, context: RouteContext) -> None:
        self._context, self._backend = context, context.components.backend
        self._conversations = Conversations(context.components, context.limits)

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        stream = EventStream(self._context.auth, self._context.streams, headers=MESSAGE_STREAM, heartbeat=COMMENT)
        turn, follow = (StreamAfterAction(action, self._feed, stream) for action in (self._turn, self._follow))
        api.router.routes += [
            StrictPlainRoute("/v1/chat", turn, methods=["POST"], allowed={"agent", *FORMAT}),
            StrictPlainRoute("/v1/chat/{id}/stream", follow, methods=["GET"], allowed=FORMAT),
        ]

    async def _follow(self, http: HttpRequest) -> ChatContext | None:
        caller, format = self._context.caller(http.scope), stream_format(http.scope)
        try:
            thread = await self._conversations.thread(caller, http.path_params["id"])
        except NotFoundError:
            # `useChat` requests the stream of a chat that has only just received its id, and treats 404 as a failure.
            return None
        return ChatContext(caller, thread, format) if thread and thread.is_live else None

    async def _turn(self, http: HttpRequest) -> ChatContext:
        caller, format = self._context.caller(http.scope), stream_format(http.scope)
        body = await json_body(http, max_depth=self._context.components.settings.max_depth)
        turn = parse_body(ChatTurn, body, extra="allow")
        newest = parse_body(ChatMessage, turn.messages[-1], extra="allow")
        thread = await self._conversations.thread(caller, turn.id)
        if newest.role == "user":
            return ChatContext(caller, await self._start(http, turn, newest, thread), format)
        # The message has answers; they are those of the caller, under the digest that was shown.
        if thread is None or newest.id != thread.run_id:
            what = f"message {newest.id!r} is not the newest of thread {turn.id!r}: reload the chat"
            raise RefusalError(409, "not_newest", what)
        after = (newest.metadata or {}).get("after")
        if not isinstance(after, int):
            raise InvalidError.of("messages", "the message has no metadata.after: send it as you received it")
        for approval in newest.approvals:
            await self._answer(caller, turn.id, newest, approval, channel_of(http.scope))
        return ChatContext(caller, thread, format, after)

    async def _start(self, http: HttpRequest, turn: ChatTurn, sent: ChatMessage, thread: Thread | None) -> Thread:
        is_first = turn.trigger == "submit-message" and turn.message_id is None
        # A repeated message is a new message: under its old id it would be taken for a resend of a lost message.
        id = sent.id if is_first else f"{sent.id}~{uuid.uuid4().hex[:8]}"
        agent_name = turn.agent or http.query_params.get("agent")
        agent = await choose_chat_agent(self._conversations.runner(agent_name or "chat"), agent_name, thread)
        content = parse_user_message(sent.parts)
        poll, input = self._context.long_poll(http.scope), user_text_as_run_input(content.text, id)
        return await self._conversations.begin(poll, thread, turn.id, agent, input, content.images)

    async def _answer(
        self, caller: Principal, thread_id: str, message: ChatMessage, approval: dict[str, Any], channel: str
    ) -> None:
        request = await self._conversations.request(caller, thread_id, str(approval.get("id")))
        decision = "approve" if approval.get("approved") is True else "reject"
        digest = message.digest_of(request.id)
        answer = {"decision": decision, "message": approval.get("reason"), "digest": digest}
        try:
            await self._conversations.answer(caller, request.id, answer, channel)
        except ConflictError as error:
            # Another answer was first, or the deadline has passed: the stream shows the result.
            if error.code != "final":
                raise

    async def _feed(self, connection: StreamConnection, context: ChatContext) -> None:
        connection.goodbye = STOPPING
        key, run_id = context.thread.key, str(context.thread.run_id)
        message = ChatMessageBuilder(run_id, key.id, context.thread.agent, context.format.sdk)
        await connection.write(encode_parts([message.start()]))
        reason, after = "stop", context.after
        async for items in run_output(self._backend, key, run_id, connection.turns):
            parts: list[MessagePart] = []
            for item in items:
                fresh = message.add(item.event) + await self._event_parts(context.caller, message, item.event)
                parts += fresh if item.number > context.after else []
                after = item.number
            if parts:
                await connection.write(encode_parts(parts))
            if not items and message.is_for_the_client and not context.format.hold:
                reason = "tool-calls"
                await connection.write(encode_parts(message.waits_for_others(context.format.others_text, after)))
                break
        else:
            thread = await self._backend.store.get(Thread, *key)
            last = await self._request_parts(context.caller, message, list(message.waiting))
            await connection.write(encode_parts([*last, *message.end(thread)]))
        # One before the pause: its requests are sent again with their results.
        await connection.write(encode_parts([message.finish(reason, after - 1)]) + DONE)

    async def _event_parts(
        self, caller: Principal, message: ChatMessageBuilder, event: dict[str, Any]
    ) -> list[MessagePart]:
        """Return the requests of a pause, followed by their results."""
        paused = [interrupt["id"] for interrupt in interrupts_of_pause(event)]
        ids = list(message.waiting) if event["type"] == "RUN_STARTED" else paused
        return await self._request_parts(caller, message, ids)

    async def _request_parts(
        self, caller: Principal, message: ChatMessageBuilder, ids: Sequence[str]
    ) -> list[MessagePart]:
        requests = await readable_requests_by_id(self._backend.store, caller.tenant, ids)
        parts: list[MessagePart] = []
        for id in ids:
            request = requests.get(id)
            if request and may_read(caller, request):
                parts += message.show_request(request, can_answer=may_answer_request(caller, request))
            else:
                parts += message.hide_request(id)
            if request is None or request.is_final:
                message.waiting.pop(id, None)
        return parts


def may_answer_request(caller: Principal, request: Request) -> bool:
    """Return whether a caller who may read a request may answer it."""
    return caller.role == "admin" or (caller.role == "person" and is_theirs_to_answer(caller, request))


def stream_format(scope: Scope) -> StreamFormat:
    """Return the format of the stream, or raise `InvalidError` for an unknown version of the AI SDK."""
    query, known = QueryParams(scope["query_string"]), {str(version): version for version in get_args(Sdk)}
    version_name = query.get("sdk") or str(NEWEST)
    if version_name not in known:
        raise InvalidError.of("sdk", f"{version_name!r} is not a supported version: choose {', '.join(known)}")
    others_text = server_texts_for_caller(scope)["waits_for_others"]
    return StreamFormat(query.get("hold") == "true", known[version_name], others_text)


router = router_of("chat")


@router.get("/v1/chat/{id}", **route_docs("Chat"))
async def get(
    http: HttpRequest, caller: AnyCaller, components: Components, id: str, limit: Limit = 50, cursor: str | None = None
) -> HttpResponse:
    """Return the newest runs of a thread, the live one included, oldest first; `next` leads to older runs."""
    store, stream = components.backend.store, components.backend.stream
    thread = require_readable_thread(caller, await store.get(Thread, caller.tenant, id))
    before = parse_cursor(cursor)
    runs, next = await newest_runs_before_item(stream, thread.key, min(limit, components.settings.max_list), before)
    if before is None and thread.run and thread.run.id not in [run.id for run in runs]:
        # No worker has started it yet; the sender must see that the message arrived.
        runs.append(RunHistory(thread.run.id, run_user_messages(thread.run)))
    ids = [interrupt["id"] for run in runs for event in run.events for interrupt in interrupts_of_pause(event)]
    found = await readable_requests_by_id(store, caller.tenant, ids)
    requests = {id: request for id, request in found.items() if may_read(caller, request)}
    chat_runs = [chat_run_view(run, thread, requests, server_base_path(http.scope)) for run in runs]
    return reply(Chat(id=id, agent=thread.agent, runs=chat_runs, next=str(next) if next else None))


def chat_run_view(run: RunHistory, thread: Thread, requests: dict[str, Request], base: str) -> ChatRun:
    """Return one run: the user messages, and the parts of the agent's message."""
    message = ChatMessageBuilder(run.id, thread.id, thread.agent)
    parts = [message.start()]
    for event in run.events:
        parts += message.add(event)
        for id in (interrupt["id"] for interrupt in interrupts_of_pause(event)):
            request = requests.get(id)
            parts += message.show_request(request, can_answer=False) if request else message.hide_request(id)
    if run.id != thread.run_id or not thread.is_live:
        parts += [part for part in message.end(thread) if part["type"] not in ("error", "abort")]
    messages = [user_message(each, base, thread.id) for each in run.user_messages]
    return ChatRun(id=run.id, messages=messages, parts=list(merge_text_deltas(parts)))


def user_message(message: dict[str, Any], base: str, thread_id: str) -> dict[str, Any]:
    """Return a user message; its parts are its text, if any, and its images."""
    text = [{"type": "text", "text": message["content"]}] if message["content"] else []
    files = images_named_by_message(message.get("metadata"))
    parts = text + [image_as_ai_sdk_part(base, thread_id, file) for file in files]
    return {"id": message["id"], "role": "user", "parts": parts}


def merge_text_deltas(parts: Iterable[MessagePart]) -> Iterable[MessagePart]:
    """Yield the parts, with the deltas of one text merged into one part."""
    for id, group in groupby(parts, lambda part: part["id"] if part["type"] == "text-delta" else None):
        if id is None:
            yield from group
        else:
            deltas = list(group)
            yield {**deltas[0], "delta": "".join(each["delta"] for each in deltas)}
