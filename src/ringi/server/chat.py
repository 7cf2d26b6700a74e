"""The AI SDK's UI message stream over threads: `useChat` works with any agent that takes messages."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, NamedTuple

from starlette.datastructures import QueryParams
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ringi.ask import Answer, Name, parsed
from ringi.errors import FinalError, InvalidError, NotFoundError, ThreadBusyError
from ringi.record import Frozen, Key
from ringi.request import Request
from ringi.server.auth import Door, Principal, channel_of
from ringi.server.body import json_body
from ringi.server.chat_parts import Message, Part, written
from ringi.server.limits import AskLimits
from ringi.server.models import ChatTurn
from ringi.server.permissions import (
    answerable,
    inbox_for,
    is_theirs_to_answer,
    may_read,
    readable_thread,
    refuse_agents,
)
from ringi.server.platform import Platform
from ringi.server.refusals import NotNewestError
from ringi.server.run_output import open_interrupts, run_output
from ringi.server.sse import HEADERS, Connection, EventStream, Feeder, Streams
from ringi.thread import Thread
from ringi.threads.agent import Agent
from ringi.threads.runner import Runner

MESSAGE_STREAM = [*HEADERS, (b"x-vercel-ai-ui-message-stream", b"v1")]
TALK = "ringi.talk"
"""In the scope: what was found or begun before the stream."""
DONE = b"data: [DONE]\n\n"
STOPPING = written([{"type": "error", "errorText": "the server is stopping: resume the stream"}])


class ChatMessage(Frozen):
    """One message as `useChat` keeps it."""

    id: Name
    role: Literal["user", "assistant"]
    parts: list[dict[str, Any]]
    metadata: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """What a person wrote; raises `InvalidError` for anything but text."""
        strange = [part.get("type") for part in self.parts if part.get("type") != "text"]
        if strange:
            raise InvalidError.of("messages", f"a part of type {strange[0]!r} is not taken: send text")
        text = "\n".join(str(part.get("text", "")) for part in self.parts).strip()
        if not text:
            raise InvalidError.of("messages", "the newest message is empty: send some text")
        return text

    @property
    def approvals(self) -> list[dict[str, Any]]:
        """The tool approvals that a person gave or refused in this message, as the client says."""
        given = [part.get("approval") for part in self.parts if part.get("state") == "approval-responded"]
        return [approval for approval in given if isinstance(approval, dict)]

    def digest_of(self, id: str) -> str:
        """Return the digest under which a request was shown in this message, or raise `InvalidError`."""
        for part in self.parts:
            shown = part.get("data") if (part.get("type"), part.get("id")) == ("data-ringi-request", id) else None
            if isinstance(shown, dict) and isinstance(shown.get("digest"), str):
                return str(shown["digest"])
        raise InvalidError.of("messages", f"the message does not show request {id!r}: send it as you received it")


class Talk(NamedTuple):
    """One run that somebody listens to."""

    who: Principal
    thread: Thread
    after: int = 0
    """How far the client has been told."""
    hold: bool = False
    """Whether the stream stays open while only tool approvals are waited for."""


class ChatRoutes:
    """`POST /v1/chat` and the stream to come back to."""

    def __init__(self, platform: Platform, door: Door, streams: Streams, limits: AskLimits) -> None:
        self._platform, self._door, self._streams, self._limits = platform, door, streams, limits
        self._backend = platform.backend

    def streams(self) -> list[Route]:
        """Return the routes, all of which stream."""
        stream = EventStream(self._door, self._streams, self._open, MESSAGE_STREAM)
        return [
            Route("/v1/chat", Endpoint(self._turn, stream), methods=["POST"]),
            Route("/v1/chat/{id}/stream", Endpoint(self._again, stream), methods=["GET"]),
        ]

    async def _open(self, scope: Scope, who: Principal) -> tuple[Feeder, Callable[[Connection], None]]:
        talk: Talk = scope[TALK]
        return (lambda connection: self._feed(connection, talk)), (lambda connection: None)

    async def _again(self, http: HttpRequest) -> Talk | None:
        who = self._door.caller(http.scope)
        try:
            thread = await self._thread(who, http.path_params["id"])
        except NotFoundError:
            # `useChat` asks for the stream of a chat that has only just got its id, and takes a 404 for a failure.
            thread = None
        return Talk(who, thread, hold=holds(http.scope)) if thread and thread.is_live else None

    async def _turn(self, http: HttpRequest) -> Talk:
        who = self._door.caller(http.scope)
        body = await json_body(http, max_depth=self._platform.settings.max_depth)
        turn = parsed(ChatTurn, body, extra="allow")
        newest = parsed(ChatMessage, turn.messages[-1], extra="allow")
        thread = await self._thread(who, turn.id)
        if newest.role == "user":
            talk = Talk(who, await self._said(who, turn, newest, thread, http.query_params.get("agent")))
        else:
            talk = await self._approved(who, turn, newest, thread, channel_of(http.scope))
        return talk._replace(hold=holds(http.scope))

    async def _said(
        self, who: Principal, turn: ChatTurn, message: ChatMessage, thread: Thread | None, named: str | None
    ) -> Thread:
        """Begin a run, unless the thread's newest run began with this very message: a client may try again."""
        is_first = turn.trigger == "submit-message" and turn.message_id is None
        if thread and is_first and began_with(thread, message.id):
            return thread
        # What was said already stays said: under its old id it would replace the message in the agent's history.
        id = message.id if is_first else f"{message.id}~{uuid.uuid4().hex[:8]}"
        input = {"messages": [{"role": "user", "content": message.text, "id": id}]}
        runner = self._platform.runner
        if runner is None:
            raise NotFoundError("agent", turn.agent or named or "chat")
        agent = taking_messages(runner, turn.agent or named, thread)
        if who.role == "agent":
            await self._limits.check(self._platform.inbox.of(who.tenant), who)
        try:
            return await runner.start(who.tenant, turn.id, agent, input, by=who.actor)
        except ThreadBusyError:
            now = await runner.get(who.tenant, turn.id)
            if is_first and began_with(now, message.id):
                return now
            raise

    async def _approved(
        self, who: Principal, turn: ChatTurn, message: ChatMessage, thread: Thread | None, channel: str
    ) -> Talk:
        """Answer what the message says was answered, as the caller and under the digest that it was shown with."""
        if thread is None or message.id != thread.run_id:
            raise NotNewestError(turn.id, message.id)
        after = (message.metadata or {}).get("after")
        if not isinstance(after, int):
            raise InvalidError.of("messages", "the message has no metadata.after: send it as you received it")
        if message.approvals:
            refuse_agents(who)
        for approval in message.approvals:
            await self._answer(who, turn.id, message, approval, channel)
        return Talk(who, thread, after)

    async def _answer(
        self, who: Principal, thread_id: str, message: ChatMessage, approval: dict[str, Any], channel: str
    ) -> None:
        inbox = inbox_for(self._platform.inbox, who, answerable)
        id = str(approval.get("id"))
        if (await inbox.get(id)).thread_id != thread_id:
            raise NotFoundError("request", id)
        decision = "approve" if approval.get("approved") is True else "reject"
        said = {"decision": decision, "message": approval.get("reason"), "digest": message.digest_of(id)}
        try:
            await inbox.answer(id, Answer.parse(said), by=who.name, channel=channel)
        except FinalError:
            # Somebody else was first, or it is too late: the stream says what holds.
            return

    async def _thread(self, who: Principal, id: str) -> Thread | None:
        found = await self._backend.store.get_many(Thread, [Key(who.tenant, id)])
        return readable_thread(who, found[0]) if found else None

    async def _feed(self, connection: Connection, talk: Talk) -> None:
        connection.goodbye = STOPPING
        key, run_id = talk.thread.key, str(talk.thread.run_id)
        message = Message(run_id, key.id, talk.thread.agent)
        await connection.write(written([message.start()]))
        reason, after = "stop", talk.after
        async for items in run_output(self._backend, key, run_id, connection.turns):
            parts: list[Part] = []
            for item in items:
                fresh = message.take(item.event) + await self._asked(talk.who, message, item.event)
                parts += fresh if item.number > talk.after else []
                after = item.number
            if parts:
                await connection.write(written(parts))
            if not items and message.is_for_the_client and not talk.hold:
                reason = "tool-calls"
                break
        else:
            thread = await self._backend.store.get(Thread, *key)
            await connection.write(written([*await self._left(talk.who, message), *message.end(thread)]))
        # One before the pause: what it asks is told again with what has become of it.
        await connection.write(written([message.finish(reason, after - 1)]) + DONE)
        connection.goodbye = b""
        connection.end()

    async def _asked(self, who: Principal, message: Message, event: dict[str, Any]) -> list[Part]:
        """Return the requests of a pause, and after it what has become of them."""
        if event["type"] == "RUN_STARTED":
            return await self._left(who, message)
        return await self._shown(who, message, [interrupt["id"] for interrupt in open_interrupts(event)])

    async def _left(self, who: Principal, message: Message) -> list[Part]:
        return await self._shown(who, message, list(message.waiting))

    async def _shown(self, who: Principal, message: Message, ids: Sequence[str]) -> list[Part]:
        found = await self._backend.store.get_many(Request, [Key(who.tenant, id) for id in ids]) if ids else []
        parts: list[Part] = []
        for request in sorted(found, key=lambda request: ids.index(request.id)):
            if may_read(who, request):
                parts += message.asked(request, is_native=may_answer(who, request))
            else:
                parts += message.hidden(request.id)
        return parts


