"""The moment at which a stream's history becomes its present."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.server.world import LIMIT, until

from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.contracts.store import R
from ringi.domain.ask import Ask
from ringi.domain.record import START, Event, Key, Position
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox
from ringi.server import Principal
from ringi.server.auth.authenticator import VerifiedToken
from ringi.server.serialize import request_json
from ringi.server.sse.event_hub import ALL, PAGE, EventHub
from ringi.server.sse.sse import MAX_LOADING, StreamConnection

ANN = VerifiedToken(Principal("default", "admin", "ann"), None)
Between = Callable[[], Awaitable[None]]


class BusyStore(MemoryStore):
    """A store in which something happens right after a history was read, before its reader has it."""

    def __init__(self) -> None:
        super().__init__()
        self.between: list[Between] = []

    async def events(self, after: Position = START, limit: int = 100, **chosen: Any) -> list[Event]:
        found = await super().events(after, limit, **chosen)
        if chosen.get("tenant") and self.between:
            await self.between.pop(0)()
        return found


class Reader:
    """A client's end of a connection."""

    def __init__(self, turns: asyncio.Semaphore | None = None) -> None:
        self.text = ""
        self.connection = StreamConnection(self.send, ANN, 1_000_000, turns or asyncio.Semaphore())

    async def send(self, message: Any) -> None:
        self.text += message["body"].decode()

    @property
    def ids(self) -> list[str]:
        return [part.partition('"')[0] for part in self.text.split('"tenant":"default","id":"')[1:]]


@pytest.fixture
def store() -> BusyStore:
    return BusyStore()


@pytest.fixture
async def inbox(store: BusyStore) -> AsyncIterator[StoreInbox]:
    async with MemoryNotifier(0.05) as notifier:
        inbox = StoreInbox(store, notifier)
        async with inbox.feed:
            yield inbox


@pytest.fixture
async def hub(store: BusyStore, inbox: StoreInbox) -> AsyncIterator[EventHub]:
    hub = EventHub(store, inbox.notifier, inbox.feed)
    yield hub
    await hub.close()


async def ask(inbox: StoreInbox, *ids: str) -> None:
    for id in ids:
        await inbox.submit(Ask.parse({"title": "Go?", "id": id}), by="bot")


async def handed_out(inbox: StoreInbox, hub: EventHub) -> None:
    """Wait until the feed has told the hub everything, and the hub everybody."""
    tail = await inbox.store.tail()
    await until(lambda: inbox.feed.position == tail and hub.is_idle)


async def test_what_was_handed_out_while_the_history_was_read_comes_after_it(
    store: BusyStore, inbox: StoreInbox, hub: EventHub
) -> None:
    async def meanwhile() -> None:
        await ask(inbox, "b", "c")
        await handed_out(inbox, hub)

    await ask(inbox, "a")
    store.between.append(meanwhile)
    reader = Reader()
    await hub.feed(reader.connection, ALL, START)
    await ask(inbox, "d")
    await handed_out(inbox, hub)
    assert reader.ids == ["a", "b", "c", "d"]


async def test_a_history_of_many_pages_comes_whole(inbox: StoreInbox, hub: EventHub) -> None:
    ids = [f"r{n}" for n in range(2 * PAGE + 1)]
    await ask(inbox, *ids[:-1])
    reader = Reader()
    await hub.feed(reader.connection, ALL, START)
    await ask(inbox, ids[-1])
    await handed_out(inbox, hub)
    assert reader.ids == ids


async def test_who_arrives_after_more_was_forgotten_than_is_kept_reads_it_from_the_store(
    store: BusyStore, inbox: StoreInbox, hub: EventHub
) -> None:
    async def meanwhile() -> None:
        await ask(inbox, *(f"r{n}" for n in range(1_200)))
        await handed_out(inbox, hub)

    store.between.append(meanwhile)
    reader = Reader()
    await hub.feed(reader.connection, ALL, START)
    assert reader.ids == [f"r{n}" for n in range(1_200)]


