"""Jobs in a table of the store: a worker claims some and renews its claims."""

from __future__ import annotations

import asyncio
import random
import uuid
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence

from ringi.base.failpoints import failpoint
from ringi.base.log_limit import limited
from ringi.contracts.jobs import Handler, Job, Jobs
from ringi.contracts.notifier import Notifier
from ringi.errors import JobNotDueError, UnavailableError

log = limited(__name__)
TOPIC = "jobs"
CLAIM_SECONDS = 6.0
"""Seconds until another worker may claim the job of a dead worker."""
RETRY_SECONDS = (0.1, 0.5, 2.0, 10.0, 30.0)
"""Seconds until a failed job is tried again."""


class ClaimedJobs(Jobs):
    """The processing of jobs; each store implements their storage."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier, self._me = notifier, uuid.uuid4().hex

    @abstractmethod
    async def _claim(self, kinds: Collection[str], limit: int) -> Sequence[Job]:
        """Claim at most `limit` due jobs of these kinds whose partition keys are free."""

    @abstractmethod
    async def _renew(self, jobs: Sequence[Job]) -> None:
        """Extend the claims that no other worker holds by now; the next two methods check this too."""

    @abstractmethod
    async def _finish(self, job: Job) -> None:
        """Delete a finished job."""

    @abstractmethod
    async def _free(self, job: Job, seconds: float) -> None:
        """Release a job, to be claimed again after `seconds`."""

    async def work(self, handle: Handler, *, kinds: Collection[str], concurrency: int, stop: asyncio.Event) -> None:
        running = dict[asyncio.Task[None], Job]()
        stopping, renewing = asyncio.create_task(stop.wait()), asyncio.create_task(self._keep_renewing(running))
        try:
            async with self._notifier.subscribe(TOPIC) as wakeup:
                stopping.add_done_callback(lambda _: wakeup.set())
                while not stop.is_set():
                    limit = concurrency - len(running)
                    for job in await self._next(kinds, limit) if limit else ():
                        task = asyncio.create_task(self._do(job, handle))
                        running[task] = job
                        task.add_done_callback(running.pop)
                        task.add_done_callback(lambda _: wakeup.set())
                    # Workers that poll in step would always leave a deferred job to the first of them.
                    await wakeup.wait(self._notifier.recheck_after * random.uniform(0.5, 1))
            await asyncio.gather(*running, return_exceptions=True)
        finally:
            for each in (stopping, renewing, *running):
                each.cancel()
            await asyncio.gather(stopping, renewing, *running, return_exceptions=True)

    async def _next(self, kinds: Collection[str], limit: int) -> Sequence[Job]:
        try:
            jobs = await self._claim(kinds, limit)
        except UnavailableError as error:  # A worker that stopped here would abandon its jobs.
            log.warning("cannot look for jobs, trying again: %s", error)
            return ()
        if jobs:
            failpoint("job.after_claim")
        return jobs

    async def _do(self, job: Job, handle: Handler) -> None:
        try:
            await handle(job)
        except JobNotDueError as error:
            await self._defer(job, error.seconds)
        except Exception:
            log.exception("job %s failed on attempt %s", job.key, job.attempts + 1)
            await self._defer(job, RETRY_SECONDS[min(job.attempts, len(RETRY_SECONDS) - 1)])
        except asyncio.CancelledError:
            await self._defer(job, 0)
            raise
        else:
            try:
                await self._finish(job)
            except UnavailableError as error:
                log.warning("job %s will run again when its claim expires: %s", job.key, error)

    async def _keep_renewing(self, running: Mapping[asyncio.Task[None], Job]) -> None:
        while True:
            await asyncio.sleep(CLAIM_SECONDS / 3)
            try:
                if running:
                    await self._renew(list(running.values()))
            except UnavailableError as error:
                log.warning("the claims of %d jobs are not renewed: %s", len(running), error)

    async def _defer(self, job: Job, seconds: float) -> None:
        try:
            await self._free(job, seconds)
        except UnavailableError as error:
            log.warning("job %s stays claimed until its claim expires: %s", job.key, error)
