"""The wait loop: a lost notification costs one interval, and 10,000 waits cost the queries of one."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.backends.sqlite.stream import SqliteNotifier
from ringi.connect import PollingNotifier
from ringi.contracts.backend import Notifier, StreamItem
from ringi.contracts.store import R
from ringi.domain.record import START, Event, Key, Position
from ringi.errors import UnavailableError
from ringi.inbox.feed import MAX_WRITTEN, TOPIC, Feed
from ringi.inbox.inbox import StoreInbox
from ringi.testing import store_request
from ringi.testing.factories import a_request

INTERVAL = 0.2
SLACK = 0.5


class CountingStore(MemoryStore):
    """Counts what is read of it, and tells when the feed was read often enough."""

    def __init__(self) -> None:
        super().__init__()
        self.reads, self.expected, self.enough = Counter[str](), 0, asyncio.Event()

    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        self.reads["get"] += 1
        return await super().get(kind, tenant, id)

    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        self.reads["get_many"] += 1
        return await super().get_many(kind, keys)

    async def events(self, after: Position = START, limit: int = 100, **chosen: Any) -> list[Event]:
        self.reads["events"] += 1
        if self.reads["events"] >= self.expected:
            self.enough.set()
        return await super().events(after, limit, **chosen)

    async def reads_until(self, events: int) -> dict[str, int]:
        """Return what is read from now on until the feed was read so many times."""
        self.reads.clear()
        self.enough.clear()
        self.expected = events
        await self.enough.wait()
        return dict(self.reads)


class BrokenStore(MemoryStore):
    """Cannot be read for a while."""

    failures: Sequence[Exception] = ()

    async def events(self, after: Position = START, limit: int = 100, **chosen: Any) -> list[Event]:
        if self.failures:
            error, *self.failures = self.failures
            raise error
        return await super().events(after, limit, **chosen)


class BrokenNotifier(MemoryNotifier):
    """Has lost its server."""

    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        raise ConnectionError(topic)


async def seconds_to_wake(inbox: StoreInbox) -> float:
    """Return how long a waiter slept on after its request was answered."""
    asked = await inbox.ask("Go on?")
    loop = asyncio.get_running_loop()
    async with inbox.feed:
        waiting = asyncio.create_task(inbox.wait(asked.id, 20))
        await asyncio.wait([waiting], timeout=0.05)
        await inbox.respond(asked, "respond", by="ann", message="yes")
        answered = loop.time()
        await waiting
    return loop.time() - answered


@pytest.mark.parametrize("notifier", [PollingNotifier(INTERVAL), BrokenNotifier(INTERVAL)], ids=["drops", "raises"])
async def test_a_lost_notification_costs_one_interval(notifier: Notifier) -> None:
    assert await seconds_to_wake(StoreInbox(MemoryStore(), notifier)) < INTERVAL + SLACK


async def test_a_notification_wakes_at_once() -> None:
    assert await seconds_to_wake(StoreInbox(MemoryStore(), MemoryNotifier(60))) < SLACK


async def test_a_notification_that_cannot_be_sent_is_logged_and_counted_and_nobody_is_blamed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notifier = BrokenNotifier(INTERVAL)
    inbox = StoreInbox(MemoryStore(), notifier).for_tenant("another-tenant")

    asked = await inbox.ask("Go on?")
    answered = await inbox.respond(asked, "respond", by="ann", message="yes")

    assert answered.status == "completed"
    assert notifier.lost == 2
    logged = [record for record in caplog.records if asked.id in record.getMessage()]
    assert [record.levelno for record in logged] == [logging.ERROR] * 2


@pytest.mark.parametrize("waits", [1, 1_000, pytest.param(10_000, marks=pytest.mark.tier("all"))])
async def test_the_queries_of_an_interval_do_not_grow_with_the_waits(waits: int) -> None:
    store = CountingStore()
    inbox = StoreInbox(store, PollingNotifier(0.05))
    for n in range(waits):
        await store_request(store, f"request-{n}", tenant=inbox.tenant)
    async with inbox.feed, asyncio.timeout(50):
        waiting = [asyncio.create_task(inbox.wait(f"request-{n}")) for n in range(waits)]
        while store.reads["get"] < waits:
            await asyncio.wait(waiting[:1], timeout=0.01)

        assert await store.reads_until(5) == {"events": 5}

        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_another_processs_writes_are_read_once_however_many_wait(tmp_path: Path) -> None:
    async with (
        SqliteDatabase(tmp_path / "ringi.db") as ours,
        SqliteDatabase(tmp_path / "ringi.db") as theirs,
        SqliteNotifier(ours, INTERVAL) as notifier,
    ):
        inbox = StoreInbox(SqliteStore(ours), notifier)
        asked, bystander = await inbox.ask("Go on?"), await inbox.ask("And on?")
        async with inbox.feed, notifier.subscribe(bystander.topic) as not_rung, asyncio.timeout(20):
            waiting = asyncio.create_task(inbox.wait(asked.id))
            await asyncio.wait([waiting], timeout=0.05)
            await not_rung.wait(0)
            other = StoreInbox(SqliteStore(theirs), PollingNotifier(INTERVAL))
            await other.respond(asked, "respond", by="ann", message="yes")

            assert (await waiting).status == "completed"
            assert not await not_rung.wait(0)


@pytest.fixture
async def broken() -> AsyncIterator[tuple[BrokenStore, Feed]]:
    store = BrokenStore()
    async with Feed(store, MemoryNotifier(0.02)) as feed:
        yield store, feed


@pytest.mark.parametrize("failure", [UnavailableError("busy"), ValueError("unreadable")])
async def test_the_feed_goes_on_after_a_failure_and_counts_it(
    broken: tuple[BrokenStore, Feed], failure: Exception
) -> None:
    store, feed = broken
    heard, seen = asyncio.Event(), list[str]()

    def listen(events: Sequence[Event]) -> None:
        seen.extend(event.record_id for event in events)
        heard.set()

    async with feed.follow(listen), asyncio.timeout(10):
        store.failures = [failure, failure]
        await store_request(store)
        await heard.wait()

    assert seen == ["request-1"]
    assert feed.failures == 2


async def test_a_follower_hears_every_event_after_it_came_and_none_before_or_after() -> None:
    store, notifier = MemoryStore(), MemoryNotifier(0.02)
    heard, seen = asyncio.Event(), list[str]()

    def listen(events: Sequence[Event]) -> None:
        seen.extend(event.record_id for event in events)
        if len(seen) >= 3:
            heard.set()

    await store_request(store, "before")
    async with Feed(store, notifier) as feed, asyncio.timeout(10):
        async with feed.follow(listen):
            for n in range(3):
                await store_request(store, f"request-{n}")
            await heard.wait()
        witness = asyncio.Event()
        async with feed.follow(lambda _: witness.set()):
            await store_request(store, "after")
            await witness.wait()

    assert seen == ["request-0", "request-1", "request-2"]


async def test_followers_read_a_request_unless_this_process_wrote_it_at_least_as_new() -> None:
    store = CountingStore()
    first, created = a_request("request-1")
    second, claimed = first.claimed("ann", first.created_at, timedelta(minutes=1))
    await store.put(first, created)
    async with Feed(store, MemoryNotifier(20)) as feed, feed.follow(lambda _: None):
        feed.keep(first)
        assert await feed.requests([created]) == [first]
        assert store.reads["get_many"] == 0

        await store.put(second, claimed)
        assert await feed.requests([created, claimed]) == [second]
        assert store.reads["get_many"] == 1

        feed.keep(second)
        feed.keep(first)  # The older one arrives last.
        assert feed.written(claimed) == second

        for n in range(MAX_WRITTEN):
            feed.keep(a_request(f"other-{n}")[0])
        assert feed.written(claimed) is None


async def test_a_kept_request_is_dropped_once_the_feed_reads_a_newer_change_of_another_process() -> None:
    store, heard = MemoryStore(), asyncio.Event()
    first, created = a_request("request-1")
    second, claimed = first.claimed("ann", first.created_at, timedelta(minutes=1))
    another = created.model_copy(update={"hash": "sha256:another"})
    async with Feed(store, MemoryNotifier(0.02)) as feed, feed.follow(lambda _: heard.set()), asyncio.timeout(10):
        feed.keep(first)
        assert (feed.written(created), feed.written(another)) == (first, None)
        await store.put(first, created)
        await store.put(second, claimed)
        while feed.written(created):
            heard.clear()
            await heard.wait()
        feed.keep(second)
        feed.forget()
        assert feed.written(claimed) is None


async def test_nothing_is_kept_without_followers() -> None:
    request, created = a_request("request-1")
    async with Feed(MemoryStore(), MemoryNotifier(20)) as feed:
        feed.keep(request)
        assert feed.written(created) is None


class BusyStore(MemoryStore):
    """A store in which another process commits right after the tail was read."""

    def __init__(self, notifier: Notifier) -> None:
        super().__init__()
        self.notifier = notifier

    async def tail(self) -> Position:
        found = await super().tail()
        await self.put(*a_request("request-1"))
        await self.notifier.publish(TOPIC)
        return found


async def test_a_notification_that_comes_while_the_feed_begins_wakes_it() -> None:
    notifier, heard = MemoryNotifier(3_600), asyncio.Event()
    async with Feed(BusyStore(notifier), notifier) as feed, asyncio.timeout(10), feed.follow(lambda _: heard.set()):
        await heard.wait()
