"""Takes the jobs of runs, acquires the lease of their thread, and lets the executor advance it."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import socket
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import count

from ringi.base.clock import retry_delay_after
from ringi.base.loops import cancel_all
from ringi.base.outages import PausedError
from ringi.base.settings import hitl_enabled
from ringi.connect import Backend, repeat_work
from ringi.contracts.backend import ANNOUNCEMENT_KEPT_SECONDS, Job, JobNotDueError
from ringi.domain.pauses import paused_error
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import FenceError, Thread
from ringi.errors import ConflictError, RingiError
from ringi.inbox.inbox import StoreInbox
from ringi.runs import announcements
from ringi.runs.agent import Agent
from ringi.runs.announcements import ANNOUNCED_SECONDS, MISSING_SECONDS
from ringi.runs.cleanup import close_orphans, prune_checkpoints, requests_of_thread
from ringi.runs.executor import advance_leased_thread
from ringi.runs.lease import EventLoopWatch, Lease, PendingReleases, hold_thread_lease
from ringi.runs.messages import ImageMemory
from ringi.runs.reconciler import KINDS, Reconciler
from ringi.runs.runner import Runner

log = logging.getLogger(__name__)
CONCURRENCY = 256
"""Threads that one process runs at once: they wait for models, not for the CPU."""

DEFER_SECONDS = (0.3, 0.6, 1.2, 2.4)
"""Seconds for which a worker leaves a run to the worker that holds it or has its agent, by earlier deferrals."""
PAUSED_SECONDS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The same for a run whose agent is paused."""


class Worker(Runner):
    """Runs the threads of its agents until the next question, the end, or a takeover by another worker."""

    def __init__(self, backend: Backend, inbox: StoreInbox, agents: Mapping[str, Agent]) -> None:
        super().__init__(backend, inbox, agents)
        self._pending_releases = PendingReleases(backend.store, inbox.clock)
        self._held_leases, self._began, self._image_memory = set[Lease](), time.monotonic(), ImageMemory()
        self._owner, self._lease_numbers = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}", count(1)

    async def work(self, stop: asyncio.Event) -> None:
        """Run threads until `stop` is set; the next process continues unfinished runs.

        Without agents it leaves all runs to processes that have some.

        Args:
            stop: Set it to end the work.
        """
        if not self.agents:
            # If it took jobs, it would fail runs whose agent is loaded only in another worker.
            await stop.wait()
            return
        if not hitl_enabled():
            what = "agents run without asking anybody, and calls that need consent run as they are"
            log.warning("RINGI_ENABLED is off: %s", what)
        reconciler = Reconciler(self.backend, self.inbox.clock)
        settling = repeat_work(self._pending_releases.settle, self.backend.notifier.recheck_after)
        announcing = repeat_work(self._announce, ANNOUNCED_SECONDS / 3)
        tasks = (reconciler.run(self.inbox.feed), settling, announcing)
        background = [asyncio.create_task(task) for task in tasks]
        try:
            another = self.backend.another_store
            async with EventLoopWatch(another, self._held_leases) if another else nullcontext():
                await self.backend.jobs.work(
                    self._handle,
                    kinds=KINDS,
                    concurrency=CONCURRENCY,
                    stop=stop,
                    takes_new=lambda job: job.payload.get("agent") in self.agents,
                )
        finally:
            await cancel_all(*background)
            with suppress(RingiError):
                await self._announce(0)

    async def _announce(self, seconds: float = ANNOUNCED_SECONDS) -> None:
        await self.backend.jobs.announce(self._owner, announcements.serialize_announcement(self.agents), seconds)

    async def _handle(self, job: Job) -> bool | None:
        key = Key(job.payload["tenant"], job.payload["thread"])
        inbox = self.inbox.for_tenant(key.tenant)
        # The lease compares its version: one that was changed meanwhile is read again.
        begun = self._begun.pop(job.key, None)
        thread = begun if begun and not job.attempts else await self.backend.store.get(Thread, *key)
        is_parked = thread.status == "interrupted"
        unsettled = await requests_of_thread(self.backend, thread, unsettled=True) if is_parked else None
        if not await self._has_work(thread, unsettled or (), inbox, job.attempts):
            return None
        if pause := await self.pauses.find(key.tenant, thread.agent):
            raise _not_due_yet(job.attempts, PAUSED_SECONDS, paused_error(pause, self.inbox.clock).retry_after)
        lease_owner = f"{self._owner}.{next(self._lease_numbers)}"
        try:
            store, clock, leases = self.backend.store, self.inbox.clock, self._held_leases
            pending, put = self._pending_releases, self.backend.put_fenced
            async with hold_thread_lease(store, clock, key, lease_owner, pending, leases, thread, put) as lease:
                # A thread that has changed since it was read may have other requests too.
                is_current = lease.thread.version == thread.version + 1
                known = unsettled if is_current else None
                return await advance_leased_thread(self, inbox, lease, job, self._image_memory, known)
        except ConflictError as error:
            if error.code != "busy":
                raise
            # The holder does the work, but it may have died: then its lease ends later than its claim of the job.
            raise _not_due_yet(job.attempts) from error
        except PausedError as error:
            log.info("thread %s stops: %s", key.id, error)
            raise _not_due_yet(0, PAUSED_SECONDS) from error
        except FenceError as error:
            # Not a failure: the new holder of the thread does the work, or the reconciler submits it again.
            log.info("left alone: %s", error)
        return None

    async def _has_work(self, thread: Thread, unsettled: Sequence[Request], inbox: StoreInbox, attempts: int) -> bool:
        if thread.is_live:
            if thread.agent not in self.agents and await self._may_return(thread.agent):
                raise _not_due_yet(attempts)
            return thread.status == "running" or any(request.is_unacknowledged for request in unsettled)
        await close_orphans(self.backend, inbox, thread)
        agent = self.agents.get(thread.agent)
        has_checkpoints = agent and agent.served.description.has_checkpoints and not agent.history
        if attempts and thread.status == "done" and has_checkpoints:
            # The first worker may have died after the end of the run and before it deleted these.
            await prune_checkpoints(self.backend, thread)
        return False

    async def _may_return(self, agent: str) -> bool:
        """Return True if a worker announces the agent, or announced it recently and may be restarting or blocked."""
        # After an outage of all workers the first one waits for the others, regardless of its length.
        is_new = time.monotonic() - self._began < MISSING_SECONDS
        since = ANNOUNCEMENT_KEPT_SECONDS if is_new else MISSING_SECONDS
        return agent in announcements.parse_announcements(await self.backend.jobs.announced(since))


def _not_due_yet(attempts: int, delays: Sequence[float] = DEFER_SECONDS, longest: float = math.inf) -> JobNotDueError:
    return JobNotDueError(min(random.uniform(0.5, 1) * retry_delay_after(delays, attempts), longest))
