"""A test harness with an inbox, a scripted person and agents; the test controls the time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from ringi.backends.memory.jobs import MemoryJobs
from ringi.backends.memory.notifier import MemoryNotifier
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryStream
from ringi.connect import Backend, agent_stores, memory_agent_stores, memory_savers, needing_langgraph
from ringi.contracts.jobs import Handler, Job
from ringi.delivery.reminders import reminder_time
from ringi.delivery.settings import DeliverySettings
from ringi.domain.ask import Answer, Ask, Continuation
from ringi.domain.record import DEFAULT_TENANT, MICROSECOND, START, Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread, ThreadStatus, checkpoint_thread
from ringi.errors import LaterError, UnavailableError, WaitTimeoutError
from ringi.inbox.api import id_of
from ringi.inbox.feed import TOPIC
from ringi.inbox.inbox import Inbox
from ringi.privacy.erasure import Eraser
from ringi.runs.agent import Agent, State, by_name
from ringi.runs.cleanup import is_asked_by
from ringi.runs.images import saver_of
from ringi.runs.reconciler import record_pages
from ringi.runs.worker import Worker, advancing
from ringi.testing.clock import Clock
from ringi.testing.person import Reply, ScriptedPerson, UnansweredError

__tracebackhide__ = True
"""Hides the frames of this file from the traceback of a failed test."""
RECHECK = 60.0
"""The recheck interval is long: within one process no notification is lost."""
MOST_EVENTS = 100_000
MOST_OF_A_RUN, MOST_ANSWERS = 100, 1000
"""Maximum answers to one run, and to plain code: code that asks until it is approved would never end."""


@dataclass(frozen=True)
class Outcome:
    """The result of an agent: its end, or its open questions."""

    thread: Thread
    state: State
    """The state of the graph."""
    asked: tuple[Request, ...]
    """Its questions in order, each in its current version."""

    @property
    def status(self) -> ThreadStatus:
        """`done`, or `interrupted` while the agent waits for people."""
        return self.thread.status

    @property
    def values(self) -> dict[str, Any]:
        """The visible part of the agent's state."""
        return self.thread.values

    @property
    def waiting(self) -> list[Request]:
        """Its unanswered questions."""
        return [request for request in self.asked if not request.is_final and is_asked_by(self.thread, request)]

    @property
    def request(self) -> Request:
        """The only question that it asked; raises `QuestionsError` for any other number."""
        if len(self.asked) != 1:
            raise QuestionsError(self.asked)
        return self.asked[0]


class QuestionsError(AssertionError):
    """The agent did not ask exactly once."""

    def __init__(self, asked: tuple[Request, ...]) -> None:
        titles = ", ".join(repr(request.title) for request in asked) or "none"
        super().__init__(f"the agent asked {len(asked)} questions, not one: {titles}")


class RunFailedError(AssertionError):
    """An agent failed; the log contains the original error."""

    def __init__(self, thread: Thread, error: Exception | None = None) -> None:
        self.thread = thread
        told = thread.error.message if thread.error else thread.attention
        why = f"{type(error).__name__}: {error}" if error else told
        super().__init__(f"agent {thread.agent!r} failed: {why}")


class DeskJobs(MemoryJobs):
    """Jobs in memory that store the exception of a thread's job that leaves its run unfinished.

    While the clock stands still, the lease of such a run never expires: no later attempt would take it up.
    """

    def __init__(self, store: MemoryStore, notifier: MemoryNotifier) -> None:
        super().__init__()
        self.failed: dict[str, Exception] = {}
        self._store, self._notifier = store, notifier

    async def work(self, handle: Handler, *, kinds: Collection[str], concurrency: int, stop: asyncio.Event) -> None:
        """Process jobs until `stop` is set."""

        async def watched(job: Job) -> None:
            try:
                await handle(job)
            except (LaterError, UnavailableError):
                raise
            except Exception as error:
                await self._keep(job.payload["thread"], error)
                raise

        await super().work(watched, kinds=kinds, concurrency=concurrency, stop=stop)

    async def _keep(self, thread_id: str, error: Exception) -> None:
        thread = await self._store.get(Thread, DEFAULT_TENANT, thread_id)
        if thread.status == "running" and thread.owner:
            self.failed[thread_id] = error
            await self._notifier.publish(TOPIC)


class OrderedInbox(Inbox):
    """An inbox in which each question has a unique creation time, so lists have one order."""

    def __init__(self, desk: TestHarness, **parts: Any) -> None:
        super().__init__(desk.backend.store, desk.backend.notifier, clock=desk.clock, **parts)
        self._desk = desk

    async def submit(
        self, ask: Ask, *, by: str | None = None, continuation: Continuation | None = None, is_known: bool = False
    ) -> Request:
        """Store an ask with a unique creation time."""
        self._desk.next_moment()
        return await super().submit(ask, by=by, continuation=continuation, is_known=is_known)


