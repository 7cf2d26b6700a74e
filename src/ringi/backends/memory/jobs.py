"""Jobs within one process."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection

from ringi.backends.claimed_jobs import RETRY_SECONDS, FailedKeys, count_jobs
from ringi.base.clock import retry_delay_after
from ringi.base.loops import cancel_all
from ringi.contracts.backend import MAX_CONCURRENT, Job, JobCounts, JobHandler, JobNotDueError, Jobs, Wakeup

log = logging.getLogger(__name__)


class MemoryJobs(Jobs):
    """The unfinished jobs in the order of submission, retries first, with those in progress and those deferred."""

    def __init__(self) -> None:
        self._unfinished: dict[str, Job] = {}
        self._running: set[str] = set()
        self._deferred: set[str] = set()
        self._listeners: set[Wakeup] = set()
        self._failed = FailedKeys()

    async def submit(self, job: Job) -> None:
        if job.key not in self._unfinished:
            self._unfinished[job.key] = job
            self._notify()

    async def counts(self) -> list[JobCounts]:
        return count_jobs((job, job.key in self._running, job.attempts > 0) for job in self._unfinished.values())

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
        wakeup, tasks = Wakeup(), set[asyncio.Task[None]]()
        stopping = asyncio.create_task(stop.wait())
        stopping.add_done_callback(lambda _: wakeup.set())
        self._listeners.add(wakeup)
        try:
            while not stop.is_set():
                while (free := concurrency - len(tasks)) and (job := self._claim(kinds, is_reserve=free <= reserve)):
                    task = asyncio.create_task(self._do(job, handle))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                    task.add_done_callback(lambda _: self._notify())
                await wakeup.wait(None)
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            self._listeners.discard(wakeup)
            await cancel_all(stopping, *tasks)

    def _claim(self, kinds: Collection[str], *, is_reserve: bool) -> Job | None:
        running = [self._unfinished[key] for key in self._running]
        busy, taken = {job.partition_key for job in running}, self._running | self._deferred
        same, full = 1 if is_reserve else MAX_CONCURRENT, {*self._failed} if is_reserve else set[str | None]()
        full |= {key for key, count in Counter(job.concurrency_key for job in running).items() if count >= same}
        free = (
            job
            for key, job in self._unfinished.items()
            if key not in taken and job.partition_key not in busy and (job.concurrency_key or key) not in full
        )
        job = next((job for job in free if job.kind in kinds), None)
        if job:
            self._running.add(job.key)
        return job

    async def _do(self, job: Job, handle: JobHandler) -> None:
        try:
            await handle(job)
        except JobNotDueError as error:
            self._failed.note(job, has_failed=True)
            self._defer(job, error.seconds)
        except Exception:
            self._failed.note(job, has_failed=True)
            log.exception("job %s failed on attempt %s", job.key, job.attempts + 1)
            self._defer(job, retry_delay_after(RETRY_SECONDS, job.attempts))
        except asyncio.CancelledError:
            self._defer(job, 0)
            raise
        else:
            self._failed.note(job, has_failed=False)
            del self._unfinished[job.key]
        finally:
            self._running.discard(job.key)

    def _defer(self, job: Job, wait: float) -> None:
        # Retries come before first attempts.
        del self._unfinished[job.key]
        self._unfinished = {job.key: job.model_copy(update={"attempts": job.attempts + 1}), **self._unfinished}
        self._deferred.add(job.key)
        asyncio.get_running_loop().call_later(wait, self._wake, job.key)

    def _wake(self, key: str) -> None:
        self._deferred.discard(key)
        self._notify()

    def _notify(self) -> None:
        for wakeup in self._listeners:
            wakeup.set()
