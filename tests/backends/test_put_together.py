"""A thread and output of its run are saved together or not at all."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self

import pytest
from tests.server.world import until

from ringi.backends import claimed_jobs
from ringi.backends.claimed_jobs import MAX_OWN
from ringi.backends.postgres.jobs import PostgresJobs
from ringi.backends.sqlite.jobs import SqliteJobs
from ringi.connect import Backend, open_backend
from ringi.contracts.backend import Job, Moment, OtherConflictError, StreamItem
from ringi.domain.record import Key, Query
from ringi.domain.request import Request
from ringi.domain.thread import FenceError, Thread
from ringi.errors import ConflictError
from ringi.runs.reconciler import run_start_job
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request, a_thread

ITEM = StreamItem({"type": "CUSTOM", "name": "\0", "value": 1}, "origin")


@pytest.fixture(params=["sqlite", "postgres"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """An open store whose threads and output share transactions."""
    url = f"sqlite:///{tmp_path / 'ringi.db'}"
    if request.param == "postgres":
        url = f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    async with open_backend(url) as backend:
        yield backend


async def held(backend: Backend) -> Thread:
    """Store a thread that a worker holds, under the fence of the worker."""
    begun, event = a_thread("t1")
    await backend.store.put(begun, event)
    return await save(backend, begun)


async def save(backend: Backend, thread: Thread, *items: StreamItem) -> Thread:
    """Save the next version of a thread with items, under a higher fence."""
    changed, event = thread.changed("acquired", "worker", thread.updated_at, fence=thread.fence + 1)
    assert backend.put_together
    await backend.put_together(Moment(changed, event, items))
    return changed


async def stored(backend: Backend, thread: Thread) -> tuple[Thread, list[dict[str, object]], int]:
    """Return the thread, its output, and the number of its events."""
    items = await backend.stream.read(thread.key)
    events = await backend.store.events(record_id=thread.id)
    return await backend.store.get(Thread, *thread.key), [item.event for item in items], len(events)


async def test_a_thread_and_its_output_are_saved_together(backend: Backend) -> None:
    first = await held(backend)
    second = await save(backend, first, ITEM, ITEM)
    assert await stored(backend, second) == (second, [ITEM.event, ITEM.event], 3)
    with pytest.raises(FenceError):
        await backend.stream.append(first.key, [ITEM], fence=first.fence)


async def test_output_is_not_saved_if_the_thread_has_changed(backend: Backend) -> None:
    first = await held(backend)
    second = await save(backend, first)
    with pytest.raises(ConflictError):
        await save(backend, first, ITEM)
    assert await stored(backend, second) == (second, [], 3)


async def test_a_thread_is_not_saved_if_its_fence_is_refused(backend: Backend) -> None:
    first = await held(backend)
    await backend.stream.append(first.key, (), fence=first.fence + 9)
    with pytest.raises(FenceError):
        await save(backend, first, ITEM)
    assert await stored(backend, first) == (first, [], 2)


async def test_records_and_jobs_are_saved_with_the_thread(backend: Backend) -> None:
    first = await held(backend)
    old, asked = a_request("old")
    await backend.store.put(old, asked)
    changed, event = first.changed("parked", "worker", first.updated_at)
    assert backend.put_together
    others = [a_request("q1"), old.cancelled("ann", NOON, None), a_request("q2")]
    job = run_start_job(changed)
    await backend.put_together(Moment(changed, event, [ITEM], others, [job, job]))
    assert await backend.store.get_many(Request, [Key("tenant-1", id) for id in ("q1", "q2")])
    assert (await backend.store.get(Request, "tenant-1", "old")).status == "cancelled"
    names = [(event.record_id, event.type) for event in await backend.store.events(limit=99)][3:]
    assert names == [
        ("q1", "request.created"),
        ("old", "request.cancelled"),
        ("q2", "request.created"),
        ("t1", event.type),
    ]
    done, stop = list[Job](), asyncio.Event()

    async def handle(job: Job) -> None:
        done.append(job)
        stop.set()

    await asyncio.wait_for(backend.jobs.work(handle, kinds=["run"], concurrency=1, stop=stop), 20)
    assert done == [job]
    found = await backend.store.find(Request, Query(tenant="tenant-1", text="refund"))
    assert {request.id for request in found} == {"q1", "q2", "old"}


@pytest.mark.parametrize("place", [0, 1])
async def test_nothing_is_saved_if_another_record_has_changed(backend: Backend, place: int) -> None:
    first = await held(backend)
    await backend.store.put(*a_request("taken"))
    changed, event = first.changed("parked", "worker", first.updated_at)
    others = [a_request("q1")]
    others.insert(place, a_request("taken"))
    assert backend.put_together
    with pytest.raises(OtherConflictError):
        await backend.put_together(Moment(changed, event, [ITEM], others, [run_start_job(changed)]))
    assert await stored(backend, first) == (first, [], 2)
    assert [request.id for request in await backend.store.find(Request, Query(limit=9))] == ["taken"]
    assert len(await backend.store.events(limit=99)) == 3
    # Its job would have made it one that needs none.
    assert await backend.store.find(Thread, Query(unleased_at=NOON, jobless=True)) == [first]


@pytest.mark.parametrize("has_more", [False, True])
async def test_a_job_ends_with_the_change_that_does_its_work(backend: Backend, *, has_more: bool) -> None:
    first, ended = await held(backend), list[bool]()
    job = run_start_job(first)
    await backend.jobs.submit_all([job, *([job.model_copy(update={"key": "z-later"})] if has_more else [])])
    stop = asyncio.Event()

    async def handle(job: Job) -> bool | None:
        if job.key == "z-later":
            stop.set()
            return None
        changed, event = first.changed("parked", "worker", first.updated_at)
        assert backend.put_together
        ended.append(await backend.put_together(Moment(changed, event, (), done=job)))
        with pytest.raises(ConflictError):
            await backend.put_together(Moment(changed, event, (), done=job))
        if not has_more:
            stop.set()
        return ended[-1]

    await asyncio.wait_for(backend.jobs.work(handle, kinds=["run"], concurrency=1, stop=stop), 20)
    assert ended == [has_more]
    # Without its job, it is one that needs one.
    assert await backend.store.find(Thread, Query(unleased_at=NOON, jobless=True))


async def test_a_job_stays_if_the_change_is_refused(backend: Backend) -> None:
    first = await held(backend)
    job = run_start_job(first)
    await backend.jobs.submit(job)
    stale, event = first.changed("parked", "worker", first.updated_at)
    await save(backend, first)
    assert backend.put_together
    with pytest.raises(ConflictError):
        await backend.put_together(Moment(stale, event, (), done=job))
    assert not await backend.store.find(Thread, Query(unleased_at=NOON, jobless=True))


async def submitted_by(backend: Backend, jobs: Sequence[Job]) -> None:
    """Save the next version of a new thread together with jobs."""
    thread, event = a_thread(uuid.uuid4().hex)
    assert backend.put_together
    await backend.put_together(Moment(thread, event, jobs=jobs))


def a_job(key: str, **changes: str) -> Job:
    return Job(**{"key": key, "kind": "run", "partition_key": key, **changes})


CALLER = ContextVar("CALLER", default="nobody")


class Working:
    """A worker of a backend that takes new jobs, and ends each when it is let go."""

    def __init__(self, backend: Backend) -> None:
        self.begun, self.callers = list[str](), list[str]()
        self.may_end, self._stop = asyncio.Event(), asyncio.Event()
        self._backend = backend

    async def __aenter__(self) -> Self:
        jobs: Any = self._backend.jobs
        limits: dict[str, Any] = {"kinds": ["run"], "concurrency": 99, "stop": self._stop}
        work = jobs.work(self._handle, **limits, takes_new=lambda job: "foreign" not in job.key)
        self._working = asyncio.create_task(work)
        await until(lambda: bool(jobs._pools))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.may_end.set()
        self._stop.set()
        await self._working

    async def _handle(self, job: Job) -> None:
        self.begun.append(job.key)
        self.callers.append(CALLER.get())
        await self.may_end.wait()


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what each claim finds."""
    found = list[int]()
    for jobs in (SqliteJobs, PostgresJobs):
        claim = jobs._claim

        async def counted(*args: Any, claim: Any = claim) -> list[Job]:
            claimed: list[Job] = await claim(*args)
            found.append(len(claimed))
            return claimed

        monkeypatch.setattr(jobs, "_claim", counted)
    return found


