"""What needs an operator: a list with pages that keeps tenants apart."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.runs.test_operations import KEY, TWO, Flaky, chain, listed, stranded
from tests.runs.world import at_work, opened, working

from ringi.base.clock import utc_now
from ringi.contracts.store import change_record
from ringi.domain.record import Query
from ringi.domain.thread import Failure, Thread
from ringi.errors import InvalidError
from ringi.runs import operations
from ringi.runs.operations import Trouble


async def test_the_list_has_pages_and_keeps_tenants_apart(url: str) -> None:
    async with at_work(url, [chain(flaky=Flaky(1000))]) as world:
        for n in range(5):
            await world.run("agent", {}, f"t{n}")
        await world.run("agent", {}, "t1", tenant="elsewhere")
        seen, cursor = list[str | None](), None
        while True:
            page, cursor = await operations.runs_needing_attention(
                world.backend.store, Query(tenant="default"), limit=2, cursor=cursor
            )
            seen += [trouble.thread_id for trouble in page]
            if cursor is None:
                break
        assert seen == ["t4", "t3", "t2", "t1", "t0"]
        (trouble,), _ = await operations.runs_needing_attention(world.backend.store, Query(tenant="elsewhere"))
        thread = await world.thread(tenant="elsewhere")
        assert trouble == Trouble(
            kind="thread", thread_id="t1", run_id=thread.run_id, agent="agent", status="error",
            since=thread.updated_at, why="ValueError: no paper", can_retry=True,
        )  # fmt: skip


async def test_failed_threads_come_before_stranded_requests_over_all_pages(url: str) -> None:
    async with opened(url, [TWO, replace(chain(flaky=Flaky(1000)), name="flaky")]) as world:
        await stranded(world)
        async with working(world):
            for n in range(2):
                await world.run("flaky", {}, f"f{n}")
        whole = await listed(world)
        assert [trouble.kind for trouble in whole] == ["thread", "thread", "request", "request"]
        for limit in (1, 2, 3):
            seen, cursor = list[Trouble](), None
            while True:
                page, cursor = await operations.runs_needing_attention(
                    world.backend.store, Query(tenant="default"), limit=limit, cursor=cursor
                )
                seen += page
                if cursor is None:
                    break
            assert seen == whole


async def test_a_thread_that_has_just_failed_is_listed_once(url: str) -> None:
    async with opened(url, [TWO]) as world:
        await stranded(world)
        store, failure = world.backend.store, Failure(message="no paper", code="ValueError")
        await change_record(store, Thread, KEY, lambda t: t.acquired("dead", utc_now(), timedelta(hours=1)))
        await change_record(store, Thread, KEY, lambda t: t.failed(t, utc_now(), failure))
        assert [trouble.kind for trouble in await listed(world)] == ["thread"]


@pytest.mark.parametrize("cursor", ["nonsense", "thread:nonsense", "other:1:default:x"])
async def test_a_wrong_cursor_is_refused(url: str, cursor: str) -> None:
    async with opened(url) as world:
        with pytest.raises(InvalidError, match="cursor"):
            await operations.runs_needing_attention(world.backend.store, Query(tenant="default"), cursor=cursor)


async def test_a_retry_is_pointless_while_the_agent_is_not_deployed(url: str) -> None:
    async with at_work(url, [chain(flaky=Flaky(1000))]) as world:
        await world.run("agent", {})
        for deployed, can_retry in ((None, True), ({"agent"}, True), ({"other"}, False)):
            (trouble,), _ = await operations.runs_needing_attention(
                world.backend.store, Query(tenant="default"), deployed=deployed
            )
            assert trouble.can_retry is can_retry
