"""The contract of work that is done later, on some worker, one at a time per lane."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from ringi.domain.record import Frozen

RUN, RESUME = "run", "resume"
"""The kinds of the jobs that take up a thread's run, and that hand an ended request to it."""


class Job(Frozen):
    """One piece of work; a handler must first look whether it is done already."""

    key: str
    """At most one unfinished job has this key."""
    kind: str
    lane: str
    """Jobs of one lane run one after another."""
    payload: dict[str, Any] = {}
    tries: int = 0
    """How many times a worker has begun it before."""


Handler = Callable[[Job], Awaitable[None]]
ANNOUNCEMENT_KEPT_SECONDS = 86_400.0
"""How long the announcement of a worker that ended is kept."""


class Jobs(ABC):
    """Hands each job to some worker at least once. What it may lose, the reconciler finds."""

    @abstractmethod
    async def submit(self, job: Job) -> None:
        """Keep the job durably; does nothing when one with its key is unfinished."""

    async def submit_all(self, jobs: Sequence[Job]) -> None:
        """Submit several at once."""
        await asyncio.gather(*(self.submit(job) for job in jobs))

    async def lead(self, duty: str, owner: str, seconds: float) -> float:
        """Return 0 if `owner` has the duty for so many seconds from now, else in how many to ask again.

        By default everybody has it: processes that share no machine are told apart where there are some.
        """
        return 0.0

    async def announce(self, worker: str, offers: str, seconds: float) -> None:
        """Say for so many seconds from now what a worker works on; for 0 seconds, that it has ended.

        By default nobody hears it: only stores that several processes share need to pass it on.
        """

    async def announced(self, ended_within: float = 0.0) -> list[str]:
        """Return what workers say now, or said until so many seconds ago; the worker that began last comes first.

        What a worker said last is kept for a day after its end, unless another says the same.
        """
        return []

    @abstractmethod
    async def work(self, handle: Handler, *, kinds: Collection[str], concurrency: int, stop: asyncio.Event) -> None:
        """Do jobs of these kinds until `stop` is set, then wait for those begun.

        A handler that raises is called again later, each time later than before, or at the time that its
        `LaterError` says; a worker that dies loses its jobs to the others. A job that waits holds up no lane.
        """


def lane_of(tenant: str, thread_id: str) -> str:
    """Return the lane of a thread's jobs. Stores look for it in their tables of jobs: it never changes."""
    return f"{tenant}/{thread_id}"


def resume_key(tenant: str, request_id: str) -> str:
    """Return the key of the job that hands an ended request to its run; stores look for it too."""
    return f"{RESUME}:{tenant}/{request_id}"
