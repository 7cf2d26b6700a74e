"""A test harness with an inbox, a scripted person and agents. The test controls the time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from ringi.backends.memory.jobs import MemoryJobs
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier, MemoryStream
from ringi.connect import (
    TEST_INBOXES,
    Backend,
    open_agent_stores,
    open_memory_agent_stores,
    open_memory_savers,
    savers_without_langgraph,
)
from ringi.contracts.backend import Job, JobHandler, JobNotDueError
from ringi.contracts.store import Store
from ringi.delivery.deliveries import reminder_time
from ringi.delivery.settings import DeliverySettings
from ringi.domain.ask import Answer, Ask
from ringi.domain.record import DEFAULT_TENANT, MICROSECOND, START, Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread, ThreadStatus, checkpoint_thread
from ringi.domain.voting import Decider
from ringi.errors import UnavailableError, WaitTimeoutError
from ringi.inbox.api import id_of
from ringi.inbox.feed import TOPIC
from ringi.inbox.inbox import StoreInbox
from ringi.privacy.erasure import Eraser
from ringi.runs.agent import Agent, State, agents_by_name
from ringi.runs.cleanup import is_asked_by
from ringi.runs.messages import saver_with_images
from ringi.runs.reconciler import record_pages
from ringi.runs.worker import Worker
from ringi.testing.clock import ManualClock
from ringi.testing.person import Reply, ScriptedPerson, UnansweredError, suggest_rule

__tracebackhide__ = True
"""Hides the frames of this file from the traceback of a failed test."""
RECHECK = 60.0
"""Seconds between rechecks of the notifier: long, because no notification is lost within one process."""
MAX_EVENTS = 100_000
MAX_ANSWERS_TO_A_RUN, MAX_ANSWERS = 100, 1000
"""Maximum answers to one run, and to plain code. Without a limit, code that asks until it is approved never ends."""


@dataclass(frozen=True)
class AgentResult:
    """The state of an agent after a call of the harness: it ended, or it waits for answers."""

    thread: Thread
    state: State
    """The state of the graph; for an agent of another framework, its `output`."""
    requests: tuple[Request, ...]
    """All requests of the agent, oldest first, each in its current version."""

    @property
    def status(self) -> ThreadStatus:
        """`done`, or `interrupted` while the agent waits for people."""
        return self.thread.status

    @property
    def values(self) -> dict[str, Any]:
        """The visible part of the agent's state: its `output`."""
        return self.thread.values

    @property
    def open_requests(self) -> list[Request]:
        """The requests that the agent waits for."""
        return [request for request in self.requests if not request.is_final and is_asked_by(self.thread, request)]

    @property
    def request(self) -> Request:
        """The only request of the agent; raises `AssertionError` if there are none or several."""
        if len(self.requests) != 1:
            titles = ", ".join(repr(request.title) for request in self.requests) or "none"
            raise AssertionError(f"the agent asked {len(self.requests)} times, not once: {titles}")
        return self.requests[0]


class RunFailedError(AssertionError):
    """An agent raised an error; the traceback is in the log."""

    def __init__(self, thread: Thread, error: Exception | None = None) -> None:
        self.thread = thread
        message = thread.error.message if thread.error else thread.attention
        why = f"{type(error).__name__}: {error}" if error else message
        super().__init__(f"agent {thread.agent!r} failed: {why}")


class HarnessJobs(MemoryJobs):
    """Jobs in memory that record an error that leaves a run unfinished; its lease never expires without time."""

    def __init__(self, store: MemoryStore, notifier: MemoryNotifier) -> None:
        super().__init__()
        self.failed: dict[str, Exception] = {}
        self._store, self._notifier = store, notifier

    async def work(self, handle: JobHandler, **options: Any) -> None:
        """Process jobs until `stop` is set."""

        async def handle_watched(job: Job) -> None:
            try:
                await handle(job)
            except (JobNotDueError, UnavailableError):
                raise
            except Exception as error:
                thread = await self._store.get(Thread, DEFAULT_TENANT, job.payload["thread"])
                if thread.status == "running" and thread.owner:
                    self.failed[thread.id] = error
                    await self._notifier.publish(TOPIC)
                raise

        await super().work(handle_watched, **options)


