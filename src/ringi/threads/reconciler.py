"""Finds what should go on and does not: the certain way, beside the quick one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from ringi.connect import Backend
from ringi.errors import RingiError
from ringi.inbox import RESUMES, Clock
from ringi.jobs import Job
from ringi.record import Query, cursor_of
from ringi.request import Request
from ringi.store import R, Store
from ringi.thread import Thread

log = logging.getLogger(__name__)
RUNNER = "langgraph"
KINDS = ("run", "resume")
"""The jobs of those who run agents."""
PAGE = 200


def start_job(thread: Thread) -> Job:
    """Return the job that takes up a thread's newest run, or goes on with it."""
    lane = f"{thread.tenant}/{thread.id}"
    # A retry under the key of the attempt that failed would be dropped while that one's job is still being finished.
    attempt = f":{thread.run.attempt}" if thread.run and thread.run.attempt else ""
    payload = {"tenant": thread.tenant, "thread": thread.id}
    return Job(key=f"run:{lane}:{thread.run_id}{attempt}", kind="run", lane=lane, payload=payload)


def resume_job(request: Request) -> Job:
    """Return the job that hands an ended request to its run."""
    assert request.continuation
    tenant, thread = request.tenant, request.continuation.key
    payload = {"tenant": tenant, "thread": thread}
    return Job(key=f"resume:{tenant}/{request.id}", kind="resume", lane=f"{tenant}/{thread}", payload=payload)


class Reconciler:
    """Submits a job for every ended request and every running thread that nobody works on."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend, self._clock = backend, clock

    async def run(self) -> None:
        """Look at once when rung, and every interval in case the ring was lost."""
        async with self._backend.notifier.subscribe(RESUMES) as wakeup:
            while True:
                try:
                    await self.reconcile()
                except RingiError as error:
                    log.warning("cannot look for runs that should go on, trying again: %s", error)
                except Exception:
                    log.exception("looking for runs that should go on failed, trying again")
                await wakeup.wait(self._backend.notifier.recheck_after)

    async def reconcile(self) -> None:
        """Submit what is missing, once."""
        async for ended in pages(self._backend.store, Request, Query(unacknowledged=True, limit=PAGE)):
            await self._submit([resume_job(request) for request in ended if is_ours(request)])
        async for stranded in pages(self._backend.store, Thread, Query(unleased_at=self._clock(), limit=PAGE)):
            await self._submit([start_job(thread) for thread in stranded])

    async def _submit(self, jobs: Sequence[Job]) -> None:
        await asyncio.gather(*(self._backend.jobs.submit(job) for job in jobs))


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
