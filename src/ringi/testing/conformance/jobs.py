"""Conformance tests of `ringi.contracts.backend.Jobs`: at least once, one at a time per partition, despite crashes."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ringi.base.loops import cancel_all
from ringi.contracts.backend import MAX_CONCURRENT, Job, JobCounts, JobHandler, JobNotDueError, Jobs, Wakeup

LIMIT = 20.0
"""Seconds after which an unprocessed job counts as lost."""
NAMES = [f"job-{n:03}" for n in range(6 * MAX_CONCURRENT)]


def job_for_test(key: str, partition_key: str | None = None, concurrency_key: str | None = None) -> Job:
    """Return a job; it is alone in its partition unless a partition key is given."""
    shared = {"partition_key": partition_key or key, "concurrency_key": concurrency_key}
    return Job(key=key, kind="test", payload={"of": key}, **shared)


async def submit_test_jobs(
    jobs: Jobs, *keys: str, partition: str | None = None, concurrency: str | None = None
) -> None:
    """Submit a job for each key, in this order."""
    for key in keys:
        await jobs.submit(job_for_test(key, partition, concurrency))


class RecordingHandler:
    """A handler that does its work, records its jobs, and sets `done` after the expected number."""

    def __init__(self, expected: int = 1, work: JobHandler | None = None) -> None:
        self.seen: list[Job] = []
        self.expected, self.work, self.done = expected, work, asyncio.Event()
        self.tries: list[tuple[int, float]] = []
        """The attempts before each call, and its time."""
        self.running, self.most = Counter[str | None](), Counter[str | None]()
        """The jobs that run now, and the most that have run at once, by their concurrency keys."""

    async def __call__(self, job: Job) -> None:
        self.tries.append((job.attempts, asyncio.get_running_loop().time()))
        self.running[job.concurrency_key] += 1
        self.most |= self.running
        try:
            if self.work:
                await self.work(job)
        finally:
            self.running[job.concurrency_key] -= 1
        self.seen.append(job)
        if len(self.seen) >= self.expected:
            self.done.set()

    @property
    def keys(self) -> list[str]:
        """The keys of the jobs, in processing order."""
        return [job.key for job in self.seen]


@asynccontextmanager
async def job_worker_running(
    jobs: Jobs, handle: JobHandler, concurrency: int = 4, reserve: int = 0, kind: str = "test"
) -> AsyncIterator[None]:
    """Run a worker during the block, then shut it down gracefully."""
    stop = asyncio.Event()
    worker = asyncio.create_task(jobs.work(handle, kinds=[kind], concurrency=concurrency, reserve=reserve, stop=stop))
    try:
        async with asyncio.timeout(LIMIT):
            yield
            stop.set()
            await worker
    finally:
        await cancel_all(worker)


async def work_until_done(jobs: Jobs, handler: RecordingHandler, concurrency: int = 4) -> None:
    """Run a worker until the expected jobs are done, then shut it down gracefully."""
    async with job_worker_running(jobs, handler, concurrency):
        await handler.done.wait()


class JobsConformance:
    """Conformance tests of jobs. `jobs` is empty; `other` may be a second worker's instance on the same data."""

    @pytest.fixture
    def jobs(self) -> Jobs:
        """Override: jobs, none of them submitted yet."""
        raise NotImplementedError

    @pytest.fixture
    def other(self, jobs: Jobs) -> Jobs:
        """Override if two processes can share the data: another instance on the data of `jobs`."""
        return jobs

    async def test_a_job_submitted_before_is_done(self, jobs: Jobs, other: Jobs) -> None:
        await other.submit(job_for_test("a"))
        handler = RecordingHandler()

        await work_until_done(jobs, handler)

        assert handler.seen == [job_for_test("a")]

    async def test_a_job_submitted_meanwhile_is_done(self, jobs: Jobs, other: Jobs) -> None:
        handler = RecordingHandler()

        async with job_worker_running(jobs, handler):
            await other.submit(job_for_test("a"))
            await handler.done.wait()

        assert handler.keys == ["a"]

    async def test_at_most_one_unfinished_job_has_a_key(self, jobs: Jobs, other: Jobs) -> None:
        for _ in range(3):
            await jobs.submit(job_for_test("a"))
            await other.submit(job_for_test("a"))
        await jobs.submit(job_for_test("last"))
        handler = RecordingHandler(expected=2)

        await work_until_done(jobs, handler, concurrency=1)

        assert handler.keys == ["a", "last"]

    async def test_a_key_is_taken_while_its_job_is_being_done(self, jobs: Jobs) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def work(_: Job) -> None:
            begun.set()
            await go_on.wait()

        handler = RecordingHandler(expected=2, work=work)
        async with job_worker_running(jobs, handler, concurrency=1):
            await jobs.submit(job_for_test("a"))
            await begun.wait()
            await submit_test_jobs(jobs, "a", "last")
            go_on.set()
            await handler.done.wait()

        assert handler.keys == ["a", "last"]

    async def test_a_key_is_taken_while_its_job_waits_to_be_tried_again(self, jobs: Jobs) -> None:
        begun = asyncio.Event()

        async def work(job: Job) -> None:
            begun.set()
            if not job.attempts:
                raise RuntimeError("a failing handler")

        handler = RecordingHandler(work=work)
        async with job_worker_running(jobs, handler):
            await jobs.submit(job_for_test("a"))
            await begun.wait()
            await jobs.submit(job_for_test("a"))
            await handler.done.wait()

        assert [attempts for attempts, _ in handler.tries] == [0, 1]

    async def test_a_key_is_free_again_when_its_job_is_done(self, jobs: Jobs) -> None:
        handler = RecordingHandler(expected=2)

        async with job_worker_running(jobs, handler):
            await jobs.submit(job_for_test("a"))
            while not handler.done.is_set():
                await jobs.submit(job_for_test("a"))
                await asyncio.sleep(0)

        assert handler.keys[:2] == ["a", "a"]

    async def test_jobs_with_one_partition_key_run_one_after_another(self, jobs: Jobs, other: Jobs) -> None:
        handler = RecordingHandler(expected=6, work=lambda _: asyncio.sleep(0.01))

        async with job_worker_running(jobs, handler), job_worker_running(other, handler):
            await submit_test_jobs(jobs, *NAMES[:6], partition="one")
            await handler.done.wait()

        assert handler.most[None] == 1
        assert sorted(handler.keys) == NAMES[:6]

    async def test_jobs_of_different_lanes_run_at_once(self, jobs: Jobs) -> None:
        both = asyncio.Barrier(2)

        async def work(_: Job) -> None:
            await both.wait()

        handler = RecordingHandler(expected=2, work=work)
        async with job_worker_running(jobs, handler):
            await submit_test_jobs(jobs, "a", "b")
            await handler.done.wait()

        assert handler.most[None] == 2

    async def test_some_jobs_with_one_concurrency_key_run_at_once(self, jobs: Jobs, other: Jobs) -> None:
        rest = asyncio.Event()

        async def work(job: Job) -> None:
            if job.key == "another":
                rest.set()
            await rest.wait()
            await asyncio.sleep(0.01)

        keys = NAMES[: 3 * MAX_CONCURRENT]
        handler = RecordingHandler(expected=len(keys) + 1, work=work)
        await submit_test_jobs(jobs, *keys, concurrency="slow")
        async with job_worker_running(jobs, handler, 64), job_worker_running(other, handler, 64):
            # It comes last, and does not wait for those of another key.
            await jobs.submit(job_for_test("another"))
            await handler.done.wait()

        assert handler.most["slow"] == MAX_CONCURRENT
        assert sorted(handler.keys) == sorted([*keys, "another"])

    async def test_a_retry_comes_before_what_waits_longer(self, jobs: Jobs) -> None:
        async def work(job: Job) -> None:
            if job.key == NAMES[0] and not job.attempts:
                raise JobNotDueError(0.01)
            await asyncio.sleep(0.05)

        handler = RecordingHandler(expected=6 * MAX_CONCURRENT, work=work)
        await submit_test_jobs(jobs, *NAMES[: 6 * MAX_CONCURRENT], concurrency="slow")
        await work_until_done(jobs, handler, 64)

        assert handler.keys.index(NAMES[0]) < 4 * MAX_CONCURRENT

    async def test_the_reserve_is_for_keys_without_a_running_job(self, jobs: Jobs) -> None:
        running, healthy, rest, handler = list[str](), asyncio.Event(), asyncio.Event(), RecordingHandler(expected=80)

        async def handle(job: Job) -> None:
            if job.concurrency_key == "healthy":
                return healthy.set()
            running.append(str(job.concurrency_key))
            await rest.wait()
            await handler(job)

        for n in range(20):
            for key in range(4):
                await jobs.submit(job_for_test(f"job-{key}-{n}", concurrency_key=f"hanging-{key}"))
        async with job_worker_running(jobs, handle, concurrency=24, reserve=8):
            await jobs.submit(job_for_test("event", concurrency_key="healthy"))
            await healthy.wait()
            assert len(running) <= 16 + 4
            rest.set()
            await handler.done.wait()

    async def test_the_reserve_is_not_for_a_key_whose_last_job_failed(self, jobs: Jobs) -> None:
        begun = {key: asyncio.Event() for key in ("failing", "slow", "healthy")}
        attempts, rest, handler = 0, asyncio.Event(), RecordingHandler()

        async def handle(job: Job) -> None:
            nonlocal attempts
            begun[job.key].set()
            if job.key == "slow":
                await rest.wait()
            elif job.key == "failing":
                attempts += 1
                if not rest.is_set():
                    raise JobNotDueError(0.01)
                await handler(job)

        await jobs.submit(job_for_test("failing", concurrency_key="failing"))
        async with job_worker_running(jobs, handle, concurrency=2, reserve=1):
            await begun["failing"].wait()
            await jobs.submit(job_for_test("slow", concurrency_key="slow"))
            await begun["slow"].wait()
            before = attempts
            await asyncio.sleep(0.1)
            await jobs.submit(job_for_test("healthy", concurrency_key="healthy"))
            await begun["healthy"].wait()
            assert attempts == before
            rest.set()
            await handler.done.wait()

    async def test_unfinished_jobs_are_counted_by_their_concurrency_key(self, jobs: Jobs, other: Jobs) -> None:
        handler, is_done = RecordingHandler(expected=2 * MAX_CONCURRENT), asyncio.Event()

        async def handle(job: Job) -> None:
            await handler(job)
            if job.concurrency_key == "failing":
                raise JobNotDueError(60)
            await is_done.wait()

        for n in range(2 * MAX_CONCURRENT):
            for key in ("slow", "failing") if n < MAX_CONCURRENT else ("slow",):
                await jobs.submit(job_for_test(f"{key}-{n}", concurrency_key=key))
        async with job_worker_running(jobs, handle, 64):
            await handler.done.wait()
            expected = [JobCounts("test", "failing", 0, 0, MAX_CONCURRENT)]
            expected += [JobCounts("test", "slow", MAX_CONCURRENT, MAX_CONCURRENT, 0)]
            await jobs.submit(job_for_test("without a key"))
            while sorted(await other.counts()) != expected:
                await Wakeup().wait(0.01)
            handler.done.clear()
            handler.expected = 3 * MAX_CONCURRENT + 1
            is_done.set()
            await handler.done.wait()
        assert await other.counts() == expected[:1]

    async def test_no_more_jobs_run_at_once_than_allowed(self, jobs: Jobs) -> None:
        two = asyncio.Event()

        async def work(_: Job) -> None:
            if handler.running[None] == 2:
                two.set()
            await two.wait()
            await asyncio.sleep(0.01)

        handler = RecordingHandler(expected=6, work=work)
        await submit_test_jobs(jobs, *NAMES[:6])
        await work_until_done(jobs, handler, concurrency=2)

        assert handler.most[None] == 2

    async def test_a_job_that_raises_is_tried_again_and_told_how_often(self, jobs: Jobs) -> None:
        async def work(job: Job) -> None:
            if job.attempts < 2:
                raise RuntimeError("a failing handler")

        handler = RecordingHandler(work=work)
        await jobs.submit(job_for_test("a"))
        await work_until_done(jobs, handler)

        (first, began), (second, again), (third, ended) = handler.tries
        assert (first, second, third) == (0, 1, 2)
        assert ended - again > again - began

    async def test_a_job_that_raises_does_not_hold_up_the_others(self, jobs: Jobs) -> None:
        async def work(job: Job) -> None:
            if job.key == "broken":
                raise RuntimeError("a failing handler")

        handler = RecordingHandler(expected=3, work=work)
        async with job_worker_running(jobs, handler, concurrency=1):
            await submit_test_jobs(jobs, "broken", "a", "b", "c")
            await handler.done.wait()

        assert handler.keys == ["a", "b", "c"]

    async def test_two_workers_share_the_jobs_and_do_each_once(self, jobs: Jobs, other: Jobs) -> None:
        both_at_work = asyncio.Barrier(2)

        async def work(_: Job) -> None:
            if len(handler.tries) <= 2:
                await both_at_work.wait()

        handler = RecordingHandler(expected=20, work=work)
        await submit_test_jobs(jobs, *NAMES[:20])
        async with job_worker_running(jobs, handler, 1), job_worker_running(other, handler, 1):
            await handler.done.wait()

        assert sorted(handler.keys) == NAMES[:20]
        assert handler.most[None] == 2

    async def test_stopping_waits_for_the_job_that_was_begun(self, jobs: Jobs) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def work(_: Job) -> None:
            begun.set()
            await go_on.wait()

        handler = RecordingHandler(work=work)
        async with job_worker_running(jobs, handler, concurrency=1):
            await jobs.submit(job_for_test("a"))
            await begun.wait()
            go_on.set()  # The end of the block stops the worker before the job goes on.

        assert handler.keys == ["a"]

    async def test_the_job_of_a_worker_that_was_cancelled_goes_to_another(self, jobs: Jobs, other: Jobs) -> None:
        begun, handler = asyncio.Event(), RecordingHandler()

        async def hang(_: Job) -> None:
            begun.set()
            await asyncio.Event().wait()

        worker = asyncio.create_task(jobs.work(hang, kinds=["test"], concurrency=1, stop=asyncio.Event()))
        await jobs.submit(job_for_test("a"))
        async with asyncio.timeout(LIMIT):
            await begun.wait()
        await cancel_all(worker)

        await work_until_done(other, handler)

        assert [(each.key, each.attempts) for each in handler.seen] == [("a", 1)]

    async def test_a_job_that_a_worker_left_is_before_the_later_ones_of_its_partition(
        self, jobs: Jobs, other: Jobs
    ) -> None:
        begun, handler = asyncio.Event(), RecordingHandler(expected=3)

        async def hang(_: Job) -> None:
            begun.set()
            await asyncio.Event().wait()

        worker = asyncio.create_task(jobs.work(hang, kinds=["test"], concurrency=1, stop=asyncio.Event()))
        await jobs.submit(job_for_test("c", "one", "many"))
        async with asyncio.timeout(LIMIT):
            await begun.wait()
        await submit_test_jobs(jobs, "b", "a", partition="one", concurrency="many")
        await cancel_all(worker)

        await work_until_done(other, handler)

        assert handler.keys == ["c", "b", "a"]

    async def test_a_job_is_called_again_when_its_time_has_come(self, jobs: Jobs) -> None:
        async def work(_: Job) -> None:
            if len(handler.tries) == 1:
                raise JobNotDueError(0.3)

        handler = RecordingHandler(work=work)
        await jobs.submit(job_for_test("a"))
        await work_until_done(jobs, handler)

        (_, first), (_, second) = handler.tries
        assert second - first >= 0.29

    async def test_a_job_that_waits_for_its_time_holds_up_no_lane(self, jobs: Jobs) -> None:
        async def work(job: Job) -> None:
            if job.key == "later":
                raise JobNotDueError(3600)

        handler = RecordingHandler(work=work)
        await submit_test_jobs(jobs, "later", "now", partition="one")
        await work_until_done(jobs, handler)

        assert handler.keys == ["now"]

    async def test_a_worker_takes_only_the_kinds_that_it_is_for(self, jobs: Jobs, other: Jobs) -> None:
        ours, theirs = RecordingHandler(), RecordingHandler()
        await jobs.submit(Job(key="theirs", kind="other", partition_key="theirs"))
        await jobs.submit(job_for_test("ours"))

        async with job_worker_running(jobs, ours):
            await ours.done.wait()
            async with job_worker_running(other, theirs, kind="other"):
                await theirs.done.wait()

        assert (ours.keys, theirs.keys) == (["ours"], ["theirs"])