class OrderedInbox(StoreInbox):
    """An inbox in which each question has a unique creation time, so lists have one order."""

    def __init__(self, harness: TestHarness) -> None:
        backend = harness.backend
        eraser = Eraser(backend.store, backend.stream, savers_without_langgraph(backend.savers))
        super().__init__(backend.store, backend.notifier, clock=harness.clock, eraser=eraser)
        self._harness = harness

    async def submit(self, ask: Ask, **about: Any) -> Request:
        """Store an ask with a unique creation time."""
        self._harness.tick()
        return await super().submit(ask, **about)


class HarnessInbox(OrderedInbox):
    """An inbox whose waits end at once: the person answers, or the time passes."""

    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        """Have the person answer the request, or let time pass, and return the request.

        Concurrent waits are answered before time passes, and each gets its own result.

        Args:
            request: The request or its id.
            timeout: Seconds of the harness's clock.

        Raises:
            WaitTimeoutError: The time passed without an answer.
            UnansweredError: No rule of the person matches the request.
        """
        await self.expire_due()
        final = await self._harness.wait(await self.get(id_of(request)), timeout)
        if final is None:
            raise WaitTimeoutError(id_of(request), timeout or 0)
        return final


class TestHarness:
    """An inbox in memory, agents that run, and a person who answers by rules; no real time passes.

    In a `with` block, `ringi.open()` without a URL gives its inbox. The block raises `UnusedRuleError` at its end for a
    rule that answered no request.

    Args:
        person: The person; by default one without rules.
        clock: The clock; by default one that starts at a fixed time.
        agents: The agents that other agents start in separate threads.
    """

    __test__ = False  # pytest collects classes whose names begin with "Test".

    def __init__(
        self, person: ScriptedPerson | None = None, clock: ManualClock | None = None, agents: Iterable[Agent] = ()
    ) -> None:
        self.person, self.clock = person or ScriptedPerson(), clock or ManualClock()
        store, notifier = MemoryStore(), MemoryNotifier(RECHECK)
        self._jobs = HarnessJobs(store, notifier)
        parts = (store, notifier, MemoryStream(), self._jobs, open_memory_savers(store))
        stores = open_agent_stores(AsyncExitStack(), open_memory_agent_stores)
        self.backend = Backend("memory://", *parts, clock=self.clock, agent_stores=stores)
        self.inbox = HarnessInbox(self)
        self._agents = agents_by_name(agents)
        self._answers: Counter[str | None] = Counter()
        self._last_request_at = self.clock() - MICROSECOND
        self._wait_ends: list[datetime] = []

    def __enter__(self) -> Self:
        TEST_INBOXES.append(self.inbox)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        TEST_INBOXES.pop()
        if kind is None:
            self.person.check()

    async def run(self, agent: Any, input: Mapping[str, Any] | None = None, thread_id: str = "thread-1") -> AgentResult:
        """Run an agent to its end; the person answers its requests.

        Args:
            agent: An `Agent`, or a graph compiled without a checkpointer.
            input: The input of the graph.
            thread_id: The id of the thread. Another run in the same thread continues its conversation.

        Raises:
            UnansweredError: No rule matches a request of the agent.
            RunFailedError: The agent raised an error.
        """
        await self.start(agent, input, thread_id)
        return await self.resume(thread_id)

    async def start(
        self, agent: object, input: Mapping[str, Any] | None = None, thread_id: str = "thread-1"
    ) -> AgentResult:
        """Run an agent until it ends or asks; nobody answers.

        Args:
            agent: An `Agent`, or a graph compiled without a checkpointer. The person starts it.
            input: The input of the graph.
            thread_id: The id of the thread.

        Raises:
            RunFailedError: The agent raised an error.
        """
        registered = agent if isinstance(agent, Agent) else self._agent_of(agent)
        agents_by_name({**self._agents, registered.name: registered}.values())
        # In the same dict: the workers of other threads, which may take this run, need it too.
        self._agents[registered.name] = registered
        runner = Worker(self.backend, self.inbox, self._agents)
        await runner.start(DEFAULT_TENANT, thread_id, registered.name, dict(input or {}), by=self.person.name)
        return await self._work(thread_id)

    async def resume(self, thread_id: str = "thread-1") -> AgentResult:
        """Continue a thread to its end; the person answers its open requests.

        Answers by `inbox.respond` and expired requests also resume the agent.

        Args:
            thread_id: The id of the thread.

        Raises:
            UnansweredError: No rule matches a request of the agent.
            RunFailedError: The agent raised an error.
        """
        await self.inbox.expire_due()
        result = await self._work(thread_id)
        while requests := result.open_requests:
            if not any([await self.answer(request) for request in requests]):
                await self.expire_next(requests)
            result = await self._work(thread_id)
        return result

    async def pass_time(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Advance the clock by the sum of the arguments; reminders are sent and requests expire, each at its time.

        Args:
            seconds: Seconds to pass.
            minutes: Minutes to pass.
            hours: Hours to pass.
            days: Days of 24 hours to pass.
        """
        await self._advance_to(self.clock() + timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days))

    def tick(self) -> None:
        """Advance the clock by a microsecond if the last request was created at the current time."""
        self.clock.now = self._last_request_at = max(self.clock.now, self._last_request_at + MICROSECOND)

    async def wait(self, request: Request, timeout: float | None) -> Request | None:
        """Have the person answer a request; while the person ignores it, advance the clock.

        Args:
            request: The request, in any version.
            timeout: Seconds of the harness's clock; None waits until the request ends.

        Returns:
            The request after its end; None after the timeout.

        Raises:
            UnansweredError: No rule matches, the request is not assigned to the person, or it never ends.
        """
        times_out_at = None if timeout is None else self.clock() + timedelta(seconds=timeout)
        ends = [at for at in (request.expires_at, times_out_at) if at]
        self._wait_ends += ends
        try:
            while not (request := await self._reread(request)).is_final:
                if await self.answer(request) or (request := await self._reread(request)).is_final:
                    continue
                if times_out_at and self.clock() >= times_out_at:
                    return None
                times = ends + [at for at in self._wait_ends if at > self.clock()]
                await self._advance_to_first(request, times)
        finally:
            for at in ends:
                self._wait_ends.remove(at)
        return request

    async def answer(self, request: Request) -> bool:
        """Have the person answer a request; return False if the person ignores it.

        Raises:
            UnansweredError: No rule matches, the request is not assigned to the person, or the answers never end.
        """
        reply = self.person.reply_to(request)
        if reply and reply.decision == "ignore":
            return False
        limit = MAX_ANSWERS_TO_A_RUN if request.run_id else MAX_ANSWERS
        if not request.is_open_to(self.person.viewer):
            groups = [f"the group {group}" for group in request.groups]
            assigned = " or ".join(filter(None, [request.assignee or "", *groups]))
            why = f"it is assigned to {assigned}, not to {self.person.name}"
            who = f"name={request.assignee!r}" if request.assignee else f"groups={list(request.groups[:1])!r}"
            remedy = f"Pass ScriptedPerson({who}) to the harness, or answer with inbox.respond."
        elif reply is None:
            why, remedy = "no rule of the scripted person matches it", f"Add a rule, such as {suggest_rule(request)}"
        elif self._answers[request.run_id] == limit:
            why = f"the scripted person has already answered {limit} requests, and the code keeps asking"
            remedy = "Limit the rule with times=…, and add a rule for the requests after that."
        else:
            self._answers[request.run_id] += 1
            await self._respond(request, reply)
            return True
        raise UnansweredError(request, why, remedy, self.person)

    async def expire_next(self, ignored: list[Request]) -> None:
        """Advance the clock until the first of these requests expires.

        Args:
            ignored: The requests that the person ignores, at least one.

        Raises:
            UnansweredError: None of the requests expires.
        """
        await self._advance_to_first(ignored[0], [request.expires_at for request in ignored if request.expires_at])

    async def _reread(self, request: Request) -> Request:
        # Without a turn of the event loop, concurrent waits are not answered in time and no timeout can interrupt.
        await asyncio.sleep(0)
        return await self.inbox.for_tenant(request.tenant).get(request.id)

    async def _advance_to_first(self, ignored: Request, times: list[datetime]) -> None:
        if not times:
            raise UnansweredError.never_expires(ignored, self.person)
        await self._advance_to(min(times))

    async def _respond(self, request: Request, reply: Reply) -> None:
        by = Decider(self.person.name, tuple(self.person.groups))
        try:
            answer = Answer(digest=request.digest, **vars(reply))
            await self.inbox.for_tenant(request.tenant).answer(request.id, answer, by=by, channel="test")
        except Exception as error:
            error.add_note(f"when the scripted person answered request {request.id!r} with {reply}")
            raise

    def _agent_of(self, graph: object) -> Agent:
        # Unnamed graphs share a default name: one would continue the run of another.
        agents = [agent for agent in self._agents.values() if agent.target is graph]
        return agents[0] if agents else Agent(f"{getattr(graph, 'name', 'agent')}-{len(self._agents) + 1}", graph)

    async def _advance_to(self, end: datetime) -> None:
        while True:
            batches = record_pages(self.backend.store, Request, Query(statuses=("pending",)))
            pending = [(request, reminder_due_time(request)) async for page in batches for request in page]
            times = [at for request, remind_at in pending for at in (request.expires_at, remind_at) if at and at <= end]
            self.clock.now = max(self.clock.now, min(times, default=end))
            if not times:
                return
            for request, remind_at in pending:
                if remind_at and remind_at <= self.clock():
                    await self.inbox.for_tenant(request.tenant).remind(request.id)
            await self.inbox.expire_due()

    async def _work(self, thread_id: str) -> AgentResult:
        # The feed of an inbox belongs to one event loop, and synchronous tests use a new loop for each call.
        inbox = OrderedInbox(self)
        runner, stop = Worker(self.backend, inbox, self._agents), asyncio.Event()
        async with inbox.feed, self.backend.notifier.subscribe(TOPIC) as notifications, asyncio.TaskGroup() as group:
            group.create_task(runner.work(stop))
            while thread_id not in self._jobs.failed and not await thread_without_work(self.backend.store, thread_id):
                await notifications.wait(None)
            stop.set()
        thread = await runner.get(DEFAULT_TENANT, thread_id)
        if error := self._jobs.failed.get(thread_id):
            raise RunFailedError(thread, error) from error
        return await self._result(thread)

    async def _result(self, thread: Thread) -> AgentResult:
        if thread.status == "error" or thread.attention:
            raise RunFailedError(thread)
        events = await self.inbox.events(START, MAX_EVENTS)
        # By the events: while the clock stands still, all questions have the same time.
        ids = dict.fromkeys(event.record_id for event in events if event.record == "request")
        requests = [request for id in ids if (request := await self.inbox.get(id)).thread_id == thread.id]
        return AgentResult(thread, await self._state(thread), tuple(requests))

    async def _state(self, thread: Thread) -> State:
        agent = self._agents[thread.agent]
        if not agent.served.description.has_checkpoints:
            return thread.values or {}
        graph = agent.target.copy({"checkpointer": await saver_with_images(self.backend, thread)})
        snapshot = await graph.aget_state({"configurable": {"thread_id": checkpoint_thread(thread.key)}})
        state: State = snapshot.values
        return state


async def thread_without_work(store: Store, thread_id: str) -> Thread | None:
    """Return a thread once no worker has anything to do on it; None before."""
    query = Query(tenant=DEFAULT_TENANT, thread_id=thread_id, unacknowledged=True)
    if await store.count(Request, query):
        return None
    # In this order: a run that was taken up meanwhile appears as running.
    thread = await store.get(Thread, DEFAULT_TENANT, thread_id)
    return None if thread.status == "running" else thread


def reminder_due_time(request: Request) -> datetime | None:
    """Return the due time of a request's reminder; None after the reminder was sent."""
    if request.due_at is None or request.reminded_at:
        return None
    return reminder_time(request.created_at, request.due_at, DeliverySettings().remind_before)
