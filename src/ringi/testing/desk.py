"""A desk with an inbox, a scripted person and agents, where time passes when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from ringi.ask import Answer
from ringi.backends.memory.jobs import MemoryJobs
from ringi.backends.memory.notifier import MemoryNotifier
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryStream
from ringi.connect import Backend, memory_savers, needing_langgraph
from ringi.delivery.endpoints import DeliverySettings
from ringi.delivery.reminders import reminder_time
from ringi.erasure import Eraser
from ringi.errors import LaterError, UnavailableError
from ringi.feed import TOPIC
from ringi.inbox import Inbox
from ringi.jobs import Handler, Job
from ringi.record import DEFAULT_TENANT, START, Query
from ringi.request import Request
from ringi.testing.clock import Clock
from ringi.testing.person import Reply, ScriptedPerson, UnansweredError
from ringi.thread import Thread, ThreadStatus, checkpoint_thread
from ringi.threads.agent import Agent, State, by_name
from ringi.threads.loose_ends import is_asked_by
from ringi.threads.reconciler import pages
from ringi.threads.runner import Runner, advancing

__tracebackhide__ = True
"""A failed test shows its own lines, not those of this file."""
RECHECK = 60.0
"""Nothing is lost within one process."""
MOST_EVENTS = 100_000


@dataclass(frozen=True)
class Outcome:
    """Where an agent has come to: its end, or what it waits for."""

    thread: Thread
    state: State
    """What the graph has in its state."""
    asked: tuple[Request, ...]
    """Its questions in order, each as it stands."""

    @property
    def status(self) -> ThreadStatus:
        """`done`, or `interrupted` while it waits for people."""
        return self.thread.status

    @property
    def values(self) -> dict[str, Any]:
        """What the agent shows of its state."""
        return self.thread.values

    @property
    def waiting(self) -> list[Request]:
        """Its questions that nobody has answered yet."""
        return [request for request in self.asked if not request.is_final and is_asked_by(self.thread, request)]

    @property
    def request(self) -> Request:
        """The only question that it asked; another number is a `QuestionsError`."""
        if len(self.asked) != 1:
            raise QuestionsError(self.asked)
        return self.asked[0]


class QuestionsError(AssertionError):
    """An agent asked more often than once, or never."""

    def __init__(self, asked: tuple[Request, ...]) -> None:
        titles = ", ".join(repr(request.title) for request in asked) or "none"
        super().__init__(f"the agent asked {len(asked)} questions, not one: {titles}")


class RunFailedError(AssertionError):
    """An agent failed; what was raised stands in the log."""

    def __init__(self, thread: Thread, error: Exception | None = None) -> None:
        self.thread = thread
        told = thread.error.message if thread.error else thread.attention
        why = f"{type(error).__name__}: {error}" if error else told
        super().__init__(f"agent {thread.agent!r} failed: {why}")


class DeskJobs(MemoryJobs):
    """Jobs in memory that keep the exception of a thread's job which leaves its run undone.

    While the clock stands still, the lease of such a run never ends: no later try would take it up.
    """

    def __init__(self, store: MemoryStore, notifier: MemoryNotifier) -> None:
        super().__init__()
        self.failed: dict[str, Exception] = {}
        self._store, self._notifier = store, notifier

    async def work(self, handle: Handler, *, kinds: Collection[str], concurrency: int, stop: asyncio.Event) -> None:
        """Do jobs until `stop` is set."""

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


class DeskInbox(Inbox):
    """An inbox whose waits end at once: the person answers, or the time passes."""

    def __init__(self, desk: Desk) -> None:
        backend = desk.backend
        eraser = Eraser(backend.store, backend.stream, needing_langgraph(backend.savers))
        super().__init__(backend.store, backend.notifier, clock=desk.clock, eraser=eraser)
        self._desk = desk

    async def wait_final(self, id: str, timeout: float | None = None) -> Request | None:
        """Return the request as the person ended it; None when they let `timeout` seconds pass.

        Raises `UnansweredError` when no rule of theirs is about it.
        """
        await self.expire_due()
        request = await self.get(id)
        if not request.is_final and not await self._desk.answer(request):
            await self._desk.let_pass([request], timeout)
        request = await self.get(id)
        return request if request.is_final else None


class Desk:
    """An inbox in memory, agents that run, and a person who answers by rules; nothing ever really waits.

    As a `with` block it raises `UnusedRuleError` at the end for a rule that answered nothing.
    """

    def __init__(self, person: ScriptedPerson | None = None, clock: Clock | None = None) -> None:
        self.person, self.clock = person or ScriptedPerson(), clock or Clock()
        store, notifier = MemoryStore(), MemoryNotifier(RECHECK)
        self._jobs = DeskJobs(store, notifier)
        parts = (store, notifier, MemoryStream(), self._jobs, memory_savers(store))
        self.backend = Backend("memory://", *parts, clock=self.clock)
        self.inbox = DeskInbox(self)
        self._agents: dict[str, Agent] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self.person.check()

    async def run(self, agent: Any, input: Mapping[str, Any] | None = None, thread_id: str = "thread-1") -> Outcome:
        """Run an agent, or a graph compiled without a checkpointer, to its end; the person answers what it asks.

        Raises `UnansweredError` for a question that no rule is about, `RunFailedError` when the agent raises.
        """
        await self.start(agent, input, thread_id)
        return await self.go_on(thread_id)

    async def start(self, agent: Any, input: Mapping[str, Any] | None = None, thread_id: str = "thread-1") -> Outcome:
        """Run an agent, begun by the person, up to its end or its first questions, and let nobody answer them yet."""
        named = agent if isinstance(agent, Agent) else self._named(agent)
        self._agents = by_name({**self._agents, named.name: named}.values())
        runner = Runner(self.backend, self.inbox, self._agents)
        await runner.start(DEFAULT_TENANT, thread_id, named.name, dict(input or {}), by=self.person.name)
        return await self._work(thread_id)

    async def go_on(self, thread_id: str = "thread-1") -> Outcome:
        """Let the person answer what an agent asks until it ends; what was answered elsewhere or is overdue counts."""
        await self.inbox.expire_due()
        outcome = await self._work(thread_id)
        while waiting := outcome.waiting:
            if not any([await self.answer(request) for request in waiting]):
                await self.let_pass(waiting)
            outcome = await self._work(thread_id)
        return outcome

    async def pass_time(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Let time pass: people are reminded, and what nobody answered expires, each at its moment."""
        end = self.clock() + timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        await self._pass_until(end)

    async def answer(self, request: Request) -> bool:
        """Have the person answer a request; False when they ignore it."""
        reply = self.person.reply_to(request)
        if reply is None:
            raise UnansweredError.no_rule(request, self.person)
        if reply.decision == "ignore":
            return False
        try:
            await self._respond(request, reply)
        except Exception as error:
            error.add_note(f"when the scripted person answered request {request.id!r} with {reply}")
            raise
        return True

    async def let_pass(self, ignored: list[Request], timeout: float | None = None) -> None:
        """Let time pass until the first of these requests expires, or for `timeout` seconds."""
        ends = [request.expires_at for request in ignored if request.expires_at]
        if timeout is not None:
            ends.append(self.clock() + timedelta(seconds=timeout))
        if not ends:
            raise UnansweredError.for_ever(ignored[0], self.person)
        await self._pass_until(min(ends))

    async def _respond(self, request: Request, reply: Reply) -> None:
        assert reply.decision != "ignore"
        answer = Answer(
            decision=reply.decision, digest=request.digest, data=reply.data, args=reply.args, message=reply.message
        )
        await self.inbox.of(request.tenant).answer(request.id, answer, by=self.person.name, channel="test")

    def _named(self, graph: Any) -> Agent:
        # Graphs are called alike if nobody names them: one would go on with what another has begun.
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
        found = pages(self.backend.store, Request, Query(statuses=("pending",)))
        return [request async for page in found for request in page]

    async def _work(self, thread_id: str) -> Outcome:
        # The feed of an inbox belongs to one event loop, and tests without async have one for each call.
        inbox = Inbox(self.backend.store, self.backend.notifier, clock=self.clock)
        runner, stop = Runner(self.backend, inbox, self._agents), asyncio.Event()
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
        # In this order: what was taken up meanwhile shows as running.
        return (await self.backend.store.get(Thread, DEFAULT_TENANT, thread_id)).status == "running"

    async def _outcome(self, thread: Thread) -> Outcome:
        if thread.status == "error" or thread.attention:
            raise RunFailedError(thread)
        graph = self._agents[thread.agent].graph.copy({"checkpointer": self.backend.savers(thread)})
        snapshot = await graph.aget_state({"configurable": {"thread_id": checkpoint_thread(thread.key)}})
        events = await self.inbox.events(START, MOST_EVENTS)
        # By the events: while the clock stands still, all questions are of one moment.
        ids = dict.fromkeys(event.record_id for event in events if event.record == "request")
        asked = [request for id in ids if (request := await self.inbox.get(id)).thread_id == thread.id]
        return Outcome(thread, snapshot.values, tuple(asked))


def reminder_of(request: Request) -> datetime | None:
    """Return when people are to be reminded of a request, unless they were."""
    if request.due_at is None or request.reminded_at:
        return None
    return reminder_time(request.created_at, request.due_at, DeliverySettings().remind_before)
