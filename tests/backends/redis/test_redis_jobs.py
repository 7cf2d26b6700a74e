"""Jobs in Redis: every promise of jobs, on one server and between two processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ringi.backends.redis.jobs import RedisJobs
from ringi.backends.redis.server import RedisServer
from ringi.backends.redis.stream import RedisNotifier
from ringi.contracts.backend import MAX_CONCURRENT, Job, Notifier
from ringi.testing.conformance import JobsConformance


@pytest.fixture
async def notifier(server: RedisServer) -> AsyncIterator[Notifier]:
    async with RedisNotifier(server, recheck_after=0.2) as notifier:
        yield notifier


@pytest.fixture
async def second_notifier(second: RedisServer) -> AsyncIterator[Notifier]:
    async with RedisNotifier(second, recheck_after=0.2) as notifier:
        yield notifier


class TestRedisJobs(JobsConformance):
    @pytest.fixture
    def jobs(self, server: RedisServer, notifier: Notifier) -> RedisJobs:
        return RedisJobs(server, notifier)


class TestTwoRedisJobs(TestRedisJobs):
    @pytest.fixture
    def other(self, second: RedisServer, second_notifier: Notifier) -> RedisJobs:
        return RedisJobs(second, second_notifier)


async def test_nothing_is_left_of_what_is_done(server: RedisServer, notifier: Notifier) -> None:
    jobs, stop, done = RedisJobs(server, notifier), asyncio.Event(), list[str]()

    async def handle(job: Job) -> None:
        done.append(job.key)
        if len(done) == 50:
            stop.set()

    await jobs.submit_all(
        [
            Job(key=f"k{n}", kind="test", partition_key=f"l{n % 7}", concurrency_key=f"c{n % 3}", payload={"n": n})
            for n in range(50)
        ]
    )
    await jobs.work(handle, kinds=("test",), concurrency=8, stop=stop)
    assert len(set(done)) == 50
    assert [key async for key in server.redis.scan_iter(match=f"*{server.prefix}*jobs*")] == []


async def commands(server: RedisServer, *names: str) -> int:
    statistics = await server.redis.info("commandstats")
    return sum(statistics.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in names)


async def test_a_claim_reads_little_of_what_waits(server: RedisServer, notifier: Notifier) -> None:
    jobs, number = RedisJobs(server, notifier), 1_000
    await jobs.submit_all(
        [Job(key=f"k{n:04}", kind="test", partition_key=f"l{n}", concurrency_key="one") for n in range(number)]
    )
    before = await commands(server, "hget", "hmget", "zcount")
    assert len(await jobs._claim(["test"], 9)) == MAX_CONCURRENT
    assert await commands(server, "hget", "hmget", "zcount") - before < number / 10

    # All places of the key are taken: the job of another key is behind all of these.
    await jobs.submit(Job(key="other", kind="test", partition_key="other", concurrency_key="other"))
    before = await commands(server, "hget", "hmget", "zcount")
    assert [job.key for job in await jobs._claim(["test"], 1)] == ["other"]
    assert await commands(server, "hget", "hmget", "zcount") - before < number / 10


DAMAGED = {
    "empty": "",
    "broken": "[",
    "number": "5",
    "null": "null",
    "no lane": "{}",
    "null lane": '{"lane":null}',
    "list as lane": '{"lane":[]}',
    "only a lane": '{"lane":"damaged"}',
    "number as lane": '{"lane":7}',
    "number as kind": '{"lane":"damaged","key":"damaged","kind":5}',
    "another kind": '{"lane":"damaged","key":"damaged","kind":"other"}',
    "another key": '{"lane":"damaged","key":"whole","kind":"test"}',
    "half a letter": '{"lane":"damaged","key":"damaged","kind":"test","payload":{"a":"\\ud800"}}',
    "deep": '{"lane":"damaged","key":"damaged","kind":"test","payload":' + "[" * 1_500 + "]" * 1_500 + "}",
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
async def test_a_damaged_job_is_named_kept_and_stops_no_other(
    server: RedisServer, notifier: Notifier, caplog: pytest.LogCaptureFixture, damaged: str
) -> None:
    bodies, jobs, stop = server.key("jobs", "all"), RedisJobs(server, notifier), asyncio.Event()
    done = list[str]()

    async def handle(job: Job) -> None:
        done.append(job.key)
        stop.set()

    await jobs.submit_all([Job(key=key, kind="test", partition_key=key) for key in ("damaged", "whole")])
    await server.redis.hset(bodies, "damaged", damaged)
    async with asyncio.timeout(10):
        await jobs.work(handle, kinds=("test",), concurrency=1, stop=stop)
        assert done == ["whole"]
        assert await server.redis.hgetall(bodies) == {b"damaged": damaged.encode()}
        assert caplog.messages == [f"job b'damaged' cannot be read and is set aside, undone: look at it in {bodies}"]
        await jobs.submit(Job(key="damaged", kind="test", partition_key="damaged"))
        stop.clear()
        await jobs.work(handle, kinds=("test",), concurrency=1, stop=stop)
    assert done == ["whole", "damaged"]
    assert [key async for key in server.redis.scan_iter(match=f"*{server.prefix}*jobs*")] == []


@pytest.mark.parametrize("held", ["", "x", "5", "x damaged"])
async def test_a_damaged_lane_is_free(server: RedisServer, notifier: Notifier, held: str) -> None:
    jobs, stop, done = RedisJobs(server, notifier), asyncio.Event(), list[str]()

    async def handle(job: Job) -> None:
        done.append(job.key)
        stop.set()

    await jobs.submit(Job(key="a", kind="test", partition_key="a"))
    await server.redis.hset(server.key("jobs", "lanes"), "a", held)
    async with asyncio.timeout(10):
        await jobs.work(handle, kinds=("test",), concurrency=1, stop=stop)
    assert done == ["a"]
