"""Jobs in a table of the store: a worker claims some and renews its claims."""

from __future__ import annotations

import asyncio
import contextvars
import json
import math
import random
import uuid
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ringi.base.bounded import Bounded
from ringi.base.clock import retry_delay_after
from ringi.base.failpoints import failpoint
from ringi.base.loops import cancel_all
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.contracts.backend import JOBS, MAX_CONCURRENT, Job, JobCounts, JobHandler, JobNotDueError, Jobs, Notifier
from ringi.errors import UnavailableError

log = rate_limited_logger(__name__)
ROOMY = 16
"""The number of free places from which a pool shares its claims with others."""
CLAIM_SECONDS = 6.0
"""Seconds until another worker may claim the job of a dead worker."""
RETRY_SECONDS = (0.1, 0.5, 2.0, 10.0, 30.0)
"""Seconds until a failed job is tried again."""
OUTAGE_RETRY_SECONDS = (0.2, 0.4, 0.8, 1.6, 3.2)
"""The same for a job that the store was not available to: that is no fault of the job."""


MAX_OWN = 8
"""The number of running jobs from which a process leaves new jobs to whoever claims them first."""


class FailedKeys(Bounded[str, None]):
    """The concurrency keys whose last job failed, as far as this process knows; of many, the latest."""

    def __init__(self) -> None:
        super().__init__(1_000)

    def note(self, job: Job, *, has_failed: bool) -> None:
        """Record the outcome of a job."""
        if job.concurrency_key and has_failed:
            self[job.concurrency_key] = None
        elif job.concurrency_key:
            self.pop(job.concurrency_key, None)


@dataclass(eq=False)
class HandlerJobs:
    """The jobs in progress for one handler."""

    handle: JobHandler
    kinds: Collection[str]
    concurrency: int
    reserve: int
    takes_new: Callable[[Job], bool] | None
    running: dict[asyncio.Task[bool], Job] = field(default_factory=dict)
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    """The context of the handler: a job may begin in that of whoever has saved it."""

    def takes(self, job: Job) -> bool:
        """Return whether it takes a job right as this process saves it."""
        return job.kind in self.kinds and self.takes_new is not None and self.takes_new(job)

    @property
    def free(self) -> int:
        """The number of further jobs that it may take, without its reserve."""
        return self.places - self.reserve

    @property
    def places(self) -> int:
        """The number of further jobs that it may take, with its reserve."""
        return self.concurrency - len(self.running)


