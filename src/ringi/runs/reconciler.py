"""Finds what should go on and does not: the certain way, beside the quick one."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence

from ringi.base.clock import Clock
from ringi.base.log_limit import limited
from ringi.connect import Backend, repeat
from ringi.contracts.jobs import RESUME, RUN, Job, lane_of, resume_key
from ringi.contracts.notifier import Wakeup
from ringi.contracts.store import R, Store, readable
from ringi.domain.events import FINAL_EVENTS, FeedEventName
from ringi.domain.record import Event, Key, Query, cursor_of
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import RingiError
from ringi.inbox.feed import Feed

log = limited(__name__)
RUNNER = "langgraph"
KINDS = (RUN, RESUME)
"""The jobs of those who run agents."""
ENDS = frozenset[FeedEventName]((*FINAL_EVENTS, "request.retried"))
"""After which a run may go on."""
PAGE = 200
DUTY = "reconcile"
EARLY = 0.8
"""After which part of the interval the process that has the duty looks again, so that it keeps it."""


def start_job(thread: Thread) -> Job:
    """Return the job that takes up a thread's newest run, or goes on with it."""
    lane = lane_of(thread.tenant, thread.id)
    # A retry under the key of the attempt that failed would be dropped while that one's job is still being finished.
    attempt = f":{thread.run.attempt}" if thread.run and thread.run.attempt else ""
    payload = {"tenant": thread.tenant, "thread": thread.id}
    return Job(key=f"run:{lane}:{thread.run_id}{attempt}", kind=RUN, lane=lane, payload=payload)


def resume_job(request: Request) -> Job:
    """Return the job that hands an ended request to its run."""
    assert request.continuation
    tenant, thread = request.tenant, request.continuation.key
    payload = {"tenant": tenant, "thread": thread}
    return Job(key=resume_key(tenant, request.id), kind=RESUME, lane=lane_of(tenant, thread), payload=payload)


class Reconciler:
    """Submits a job for every ended request and every running thread that nobody works on, and that has none.

    Of the processes on a store one at a time does; another takes over after an interval in which it did not look.
    """

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend, self._clock = backend, clock
        self._every, self._me = backend.notifier.recheck_after, uuid.uuid4().hex
        self._ended: list[Key] = []
        self._news = Wakeup()
        self._is_behind, self._due, self._leads = True, 0.0, False

    async def run(self, feed: Feed) -> None:
        """Look at what ends at once, and every interval at all that nobody works on, in case that was lost."""

        async def follow() -> None:
            await self._follow(feed)

        await repeat(follow, self._every)

    async def reconcile(self) -> None:
        """Submit what is missing, once."""
        # Without `jobless` a backlog would feed on itself: all that is queued would be submitted at each look.
        asked = Query(unacknowledged=True, jobless=True, limit=PAGE)
        async for ended in pages(self._backend.store, Request, asked):
            await self._resume(ended)
        free = Query(unleased_at=self._clock(), jobless=True, limit=PAGE)
        async for stranded in pages(self._backend.store, Thread, free):
            await self._backend.jobs.submit_all([start_job(thread) for thread in stranded])

    async def _follow(self, feed: Feed) -> None:
        async with feed.follow(self._hear):
            while True:
                try:
                    await self._look()
                except RingiError as error:
                    log.warning("cannot look for runs that should go on, trying again: %s", error)
                except Exception:
                    log.exception("looking for runs that should go on failed, trying again")
                await self._news.wait(self._due - asyncio.get_running_loop().time())

    def _hear(self, events: Sequence[Event]) -> None:
        if not self._leads:
            return  # Another process hears it too; and who takes over looks at all first.
        # All that is unfinished, read at each of these: with a thousand unfinished, a thousand answers read a million.
        ended = [Key(event.tenant, event.record_id) for event in events if event.type in ENDS]
        self._ended += ended
        if ended:
            self._news.set()

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        is_whole, self._is_behind = self._is_behind or now >= self._due, True
        if is_whole:
            self._due = now + self._every
            wait = await self._backend.jobs.lead(DUTY, self._me, self._every)
            self._leads, self._due = not wait, now + (wait or self._every * EARLY)
        if is_whole and self._leads:
            await self.reconcile()
        some, self._ended = self._ended[:PAGE], self._ended[PAGE:]
        if self._ended:  # Next time: while answers never end, nothing else would be looked for.
            self._news.set()
        await self._resume(await readable(self._backend.store, Request, some))
        self._is_behind = False

    async def _resume(self, ended: Sequence[Request]) -> None:
        jobs = [resume_job(request) for request in ended if request.is_unacknowledged and is_ours(request)]
        if jobs:
            await self._backend.jobs.submit_all(jobs)


def is_ours(request: Request) -> bool:
    """Whether a run of this runner waits for the request."""
    return request.continuation is not None and request.continuation.runner == RUNNER


async def pages(store: Store, kind: type[R], query: Query) -> AsyncIterator[list[R]]:
    """Yield all that matches: what cannot go on may not hide what can."""
    while found := await store.find(kind, query):
        yield found
        if len(found) < query.limit:
            return
        query = query.model_copy(update={"before": cursor_of(found[-1])})
