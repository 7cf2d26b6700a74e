"""The contract of the job queue: deferred work, done by some worker, one job at a time per partition key."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from pydantic import Field

from ringi.base.model import StrictModel

RUN, RESUME = "run", "resume"
"""The kinds of the two run jobs: `run` starts or continues a thread's run, `resume` passes it an ended request."""


class Job(StrictModel):
    """One unit of work. A handler must first check whether the work is already done."""

    key: str
    """Unique among unfinished jobs."""
    kind: str
    partition_key: str = Field(alias="lane")
    """Jobs with the same partition key run one after another."""
    payload: dict[str, Any] = {}
    attempts: int = 0
    """The number of earlier attempts."""


Handler = Callable[[Job], Awaitable[None]]
ANNOUNCEMENT_KEPT_SECONDS = 86_400.0
"""Seconds for which the announcement of a worker is kept after the worker ended."""


class Jobs(ABC):
    """Delivers each job to some worker at least once. The reconciler recreates jobs that the queue loses."""

    @abstractmethod
    async def submit(self, job: Job) -> None:
        """Save the job durably; do nothing if an unfinished job has the same key.

        Args:
            job: The job to save.
        """

    async def submit_all(self, jobs: Sequence[Job]) -> None:
        """Submit several jobs concurrently.

        Args:
            jobs: The jobs to save.
        """
        await asyncio.gather(*(self.submit(job) for job in jobs))

    async def lead(self, duty: str, owner: str, seconds: float) -> float:
        """Acquire or renew a duty that one process at a time performs.

        By default every caller holds the duty. A queue that several processes share grants it to one of them.

        Args:
            duty: The name of the duty.
            owner: The name of the process that asks.
            seconds: How long the grant lasts, from now.

        Returns:
            0 if `owner` holds the duty, else the seconds after which to ask again.
        """
        return 0.0

    async def announce(self, worker: str, offers: str, seconds: float) -> None:
        """Announce the work that a worker offers.

        By default the announcement is dropped: only a queue that several processes share needs to pass it on.

        Args:
            worker: The name of the worker.
            offers: The work that the worker offers.
            seconds: How long the announcement is valid, from now; 0 announces the worker's end.
        """

    async def announced(self, ended_within: float = 0.0) -> list[str]:
        """Return the current announcements of workers.

        The last announcement of an ended worker is kept for a day, unless another worker announces the same.

        Args:
            ended_within: Seconds; also return announcements that were valid until this long ago.

        Returns:
            The `offers` of the announcements; the worker that started last comes first.
        """
        return []

    @abstractmethod
    async def work(self, handle: Handler, *, kinds: Collection[str], concurrency: int, stop: asyncio.Event) -> None:
        """Do jobs of these kinds until `stop` is set, then wait for the jobs in progress.

        If a handler raises, the job is retried with growing delays, or at the time that its `JobNotDueError` gives.
        If a worker dies, other workers take over its jobs. A job that waits for a retry does not block the others
        with its partition key.

        Args:
            handle: The function that does one job.
            kinds: The kinds of jobs to take.
            concurrency: The maximum number of jobs at once.
            stop: Ends the work when it is set.
        """


def partition_key_of(tenant: str, thread_id: str) -> str:
    """Return the partition key of a thread's jobs. It must never change: stores look it up in their job tables."""
    return f"{tenant}/{thread_id}"


def resume_key(tenant: str, request_id: str) -> str:
    """Return the key of the job that passes an ended request to its run. Stores look it up too."""
    return f"{RESUME}:{tenant}/{request_id}"