class ClaimedJobs(Jobs):
    """The processing of jobs; each store implements their storage. One loop claims for all handlers of the process."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier, self._me = notifier, uuid.uuid4().hex
        self._pools: list[HandlerJobs] = []
        self._claiming: asyncio.Task[None] | None = None
        self._failed = FailedKeys()
        self._begun_claims = self._ended_claims = 0

    @abstractmethod
    async def _claim(
        self, kinds: Collection[str], limit: int, same: int = MAX_CONCURRENT, barred: Collection[str] = ()
    ) -> Sequence[Job]:
        """Claim at most `limit` due jobs of these kinds whose partition keys are free.

        At most `same` jobs with one concurrency key are claimed at once, and none whose key is barred.
        """

    @abstractmethod
    async def _renew(self, jobs: Sequence[Job]) -> None:
        """Extend the claims that no other worker holds by now; the next two methods check this too."""

    @abstractmethod
    async def _finish(self, job: Job) -> bool:
        """Delete a finished job, and return whether another one of its partition or concurrency key may be due."""

    @abstractmethod
    async def _free(self, job: Job, seconds: float, *, keeps_turn: bool = False) -> None:
        """Release a job, to be claimed again after `seconds`; until then, its partition waits if it keeps its turn."""

    async def work(
        self,
        handle: JobHandler,
        *,
        kinds: Collection[str],
        concurrency: int,
        stop: asyncio.Event,
        reserve: int = 0,
        takes_new: Callable[[Job], bool] | None = None,
    ) -> None:
        pool = HandlerJobs(handle, kinds, concurrency, reserve, takes_new)
        self._pools.append(pool)
        if self._claiming is None:
            self._claiming = asyncio.create_task(self._keep_claiming())
        claiming, renewing = self._claiming, asyncio.create_task(self._keep_renewing(pool))
        stopping = asyncio.create_task(stop.wait())
        self._notifier.wake(JOBS)
        try:
            await asyncio.wait((stopping, claiming), return_when=asyncio.FIRST_COMPLETED)
            self._remove(pool)
            await asyncio.gather(*pool.running, return_exceptions=True)
        finally:
            # First: its jobs would be claimed for it again.
            self._remove(pool)
            await cancel_all(stopping, renewing, *pool.running)
            if not self._pools:
                await asyncio.wait({claiming})
        if claiming.done():
            claiming.result()  # An error that ended the claims is the caller's to see.

    def claims_new(self, jobs: Sequence[Job]) -> str | None:
        """Return the name under which this process takes new jobs as they are saved; None if it leaves them to others.

        Args:
            jobs: Jobs without a concurrency key.
        """
        free = [pool for pool in self._pools if pool.takes_new and pool.free > 0 and len(pool.running) < MAX_OWN]
        is_taken = jobs and free and all(any(pool.takes(job) for pool in free) for job in jobs)
        return self._me if is_taken else None

    async def begin_new(self, jobs: Sequence[Job], claimed: Collection[str] | None) -> None:
        """Begin the jobs that were saved with the name of this process, and notify the workers of the others.

        Args:
            jobs: The saved jobs.
            claimed: The keys of those with the name; None if it is unknown which have it.
        """
        for job in jobs:
            if claimed is None:
                await self._defer(job, 0, keeps_turn=True)
            elif job.key in claimed:
                await self._begin(job)
        if jobs and len(claimed or ()) < len(jobs):
            await self._notifier.publish(JOBS)

    def _remove(self, pool: HandlerJobs) -> None:
        if pool not in self._pools:
            return
        self._pools.remove(pool)
        if not self._pools:
            self._claiming = None  # The next pool begins anew, while this loop still ends.
        self._notifier.wake(JOBS)

    async def _keep_claiming(self) -> None:
        async with self._notifier.subscribe(JOBS) as wakeup:
            while self._claiming is asyncio.current_task():
                await self._fill()
                # Workers that poll in step would always leave a deferred job to the first of them.
                await wakeup.wait(self._notifier.pulse_after * random.uniform(0.5, 1))

    async def _fill(self) -> None:
        """Claim jobs until all pools are full or no more job is due."""
        # A pool that is nearly full would make the claims of the others small.
        for least, most in ((ROOMY, math.inf), (1, ROOMY - 1)):
            while pools := [pool for pool in self._pools if least <= pool.free <= most]:
                if not await self._fill_pools(pools, min(pool.free for pool in pools), MAX_CONCURRENT, ()):
                    break
        while pools := [pool for pool in self._pools if pool.free <= 0 < pool.places]:
            if not await self._fill_pools(pools, min(pool.places for pool in pools), 1, [*self._failed]):
                break

    async def _fill_pools(self, pools: Sequence[HandlerJobs], limit: int, same: int, barred: Collection[str]) -> bool:
        """Claim jobs for these pools, and return whether more may be due."""
        kinds, jobs = {kind for pool in pools for kind in pool.kinds}, list[Job]()
        self._begun_claims += 1
        try:
            # A worker that stopped here would abandon its jobs.
            with FailureLog(log, "cannot look for jobs, trying again"):
                jobs += await self._claim(kinds, limit, same, barred)
        finally:
            self._ended_claims += 1
        if jobs:
            failpoint("job.after_claim")
        for job in jobs:
            await self._begin(job)
        return len(jobs) == limit

    async def _begin(self, job: Job) -> None:
        pool = next((pool for pool in self._pools if job.kind in pool.kinds and pool.places > 0), None)
        if pool is None:  # It left while the job was claimed.
            return await self._defer(job, 0, keeps_turn=True)
        # The next one has its turn: another worker of this process may have what this one lacks.
        self._pools.remove(pool)
        self._pools.append(pool)
        task = asyncio.create_task(self._do(job, pool.handle), context=pool.context.copy())
        pool.running[task] = job
        task.add_done_callback(partial(self._end, pool))

    def _end(self, pool: HandlerJobs, task: asyncio.Task[bool]) -> None:
        was_full = pool.free <= 0
        del pool.running[task]
        # Otherwise no job has become free: a claim after each job would cost as much as its deletion.
        if was_full or task.cancelled() or task.result():
            self._notifier.wake(JOBS)

    async def _do(self, job: Job, handle: JobHandler) -> bool:
        """Do a job, and return whether other jobs may have become free."""
        try:
            has_more = await handle(job)
        except JobNotDueError as error:
            await self._retry(job, error.seconds)
        except UnavailableError as error:
            log.warning("job %s waits for the store: %s", job.key, error)
            # What was not done for no fault of its own is still before the later ones of its partition.
            await self._defer(job, retry_delay_after(OUTAGE_RETRY_SECONDS, job.attempts), keeps_turn=True)
        except Exception:
            log.exception("job %s failed on attempt %s", job.key, job.attempts + 1)
            await self._retry(job, retry_delay_after(RETRY_SECONDS, job.attempts))
        except asyncio.CancelledError:
            await self._defer(job, 0, keeps_turn=True)
            raise
        else:
            self._failed.note(job, has_failed=False)
            return await self._end_done(job, has_more)
        return True

    async def _retry(self, job: Job, seconds: float) -> None:
        self._failed.note(job, has_failed=True)
        await self._defer(job, seconds)

    async def _end_done(self, job: Job, has_more: bool | None) -> bool:
        """Delete a job unless its handler did, and return whether other jobs may have become free."""
        ended_claims = self._ended_claims
        if has_more is None:
            has_more = True
            with FailureLog(log, "job %s will run again when its claim expires", job.key):
                has_more = await self._finish(job)
        # A claim at the same time may have found a newer job whose partition or concurrency key was still taken.
        return has_more or self._begun_claims > ended_claims

    async def _keep_renewing(self, pool: HandlerJobs) -> None:
        while True:
            await asyncio.sleep(CLAIM_SECONDS / 3)
            if pool.running:
                with FailureLog(log, "the claims of %d jobs are not renewed", len(pool.running)):
                    await self._renew(list(pool.running.values()))

    async def _defer(self, job: Job, seconds: float, *, keeps_turn: bool = False) -> None:
        with FailureLog(log, "job %s stays claimed until its claim expires", job.key):
            await self._free(job, seconds, keeps_turn=keeps_turn)


def count_jobs(jobs: Iterable[tuple[Job, bool, bool]]) -> list[JobCounts]:
    """Return the numbers of some jobs, each with whether it is running and whether it was attempted."""
    numbers = Counter(
        (job.kind, job.concurrency_key, 1 if is_running else 2 if was_attempted else 0)
        for job, is_running, was_attempted in jobs
        if job.concurrency_key
    )
    names = dict.fromkeys((kind, key) for kind, key, _ in numbers)
    return [JobCounts(kind, key, *(numbers[kind, key, state] for state in range(3))) for kind, key in names]


def job_to_row(job: Job) -> tuple[str, str, str, str, int, str | None]:
    """Return a job as a row of SQL: key, kind, partition key, payload, earlier attempts and concurrency key."""
    return job.key, job.kind, job.partition_key, json.dumps(job.payload), job.attempts, job.concurrency_key


def job_from_row(row: Iterable[Any]) -> Job:
    """Return the job of a claimed row, whose attempts include the present one."""
    key, kind, partition_key, payload, attempts, concurrency_key = row
    about = {"key": key, "kind": kind, "partition_key": partition_key, "concurrency_key": concurrency_key}
    return Job(**about, payload=json.loads(payload), attempts=attempts - 1)
