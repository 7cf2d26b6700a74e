"""What the chat protocols have in common: a run is begun, or answered, and then followed."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ringi.domain.ask import Answer
from ringi.domain.record import Key, topic_of
from ringi.domain.request import Request
from ringi.domain.thread import Thread, words_in
from ringi.errors import InvalidError, NotFoundError, ThreadBusyError
from ringi.files.images import Images, NewImage
from ringi.runs.agent import Agent
from ringi.runs.announcements import Offer
from ringi.runs.message_ids import began_with, own_id
from ringi.runs.runner import Runner
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import answerable, inbox_for, readable_thread, refuse_agents
from ringi.server.limits import AskLimits
from ringi.server.message_parts import images_of
from ringi.server.platform import Platform

PATIENCE = 5.0
"""For how many seconds what a person says waits for a run that is about nothing that anybody said."""
CHAT = "chat"
"""The agent that people talk with who name none, where several talk."""
TALK = "ringi.talk"
"""In the scope: what was found or begun before the stream."""


class Conversations:
    """Threads as those see them who talk with an agent."""

    def __init__(self, platform: Platform, limits: AskLimits) -> None:
        self._platform, self._limits = platform, limits
        self._images = Images(platform.backend.stream)

    def runner(self, agent: str) -> Runner:
        """Return what runs agents, or raise `NotFoundError` where none are."""
        if self._platform.runner is None:
            raise NotFoundError("agent", agent)
        return self._platform.runner

    async def thread(self, who: Principal, id: str) -> Thread | None:
        """Return a thread, None if there is none yet; raises `NotFoundError` for one that is hidden from the caller."""
        found = await self._platform.backend.store.get_many(Thread, [Key(who.tenant, id)])
        return readable_thread(who, found[0]) if found else None

    async def begin(
        self,
        who: Principal,
        thread: Thread | None,
        id: str,
        agent: str,
        input: dict[str, Any],
        sent: Sequence[NewImage | str] = (),
    ) -> Thread:
        """Begin a run, unless the newest began with this very message: a client that lost the reply tries again."""
        if thread and began_with(thread, input):
            return thread
        if who.role == "agent":
            await self._limits.check(self._platform.inbox.of(who.tenant), who)
        runner = self.runner(agent)
        if not await runner.has_offer(agent):
            raise NotFoundError("agent", agent)
        images = await images_of(self._images, thread, sent)
        until = time.monotonic() + PATIENCE
        async with runner.backend.notifier.subscribe(topic_of(Thread.record, Key(who.tenant, id))) as news:
            while True:
                try:
                    # Somebody else's, who was faster with the same id, is hidden as ever.
                    check = partial(readable_thread, who)
                    return await runner.start(
                        who.tenant, id, agent, input, by=who.actor, images=images, once=True, check=check
                    )
                except ThreadBusyError:
                    now = readable_thread(who, await runner.get(who.tenant, id))
                    if began_with(now, input):
                        return now
                    left = until - time.monotonic()
                    if left <= 0 or not is_silent(now):
                        raise
                await news.wait(min(left, runner.backend.notifier.recheck_after))

    async def request(self, who: Principal, thread_id: str, id: str) -> Request:
        """Return a request of a thread, or raise `NotFoundError`."""
        request = await inbox_for(self._platform.inbox, who).get(id)
        if request.thread_id != thread_id:
            raise NotFoundError("request", id)
        return request

    async def answer(self, who: Principal, id: str, said: dict[str, Any], channel: str) -> None:
        """Answer a request as the caller, or raise what refuses the answer."""
        refuse_agents(who)
        inbox = inbox_for(self._platform.inbox, who, answerable)
        await inbox.answer(id, Answer.parse(said), by=who.name, channel=channel)


class Endpoint:
    """An ASGI endpoint that first does what the call asks for, and then streams."""

    def __init__(self, begin: Callable[[HttpRequest], Awaitable[object]], stream: ASGIApp) -> None:
        self._begin, self._stream = begin, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream, or answer 204 when there is nothing to stream."""
        scope[TALK] = await self._begin(HttpRequest(scope, receive))
        reply = self._stream if scope[TALK] else HttpResponse(status_code=204)
        await reply(scope, receive, send)


def said(text: str, id: str) -> dict[str, Any]:
    """Return a person's words as the input of a run."""
    return {"messages": [{"role": "user", "content": text, "id": own_id(id)}]}


def is_silent(thread: Thread) -> bool:
    """Whether its run answers nobody's words: news of what an agent does beside the talk, done in a moment."""
    return thread.status != "interrupted" and not (thread.run and words_in(thread.run.input))


def takes_messages(agent: Agent | Offer) -> bool:
    """Whether an agent says that it has a conversation."""
    return "messages" in agent.input_schema.get("properties", {})


async def taking_messages(runner: Runner, named: str | None, thread: Thread | None) -> str:
    """Return the agent to talk with: the one named, the thread's own, that called `chat`, or the only one.

    Raises `InvalidError` where none of these is.
    """
    if named:
        return named
    known: dict[str, Agent | Offer] = {**await runner.offers(), **runner.agents}
    talkers = [name for name, agent in known.items() if takes_messages(agent)]
    if thread and thread.agent in talkers:
        return thread.agent
    if CHAT in talkers:
        # Front ends of others know no names; one more agent that talks must not silence them.
        return CHAT
    if len(talkers) != 1:
        told = f"name one of {', '.join(sorted(talkers))}" if talkers else "none here takes messages"
        raise InvalidError.of("agent", told)
    return talkers[0]
