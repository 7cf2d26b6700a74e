"""A server counts in the background, so that a page of figures has nothing left to count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from tests.runs.world import until

from ringi.audit import verify
from ringi.base.clock import utc_now
from ringi.connect import open_backend, open_inbox_on_backend, store_inbox
from ringi.contracts.backend import Backend
from ringi.contracts.store import Store
from ringi.domain.record import START, Position, UnreadableError
from ringi.errors import UnavailableError
from ringi.inbox.inbox import StoreInbox
from ringi.server import counting
from ringi.server.counting import CURSOR, StatisticsKeeper
from ringi.statistics import Statistics
from ringi.statistics.counting import CountingProgress

DURABLE = pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)
EVERY = pytest.mark.parametrize("url", ["sqlite", "postgres", "redis", "memory"], indirect=True)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GATHER_SECONDS", "LOOK_SECONDS"):
        monkeypatch.setattr(counting, name, 0.01)


@asynccontextmanager
async def server(url: str, *, is_leader: bool = True) -> AsyncIterator[tuple[Backend, StoreInbox]]:
    """The background counting of a server on a store."""
    async with open_backend(url, poll_interval=0.05) as backend, open_inbox_on_backend(backend, sweeps=False) as inbox:
        backend.notifier.is_leader = is_leader
        keeper = StatisticsKeeper(backend.store, backend.notifier, inbox.feed, inbox.clock)
        task = asyncio.create_task(keeper.work())
        try:
            yield backend, inbox
        finally:
            task.cancel()
            await asyncio.wait([task])


async def head(store: Store, tenant: str = "default") -> CountingProgress:
    return await Statistics(store, utc_now)._head(tenant)


async def counted(store: Store, tenant: str = "default") -> bool:
    """Return whether all events of a tenant are counted, without counting any."""
    events = await store.events(limit=1_000, tenant=tenant)
    covered = (await head(store, tenant)).covered
    return bool(events) and covered is not None and covered.position == events[-1].position


async def asked_in_all(store: Store, tenant: str = "default") -> int:
    """Return the number of asks in the figures."""
    today = utc_now().date()
    found = await Statistics(store, utc_now).count(tenant, today - timedelta(days=1), today)
    assert found.is_complete
    return sum(row["asked"] for day in found.days.values() for row in day.rows.values())


@EVERY
async def test_what_is_written_is_counted_without_a_reader(url: str) -> None:
    async with server(url) as (backend, inbox):
        for n in range(3):
            await inbox.ask("Refund?", id=f"r{n}")
        await inbox.for_tenant("other").ask("Refund?", id="o1")

        async def are_counted() -> bool:
            return await counted(backend.store) and await counted(backend.store, "other")

        await until(are_counted, "all events are counted")
        assert (await asked_in_all(backend.store), await asked_in_all(backend.store, "other")) == (3, 1)
        await inbox.cancel("r0", by="ann")
        await until(lambda: counted(backend.store), "the end is counted too")


@DURABLE
async def test_a_store_from_before_is_counted_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "BATCH", 2)
    monkeypatch.setattr(counting, "FAR", 4)
    async with store_inbox(url) as inbox:
        for n in range(6):
            await inbox.for_tenant(f"t{n % 2}").ask("Refund?", id=f"r{n}")
    for _ in range(2):
        async with server(url) as (backend, _):

            async def are_counted() -> bool:
                return await counted(backend.store, "t0") and await counted(backend.store, "t1")

            await until(are_counted, "all events are counted")
            assert [await asked_in_all(backend.store, tenant) for tenant in ("t0", "t1")] == [3, 3]

            async def is_saved() -> bool:
                return await backend.store.cursor(CURSOR) != START

            await until(is_saved, "the position is saved")


@EVERY
async def test_only_the_leader_counts_and_a_new_one_goes_on(url: str) -> None:
    async with server(url, is_leader=False) as (backend, inbox):
        await inbox.ask("Refund?", id="r1")

        async def has_been_read() -> bool:
            return inbox.feed.position is not None and inbox.feed.position == await backend.store.tail()

        await until(has_been_read, "the event has arrived")
        assert (await head(backend.store)).covered is None
        backend.notifier.is_leader = True
        await until(lambda: counted(backend.store), "the new leader counts")


@DURABLE
async def test_after_a_failure_it_goes_on(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = iter((UnavailableError("away"), UnavailableError("away again")))
    catch_up = Statistics.catch_up

    async def failing(self: Statistics, tenant: str, seconds: float) -> bool:
        for error in failures:
            raise error
        return await catch_up(self, tenant, seconds)

    monkeypatch.setattr(Statistics, "catch_up", failing)
    async with server(url) as (backend, inbox):
        await inbox.ask("Refund?", id="r1")
        await until(lambda: counted(backend.store), "it is counted in the end")


@DURABLE
async def test_an_unreadable_event_is_passed_over(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with store_inbox(url) as inbox:
        await inbox.ask("Refund?", id="r1")
    async with server(url, is_leader=False) as (backend, inbox):
        await inbox.ask("Refund?", id="r2")
        events = await backend.store.events(limit=9)
        bad, store_events = events[0].position, backend.store.events

        async def damaged(after: Position = START, limit: int = 100, **bounds: Any) -> Sequence[Any]:
            found = await store_events(after, limit, **bounds)
            if any(event.position == bad for event in found):
                raise UnreadableError("event", bad, "damaged")
            return found

        monkeypatch.setattr(backend.store, "events", damaged)
        backend.notifier.is_leader = True

        async def is_covered() -> bool:
            covered = (await head(backend.store)).covered
            return covered is not None and covered.position == events[-1].position

        await until(is_covered, "the rest is counted")
