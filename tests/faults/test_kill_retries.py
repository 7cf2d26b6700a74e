"""Killed around a retry: once it is acknowledged the run goes on, and goes on once."""

from __future__ import annotations

import asyncio
import os
import signal
from multiprocessing.context import ForkServerProcess as Process
from pathlib import Path

import pytest
from tests.faults.test_kill_threads import LATER_POINTS, Shop, finished, is_asking, killed
from tests.faults.test_kill_threads import shop as shop
from tests.faults.test_kill_threads import url as url
from tests.runs.world import of_type, until
from tests.warm import FORKS

from ringi.base import failpoints
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.thread import Thread
from ringi.runs import operations


def operate(url: str, verb: str, armed: str) -> None:
    """Retry or abandon the thread, and die: at a fail-point, or else as soon as it is acknowledged."""
    failpoints.ARMED.update({armed: "kill9"})
    asyncio.run(acknowledge(url, verb))
    os.kill(os.getpid(), signal.SIGKILL)


async def acknowledge(url: str, verb: str) -> None:
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        await getattr(operations, verb)(backend, inbox, "t1", by="root")


def operator(shop: Shop, verb: str, armed: str = "") -> Process:
    """Start a process that operates on the thread and dies."""
    process = FORKS.Process(target=operate, args=(shop.world.backend.url, verb, armed))
    process.start()
    shop.workers.append(process)
    return process


async def has_failed(shop: Shop) -> bool:
    return (await shop.world.thread()).status == "error"


class Broken:
    """What the agent cannot do without, until it is mended."""

    def __init__(self, shop: Shop) -> None:
        self.sign: Path = shop.effects.with_name("broken")
        self.sign.touch()

    def mend(self) -> None:
        self.sign.unlink()


async def failed(shop: Shop) -> Thread:
    """Let a run fail on its answer, mend what was broken, and leave no worker."""
    broken = Broken(shop)
    worker = shop.worker()
    await shop.world.start("paying", {})
    request = await until(lambda: is_asking(shop), "the question is asked", 30)
    await shop.world.respond(request, "approve")
    await until(lambda: has_failed(shop), "the run fails", 30)
    await shop.world.rest()
    worker.kill()
    await killed(worker)
    broken.mend()
    return await shop.world.thread()


async def went_on_once(shop: Shop) -> None:
    thread = await finished(shop)
    assert thread.run
    assert thread.run.attempt == 1
    types = [event.type for event in await shop.world.inbox.events(request_id="t1", limit=1000)]
    assert types.count("thread.retried") == 1
    started = of_type(await shop.world.items(), "RUN_STARTED")
    assert started[-1]["runId"].startswith(f"{thread.run_id}.")


@pytest.mark.parametrize("point", ["", "retry.after_commit"])
async def test_who_retried_is_killed_and_the_run_goes_on_once(shop: Shop, point: str) -> None:
    await failed(shop)
    await killed(operator(shop, "retry_failed_run", point))
    shop.worker()
    await went_on_once(shop)
    assert len(shop.payments()) == 1


async def test_a_retry_that_was_not_saved_changes_nothing(shop: Shop) -> None:
    before = await failed(shop)
    await killed(operator(shop, "retry_failed_run", "change.before_commit"))
    assert await shop.world.thread() == before


@pytest.mark.parametrize("point", [point for point in LATER_POINTS if point != "change.after_commit"])
async def test_a_worker_that_is_killed_after_the_retry_leaves_the_run_to_the_next(shop: Shop, point: str) -> None:
    await failed(shop)
    await operations.retry_failed_run(shop.world.backend, shop.world.inbox, "t1", by="root")
    await killed(shop.worker(point))
    shop.worker()
    await went_on_once(shop)


@pytest.mark.parametrize("point", ["", "abandon.after_commit"])
async def test_who_abandoned_is_killed_and_the_run_stays_ended(shop: Shop, point: str) -> None:
    await failed(shop)
    await killed(operator(shop, "abandon", point))
    thread = await shop.world.thread()
    assert thread.status == "idle"
    shop.worker()
    await operations.abandon(shop.world.backend, shop.world.inbox, "t1", by="root")
    await shop.world.start("two_questions", {}, "t2")
    await shop.world.rest("t2", limit=30)
    assert await shop.world.thread() == thread
    assert shop.payments() == []
    await shop.world.verified()
