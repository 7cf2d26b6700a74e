"""Workers look for jobs out of step: one that another worker has to do is not put off by the same one for ever."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from ringi.backends.claimed_jobs import ClaimedJobs
from ringi.backends.memory.stream import MemoryNotifier
from ringi.base.settings import SettingError
from ringi.connect import open_backend
from ringi.contracts.backend import JOBS, Job, JobCounts, Wakeup
from ringi.errors import UnavailableError

RECHECK = 8.0


class NoJobs(ClaimedJobs):
    async def submit(self, job: Job) -> None:
        raise NotImplementedError

    async def _claim(
        self, kinds: Collection[str], limit: int, same: int = 8, barred: Collection[str] = ()
    ) -> list[Job]:
        return []

    async def counts(self) -> list[JobCounts]:
        raise NotImplementedError

    async def _renew(self, jobs: Sequence[Job]) -> None:
        raise NotImplementedError

    async def _finish(self, job: Job) -> bool:
        raise NotImplementedError

    async def _free(self, job: Job, seconds: float, *, keeps_turn: bool = False) -> None:
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


class FailingJobs(NoJobs):
    """Two claims fail before one succeeds; freed and finished jobs are gone."""

    def __init__(self) -> None:
        super().__init__(MemoryNotifier(recheck_after=0.01))
        self._errors: list[Exception] = [SettingError("url", "postgresql://…", "correct it"), RuntimeError("a defect")]
        self.jobs = [Job(key="a", kind="test", partition_key="a")]

    async def _claim(
        self, kinds: Collection[str], limit: int, same: int = 8, barred: Collection[str] = ()
    ) -> list[Job]:
        if self._errors:
            raise self._errors.pop(0)
        jobs, self.jobs = self.jobs, []
        return jobs

    async def _finish(self, job: Job) -> bool:
        return False


async def test_claims_go_on_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    stop, handled = asyncio.Event(), list[str]()

    async def handle(job: Job) -> None:
        handled.append(job.key)
        stop.set()

    async with asyncio.timeout(10):
        await FailingJobs().work(handle, kinds=("test",), concurrency=1, stop=stop)
    assert handled == ["a"]
    assert ["cannot look for jobs" in caplog.messages[0], "a defect" in str(caplog.records[1].exc_info)] == [True, True]


async def test_work_that_begins_while_the_last_ends_is_done_by_itself() -> None:
    jobs, first_stop, second_stop = FailingJobs(), asyncio.Event(), asyncio.Event()

    async def handle(job: Job) -> None:
        second_stop.set()

    async with asyncio.timeout(10):
        first = asyncio.create_task(jobs.work(handle, kinds=("other",), concurrency=1, stop=first_stop))
        await Wakeup().wait(0.001)
        first_stop.set()
        second = asyncio.create_task(jobs.work(handle, kinds=("test",), concurrency=1, stop=second_stop))
        await first
        await second


class TriedJobs(FailingJobs):
    """One job that was tried often, and the seconds for which each attempt was put off."""

    def __init__(self) -> None:
        super().__init__()
        self._errors = []
        self.jobs = [Job(key="a", kind="test", partition_key="a", attempts=9)]
        self.delays = list[float]()

    async def _free(self, job: Job, seconds: float, *, keeps_turn: bool = False) -> None:
        self.delays.append(seconds)


@pytest.mark.parametrize(("error", "seconds"), [(UnavailableError("gone"), 3.2), (RuntimeError("a defect"), 30.0)])
async def test_a_job_does_not_wait_long_for_a_store_that_was_away_often(error: Exception, seconds: float) -> None:
    jobs, stop = TriedJobs(), asyncio.Event()

    async def handle(job: Job) -> None:
        stop.set()
        raise error

    async with asyncio.timeout(10):
        await jobs.work(handle, kinds=("test",), concurrency=1, stop=stop)
    assert jobs.delays == [seconds]


async def test_work_raises_the_error_that_ended_its_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: ClaimedJobs) -> None:
        raise RuntimeError("a defect")

    async def handle(job: Job) -> None:
        raise AssertionError(job)

    monkeypatch.setattr(ClaimedJobs, "_fill", fail)
    with pytest.raises(RuntimeError, match="a defect"):
        await NoJobs(MemoryNotifier(RECHECK)).work(handle, kinds=("test",), concurrency=1, stop=asyncio.Event())


class QueuedJobs(NoJobs):
    """Claims only when it is notified; the end of a job tells that its partition has a second one, or not."""

    def __init__(self, *keys: str, has_more: bool = False) -> None:
        super().__init__(MemoryNotifier(recheck_after=60))
        self.jobs = [Job(key=key, kind="test", partition_key=key) for key in keys]
        self.claims, self.finished, self.has_more = 0, 0, has_more
        self.finishing: asyncio.Event | None = None

    async def _claim(
        self, kinds: Collection[str], limit: int, same: int = 8, barred: Collection[str] = ()
    ) -> list[Job]:
        self.claims += 1
        jobs, self.jobs = self.jobs[:limit], self.jobs[limit:]
        return jobs

    async def _finish(self, job: Job) -> bool:
        if self.finishing:
            self._notifier.wake(JOBS)
            await self.finishing.wait()
        self.finished += 1
        return self.has_more


async def claims_of(jobs: QueuedJobs, concurrency: int = 2) -> int:
    """Return the claims until all jobs are done and the worker waits again."""
    stop, expected = asyncio.Event(), len(jobs.jobs)

    async def handle(job: Job) -> None:
        await Wakeup().wait(0.001)

    async with asyncio.timeout(10):
        working = asyncio.create_task(jobs.work(handle, kinds=("test",), concurrency=concurrency, stop=stop))
        while jobs.finished < expected:
            await Wakeup().wait(0.01)
        await Wakeup().wait(0.05)
        claims = jobs.claims
        stop.set()
        await working
    return claims


async def test_the_end_of_a_job_claims_only_if_another_one_may_be_free() -> None:
    beginning = await claims_of(QueuedJobs())
    assert await claims_of(QueuedJobs("a")) == beginning
    assert await claims_of(QueuedJobs("a", has_more=True)) == beginning + 1
    assert await claims_of(QueuedJobs("a", "b", "c"), concurrency=1) > beginning, "a full pool leaves jobs"


async def test_a_claim_during_the_end_of_a_job_is_repeated() -> None:
    jobs = QueuedJobs("a")
    jobs.finishing = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, jobs.finishing.set)
    assert await claims_of(jobs) == await claims_of(QueuedJobs("b")) + 2, "one during the end, and one after it"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_deletion_tells_whether_the_partition_has_another_job_that_is_due(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'ringi.db'}"
    if kind == "postgres":
        url = f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    async with open_backend(url) as backend:
        jobs = backend.jobs
        assert isinstance(jobs, ClaimedJobs)
        for key, partition in [("a", "one"), ("b", "one"), ("c", "two"), ("d", "three")]:
            await jobs.submit(Job(key=key, kind="test", partition_key=partition))
        claimed = {job.key: job for job in await jobs._claim(["test"], 10)}
        assert sorted(claimed) == ["a", "c", "d"]
        assert await asyncio.gather(*(jobs._finish(job) for job in claimed.values())) == [
            job.key == "a" for job in claimed.values()
        ]
        (second,) = await jobs._claim(["test"], 10)
        await jobs.submit(Job(key="e", kind="test", partition_key="one"))
        await jobs._free(second, 60)
        (third,) = await jobs._claim(["test"], 10)
        assert (second.key, third.key) == ("b", "e")
        assert not await jobs._finish(third), "the other one waits for its next try"


@pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)
async def test_a_job_for_which_the_store_was_away_is_before_the_later_ones_of_its_partition(url: str) -> None:
    done, stop = list[str](), asyncio.Event()
    async with open_backend(url) as backend:

        async def handle(job: Job) -> None:
            if job.key == "b" and not job.attempts:
                await backend.jobs.submit(Job(key="a", kind="test", partition_key="one"))
                raise UnavailableError("gone")
            done.append(job.key)
            if len(done) == 2:
                stop.set()

        await backend.jobs.submit(Job(key="b", kind="test", partition_key="one"))
        async with asyncio.timeout(20):
            await backend.jobs.work(handle, kinds=("test",), concurrency=2, stop=stop)
    assert done == ["b", "a"]