class Endpoint:
    """An ASGI endpoint that first does what the call asks for, and then streams."""

    def __init__(self, begin: Callable[[HttpRequest], Awaitable[Talk | None]], stream: EventStream) -> None:
        self._begin, self._stream = begin, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream, or answer 204 when there is nothing to stream."""
        scope[TALK] = await self._begin(HttpRequest(scope, receive))
        reply = self._stream if scope[TALK] else HttpResponse(status_code=204)
        await reply(scope, receive, send)


def may_answer(who: Principal, request: Request) -> bool:
    """Whether a caller who knows of a request may answer it."""
    return who.role == "admin" or (who.role == "person" and is_theirs_to_answer(who, request))


def holds(scope: Scope) -> bool:
    """Whether the caller wants the stream to stay open in every pause."""
    return QueryParams(scope["query_string"]).get("hold") == "true"


def began_with(thread: Thread, message_id: str) -> bool:
    """Whether the newest run of a thread has this message for its input."""
    said = thread.run.input.get("messages") if thread.run else None
    return isinstance(said, list) and bool(said) and isinstance(said[-1], dict) and said[-1].get("id") == message_id


def takes_messages(agent: Agent) -> bool:
    """Whether an agent says that it has a conversation."""
    return "messages" in agent.input_schema.get("properties", {})


def taking_messages(runner: Runner, named: str | None, thread: Thread | None) -> str:
    """Return the agent to talk with: the one named, the thread's own, or the only one; else raise `InvalidError`."""
    if named:
        return named
    talkers = [name for name, agent in runner.agents.items() if takes_messages(agent)]
    if thread and thread.agent in talkers:
        return thread.agent
    if len(talkers) != 1:
        told = f"name one of {', '.join(sorted(talkers))}" if talkers else "none here takes messages"
        raise InvalidError.of("agent", told)
    return talkers[0]
