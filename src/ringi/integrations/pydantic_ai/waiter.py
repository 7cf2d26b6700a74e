"""Waits of Pydantic AI for answers of people, which a repeated run finds again after a restart."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pydantic import JsonValue, TypeAdapter
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.conversation import Conversation
from pydantic_ai.external_events import ExternalEventError, ExternalEventWaiter

from ringi.base.canonical_json import short_json_hash
from ringi.domain.ask import ANSWER, Ask, parse_body, request_content_digest
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotFoundError, RingiError, WaitTimeoutError
from ringi.inbox.api import Inbox
from ringi.runs.agui_events import TOOL_CALL_ID
from ringi.runs.context import set_context_variable
from ringi.runtimes.pydantic_ai.deferred_calls import deferred_call_questions, deferred_call_results
from ringi.runtimes.pydantic_ai.runtime import pydantic_ai_tool_schemas

RESULTS: TypeAdapter[DeferredToolResults] = TypeAdapter(DeferredToolResults)
TURN = "wait"
"""The place of the calls of one wait; their requests get their ids from the key and the content instead."""
Schemas = Mapping[str, dict[str, Any]]


@dataclass
class PendingAsk:
    """A wait whose `ask` is being called."""

    waiter: RingiEventWaiter
    timeout: timedelta | None
    requests: DeferredToolRequests | None = None
    """The calls about which people are asked; None if `ask` does something else."""
    ids: dict[str, str] = field(default_factory=dict)
    """The ids of the requests, by question."""


WAIT: ContextVar[PendingAsk | None] = ContextVar("ringi_pydantic_ai_wait", default=None)


async def ask_people(ctx: RunContext[Any], requests: DeferredToolRequests, _: str, /) -> None:
    """Ask people about the deferred calls of a run, in the inbox of the waiter: `RequestInput(ask=ask_people)`.

    Args:
        ctx: The context of the run.
        requests: The calls.

    Raises:
        RingiError: The run has no `RingiEventWaiter`.
    """
    wait = WAIT.get()
    if wait is None:
        raise RingiError("no waiter: run the agent inside external_event_scope(RingiEventWaiter(inbox, key=…))")
    wait.ids = await wait.waiter.ask(requests, wait.timeout, pydantic_ai_tool_schemas(ctx.agent) if ctx.agent else {})
    wait.requests = requests


class RingiEventWaiter(ExternalEventWaiter):
    """Lets a run wait for people: `with external_event_scope(RingiEventWaiter(inbox, key="order-7")): …`.

    The ids of the requests derive from the key and from the content of the questions. A run that is repeated under the
    same key after a restart asks nothing again: an equal call finds its request, answered or not. A call that differs
    is another question. A tool may run again in a repeated run, so it needs an idempotency key of its own.

    Args:
        inbox: The inbox or client to ask in.
        key: The name of the piece of work, unique in the tenant. Runs at the same time need different keys.
        assignee: The person who may answer.
        groups: The groups whose members may answer.
    """

    def __init__(self, inbox: Inbox, *, key: str, assignee: str | None = None, groups: tuple[str, ...] = ()) -> None:
        if not key:
            raise InvalidError.of("key", "is empty: name the piece of work, such as the id of an order")
        self._inbox, self._key = inbox, key
        self._recipients = {"assignee": assignee, "groups": groups}
        self._counts: Counter[tuple[str, ...]] = Counter()

    async def wait(
        self, name: str, *, ask: Callable[[str], Awaitable[JsonValue]], timeout: timedelta | None
    ) -> JsonValue:
        """Return the answer of people; Pydantic AI calls this.

        The token is the id of a request. If `ask` does not create this request, people are asked for any JSON under the
        name of the wait. An answer that `ask` returns itself is not stored.

        Args:
            name: The name of the wait.
            ask: Called with the token, unless the request exists.
            timeout: The time until the requests expire; None for no limit.

        Raises:
            ExternalEventError: A person rejected the request, or nobody answered.
        """
        token = self._numbered("wait", name)
        if not await self._exists(token):
            wait = PendingAsk(self, timeout)
            with set_context_variable(WAIT, wait):
                answer = await ask(token)
            if answer is not None:
                return answer
            if wait.requests is not None:
                plain: JsonValue = RESULTS.dump_python(await self._results(wait.requests, wait.ids), mode="json")
                return plain
            if not await self._exists(token):
                any_json = {"title": name[:500], "id": token, "answer_schema": {}, "allowed": ("respond", "reject")}
                await self._inbox.submit(self._addressed(parse_body(Ask, any_json), timeout))
        try:
            return answer_payload(await self._inbox.wait(token, timeout.total_seconds() if timeout else None))
        except WaitTimeoutError as error:
            raise ExternalEventError(str(error)) from error

    async def results(
        self,
        conversation: Conversation,
        *,
        agent: PydanticAgent[Any, Any] | None = None,
        timeout: timedelta | None = None,
    ) -> DeferredToolResults:
        """Ask people about the calls for which a conversation waits, and return their decisions.

        A repetition asks nothing again, in this process or in another one.

        Args:
            conversation: The conversation, such as a stored one.
            agent: The agent, whose schemas check edited arguments.
            timeout: The time until the requests expire, which rejects the calls; None for no limit.

        Raises:
            InvalidError: The conversation waits for no call.
            NotAuthorizedError: A request is about another call.
        """
        requests = conversation.deferred_tool_requests
        if requests is None:
            raise InvalidError.of("conversation", "waits for no call: run the agent with a prompt")
        # Some models use the id of a call again in a later turn.
        turn = f"turn {conversation.usage.requests}"
        ids = {}
        for question, ask in self._asks(requests, timeout, pydantic_ai_tool_schemas(agent) if agent else {}):
            id = f"w-{short_json_hash(self._key, turn, question, request_content_digest(ask))}"
            ids[question] = await self._submit(ask, id)
        return await self._results(requests, ids)

    async def ask(self, requests: DeferredToolRequests, timeout: timedelta | None, schemas: Schemas) -> dict[str, str]:
        """Ask people about calls without waiting, and return the ids of the requests by question.

        Args:
            requests: The calls.
            timeout: The time until the requests expire; None for no limit.
            schemas: The schemas of the arguments by tool.
        """
        asks = self._asks(requests, timeout, schemas)
        return {
            question: await self._submit(ask, self._numbered("call", request_content_digest(ask)))
            for question, ask in asks
        }

    def _asks(
        self, requests: DeferredToolRequests, timeout: timedelta | None, schemas: Schemas
    ) -> Iterator[tuple[str, Ask]]:
        for question, ask in deferred_call_questions(requests, TURN, None, schemas, {}).items():
            # A repeated run gives its calls new ids.
            context = {name: value for name, value in ask.context.items() if name != TOOL_CALL_ID}
            yield question, self._addressed(ask.model_copy(update={"context": context}), timeout)

    async def _submit(self, ask: Ask, id: str) -> str:
        await self._inbox.submit(ask.model_copy(update={"id": id}))
        return id

    async def _results(self, requests: DeferredToolRequests, ids: Mapping[str, str]) -> DeferredToolResults:
        ended = await asyncio.gather(*map(self._inbox.wait, ids.values()))
        answers = {question: [request] for question, request in zip(ids, ended, strict=True)}
        return deferred_call_results(requests, TURN, answers, {})[0]

    def _numbered(self, *content: str) -> str:
        """Return the next id for this content: a run may ask the same more than once."""
        self._counts[content] += 1
        return f"w-{short_json_hash(self._key, *content, str(self._counts[content]))}"

    def _addressed(self, ask: Ask, timeout: timedelta | None) -> Ask:
        expires_in = timeout.total_seconds() if timeout else None
        return ask.model_copy(update={**self._recipients, "expires_in": expires_in})

    async def _exists(self, token: str) -> bool:
        try:
            await self._inbox.get(token)
        except NotFoundError:
            return False
        return True


def answer_payload(request: Request) -> JsonValue:
    """Return a person's answer: the JSON, the approved arguments, or the text.

    Raises:
        ExternalEventError: A person rejected the request, or nobody answered.
    """
    response = request.response
    if request.erased or not response:
        raise ExternalEventError(f"nobody answered: the request was {request.status}")
    if response.decision == "reject":
        raise ExternalEventError(f"a person rejected it{': ' + response.message if response.message else ''}")
    if response.data:
        data: JsonValue = response.data.get(ANSWER, response.data)
        return data
    return request.granted.args if request.granted else response.message
