"""The places where a gated function asks: an inbox in which this process waits, the run of a framework, or none."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from ringi.base.canonical_json import digest, short_json_hash
from ringi.base.settings import hitl_enabled
from ringi.connect import open
from ringi.domain.ask import Ask, Outcome
from ringi.domain.grants import OVER
from ringi.domain.request import Request
from ringi.errors import ConflictError, NotAuthorizedError, NotFoundError
from ringi.inbox.api import Inbox
from ringi.inbox.inbox import StoreInbox
from ringi.policy.question import FACTS
from ringi.policy.rules import PolicyDenial
from ringi.runs.context import RunContext
from ringi.runtimes.tool_calls import AskFirst, GatedCall

log = logging.getLogger(__name__)


class GatedFunctionCall(NamedTuple):
    """A call of a gated function."""

    name: str
    args: dict[str, Any]


class InboxOptions(NamedTuple):
    """Where and how long a call waits outside of a run."""

    inbox: Inbox | None
    """The inbox or client; None opens one if it is needed."""
    url: str | None
    """The store to open; None for the default."""
    timeout: float | None
    """Seconds until `WaitTimeoutError`; None for no limit."""


class FunctionAsker(ABC):
    """The place where a gated function asks."""

    is_blocking = False
    """Whether the function is not async, so that facts cannot be awaited."""
    suspensions: tuple[type[Exception], ...] = ()
    """The errors by which the run pauses in the middle of the function: then its outcome is open."""

    def asks(self) -> bool:
        """Return whether people are asked at all."""
        return hitl_enabled()

    async def earlier_facts(self, call: GatedFunctionCall) -> dict[str, Any] | None:
        """Return the facts that people were shown with exactly this call; None if nobody was asked about it."""
        return None

    def completed(self, question: Ask) -> Ask:
        """Return a question with what this place adds to it."""
        return question

    @abstractmethod
    async def deny(self, question: Ask, denial: PolicyDenial) -> str:
        """Record a denial, and return the id of its request."""

    async def approve(self, question: Ask, rule: str) -> Request | None:
        """Record the approval by a rule; None if it cannot be recorded: then a person decides."""
        return None

    @abstractmethod
    async def ask(self, question: Ask) -> Request:
        """Return the request once it has ended."""

    async def check_pauses(self, *, is_gated: bool) -> None:
        """Raise `PausedError` if the agent is paused; `is_gated` says whether people or a rule approved the call."""

    def begin(self) -> None:
        """Record that the function begins."""

    async def report(self, request: Request, outcome: Outcome) -> None:
        """Record what became of the function, which this request approved."""


class NoAsker(FunctionAsker):
    """Asks nobody: the caller blocks the event loop, where waiting for a person would stop the whole program."""

    is_blocking = True

    async def deny(self, question: Ask, denial: PolicyDenial) -> str:
        log.warning("%s: the denial by %r is not recorded, because the event loop is blocked", question.title, denial)
        return f"policy:{denial.rule}"

    async def ask(self, question: Ask) -> Request:
        name = question.action.name if question.action else question.title
        raise RuntimeError(f"{name} would block the event loop until a person answers: await it in asyncio.to_thread")


class InboxAsker(FunctionAsker):
    """Asks in an inbox, and waits in this process.

    Args:
        stack: Closes an inbox that is opened here.
        options: The inbox and the time to wait.
        key: The key of the question, from which the id of its request derives; None for a new request.
    """

    by: str | None = None
    """The name of the asker in a store; a server takes it from the token."""

    def __init__(self, stack: AsyncExitStack, options: InboxOptions, key: str | None) -> None:
        self._stack, self._options, self._inbox, self._key = stack, options, options.inbox, key
        self._earlier: Request | None = None

    async def earlier_facts(self, call: GatedFunctionCall) -> dict[str, Any] | None:
        if self._key is None:
            return None
        try:
            self._earlier = await self._stored(self._id(call.name), call)
        except NotFoundError:
            return None
        facts = self._earlier.context.get(FACTS)
        return facts if isinstance(facts, dict) else {}

    async def deny(self, question: Ask, denial: PolicyDenial) -> str:
        inbox = await self._opened()
        if not isinstance(inbox, StoreInbox):
            log.warning("%s: a client cannot record the denial by %r", question.title, denial.rule)
            return f"policy:{denial.rule}"
        call = (question.action.name, question.action.args) if question.action else ()
        id = f"p-{short_json_hash('deny', denial.rule, self._key, *call)}"
        complete = question.model_copy(update={"id": id})
        return (await inbox.submit_denied(complete, rule=denial.rule, reason=denial.reason, by=self.by)).id

    async def approve(self, question: Ask, rule: str) -> Request | None:
        inbox = await self._opened()
        if not isinstance(inbox, StoreInbox):
            return None
        return await inbox.submit_approved(self._identified(question), rule=rule, by=self.by)

    async def ask(self, question: Ask) -> Request:
        inbox, request = await self._opened(), self._earlier
        if request is None:
            question = self._identified(question)
            try:
                request = await self._submit(inbox, question)
            except ConflictError as error:
                # Another process may have asked about the same call at the same moment, with newer facts.
                if error.code != "different" or not question.id or not question.action:
                    raise
                request = await self._stored(question.id, GatedFunctionCall(question.action.name, question.action.args))
        if not request.is_final:
            await self._begin_wait(request)
        ended = await inbox.wait(request, self._options.timeout)
        await self._refuse_ended_grant(inbox, ended)
        return ended

    async def check_pauses(self, *, is_gated: bool) -> None:
        # A call that a rule allows needs no store, and is not stopped either.
        if is_gated:
            await (await self._opened()).pauses.check()

    async def report(self, request: Request, outcome: Outcome) -> None:
        # The inbox that was opened to ask is closed: a function may run for hours.
        async with AsyncExitStack() as stack:
            inbox: Inbox | None = self._options.inbox
            if inbox is None:
                inbox = await stack.enter_async_context(open(self._options.url))
            await inbox.report_outcome(request.id, outcome)

    async def _begin_wait(self, request: Request) -> None:
        log.info("%s waits in this process for request %s", request.action and request.action.name, request.id)

    async def _submit(self, inbox: Inbox, question: Ask) -> Request:
        return await (inbox.submit(question, by=self.by) if isinstance(inbox, StoreInbox) else inbox.submit(question))

    async def _refuse_ended_grant(self, inbox: Inbox, ended: Request) -> None:
        # With a key, the call may be a repetition of one that was approved long ago.
        if isinstance(inbox, StoreInbox) and await inbox.granted.is_over(ended):
            raise NotAuthorizedError(ended.id, OVER)

    async def _opened(self) -> Inbox:
        if self._inbox is None:
            self._inbox = await self._stack.enter_async_context(open(self._options.url))
        return self._inbox

    async def _stored(self, id: str, call: GatedFunctionCall) -> Request:
        request = await (await self._opened()).get(id)
        if request.action is None or digest([request.action.name, request.action.args]) != digest([*call]):
            raise ConflictError.different(id)
        return request

    def _identified(self, question: Ask) -> Ask:
        if self._key is None or not question.action:
            return question
        return question.model_copy(update={"id": self._id(question.action.name)})

    def _id(self, name: str) -> str:
        return f"gate-{short_json_hash(name, self._key)}"


class HostAsker(FunctionAsker):
    """Asks in a run of Ringi, which suspends until the answer.

    Args:
        host: The context of the run.
    """

    def __init__(self, host: RunContext) -> None:
        self._host = host

    async def deny(self, question: Ask, denial: PolicyDenial) -> str:
        return (await self._host.deny(question, *denial)).id

    async def check_pauses(self, *, is_gated: bool) -> None:
        await self._host.check_pauses(is_gated=is_gated)

    async def report(self, request: Request, outcome: Outcome) -> None:
        self._host.outcomes.record(request, outcome)


class CallAsker(HostAsker):
    """Asks by a pause of the run at the call of a tool.

    Args:
        call: The call of the tool.
    """

    suspensions = (AskFirst,)

    def __init__(self, call: GatedCall) -> None:
        super().__init__(call.run.host)
        self._call = call

    def asks(self) -> bool:
        return bool(self._call.run.asks)

    async def approve(self, question: Ask, rule: str) -> Request | None:
        self._call.request = await self._host.approve(question, rule, self._call.place)
        return self._call.request

    async def ask(self, question: Ask) -> Request:
        log.info("%s suspends its run until a person answers", question.action and question.action.name)
        raise AskFirst(question)
