"""Operators that act at once, are cut short, or meet a late worker: one of them takes effect, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.runs.test_operations import (
    KEY,
    TWO,
    Flaky,
    abandon,
    chain,
    event_types,
    gate,
    listed,
    retried,
    retry,
    side_by_side,
    stranded,
)  # fmt: skip
from tests.runs.world import World, at_work, checked, opened

from ringi.base.clock import utc_now
from ringi.contracts.store import change_record
from ringi.domain.thread import Thread
from ringi.runs.cleanup import close_orphans


@pytest.mark.parametrize(("verb", "type"), [(retry, "thread.retried"), (abandon, "thread.abandoned")])
async def test_of_many_at_once_one_takes_effect(url: str, verb: Callable[[World], Any], type: str) -> None:
    flaky = Flaky(1)
    async with at_work(url, [chain(flaky=flaky)]) as world:
        await world.run("agent", {})
        await asyncio.gather(*(verb(world) for _ in range(10)))
        thread = await world.rest()
        assert (thread.status, flaky.runs) == (("done", 2) if verb is retry else ("idle", 1))
        assert (await event_types(world, "t1")).count(type) == 1
        checked(await world.items())


async def test_of_a_retry_and_an_abandon_at_once_one_takes_effect(url: str) -> None:
    async with at_work(url, [chain(flaky=Flaky(1))]) as world:
        await world.run("agent", {})
        await asyncio.gather(retry(world), abandon(world))
        thread = await world.rest()
        types = await event_types(world, "t1")
        taken = [type for type in types if type in ("thread.retried", "thread.abandoned")]
        assert (taken, thread.status) in ((["thread.retried"], "done"), (["thread.abandoned"], "idle"))
        assert await listed(world) == []
        checked(await world.items())


async def test_a_retry_that_was_cut_short_is_finished_by_the_next(url: str) -> None:
    async with opened(url, [TWO]) as world:
        lost = await stranded(world)
        await change_record(world.backend.store, Thread, KEY, lambda t: t.retried("root", utc_now(), None))
        assert {trouble.request_id for trouble in await listed(world)} > {lost.id}
        await retry(world)
        assert await listed(world) == []


async def test_an_abandon_that_was_cut_short_is_finished_by_the_next(url: str) -> None:
    async with opened(url, [TWO]) as world:
        lost = await stranded(world)
        await change_record(world.backend.store, Thread, KEY, lambda t: t.abandoned("root", utc_now(), None))
        assert {trouble.request_id for trouble in await listed(world)} > {lost.id}
        await abandon(world)
        assert await listed(world) == []
        assert await world.pending() == []


async def test_a_run_is_abandoned_whose_retry_was_cut_short(url: str) -> None:
    async with opened(url, [TWO]) as world:
        await stranded(world)
        await change_record(world.backend.store, Thread, KEY, lambda t: t.retried("root", utc_now(), None))
        assert (await abandon(world)).status == "idle"
        assert await listed(world) == []


async def test_a_late_worker_tidies_away_nothing_of_a_run_that_was_retried(url: str) -> None:
    async with at_work(url, [side_by_side(flaky=Flaky(1, "A?"), b=gate("B"))]) as world:
        await world.run("agent", {})
        a, _ = await world.pending()
        failed = await world.answer(a, "approve")
        await retried(world)
        again = await world.one()
        await close_orphans(world.backend, world.inbox, failed)
        assert (await world.inbox.get(again.id)).status == "pending"
        await world.respond(again, "approve")
        assert sorted((await world.rest()).values["log"]) == ["B:yes", "approve"]
