"""Jobs within one process."""

from __future__ import annotations

import asyncio
import logging

from ringi.jobs import Handler, Job, Jobs
from ringi.notifier import Wakeup

log = logging.getLogger(__name__)
LATER = (0.1, 0.5, 2.0, 10.0, 30.0)
"""Seconds until a failed job is tried again."""


class MemoryJobs(Jobs):
    """A dictionary in the order of submission, and the lanes that are busy."""

    def __init__(self) -> None:
        self._waiting: dict[str, Job] = {}
        self._begun: dict[str, Job] = {}
        self._bell = Wakeup()

    async def submit(self, job: Job) -> None:
        if job.key not in self._waiting and job.key not in self._begun:
            self._waiting[job.key] = job
            self._bell.ring()

    async def work(self, handle: Handler, *, concurrency: int, stop: asyncio.Event) -> None:
        tasks: set[asyncio.Task[None]] = set()
        stopping = asyncio.create_task(stop.wait())
        stopping.add_done_callback(lambda _: self._bell.ring())
        while not stop.is_set():
            while len(tasks) < concurrency and (job := self._claim()):
                task = asyncio.create_task(self._do(job, handle))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await self._bell.wait(1.0)
        await asyncio.gather(*tasks, return_exceptions=True)
        stopping.cancel()

    def _claim(self) -> Job | None:
        busy = {job.lane for job in self._begun.values()}
        job = next((job for job in self._waiting.values() if job.lane not in busy), None)
        if job:
            self._begun[job.key] = self._waiting.pop(job.key)
        return job

    async def _do(self, job: Job, handle: Handler) -> None:
        try:
            await handle(job)
        except Exception:
            log.exception("job %s failed on try %s", job.key, job.tries + 1)
            again = job.model_copy(update={"tries": job.tries + 1})
            wait = LATER[min(job.tries, len(LATER) - 1)]
            asyncio.get_running_loop().call_later(wait, self._again, again)
        finally:
            self._begun.pop(job.key, None)
            self._bell.ring()

    def _again(self, job: Job) -> None:
        self._waiting.setdefault(job.key, job)
        self._bell.ring()
