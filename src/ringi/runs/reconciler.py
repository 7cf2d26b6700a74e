"""Periodically finds runs that should continue but do not, in case an event was lost."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from functools import partial

from ringi.base.clock import Clock
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.connect import Backend, repeat_work
from ringi.contracts.backend import (
    RESUME,
    RUN,
    STRANDED,
    WAKING,
    Job,
    Wakeup,
    job_partition_key,
    resumes_run,
    run_resume_job,
    thread_job,
)
from ringi.contracts.store import R, Store
from ringi.domain.record import CutPage, Event, Query, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.inbox.feed import Feed

log = rate_limited_logger(__name__)
KINDS = (RUN, RESUME)
"""The job kinds of processes that run agents."""
PAGE = 200
DUTY = "reconcile jobs"
LEASE_INTERVALS = 4
"""The poll intervals for which the active process holds the duty; it renews it after half of them."""


def run_start_job(thread: Thread) -> Job:
    """Return the job that starts or continues a thread's newest run."""
    # A retry under the key of the failed attempt would be dropped until that attempt's job is finished.
    attempt = f":{thread.run.attempt}" if thread.run and thread.run.attempt else ""
    partition_key = job_partition_key(thread.tenant, thread.id)
    return thread_job(RUN, f"run:{partition_key}:{thread.run_id}{attempt}", thread.key, thread.agent)


class Reconciler:
    """Submits a job for every ended request and every running thread without a worker and a job.

    One process per store is active at a time; another takes over if it skips an interval.
    """

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend, self._clock = backend, clock
        self._notifier = backend.notifier
        self._every, self._me = backend.notifier.recheck_after, uuid.uuid4().hex
        self._ended: list[Event] = []
        self._wakeup = Wakeup()
        self._is_behind, self._lease_due, self._whole_due = True, 0.0, 0.0

    async def run(self, feed: Feed) -> None:
        """Process ended requests at once, and runs without a worker when the notifier finds some, or at intervals.

        The latter covers lost events.
        """
        await repeat_work(partial(self._follow, feed), self._every)

    async def reconcile(self) -> None:
        """Submit the missing jobs once."""
        # Without `jobless` a backlog would grow: each pass would submit all queued work again.
        query = Query(unacknowledged=True, jobless=True, limit=PAGE)
        async for ended in record_pages(self._backend.store, Request, query):
            await self._resume(ended)
        free = Query(unleased_at=self._clock(), jobless=True, limit=PAGE)
        async for stranded in record_pages(self._backend.store, Thread, free):
            await self._backend.jobs.submit_all([run_start_job(thread) for thread in stranded])

    async def _follow(self, feed: Feed) -> None:
        async with self._notifier.subscribe(STRANDED) as self._wakeup, feed.follow(self._collect):
            is_woken = False
            while True:
                with FailureLog(log, "cannot check for runs to continue, trying again"):
                    await self._check(feed, is_woken)
                is_woken = await self._wakeup.wait(self._lease_due - asyncio.get_running_loop().time())

    def _collect(self, events: Sequence[Event]) -> None:
        # Another process receives it too; a process that takes over first checks all runs.
        if not self._notifier.is_leader or self._backend.store.saves_wake_ups:
            return
        # Only these: a full scan per event would read a million records for a thousand answers and a thousand open
        # runs.
        ended = [event for event in events if event.type in WAKING]
        self._ended += ended
        if ended:
            self._wakeup.set()

    async def _check(self, feed: Feed, is_woken: bool) -> None:
        now = asyncio.get_running_loop().time()
        is_whole = self._is_behind or now >= self._whole_due or (is_woken and not self._ended)
        self._is_behind = True
        if now >= self._lease_due:
            self._lease_due = now + self._every
            wait = await self._backend.jobs.lead(DUTY, self._me, self._every * LEASE_INTERVALS)
            is_new = not wait and not self._notifier.is_leader
            self._notifier.is_leader, self._lease_due = not wait, now + (wait or self._every * LEASE_INTERVALS / 2)
            is_whole = is_whole or is_new
        if is_whole and self._notifier.is_leader:
            await self.reconcile()
            self._whole_due = now + self._notifier.pulse_after
        batch, self._ended = self._ended[:PAGE], self._ended[PAGE:]
        if self._ended:  # Next time: continuous answers would block all other checks.
            self._wakeup.set()
        await self._resume(await feed.requests(batch))
        self._is_behind = False

    async def _resume(self, ended: Sequence[Request]) -> None:
        jobs = [run_resume_job(request) for request in ended if request.is_unacknowledged and resumes_run(request)]
        if jobs:
            await self._backend.jobs.submit_all(jobs)


async def record_pages(store: Store, kind: type[R], query: Query) -> AsyncIterator[list[R]]:
    """Yield all matching records in pages, so that stuck ones do not hide those that can continue.

    Args:
        store: The store.
        kind: The class of the records.
        query: The conditions, and the size of a page as `limit`.
    """
    while found := await store.find(kind, query):
        yield found
        if len(found) < query.limit and not isinstance(found, CutPage):
            return
        query = query.model_copy(update={"before": cursor_after_record(found[-1])})
