"""Finds what should go on and does not: the certain way, beside the quick one."""

from __future__ import annotations

import logging

from ringi.connect import Backend
from ringi.errors import RingiError
from ringi.inbox import RESUMES, Clock
from ringi.jobs import Job
from ringi.record import Query
from ringi.request import Request
from ringi.thread import Thread

log = logging.getLogger(__name__)
RUNNER = "langgraph"
PAGE = 200


def start_job(thread: Thread) -> Job:
    """Return the job that takes up a thread's newest run, or goes on with it."""
    lane = f"{thread.tenant}/{thread.id}"
    return Job(
        key=f"run:{lane}:{thread.run_id}", kind="run", lane=lane, payload={"tenant": thread.tenant, "thread": thread.id}
    )


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
        store, jobs = self._backend.store, self._backend.jobs
        ended = await store.find(Request, Query(unacknowledged=True, limit=PAGE))
        waiting = [request for request in ended if request.continuation and request.continuation.runner == RUNNER]
        stranded = await store.find(Thread, Query(unleased_at=self._clock(), limit=PAGE))
        for job in [*map(resume_job, waiting), *map(start_job, stranded)]:
            await jobs.submit(job)
