"""Jobs in Redis, for deliveries and reminders; runs of agents need checkpoints, which Redis lacks."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import NoReturn

from pydantic import ValidationError

from ringi.backends import claimed_jobs
from ringi.backends.claimed_jobs import ClaimedJobs, count_jobs
from ringi.backends.redis.server import RedisServer
from ringi.base.extras import UnsupportedError
from ringi.contracts.backend import JOBS, MAX_CONCURRENT, Job, JobCounts, Notifier
from ringi.domain.thread import Thread

SCANNED = 1_000
"""The number of jobs that one command reads to count them."""
log = logging.getLogger(__name__)


class RedisJobs(ClaimedJobs):
    """A hash of the jobs, and for each kind two sorted sets by due time, one of retries; each step is one script."""

    def __init__(self, server: RedisServer, notifier: Notifier) -> None:
        super().__init__(notifier)
        self._server = server
        self._submit, self._take, self._hold = (server.script(name) for name in ("submit", "claim", "hold"))
        self._keys = [server.key("jobs", name) for name in ("all", "due", "claims", "tries", "lanes", "running")]

    async def submit(self, job: Job) -> None:
        await self.submit_all([job])

    async def submit_all(self, jobs: Sequence[Job]) -> None:
        rows = [(job.key, job.kind, job.model_dump_json(exclude={"attempts"})) for job in jobs]
        if await self._submit(self._keys[:2], [value for row in rows for value in row]):
            self._notifier.wake(JOBS)
            await self._notifier.publish(JOBS)

    async def counts(self) -> list[JobCounts]:
        all_jobs, _, claims, tries, *_ = self._keys
        running, attempted = await self._server.read_together(("hkeys", claims), ("hkeys", tries))
        running, attempted, cursor, jobs = {*running}, {*attempted}, -1, dict[bytes, Job]()
        while cursor:
            (page,) = await self._server.read_together(("hscan", all_jobs, max(cursor, 0), None, SCANNED))
            cursor, bodies = page
            jobs |= {key: job for key, body in bodies.items() if (job := job_from_redis(body))}
        return count_jobs((job, key in running, key in attempted) for key, job in jobs.items())

    async def _claim(
        self, kinds: Collection[str], limit: int, same: int = MAX_CONCURRENT, barred: Collection[str] = ()
    ) -> list[Job]:
        jobs = list[Job]()
        arguments = [self._me, int(claimed_jobs.CLAIM_SECONDS * 1e6), same, len(barred), *barred, *kinds]
        while len(jobs) < limit and (found := await self._take(self._keys, arguments)):
            key, body, kind, lane, tries = found
            job = job_from_redis(body)
            if job and (job.key.encode(), job.kind.encode(), job.partition_key.encode()) == (key, kind, lane):
                jobs.append(job.model_copy(update={"attempts": int(tries)}))
                continue
            log.error("job %r cannot be read and is set aside, undone: look at it in %s", key, self._keys[0])
            await self._hold(self._keys, [self._me, key, kind, lane, "set_aside", 0, ""])
        return jobs

    async def _renew(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            await self._change(job, "renew", claimed_jobs.CLAIM_SECONDS)

    async def _finish(self, job: Job) -> bool:
        await self._change(job, "finish", 0)
        return True  # Jobs are not indexed by partition.

    async def _free(self, job: Job, seconds: float, *, keeps_turn: bool = False) -> None:
        await self._change(job, "yield" if keeps_turn else "free", seconds)

    async def _change(self, job: Job, what: str, seconds: float) -> None:
        about = [job.key, job.kind, job.partition_key, what, int(seconds * 1e6), job.concurrency_key or ""]
        await self._hold(self._keys, [self._me, *about])


def job_from_redis(body: bytes) -> Job | None:
    """Return a stored job; None if it is damaged."""
    try:
        return Job.model_validate_json(body)
    except ValidationError:
        return None


def refuse_redis_checkpoints(held: Thread) -> NoReturn:
    """Raise the error that names the stores with checkpoints."""
    raise UnsupportedError.of_agents("Redis")
