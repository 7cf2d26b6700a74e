"""Stopping: a run for good, a worker for now."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.runs.test_lease import Stalls
from tests.runs.world import at_work, checked, of_type, opened, until, working

from ringi.base.clock import utc_now
from ringi.contracts.store import change_record
from ringi.domain.record import Key
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.runs import lease as leases
from ringi.runs.executor import LeasedRun

REFUND = {"order": 1, "amount": 2}


async def test_cancelling_a_waiting_thread_withdraws_its_requests_and_nothing_runs_on(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        request = await world.one()
        thread = await world.runner.cancel("default", "t1", by="ann")
        assert (thread.status, await world.pending()) == ("idle", [])
        withdrawn = await world.inbox.get(request.id)
        assert (withdrawn.status, withdrawn.reason) == ("cancelled", "the thread was cancelled")
        rest = await world.rest()
        assert (rest.status, rest.fence) == ("idle", thread.fence)
        assert len(await world.texts()) == 1


async def test_a_cancelled_thread_takes_new_input(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        await world.runner.cancel("default", "t1", by="ann")
        await world.run("refund", {"order": 3, "amount": 4})
        assert (await world.answer(await world.one(), "approve")).values["outcome"] == "refunded 4"
        checked(await world.items())
        await world.verified()


async def test_cancelling_a_running_thread_stops_it_before_its_next_step(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.6)
    stalls = Stalls()
    async with at_work(url, [stalls.agent]) as world:
        await world.start("stalls", {})
        await asyncio.wait_for(stalls.begun.wait(), 20)
        assert (await world.runner.cancel("default", "t1", by="ann")).status == "idle"
        items = await world.items()
        checked(items)
        assert [event["outcome"]["type"] for event in of_type(items, "RUN_FINISHED")] == ["cancelled"]
        thread = await world.run("stalls", {})
        assert (thread.status, thread.values) == ("done", {"log": ["run 2"]})
        checked(await world.items())


async def test_what_was_asked_while_the_thread_was_cancelled_is_withdrawn(url: str) -> None:
    async with opened(url) as world:
        await world.start("refund", REFUND)
        settle, settled = LeasedRun.settle, asyncio.Event()

        async def cancel_first(leased_run, *args):  # type: ignore[no-untyped-def]
            await world.runner.cancel("default", "t1", by="ann")
            try:
                return await settle(leased_run, *args)
            finally:
                settled.set()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LeasedRun, "settle", cancel_first)
            async with working(world):
                await asyncio.wait_for(settled.wait(), 20)
                await until(lambda: all_withdrawn(world), "the request is withdrawn")
        assert (await world.thread()).status == "idle"
        checked(await world.items())


async def all_withdrawn(world) -> bool:  # type: ignore[no-untyped-def]
    """A store that saves the request with its thread has none: the thread was canceled first."""
    return all(request.status == "cancelled" for request in await world.asked())


async def test_a_cancel_that_was_cut_short_is_finished_by_the_next(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        await change_record(world.backend.store, Thread, Key("default", "t1"), lambda t: t.cancelled("ann", utc_now()))
        assert len(await world.pending()) == 1
        await world.runner.cancel("default", "t1", by="ann")
        assert await world.pending() == []


async def test_a_stretch_that_a_cancel_left_open_is_ended_before_the_next_begins(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.6)
    stalls = Stalls()
    async with at_work(url, [stalls.agent]) as world:
        await world.start("stalls", {})
        await asyncio.wait_for(stalls.begun.wait(), 20)
        await change_record(world.backend.store, Thread, Key("default", "t1"), lambda t: t.cancelled("ann", utc_now()))
        assert (await world.run("stalls", {})).status == "done"
        items = await world.items()
        checked(items)
        assert [e["outcome"]["type"] for e in of_type(items, "RUN_FINISHED")] == ["cancelled", "success"]


async def test_cancelling_what_is_done_or_unknown_changes_nothing(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        done = await world.answer(await world.one(), "approve")
        assert await world.runner.cancel("default", "t1", by="ann") == done
        with pytest.raises(NotFoundError):
            await world.runner.cancel("default", "nobody", by="ann")


async def test_an_answer_after_the_cancel_is_refused_and_runs_nothing(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        request = await world.one()
        await world.runner.cancel("default", "t1", by="ann")
        with pytest.raises(Exception, match="already cancelled"):
            await world.respond(request, "approve")


async def test_a_worker_that_is_told_to_stop_finishes_what_it_began(url: str) -> None:
    stalls = Stalls()
    async with opened(url, [stalls.agent]) as world:
        stop = asyncio.Event()
        worker = asyncio.create_task(world.runner.work(stop))
        await world.start("stalls", {})
        await asyncio.wait_for(stalls.begun.wait(), 20)
        stop.set()
        stalls.let_go.set()
        await asyncio.wait_for(worker, 20)
        assert (await world.thread()).status == "done"


async def test_a_worker_that_is_cancelled_gives_its_threads_back_at_once(url: str) -> None:
    stalls = Stalls()
    async with opened(url, [stalls.agent]) as world:
        worker = asyncio.create_task(world.runner.work(asyncio.Event()))
        await world.start("stalls", {})
        await asyncio.wait_for(stalls.begun.wait(), 20)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        thread = await world.thread()
        assert (thread.status, thread.owner, thread.lease_until) == ("running", None, None)
        assert not thread.is_leased(utc_now() - timedelta(days=1))
        async with working(world):
            assert (await world.rest()).values == {"log": ["run 2"]}
        checked(await world.items())
