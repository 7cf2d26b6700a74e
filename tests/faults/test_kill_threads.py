"""Workers that are killed or stand still, at every point where it could hurt: the run ends as if nothing had been."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from multiprocessing.context import ForkServerProcess as Process
from pathlib import Path

import psutil
import pytest
from tests.faults import thread_worker
from tests.runs.world import World, checked, of_type, opened, until
from tests.warm import FORKS

from ringi.contracts.backend import StreamItem
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.runs.lease import LEASE_SECONDS
from ringi.server.sse.run_output import ImageLocation, messages_of_runs, runs_within_items

LEASE = 0.5
UNDISTURBED = [thread_worker.EXPLANATION, thread_worker.FAREWELL]
VALUES = {"explanation": UNDISTURBED[0], "outcome": "paid 40", "farewell": UNDISTURBED[1]}


class Shop:
    """A store, its workers, and what they paid."""

    def __init__(self, folder: Path, world: World) -> None:
        self.effects, self.world = folder / "effects", world
        self.workers: list[Process] = []

    def worker(self, failpoint: str = "", *, stands_still: bool = False, lease: float = LEASE) -> Process:
        """Start a process that runs threads."""
        args = (self.world.backend.url, self.effects, lease, failpoint)
        process = FORKS.Process(target=thread_worker.work, args=args, kwargs={"stands_still": stands_still})
        process.start()
        self.workers.append(process)
        return process

    def survivor(self) -> Process:
        """Start a process that keeps what it takes: on a busy machine a short lease ends, and the payment repeats."""
        return self.worker(lease=LEASE_SECONDS)

    def payments(self) -> list[str]:
        return thread_worker.lines_of(self.effects)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ringi.db'}"


@pytest.fixture
async def shop(tmp_path: Path, url: str) -> AsyncIterator[Shop]:
    async with opened(url, thread_worker.agents(tmp_path / "effects").values()) as world:
        shop = Shop(tmp_path, world)
        try:
            yield shop
        finally:
            for process in shop.workers:
                process.kill()
                process.join()


async def killed(process: Process) -> None:
    """Wait until the process has died at its fail-point."""

    async def is_dead() -> bool:
        return not process.is_alive()

    await until(is_dead, "the worker dies", 30)
    assert process.exitcode == -signal.SIGKILL


async def is_asking(shop: Shop) -> Request | None:
    try:
        pending = await shop.world.pending()
    except NotFoundError:
        return None
    return pending[0] if pending else None


async def finished(shop: Shop) -> Thread:
    """Answer if that is still open, and return the thread at its end, checked in every way."""
    world = shop.world

    async def is_done() -> Thread | None:
        request = await is_asking(shop)
        if request:
            await world.respond(request, "approve")
        thread = await world.thread()
        return thread if thread.status in ("done", "error") else None

    thread = await until(is_done, "the run ends", 30)
    await check(shop, thread)
    return thread


async def check(shop: Shop, thread: Thread) -> None:
    world = shop.world
    assert (thread.status, thread.values, thread.error) == ("done", VALUES, None)
    items = await world.items()
    assert list(checked(items).values()) == UNDISTURBED
    ends = [event["outcome"]["type"] for event in of_type(items, "RUN_FINISHED")]
    assert ends[-1] == "success"
    assert "success" not in ends[:-1]
    (request,) = await world.asked()
    assert (request.status, request.is_unacknowledged) == ("completed", False)
    events = await world.inbox.events(limit=1000, request_id=request.id)
    assert [event.type for event in events].count("request.completed") == 1
    assert {line.split()[0] for line in shop.payments()} == {request.id}
    await world.verified()


POINTS = [
    "job.after_claim",
    "run.before_go",
    "saver.between_fence_and_commit",
    "saver.between_fence_and_commit:2",
    "saver.between_fence_and_commit:3",
    "saver.between_fence_and_commit:4",
    "saver.between_fence_and_commit:5",
    "saver.between_fence_and_commit:6",
    "run.after_go",
    "run.between_steps",
    "run.before_park",
    "ask.after_commit",
    "change.before_commit",
    "change.before_commit:2",
]
LATER_POINTS = [
    "job.after_claim",
    "run.before_go",
    "saver.between_fence_and_commit",
    "saver.between_fence_and_commit:2",
    "saver.between_fence_and_commit:3",
    "saver.between_fence_and_commit:4",
    "run.after_go",
    "run.between_steps",
    "run.before_finish",
    "change.before_commit",
    "change.before_commit:2",
    "change.after_commit",
]

PRUNING = ["run.before_finish", "prune.before_commit"]


async def test_a_run_without_accidents_is_what_the_others_are_compared_with(shop: Shop) -> None:
    shop.survivor()
    await shop.world.start("paying", {})
    await finished(shop)
    assert len(shop.payments()) == 1


@pytest.mark.parametrize("point", POINTS)
async def test_a_worker_killed_on_the_way_to_the_question(shop: Shop, point: str) -> None:
    first = shop.worker(point)
    await shop.world.start("paying", {})
    await killed(first)
    shop.survivor()
    request = await until(lambda: is_asking(shop), "the question is asked", 30)
    assert request.status == "pending"
    await finished(shop)
    assert len(shop.payments()) == 1


@pytest.mark.parametrize("point", LATER_POINTS)
async def test_a_worker_killed_on_the_way_from_the_answer(shop: Shop, point: str) -> None:
    before = shop.worker()
    await shop.world.start("paying", {})
    request = await until(lambda: is_asking(shop), "the question is asked", 30)
    await until(lambda: is_parked(shop), "the thread is parked", 30)
    before.kill()
    await killed(before)
    answered = await shop.world.respond(request, "approve")
    await killed(shop.worker(point))
    assert (await shop.world.inbox.get(request.id)).response == answered.response
    shop.survivor()
    await finished(shop)


@pytest.mark.parametrize("point", PRUNING)
async def test_a_worker_killed_before_it_removes_the_old_checkpoints(shop: Shop, point: str) -> None:
    first = shop.worker(point)
    await shop.world.start("paying", {})
    await shop.world.respond(await until(lambda: is_asking(shop), "the question is asked", 30), "approve")
    await killed(first)
    assert len(await shop.world.checkpoints()) > 1
    assert (await shop.world.thread()).status == "running"  # They are removed with its end, or not at all.
    shop.survivor()
    thread = await finished(shop)
    await until(lambda: has_one_checkpoint(shop), "the next worker removes them", 30)
    again = await shop.world.start("paying", {})
    assert again.run_id != thread.run_id
    await until(lambda: is_asking(shop), "the question is asked again", 30)
    assert len(await shop.world.checkpoints()) > 1
    await shop.world.respond(await shop.world.one(), "approve")
    thread = await shop.world.rest(limit=30)
    assert (thread.status, thread.values) == ("done", VALUES)
    await until(lambda: has_one_checkpoint(shop), "they are removed", 30)


async def has_one_checkpoint(shop: Shop) -> bool:
    return len(await shop.world.checkpoints()) == 1


async def is_parked(shop: Shop) -> bool:
    return (await shop.world.thread()).status == "interrupted"


async def test_a_worker_killed_in_the_middle_of_a_message(shop: Shop) -> None:
    first = shop.worker()
    await shop.world.start("paying", {})
    await until(lambda: has_said(shop, "parcel's"), "some words are stored")
    first.kill()
    await killed(first)
    shop.survivor()
    await finished(shop)


async def test_the_half_message_of_a_killed_worker_is_superseded_by_the_whole_one(shop: Shop) -> None:
    first = shop.worker()
    await shop.world.start("wavering", {})
    await until(lambda: has_said(shop, "parcel's"), "some words are stored")
    first.kill()
    await killed(first)
    thread_worker.killed_mark(shop.effects).touch()
    shop.survivor()
    thread = await shop.world.rest(limit=30)
    items = await shop.world.items()
    texts = checked(items)
    # There are more of them when a slow machine takes a worker's lease away.
    *fragments, whole = texts.values()
    assert fragments
    assert whole == thread.values["explanation"]
    assert [texts[event["value"]["messageId"]] for event in of_type(items, "CUSTOM")] == fragments
    assert visible_texts(items) == [whole]


def visible_texts(items: Sequence[StreamItem]) -> list[str]:
    """Return the words that readers see."""
    return [message["content"] for message in messages_of_runs(runs_within_items(items), ImageLocation("", "t1"))]


async def has_said(shop: Shop, word: str) -> bool:
    contents = of_type(await shop.world.items(), "TEXT_MESSAGE_CONTENT")
    return any(word in event["delta"] for event in contents)


async def test_workers_killed_one_after_another_are_given_up_after_five(shop: Shop) -> None:
    await shop.world.start("dying", {})
    for _ in range(5):
        await killed(shop.worker())
    last = shop.worker()
    thread = await until(lambda: is_given_up(shop), "the run is given up", 30)
    assert last.is_alive()
    assert (thread.attention, thread.error and thread.error.code) == ("its worker died 5 times", "attention")
    items = await shop.world.items()
    checked(items)
    assert [event["message"] for event in of_type(items, "RUN_ERROR")] == ["its worker died 5 times"]


async def is_given_up(shop: Shop) -> Thread | None:
    thread = await shop.world.thread()
    return thread if thread.status == "error" else None


async def test_a_worker_that_stood_still_past_its_lease_changes_nothing_any_more(shop: Shop) -> None:
    sleeper = shop.worker(stands_still=True)
    await shop.world.start("paying", {})
    request = await until(lambda: is_asking(shop), "the question is asked", 30)
    await until(lambda: is_parked(shop), "the thread is parked", 30)
    await shop.world.respond(request, "approve")
    await until(lambda: stands_still(sleeper), "the worker stands still", 30)
    shop.survivor()
    thread = await finished(shop)
    before, events = await shop.world.items(), await shop.world.inbox.events(limit=1000)
    # More than once, under the same key, where a store that is slow to answer let the other one's lease run out.
    paid = shop.payments()
    assert len(set(paid)) == 1
    os.kill(pid_of(sleeper), signal.SIGCONT)
    await until(lambda: goes_on(sleeper), "the late worker goes on", 30)
    await shop.world.start("two_questions", {}, "t2")
    await shop.world.rest("t2")
    await until(lambda: is_idle(shop), "nobody works any more", 30)
    assert sleeper.is_alive()
    assert shop.payments() == paid, "`authorize` refuses the late worker"
    assert await shop.world.thread() == thread
    assert await shop.world.items() == before
    of_t1 = [event for event in await shop.world.inbox.events(limit=1000) if event.record_id in ("t1", request.id)]
    assert of_t1 == [event for event in events if event.record_id in ("t1", request.id)]
    await check(shop, thread)


async def is_idle(shop: Shop) -> bool:
    query = Query(unleased_at=shop.world.inbox.clock(), statuses=("running",))
    return not await shop.world.backend.store.find(Thread, query)


def pid_of(process: Process) -> int:
    assert process.pid
    return process.pid


async def stands_still(process: Process) -> bool:
    return psutil.Process(pid_of(process)).status() == psutil.STATUS_STOPPED


async def goes_on(process: Process) -> bool:
    return not await stands_still(process)


async def test_two_processes_run_many_threads_once_each(shop: Shop) -> None:
    shop.survivor(), shop.survivor()
    ids = [f"t{n}" for n in range(10)]
    await asyncio.gather(*(shop.world.start("paying", {}, id) for id in ids))
    for id in ids:
        await shop.world.rest(id)
        await shop.world.respond(await shop.world.one(id), "approve")
    for id in ids:
        thread = await shop.world.rest(id)
        assert (thread.status, thread.values) == ("done", VALUES)
        assert list(checked(await shop.world.items(id)).values()) == UNDISTURBED
    assert len(shop.payments()) == len(set(shop.payments())) == 10
    await shop.world.verified()
