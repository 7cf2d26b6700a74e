"""Start and stop runs of agents on threads, unless an agent is paused; workers execute them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ringi.base.bounded import Bounded
from ringi.base.texts import reason_of
from ringi.connect import Backend
from ringi.contracts.backend import Moment
from ringi.contracts.store import MAX_PAGE_BYTES, change_record
from ringi.domain.pauses import JOURNAL, Pause, find_pause, read_pauses
from ringi.domain.record import Event, Key, Query
from ringi.domain.request import Request
from ringi.domain.thread import Run, Thread, ThreadStatus
from ringi.domain.voting import Decider, as_decider
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.files.images import FIELD, NewImage, check_images, check_newest_message_images, refuse_named_images
from ringi.inbox import tracing
from ringi.inbox.inbox import StoreInbox
from ringi.inbox.journals import JournalWatch
from ringi.runs import announcements
from ringi.runs.agent import Agent
from ringi.runs.announcements import AgentDescription
from ringi.runs.cleanup import CANCELLED, close_requests_of_run, open_requests
from ringi.runs.messages import allow_anyone, begin_run_with_images, run_began_with_message
from ringi.runs.reconciler import run_start_job

MAX_BEGUN = 64


class Runner:
    """The agents of a process, and operations on their threads.

    Args:
        backend: The services of the store.
        inbox: The inbox for the questions of the agents.
        agents: The agents of this process, by name.
    """

    def __init__(self, backend: Backend, inbox: StoreInbox, agents: Mapping[str, Agent]) -> None:
        self.backend, self.inbox, self.agents = backend, inbox, agents
        self.pauses = PauseWatch(inbox)
        self._begun = Bounded[str, Thread](MAX_BEGUN)
        """The threads as this process has just saved them, by the key of the job of their run."""

    @property
    def startable(self) -> dict[str, Agent]:
        """The agents that people and programs may start, by name."""
        return {name: agent for name, agent in self.agents.items() if not agent.is_internal}

    async def announced_agents(self) -> Mapping[str, Sequence[AgentDescription]]:
        """The agents of all workers on the store, by name: each description in use, the newest worker's first."""
        return announcements.parse_announcements(await self.backend.jobs.announced())

    async def available_agents(self) -> dict[str, AgentDescription]:
        """The agents that people and programs may start, by name: those of this process and those announced by workers.

        If workers describe an agent differently, the description of the newest worker applies.
        """
        announced = await self.announced_agents()
        elsewhere = {name: found[0] for name, found in announced.items() if name not in self.agents}
        here = {name: AgentDescription.of(agent) for name, agent in self.agents.items()}
        return {name: offer for name, offer in (here | elsewhere).items() if not offer.is_internal}

    async def is_available(self, agent: str) -> bool:
        """Return whether people and programs may start this agent.

        Args:
            agent: The name of the agent, of this process or announced by a worker.
        """
        return agent in self.startable or (agent not in self.agents and agent in await self.available_agents())

    async def start(
        self,
        tenant: str,
        thread_id: str,
        agent: str,
        input: dict[str, Any],
        *,
        by: Decider | str,
        images: Sequence[NewImage] = (),
        once: bool = False,
        check: Callable[[Thread], object] = allow_anyone,
    ) -> Thread:
        """Begin a run and return its thread at once; a worker executes it. The images belong to its newest message.

        Args:
            tenant: The tenant of the thread.
            thread_id: The id of a new or an existing thread.
            agent: The name of the agent.
            input: The run input, as the agent's `input_schema` allows it.
            by: The starter of the run.
            images: The images of the newest message.
            once: True if a message that began the newest run, identified by its id, begins no other run.
            check: Called with an existing thread; it raises to refuse the caller.

        Returns:
            The thread, with its new run.

        Raises:
            NotFoundError: No process has this agent.
            InvalidError: The input is invalid, or the agent does not accept images.
            ConflictError: The thread runs or waits for a person (`busy`).
        """
        await self._check_input(agent, input, images)
        key, starter, clock = Key(tenant, thread_id), as_decider(by), self.inbox.clock
        now, name = clock(), starter.name
        span = tracing.start_span("started", now)
        run = Run(id=uuid.uuid4().hex, input=input, by=name, subject=starter.subject, traceparent=span.traceparent)
        if images:
            thread = await begin_run_with_images(
                self.backend, key, agent, run, images, by=name, clock=clock, once=once, check=check
            )
        else:
            thread = await self._begin(key, agent, run, name, once=once, check=check)
        if thread.run_id == run.id:
            span.end(thread, now)
        if images or thread.run_id != run.id:  # Otherwise it was submitted with the thread.
            await self.backend.jobs.submit(run_start_job(thread))
        return thread

    async def get(self, tenant: str, id: str) -> Thread:
        """Return a thread.

        Args:
            tenant: The tenant of the thread.
            id: The id of the thread.

        Raises:
            NotFoundError: There is no such thread.
        """
        return await self.backend.store.get(Thread, tenant, id)

    async def find(
        self, tenant: str, limit: int, before: str | None = None, statuses: tuple[ThreadStatus, ...] = ()
    ) -> list[Thread]:
        """Return a tenant's threads, newest first; a `CutPage` if they are larger than a page may be.

        Args:
            tenant: The tenant.
            limit: The maximum number of threads.
            before: The cursor of the last thread on the previous page.
            statuses: Only threads with one of these statuses; empty for all.
        """
        query = Query(tenant=tenant, limit=limit, before=before, statuses=statuses, max_bytes=MAX_PAGE_BYTES)
        return await self.backend.store.find(Thread, query)

    async def pending(self, thread: Thread) -> list[Request]:
        """Return the requests that a thread's runs wait for, without those merely posted with its id.

        Args:
            thread: The thread.
        """
        return await open_requests(self.backend, thread)

    async def cancel(self, tenant: str, id: str, *, by: str, reason: str | None = None) -> Thread:
        """Stop a thread's run and withdraw its requests; an ended run keeps its status.

        Requests of an ended run that remain open after an interrupted cancel or failure are also withdrawn.

        Args:
            tenant: The tenant of the thread.
            id: The id of the thread.
            by: The name of the person or program that stops it.
            reason: The reason, for people.

        Raises:
            NotFoundError: There is no such thread.
        """

        def stop(thread: Thread) -> tuple[Thread, Event | None]:
            return thread.cancelled(by, self.inbox.clock(), reason) if thread.is_live else (thread, None)

        _, thread = await change_record(self.backend.store, Thread, Key(tenant, id), stop)
        why = reason_of("thread_cancelled_because", reason=reason) if reason else CANCELLED
        await close_requests_of_run(self.backend, self.inbox.for_tenant(tenant), thread, by, why)
        return thread

    async def _check_input(self, agent: str, input: dict[str, Any], images: Sequence[NewImage]) -> None:
        # Any worker may take the run: the input has to match each deployed version.
        here = self.agents.get(agent)
        elsewhere = () if here and not images else (await self.announced_agents()).get(agent, ())
        versions: Sequence[Agent | AgentDescription] = [here] if here else elsewhere
        if not versions:
            raise NotFoundError("agent", agent)
        refuse_named_images(input)
        for version in versions:
            version.check_input(input)
        if images:
            if not all(version.images for version in (*versions, *elsewhere)):
                why = f"agent {agent!r} does not accept images; send the message without them"
                raise InvalidError.of(FIELD, why, "images_not_accepted")
            check_newest_message_images(input)
            check_images(images)

    async def _begin(
        self, key: Key, agent: str, run: Run, by: str, *, once: bool, check: Callable[[Thread], object]
    ) -> Thread:
        def restart(thread: Thread) -> tuple[Thread, Event | None]:
            check(thread)
            if once and run_began_with_message(thread, run.input):
                return thread, None
            return thread.started(agent, run, by=by, now=self.inbox.clock())

        thread, event = Thread.begun(key.id, agent, run, by=by, now=self.inbox.clock(), tenant=key.tenant)
        try:
            await self._put_with_job(thread, event)
        except ConflictError:
            _, thread = await change_record(self.backend.store, Thread, key, restart, put=self._put_with_job)
        return thread

    async def _put_with_job(self, thread: Thread, event: Event | None) -> None:
        job = run_start_job(thread)
        if thread.agent in self.agents:
            self._begun[job.key] = thread
        if self.backend.put_together:
            await self.backend.put_together(Moment(thread, event, jobs=[job]))
        else:
            await self.backend.store.put(thread, event)
            await self.backend.jobs.submit(job)


class PauseWatch:
    """Knows the pauses of each tenant.

    Args:
        inbox: The inbox on the store; its feed reports changes.
    """

    def __init__(self, inbox: StoreInbox) -> None:
        self._watch, self._clock = JournalWatch(inbox.store, inbox.feed, JOURNAL), inbox.clock

    async def find(self, tenant: str, agent: str, *, is_fresh: bool = False) -> Pause | None:
        """Return a pause that stops an agent, as this process knows it; from the store while it reads no feed.

        Args:
            tenant: The tenant of the agent.
            agent: The name of the agent.
            is_fresh: True to read the store in any case.

        Raises:
            UnavailableError: The pauses cannot be read.
        """
        known = await (self._watch.read if is_fresh else self._watch.find)(tenant)
        return find_pause(read_pauses(known), agent, self._clock())
