"""Runs agents on threads: starts them, parks them on questions, and lets them go on."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import count
from typing import Any

from ringi import tracing
from ringi.connect import Backend, repeat
from ringi.errors import (
    ConflictError,
    FenceError,
    InvalidError,
    LaterError,
    MissingExtraError,
    NotFoundError,
    RingiError,
    ThreadBusyError,
)
from ringi.images import FIELD, NewImage, check, check_newest, refuse_names
from ringi.inbox import Inbox, change
from ringi.jobs import ANNOUNCEMENT_KEPT_SECONDS, Job
from ringi.record import Event, Key, Query
from ringi.request import Request
from ringi.switch import VARIABLE, is_on
from ringi.thread import Run, Thread, ThreadStatus
from ringi.threads import offers
from ringi.threads.agent import Agent
from ringi.threads.images import Room, anybodys, begin_with
from ringi.threads.lease import Debts, Lease, leased
from ringi.threads.loop_watch import LoopWatch
from ringi.threads.loose_ends import CANCELLED, ended_requests, open_requests, tidy, wind_up
from ringi.threads.message_ids import began_with
from ringi.threads.offers import ANNOUNCED_SECONDS, MISSING_SECONDS, Offer
from ringi.threads.reconciler import KINDS, Reconciler, start_job

log = logging.getLogger(__name__)
CONCURRENCY = 256
"""How many threads one process runs at once: they wait for models, not for the processor."""

ELSEWHERE = (0.3, 0.6, 1.2, 2.4)
"""Seconds for which a worker leaves a run to another that has its agent, by how often it was left before."""


class Runner:
    """The agents of a process, and the work on their threads."""

    def __init__(self, backend: Backend, inbox: Inbox, agents: Mapping[str, Agent]) -> None:
        self.backend, self.inbox, self.agents = backend, inbox, agents
        self._debts = Debts(backend.store, inbox.clock)
        self._held, self._began, self._room = set[Lease](), time.monotonic(), Room()
        self._owner, self._turns = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}", count(1)

    @property
    def offered(self) -> dict[str, Agent]:
        """The agents that people and programs may run, by name."""
        return {name: agent for name, agent in self.agents.items() if not agent.is_internal}

    async def announced(self) -> Mapping[str, Sequence[Offer]]:
        """The agents of all workers on the store, by name: each description in use, the newest worker's first."""
        return offers.read(await self.backend.jobs.announced())

    async def offers(self) -> dict[str, Offer]:
        """The agents that people and programs may run, by name: those of this process, and those that workers announce.

        Of an agent that workers describe in different ways, it is the description of the worker that began last.
        """
        elsewhere = {name: found[0] for name, found in (await self.announced()).items() if name not in self.agents}
        here = {name: Offer.of(agent) for name, agent in self.agents.items()}
        return {name: offer for name, offer in (here | elsewhere).items() if not offer.is_internal}

    async def has_offer(self, agent: str) -> bool:
        """Whether people and programs may run this agent."""
        return agent in self.offered or (agent not in self.agents and agent in await self.offers())

    async def start(
        self,
        tenant: str,
        thread_id: str,
        agent: str,
        input: dict[str, Any],
        *,
        by: str,
        images: Sequence[NewImage] = (),
        once: bool = False,
        check: Callable[[Thread], object] = anybodys,
    ) -> Thread:
        """Begin a run and return its thread at once; a worker takes it up. The images belong to its newest message.

        With `once`, a message that began the newest run of the thread, known by its id, begins no other one.
        `check` gets a thread that is there already, and raises what keeps the caller from going on with it.
        Raises `NotFoundError` for an unknown agent, `InvalidError` for a wrong input or images that it does not take,
        `ThreadBusyError` while the thread runs or waits for a person.
        """
        await self._check_input(agent, input, images)
        run = Run(id=uuid.uuid4().hex, input=input, by=by)
        thread = await self._begin(Key(tenant, thread_id), agent, run, by, images, once=once, check=check)
        await self.backend.jobs.submit(start_job(thread))
        return thread

    async def get(self, tenant: str, id: str) -> Thread:
        """Return a thread, or raise `NotFoundError`."""
        return await self.backend.store.get(Thread, tenant, id)

    async def find(
        self, tenant: str, limit: int, before: str | None = None, statuses: tuple[ThreadStatus, ...] = ()
    ) -> list[Thread]:
        """Return a tenant's threads, newest first; of all statuses unless some are named."""
        query = Query(tenant=tenant, limit=limit, before=before, statuses=statuses)
        return await self.backend.store.find(Thread, query)

    async def pending(self, thread: Thread) -> list[Request]:
        """Return what a thread's runs wait for; what somebody merely posted with its id is not among it."""
        return await open_requests(self.backend, thread)

    async def cancel(self, tenant: str, id: str, *, by: str, reason: str | None = None) -> Thread:
        """Stop a thread's run and withdraw its requests; a run that is at its end stays as it ended.

        What is open of an ended run, because a cancel or a failure was cut short, is withdrawn too.
        """

        def stop(thread: Thread) -> tuple[Thread, Event | None]:
            return thread.cancelled(by, self.inbox.clock(), reason) if thread.is_live else (thread, None)

        _, thread = await change(self.backend.store, Thread, Key(tenant, id), stop)
        why = f"{CANCELLED}: {reason}" if reason else CANCELLED
        await wind_up(self.backend, self.inbox.of(tenant), thread, by, why)
        return thread

    async def work(self, stop: asyncio.Event) -> None:
        """Run threads until `stop` is set; what this process leaves undone the next one finds.

        Without agents it leaves all runs to processes that have some. Raises `MissingExtraError` when there are
        agents and nothing to run them with.
        """
        if not self.agents:
            # Taken here, every run would end for want of its agent while a worker beside has it.
            await stop.wait()
            return
        advancing()
        if not is_on():
            log.warning(
                "%s is off: agents run without asking anybody, and calls that need consent run as they are", VARIABLE
            )
        reconciler = Reconciler(self.backend, self.inbox.clock)
        settling = repeat(self._debts.settle, self.backend.notifier.recheck_after)
        announcing = repeat(self._announce, ANNOUNCED_SECONDS / 3)
        beside = [asyncio.create_task(task) for task in (reconciler.run(self.inbox.feed), settling, announcing)]
        try:
            another = self.backend.another_store
            async with LoopWatch(another, self._held) if another else nullcontext():
                await self.backend.jobs.work(self._handle, kinds=KINDS, concurrency=CONCURRENCY, stop=stop)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            with suppress(RingiError):
                await self.backend.jobs.announce(self._owner, offers.written(self.agents), 0)

    async def _check_input(self, agent: str, input: dict[str, Any], images: Sequence[NewImage]) -> None:
        # Any of the workers may take the run: the input has to fit each version that is at work.
        here = self.agents.get(agent)
        elsewhere = () if here and not images else (await self.announced()).get(agent, ())
        versions: Sequence[Agent | Offer] = [here] if here else elsewhere
        if not versions:
            raise NotFoundError("agent", agent)
        refuse_names(input)
        for version in versions:
            version.check_input(input)
        if images:
            if not all(version.images for version in (*versions, *elsewhere)):
                raise InvalidError.of(FIELD, f"agent {agent!r} takes no images: send the message without them")
            check_newest(input)
            check(images)

    async def _announce(self) -> None:
        await self.backend.jobs.announce(self._owner, offers.written(self.agents), ANNOUNCED_SECONDS)

    async def _begin(
        self,
        key: Key,
        agent: str,
        run: Run,
        by: str,
        images: Sequence[NewImage],
        *,
        once: bool,
        check: Callable[[Thread], object],
    ) -> Thread:
        now = self.inbox.clock()
        span = tracing.beginning("started", now)
        run = run.model_copy(update={"traceparent": span.traceparent})
        if images:
            clock = self.inbox.clock
            thread = await begin_with(self.backend, key, agent, run, images, by=by, clock=clock, once=once, check=check)
        else:
            thread = await self._begin_without(key, agent, run, by, once=once, check=check)
        if thread.run_id == run.id:
            span.started(thread, now)
        return thread

    async def _begin_without(
        self, key: Key, agent: str, run: Run, by: str, *, once: bool, check: Callable[[Thread], object]
    ) -> Thread:
        def restart(thread: Thread) -> tuple[Thread, Event | None]:
            check(thread)
            if once and began_with(thread, run.input):
                return thread, None
            return thread.started(agent, run, by=by, now=self.inbox.clock())

        thread, event = Thread.begun(key.id, agent, run, by=by, now=self.inbox.clock(), tenant=key.tenant)
        try:
            await self.backend.store.put(thread, event)
        except ConflictError:
            _, thread = await change(self.backend.store, Thread, key, restart)
        return thread

    async def _handle(self, job: Job) -> None:
        key = Key(job.payload["tenant"], job.payload["thread"])
        inbox = self.inbox.of(key.tenant)
        if not await self._has_work(key, inbox, job.tries):
            return
        advance, turn = advancing(), f"{self._owner}.{next(self._turns)}"
        try:
            async with leased(self.backend.store, self.inbox.clock, key, turn, self._debts, self._held) as lease:
                await advance(self.backend, inbox, self.agents, lease, self._room)
        except (FenceError, ThreadBusyError) as error:
            # Not a failure: whoever holds the thread does the work, or the reconciler asks again.
            log.info("left alone: %s", error)

    async def _has_work(self, key: Key, inbox: Inbox, tries: int) -> bool:
        thread = await self.backend.store.get(Thread, *key)
        if thread.is_live:
            if thread.agent not in self.agents and await self._may_come_back(thread.agent):
                raise LaterError(random.uniform(0.5, 1) * ELSEWHERE[min(tries, len(ELSEWHERE) - 1)])
            return thread.status == "running" or bool(await ended_requests(self.backend, thread))
        await tidy(self.backend, inbox, thread)
        return False

    async def _may_come_back(self, agent: str) -> bool:
        """Whether a worker announces the agent, or one did of late and may only be starting again, or blocked."""
        # After an outage of all workers the first one waits for the others, however long nobody was there.
        is_new = time.monotonic() - self._began < MISSING_SECONDS
        since = ANNOUNCEMENT_KEPT_SECONDS if is_new else MISSING_SECONDS
        return agent in offers.read(await self.backend.jobs.announced(since))


def advancing() -> Callable[[Backend, Inbox, Mapping[str, Agent], Lease, Room], Awaitable[None]]:
    """Return what runs graphs, or raise `MissingExtraError`: a server that only holds an inbox does without."""
    try:
        from ringi.threads.advance import advance
    except ModuleNotFoundError as error:
        raise MissingExtraError("threads", "langgraph") from error
    return advance