async def test_a_process_begins_the_job_that_it_has_saved(backend: Backend, claims: list[int]) -> None:
    async with Working(backend) as worker:
        await submitted_by(backend, [a_job("a")])
        await submitted_by(backend, [a_job("a"), a_job("behind", partition_key="a")])
        await until(lambda: worker.begun == ["a"])
        assert sum(claims) == 0
        worker.may_end.set()
        # It waited for its partition, and nobody has to be told.
        await until(lambda: worker.begun == ["a", "behind"])
    assert worker.begun == ["a", "behind"]


async def test_a_job_does_not_run_as_whoever_has_saved_it(backend: Backend) -> None:
    async with Working(backend) as worker:
        token = CALLER.set("ann")
        await submitted_by(backend, [a_job("a")])
        CALLER.reset(token)
        await until(lambda: worker.begun == ["a"])
    assert worker.callers == ["nobody"]


async def test_a_process_leaves_new_jobs_to_others_that_it_cannot_do_or_has_no_time_for(
    backend: Backend, claims: list[int]
) -> None:
    async with Working(backend) as worker:
        await submitted_by(backend, [a_job("foreign")])
        await until(lambda: worker.begun == ["foreign"])
        assert sum(claims) == 1
        for n in range(MAX_OWN + 3):
            await submitted_by(backend, [a_job(f"{n}")])
        await until(lambda: len(worker.begun) == MAX_OWN + 4)
        assert sum(claims) == 1 + 3 + 1  # The foreign one counts among those that run.


async def test_a_new_job_of_a_process_that_dies_is_done_by_another(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimed_jobs, "CLAIM_SECONDS", 0.2)

    async def die(*_: object) -> None:
        raise asyncio.CancelledError

    async with Working(backend):
        monkeypatch.setattr(backend.jobs, "begin_new", die)
        with pytest.raises(asyncio.CancelledError):
            await submitted_by(backend, [a_job("a")])
    async with Working(backend) as worker:
        await until(lambda: worker.begun == ["a"])