class HarnessInbox(OrderedInbox):
    """An inbox whose waits end at once: the person answers, or the time passes."""

    def __init__(self, desk: TestHarness) -> None:
        backend = desk.backend
        super().__init__(desk, eraser=Eraser(backend.store, backend.stream, needing_langgraph(backend.savers)))

    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        """Return the ended request; raise `WaitTimeoutError` if `timeout` seconds pass without an answer.

        Concurrent waits are answered before time passes, and each ends with its own result. Raises `UnansweredError` if
        no
        rule of the person matches the request.
        """
        await self.expire_due()
        ended = await self._desk.wait(await self.get(id_of(request)), timeout)
        if ended is None:
            raise WaitTimeoutError(id_of(request), timeout or 0)
        return ended


class TestHarness:
    """An inbox in memory, agents that run, and a person who answers by rules; no real time passes.

    `agents` are those that an agent itself starts, in separate threads. As a `with` block it raises `UnusedRuleError`
    at
    the end for a rule that matched no request.
    """

    __test__ = False  # pytest collects classes whose names begin with "Test".

    def __init__(
        self, person: ScriptedPerson | None = None, clock: Clock | None = None, agents: Iterable[Agent] = ()
    ) -> None:
        self.person, self.clock = person or ScriptedPerson(), clock or Clock()
        store, notifier = MemoryStore(), MemoryNotifier(RECHECK)
        self._jobs = DeskJobs(store, notifier)
        parts = (store, notifier, MemoryStream(), self._jobs, memory_savers(store))
        stores = agent_stores(AsyncExitStack(), memory_agent_stores)
        self.backend = Backend("memory://", *parts, clock=self.clock, agent_stores=stores)
        self.inbox = HarnessInbox(self)
        self._agents = by_name(agents)
        self._answers: Counter[str | None] = Counter()
        self._last_asked = self.clock() - MICROSECOND
        self._waits: list[datetime] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self.person.check()

    async def run(self, agent: Any, input: Mapping[str, Any] | None = None, thread_id: str = "thread-1") -> Outcome:
        """Run an agent, or a graph compiled without a checkpointer, to its end; the person answers its questions.

        Raises `UnansweredError` for a question that no rule matches, `RunFailedError` if the agent raises.
        """
        await self.start(agent, input, thread_id)
        return await self.go_on(thread_id)

    async def start(self, agent: Any, input: Mapping[str, Any] | None = None, thread_id: str = "thread-1") -> Outcome:
        """Run an agent, started by the person, until its end or its first questions, without answering them."""
        named = agent if isinstance(agent, Agent) else self._named(agent)
        by_name({**self._agents, named.name: named}.values())
        # In the same dict: the workers of other threads, which may take this run, need it too.
        self._agents[named.name] = named
        runner = Worker(self.backend, self.inbox, self._agents)
        await runner.start(DEFAULT_TENANT, thread_id, named.name, dict(input or {}), by=self.person.name)
        return await self._work(thread_id)

    async def go_on(self, thread_id: str = "thread-1") -> Outcome:
        """Have the person answer an agent's questions until it ends; answers given elsewhere and expiries count."""
        await self.inbox.expire_due()
        outcome = await self._work(thread_id)
        while waiting := outcome.waiting:
            if not any([await self.answer(request) for request in waiting]):
                await self.let_pass(waiting)
            outcome = await self._work(thread_id)
        return outcome

    async def pass_time(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Advance the time: reminders are sent, and unanswered requests expire, each at its time."""
        end = self.clock() + timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        await self._pass_until(end)

    def next_moment(self) -> None:
        """Advance the time by a microsecond if the last question has the current time."""
        self.clock.now = self._last_asked = max(self.clock.now, self._last_asked + MICROSECOND)

    async def wait(self, request: Request, timeout: float | None) -> Request | None:
        """Have the person answer a request, or advance the time; return the ended request, None after the timeout."""
        ends_at = None if timeout is None else self.clock() + timedelta(seconds=timeout)
        ends = [at for at in (request.expires_at, ends_at) if at]
        self._waits += ends
        try:
            while not (request := await self._after_others(request)).is_final:
                if await self.answer(request) or (request := await self._after_others(request)).is_final:
                    continue
                if ends_at and self.clock() >= ends_at:
                    return None
                await self._let_pass_to_next(request, ends)
        finally:
            for at in ends:
                self._waits.remove(at)
        return request

    async def answer(self, request: Request) -> bool:
        """Have the person answer a request; return False if the person ignores it."""
        reply = self.person.reply_to(request)
        if reply and reply.decision == "ignore":
            return False
        if not request.is_open_to(self.person.viewer):
            raise UnansweredError.not_theirs(request, self.person)
        if reply is None:
            raise UnansweredError.no_rule(request, self.person)
        most = MOST_OF_A_RUN if request.run_id else MOST_ANSWERS
        if self._answers[request.run_id] == most:
            raise UnansweredError.endless(request, self.person, most)
        self._answers[request.run_id] += 1
        try:
            await self._respond(request, reply)
        except Exception as error:
            error.add_note(f"when the scripted person answered request {request.id!r} with {reply}")
            raise
        return True

    async def let_pass(self, ignored: list[Request]) -> None:
        """Advance the time until the first of these requests expires."""
        ends = [request.expires_at for request in ignored if request.expires_at]
        if not ends:
            raise UnansweredError.for_ever(ignored[0], self.person)
        await self._pass_until(min(ends))

    async def _after_others(self, request: Request) -> Request:
        # Without a turn of the event loop, concurrent waits are not answered in time and no timeout can interrupt.
        await asyncio.sleep(0)
        return await self.inbox.get(request.id)

    async def _let_pass_to_next(self, ignored: Request, ends: list[datetime]) -> None:
        moments = ends + [at for at in self._waits if at > self.clock()]
        if not moments:
            raise UnansweredError.for_ever(ignored, self.person)
        await self._pass_until(min(moments))

    async def _respond(self, request: Request, reply: Reply) -> None:
        assert reply.decision != "ignore"
        answer = Answer(
            decision=reply.decision, digest=request.digest, data=reply.data, args=reply.args, message=reply.message
        )
        await self.inbox.of(request.tenant).answer(request.id, answer, by=self.person.name, channel="test")

    def _named(self, graph: Any) -> Agent:
        # Unnamed graphs share a default name: one would continue the run of another.
        known = [agent for agent in self._agents.values() if agent.graph is graph]
        return known[0] if known else Agent(f"{getattr(graph, 'name', 'agent')}-{len(self._agents) + 1}", graph)

    async def _pass_until(self, end: datetime) -> None:
        while moments := [moment for moment in await self._moments() if moment <= end]:
            self.clock.now = max(self.clock.now, min(moments))
            await self._remind()
            await self.inbox.expire_due()
        self.clock.now = max(self.clock.now, end)

    async def _moments(self) -> list[datetime]:
        return [at for request in await self._pending() for at in (request.expires_at, reminder_of(request)) if at]

    async def _remind(self) -> None:
        for request in await self._pending():
            if (at := reminder_of(request)) and at <= self.clock():
                await self.inbox.of(request.tenant).remind(request.id)

    async def _pending(self) -> list[Request]:
        found = record_pages(self.backend.store, Request, Query(statuses=("pending",)))
        return [request async for page in found for request in page]

    async def _work(self, thread_id: str) -> Outcome:
        # The feed of an inbox belongs to one event loop, and synchronous tests use a new loop for each call.
        inbox = OrderedInbox(self)
        runner, stop = Worker(self.backend, inbox, self._agents), asyncio.Event()
        advancing()
        async with inbox.feed, self.backend.notifier.subscribe(TOPIC) as news, asyncio.TaskGroup() as group:
            group.create_task(runner.work(stop))
            while thread_id not in self._jobs.failed and await self._has_work(thread_id):
                await news.wait(None)
            stop.set()
        thread = await runner.get(DEFAULT_TENANT, thread_id)
        if error := self._jobs.failed.get(thread_id):
            raise RunFailedError(thread, error) from error
        return await self._outcome(thread)

    async def _has_work(self, thread_id: str) -> bool:
        query = Query(tenant=DEFAULT_TENANT, thread_id=thread_id, unacknowledged=True)
        if await self.backend.store.count(Request, query):
            return True
        # In this order: a run that was taken up meanwhile appears as running.
        return (await self.backend.store.get(Thread, DEFAULT_TENANT, thread_id)).status == "running"

    async def _outcome(self, thread: Thread) -> Outcome:
        if thread.status == "error" or thread.attention:
            raise RunFailedError(thread)
        graph = self._agents[thread.agent].graph.copy({"checkpointer": await saver_of(self.backend, thread)})
        snapshot = await graph.aget_state({"configurable": {"thread_id": checkpoint_thread(thread.key)}})
        events = await self.inbox.events(START, MOST_EVENTS)
        # By the events: while the clock stands still, all questions have the same time.
        ids = dict.fromkeys(event.record_id for event in events if event.record == "request")
        asked = [request for id in ids if (request := await self.inbox.get(id)).thread_id == thread.id]
        return Outcome(thread, snapshot.values, tuple(asked))


def reminder_of(request: Request) -> datetime | None:
    """Return the due time of a request's reminder; None after the reminder was sent."""
    if request.due_at is None or request.reminded_at:
        return None
    return reminder_time(request.created_at, request.due_at, DeliverySettings().remind_before)
