"""Common parts of the chat protocols: start or answer a run, then follow it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ringi.domain.ask import Answer
from ringi.domain.record import Key, record_topic
from ringi.domain.request import Request
from ringi.domain.thread import Thread, user_texts_in_input
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.files.images import Images, NewImage
from ringi.runs.agent import Agent
from ringi.runs.announcements import AgentDescription
from ringi.runs.messages import run_began_with_message, stored_message_id
from ringi.runs.runner import Runner
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import inbox_for, require_answerable, require_person, require_readable_thread
from ringi.server.components import ServerComponents
from ringi.server.limits import AskLimits
from ringi.server.message_parts import parse_user_message, stored_image
from ringi.server.sse.sse import OPENING, LongPoll, StreamConnection, StreamHeaders, StreamOpening

BUSY_WAIT_SECONDS = 5.0
"""Seconds for which a user message waits for a run that answers no user message."""
CHAT = "chat"
"""The default agent for callers who name none, if several accept messages."""


Begin = Callable[[HttpRequest], Awaitable[Any]]
"""Performs the action of a call, and returns what its stream needs to know; None if there is nothing to stream."""


class Conversations:
    """Threads as visible to people who chat with an agent."""

    def __init__(self, components: ServerComponents, limits: AskLimits) -> None:
        self._components, self._limits = components, limits
        self._images = Images(components.backend.stream)

    def runner(self, agent: str) -> Runner:
        """Return the runner, or raise `NotFoundError` if there are no agents."""
        if self._components.runner is None:
            raise NotFoundError("agent", agent)
        return self._components.runner

    async def thread(self, caller: Principal, id: str) -> Thread | None:
        """Return a thread; None if it does not exist. Raises `NotFoundError` if it is hidden from the caller."""
        found = await self._components.backend.store.get_many(Thread, [Key(caller.tenant, id)])
        return require_readable_thread(caller, found[0]) if found else None

    async def begin(
        self,
        poll: LongPoll,
        thread: Thread | None,
        id: str,
        agent: str,
        input: dict[str, Any],
        sent: Sequence[NewImage | str] = (),
    ) -> Thread:
        """Begin a run unless this message began the newest run: a client that lost the reply tries again."""
        if thread and run_began_with_message(thread, input):
            return thread
        caller = poll.caller()
        if caller.role == "agent":
            await self._limits.check(self._components.inbox.for_tenant(caller.tenant), caller)
        runner = self.runner(agent)
        if not await runner.is_available(agent):
            raise NotFoundError("agent", agent)
        images = [
            each if isinstance(each, NewImage) else await stored_image(self._images, thread, each) for each in sent
        ]
        until = time.monotonic() + BUSY_WAIT_SECONDS
        async with runner.backend.notifier.subscribe(record_topic(Thread.record, Key(caller.tenant, id))) as wakeup:
            # A thread of another caller who used the same id first remains hidden.
            check = partial(require_readable_thread, caller)
            while True:
                poll.caller()  # The token may have been revoked meanwhile.
                try:
                    return await runner.start(
                        caller.tenant, id, agent, input, by=caller.asker, images=images, once=True, check=check
                    )
                except ConflictError as error:
                    if error.code != "busy":
                        raise
                    now = require_readable_thread(caller, await runner.get(caller.tenant, id))
                    if run_began_with_message(now, input):
                        return now
                    left = until - time.monotonic()
                    if left <= 0 or not is_run_without_answer(now):
                        raise
                await poll.wait(wakeup, min(left, runner.backend.notifier.recheck_after))

    async def request(self, caller: Principal, thread_id: str, id: str) -> Request:
        """Return a request of a thread, or raise `NotFoundError`."""
        request = await inbox_for(self._components.inbox, caller).get(id)
        if request.thread_id != thread_id:
            raise NotFoundError("request", id)
        return request

    async def answer(self, caller: Principal, id: str, body: dict[str, Any], channel: str) -> None:
        """Answer a request as the caller, or raise the error that refuses the answer."""
        require_person(caller)
        inbox = inbox_for(self._components.inbox, caller, require_answerable)
        await inbox.answer(id, Answer.parse(body), by=caller.decider, channel=channel)


class StreamAfterAction:
    """An ASGI endpoint that first performs the action of the call, and then streams."""

    def __init__(self, begin: Begin, feed: Callable[[StreamConnection, Any], Awaitable[None]], stream: ASGIApp) -> None:
        self._begin, self._feed, self._stream = begin, feed, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream, or reply 204 if there is nothing to stream."""
        context = await self._begin(HttpRequest(scope, receive))
        headers = self._headers(context)
        scope[OPENING] = StreamOpening(partial(self._feed_and_end, context), headers=headers)
        reply = self._stream if context else HttpResponse(status_code=204)
        await reply(scope, receive, send)

    async def _feed_and_end(self, context: Any, connection: StreamConnection) -> None:
        await self._feed(connection, context)
        connection.goodbye = b""  # The feed has sent the last event of its protocol.
        connection.end()

    def _headers(self, context: Any) -> StreamHeaders:
        return ()


def user_text_as_run_input(text: str, id: str) -> dict[str, Any]:
    """Return user text as the input of a run."""
    return {"messages": [{"role": "user", "content": text, "id": stored_message_id(id)}]}


def parse_run_input(message: dict[str, Any], id: str) -> tuple[dict[str, Any], tuple[NewImage | str, ...]]:
    """Return a user message as the input of a run, and its images; the id is that of a message without one."""
    content = parse_user_message(message.get("content"))
    return user_text_as_run_input(content.text, str(message.get("id") or id)), content.images


def is_run_without_answer(thread: Thread) -> bool:
    """Return whether the run answers no user message: a brief notice about the agent's other activity."""
    return thread.status != "interrupted" and not (thread.run and user_texts_in_input(thread.run.input))


def agent_accepts_messages(agent: Agent | AgentDescription) -> bool:
    """Return whether an agent accepts messages."""
    return "messages" in agent.input_schema.get("properties", {})


async def choose_chat_agent(runner: Runner, agent_name: str | None, thread: Thread | None) -> str:
    """Return the agent for a chat: the one named, the thread's own, that called `chat`, or the only one.

    Raises `InvalidError` if none of these exists.
    """
    if agent_name:
        return agent_name
    agents: dict[str, Agent | AgentDescription] = {**await runner.available_agents(), **runner.agents}
    names = [name for name, agent in agents.items() if agent_accepts_messages(agent)]
    if thread and thread.agent in names:
        return thread.agent
    if CHAT in names:
        # Third-party front ends name no agent; an additional agent with messages must not break them.
        return CHAT
    if len(names) != 1:
        hint = f"choose one of {', '.join(sorted(names))}" if names else "no agent accepts messages"
        raise InvalidError.of("agent", hint)
    return names[0]