class SlowStore(MemoryStore):
    """A store whose history takes until somebody opens the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.reads = self.under_way = self.most = 0

    async def events(self, after: Position = START, limit: int = 100, **chosen: Any) -> list[Event]:
        if chosen.get("tenant"):
            self.reads += 1
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await self.gate.wait()
            self.under_way -= 1
        return await super().events(after, limit, **chosen)


@asynccontextmanager
async def crowded(ids: Sequence[str]) -> AsyncIterator[tuple[SlowStore, EventHub]]:
    """Open a hub on a slow store with some requests."""
    store = SlowStore()
    async with MemoryNotifier(0.05) as notifier:
        inbox = StoreInbox(store, notifier)
        async with inbox.feed:
            await ask(inbox, *ids)
            hub = EventHub(store, notifier, inbox.feed)
            yield store, hub
            await hub.close()


async def test_who_comes_back_to_the_same_place_at_once_is_served_by_the_same_reads() -> None:
    turns = asyncio.Semaphore(MAX_LOADING)
    async with crowded(["a", "b"]) as (store, hub), asyncio.timeout(LIMIT):
        readers = [Reader(turns) for _ in range(3 * MAX_LOADING)]
        feeding = [asyncio.create_task(hub.feed(reader.connection, ALL, START)) for reader in readers]
        await until(lambda: store.reads == 1 and turns.locked())
        store.gate.set()
        await asyncio.gather(*feeding)
    assert all(reader.ids == ["a", "b"] for reader in readers)
    assert store.reads <= 3


async def test_of_thousands_who_read_different_histories_only_some_do_so_at_once() -> None:
    turns, ids = asyncio.Semaphore(MAX_LOADING), [f"r{n}" for n in range(3 * MAX_LOADING)]
    async with crowded(ids) as (store, hub), asyncio.timeout(LIMIT):
        readers = [Reader(turns) for _ in ids]
        feeding = [
            asyncio.create_task(hub.feed(reader.connection, id, START)) for reader, id in zip(readers, ids, strict=True)
        ]
        await until(lambda: store.under_way == MAX_LOADING)
        store.gate.set()
        await asyncio.gather(*feeding)
    assert [reader.ids for reader in readers] == [[id] for id in ids]
    assert store.most == MAX_LOADING


class Stuck(Reader):
    """A client that takes nothing."""

    async def send(self, message: Any) -> None:
        await asyncio.Event().wait()


async def test_readers_that_take_nothing_keep_nobody_else_from_reading() -> None:
    turns = asyncio.Semaphore(2)
    async with crowded(["a"]) as (store, hub), asyncio.timeout(LIMIT):
        store.gate.set()
        stuck = [asyncio.create_task(hub.feed(Stuck(turns).connection, ALL, START)) for _ in range(3)]
        reader = Reader(turns)
        await hub.feed(reader.connection, ALL, START)
        for task in stuck:
            task.cancel()
    assert reader.ids == ["a"]


async def test_a_feed_that_stands_still_keeps_no_turn_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = asyncio.Semaphore(1)
    async with crowded(["a"]) as (store, hub), asyncio.timeout(LIMIT):
        store.gate.set()
        await hub.feed(Reader(turns).connection, ALL, START)
        tail, asked = await store.tail(), asyncio.Event()

        async def ahead() -> str:
            asked.set()
            return f"{tail}0"

        monkeypatch.setattr(store, "tail", ahead)
        waiting = asyncio.create_task(hub.feed(Reader(turns).connection, ALL, START))
        await asked.wait()
        async with turns:  # Somebody else's.
            monkeypatch.undo()
        await waiting


async def test_who_leaves_while_a_history_is_read_takes_it_from_nobody_else() -> None:
    async with crowded(["a"]) as (store, hub), asyncio.timeout(LIMIT):
        first, second = Reader(), Reader()
        leaving = asyncio.create_task(hub.feed(first.connection, ALL, START))
        await until(lambda: store.under_way == 1)
        staying = asyncio.create_task(hub.feed(second.connection, ALL, START))
        await until(second.connection.turns.locked)
        leaving.cancel()
        store.gate.set()
        await staying
    assert (first.ids, second.ids, store.reads) == ([], ["a"], 1)


class OddStore(BusyStore):
    """A store with a row that nobody can read."""

    unreadable = "none"

    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        if any(key.id == self.unreadable for key in keys):
            raise ValueError(self.unreadable)
        return await super().get_many(kind, keys)


async def test_a_request_that_cannot_be_read_is_left_out_and_ends_nobodys_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = OddStore()
    async with MemoryNotifier(0.05) as notifier:
        inbox = StoreInbox(store, notifier)
        async with inbox.feed:
            await assert_left_out(store, inbox, caplog)


async def assert_left_out(store: OddStore, inbox: StoreInbox, caplog: pytest.LogCaptureFixture) -> None:
    hub, early, late = EventHub(store, inbox.notifier, inbox.feed), Reader(), Reader()
    try:
        await hub.feed(early.connection, ALL, START)
        store.unreadable = "odd"
        await ask(StoreInbox(store, inbox.notifier), "a", "odd", "b")  # Written by another process.
        await handed_out(inbox, hub)
        await hub.feed(late.connection, ALL, START)
    finally:
        await hub.close()
    assert (early.ids, late.ids) == (["a", "b"], ["a", "b"])
    assert "request odd cannot be read" in caplog.text


async def test_a_request_that_cannot_be_written_is_left_out_and_ends_nobodys_stream(
    store: BusyStore, inbox: StoreInbox, hub: EventHub, caplog: pytest.LogCaptureFixture
) -> None:
    reader = Reader()
    await hub.feed(reader.connection, ALL, START)
    await ask(inbox, "a")
    odd, event = Request.asked(Ask.parse({"title": "Go?"}), id="odd", now=inbox.clock(), by="bot")
    await store.put(odd.model_copy(update={"context": {"odd": object()}}), event)
    await ask(inbox, "b")
    await handed_out(inbox, hub)
    assert reader.ids == ["a", "b"]
    assert not reader.connection.is_over
    assert "request odd cannot be written" in caplog.text


FAR_EAST = timezone(timedelta(hours=9))


@pytest.mark.parametrize("odd", [{"due_at": datetime.min.replace(tzinfo=FAR_EAST)}, {"title": "half \ud800"}])
def test_an_odd_value_that_was_stored_is_written_all_the_same(odd: dict[str, Any]) -> None:
    request, _ = Request.asked(Ask.parse({"title": "Go?"}), id="odd", now=datetime.now(UTC), by="bot")
    written = json.loads(request_json(request.model_copy(update=odd)))
    assert written["id"] == "odd"
    assert written["title"] == odd.get("title", "Go?")


async def test_history_shows_what_the_store_has_now() -> None:
    store = OddStore()
    async with MemoryNotifier(0.05) as notifier:
        inbox = StoreInbox(store, notifier)
        async with inbox.feed:
            hub, early, late = EventHub(store, notifier, inbox.feed), Reader(), Reader()
            try:
                await hub.feed(early.connection, ALL, START)
                await ask(inbox, "a")
                await handed_out(inbox, hub)
                store.unreadable = "a"  # Such as the content that another process has erased.
                await hub.feed(late.connection, ALL, START)
            finally:
                await hub.close()
    assert (early.ids, late.ids) == (["a"], [])
