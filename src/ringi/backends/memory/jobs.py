"""Jobs within one process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence

from ringi.backends.claimed_jobs import TOPIC, ClaimedJobs, count_jobs
from ringi.contracts.backend import MAX_CONCURRENT, Job, JobCounts, Notifier


class MemoryJobs(ClaimedJobs):
    """The unfinished jobs in the order of submission, retries first, with those in progress and those deferred."""

    def __init__(self, notifier: Notifier) -> None:
        super().__init__(notifier)
        self._unfinished: dict[str, Job] = {}
        self._running: set[str] = set()
        self._deferred: set[str] = set()

    async def submit(self, job: Job) -> None:
        if job.key not in self._unfinished:
            self._unfinished[job.key] = job
            self._notifier.wake(TOPIC)

    async def counts(self) -> list[JobCounts]:
        return count_jobs((job, job.key in self._running, job.attempts > 0) for job in self._unfinished.values())

    async def _claim(
        self, kinds: Collection[str], limit: int, same: int = MAX_CONCURRENT, barred: Collection[str] = ()
    ) -> list[Job]:
        running = [self._unfinished[key] for key in self._running]
        busy, numbers = {job.partition_key for job in running}, Counter(job.concurrency_key for job in running)
        claimed = list[Job]()
        for key, job in self._unfinished.items():
            name = job.concurrency_key
            is_full = name is not None and (name in barred or numbers[name] >= same)
            if job.kind in kinds and job.partition_key not in busy and key not in self._deferred and not is_full:
                claimed.append(job)
                busy.add(job.partition_key)
                numbers[name] += 1
            if len(claimed) == limit:
                break
        self._running.update(job.key for job in claimed)
        return claimed

    async def _renew(self, jobs: Sequence[Job]) -> None:
        """Do nothing: claims end with the process."""

    async def _finish(self, job: Job) -> bool:
        self._running.remove(job.key)
        del self._unfinished[job.key]
        return True  # Jobs are not indexed by partition.

    async def _free(self, job: Job, seconds: float) -> None:
        self._running.remove(job.key)
        # Retries come before first attempts.
        del self._unfinished[job.key]
        self._unfinished = {job.key: job.model_copy(update={"attempts": job.attempts + 1}), **self._unfinished}
        self._deferred.add(job.key)
        asyncio.get_running_loop().call_later(seconds, self._wake, job.key)

    def _wake(self, key: str) -> None:
        self._deferred.discard(key)
        self._notifier.wake(TOPIC)
