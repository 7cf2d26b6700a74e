"""Workers look for jobs out of step: one that another worker has to do is not put off by the same one for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

import pytest

from ringi.backends.claimed_jobs import ClaimedJobs
from ringi.backends.memory.notifier import MemoryNotifier
from ringi.contracts.jobs import Job
from ringi.contracts.notifier import Wakeup

RECHECK = 8.0


class NoJobs(ClaimedJobs):
    async def submit(self, job: Job) -> None:
        raise NotImplementedError

    async def _claim(self, kinds: Collection[str], limit: int) -> list[Job]:
        return []

    async def _renew(self, jobs: Sequence[Job]) -> None:
        raise NotImplementedError

    async def _finish(self, job: Job) -> None:
        raise NotImplementedError

    async def _free(self, job: Job, seconds: float) -> None:
        raise NotImplementedError


async def test_a_worker_looks_again_after_between_half_and_all_of_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, stop, real_wait = list[float](), asyncio.Event(), Wakeup.wait

    async def wait(self: Wakeup, seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 50:
            stop.set()
        return await real_wait(self, 0.001)

    monkeypatch.setattr(Wakeup, "wait", wait)

    async def handle(job: Job) -> None:
        raise AssertionError(job)

    await NoJobs(MemoryNotifier(recheck_after=RECHECK)).work(handle, kinds=("test",), concurrency=1, stop=stop)
    assert RECHECK / 2 <= min(waits) < RECHECK * 0.6
    assert RECHECK * 0.9 < max(waits) <= RECHECK
