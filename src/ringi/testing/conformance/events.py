"""Conformance tests of `ringi.contracts.store.Store` for events: in order, without gaps, with cursors per follower."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from pydantic_core import to_json

from ringi.contracts.store import Store
from ringi.domain.record import START, CutPage, Event
from ringi.errors import ConflictError, InvalidError
from ringi.testing.clock import NOON
from ringi.testing.conformance.journals import results_of_rivals
from ringi.testing.factories import a_request, a_thread, store_request, store_requests

WRITERS, EACH = 8, 15
MINUTE = timedelta(minutes=1)
REQUESTS = [f"request-{n}" for n in range(10)]


class EventsConformance:
    """Conformance tests of `events`, `tail` and the cursors of followers."""

    async def test_an_event_comes_back_as_it_was_put(self, store: Store) -> None:
        asked, event = a_request(description="稟議 𠮷", context={"n": [1, 2.5, None]})
        await store.put(asked, event)

        (read,) = await store.events()

        assert read.model_copy(update={"position": START}) == event
        assert read.position != START
        assert read.computed_hash() == event.hash

    async def test_the_events_of_records_come_in_the_order_of_their_writing(self, store: Store) -> None:
        asked = await store_request(store)
        await store_request(store, "request-2")
        await store.put(*asked.changed("claimed", "ann", NOON, claimed_by="ann"))

        read = [(event.record_id, event.version) for event in await store.events()]

        assert read == [("request-1", 1), ("request-2", 1), ("request-1", 2)]

    async def test_reading_goes_on_after_any_position(self, store: Store) -> None:
        await store_requests(store, REQUESTS[:5])
        whole = await store.events()

        for n, event in enumerate(whole):
            assert await store.events(event.position) == whole[n + 1 :]

    async def test_the_hashes_of_events_are_read_like_the_events(self, store: Store) -> None:
        await store_requests(store, REQUESTS[:3])
        first, *others = await store.events()

        assert await store.hashes(first.position) == [(event.position, event.hash) for event in others]
        assert await store.hashes(limit=1) == [(first.position, first.hash)]
        with pytest.raises(InvalidError):
            await store.hashes("not a position")

    async def test_a_batch_holds_no_more_than_the_limit(self, store: Store) -> None:
        await store_requests(store, REQUESTS[:5])

        first = await store.events(limit=2)
        second = await store.events(first[-1].position, 2)

        assert [event.record_id for event in first + second] == REQUESTS[:4]

    @pytest.mark.parametrize("record_id", [None, "request-2"])
    async def test_a_batch_ends_with_its_bytes(self, store: Store, record_id: str | None) -> None:
        for n, size in enumerate((6_000, 10, 3_000, 10, 10, 20_000)):
            request = await store_request(store, f"request-{n}", description="ü" * size)
            await store.put(*request.claimed("ann", NOON, MINUTE))
        seen, position, sizes = list[Event](), START, list[int]()
        chosen: dict[str, Any] = {"tenant": "tenant-1", "record_id": record_id}
        while found := await store.events(position, 5, **chosen, max_bytes=5_000):
            seen, position = seen + found, found[-1].position
            sizes.append(len(found))
            size = sum(len(to_json(event.payload)) for event in found)
            # A store may count what it stores beside the content too.
            assert isinstance(found, CutPage) or size < 5_000
            assert not isinstance(found, CutPage) or size >= 2_000

        assert seen == await store.events(**chosen)
        assert sizes[0] == 1
        assert len(sizes) > 1

    async def test_events_can_be_read_of_one_tenant_and_of_one_record(self, store: Store) -> None:
        await store_request(store, "one", tenant="ours")
        await store_request(store, "one", tenant="theirs")
        await store_request(store, "two", tenant="ours")

        ours = await store.events(tenant="ours")

        assert [(event.tenant, event.record_id) for event in ours] == [("ours", "one"), ("ours", "two")]
        assert await store.events(tenant="ours", record_id="two") == ours[1:]
        assert await store.events(ours[1].position, tenant="ours") == []

    async def test_events_can_be_read_of_several_records_together(self, store: Store) -> None:
        names = ["one", "two", "three", "one", "two"]
        for n, name in enumerate(names):
            tenant = "ours" if n < 3 else "theirs"
            request = await store_request(store, name, tenant=tenant)
            await store.put(*request.claimed("ann", NOON, MINUTE))
        every = await store.events(limit=99)

        several: dict[str, Any] = {"tenant": "ours", "record_id": ["three", "one", "missing"]}
        expected = [event for event in every if event.tenant == "ours" and event.record_id in ("one", "three")]
        assert await store.events(**several) == expected
        assert await store.events(expected[0].position, 2, **several) == expected[1:3]
        assert await store.events(record_id=["two"]) == await store.events(record_id="two")
        cut = await store.events(**several, max_bytes=1)
        assert isinstance(cut, CutPage)
        assert cut == expected[: len(cut)]

    async def test_threads_and_requests_share_the_feed(self, store: Store) -> None:
        await store_request(store)
        await store.put(*a_thread())

        assert [event.type for event in await store.events()] == ["request.created", "thread.started"]

    @pytest.mark.parametrize("position", ["nonsense", "-1", "²", "1;2", "9" * 40])
    async def test_a_position_that_was_never_given_is_invalid(self, store: Store, position: str) -> None:
        await store_request(store)

        with pytest.raises(InvalidError):
            await store.events(position)

    async def test_a_reader_beside_busy_writers_skips_none(self, store: Store, other: Store) -> None:
        async def write(writer: int) -> None:
            for n in range(EACH):
                await store_request((store, other)[writer % 2], f"request-{writer}-{n}")
                await asyncio.sleep(0)

        async def read() -> list[Event]:
            seen: list[Event] = []
            while len(seen) < WRITERS * EACH:
                seen += await other.events(seen[-1].position if seen else START, 7)
                await asyncio.sleep(0)
            return seen

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            reading = group.create_task(read())
            for writer in range(WRITERS):
                group.create_task(write(writer))
        seen = reading.result()

        assert sorted(event.record_id for event in seen) == sorted(
            f"request-{writer}-{n}" for writer in range(WRITERS) for n in range(EACH)
        )
        assert [event.hash for event in await store.events(limit=1000)] == [event.hash for event in seen]

    async def test_the_tail_of_nothing_is_the_start(self, store: Store) -> None:
        assert await store.tail() == START

    async def test_after_the_tail_comes_what_is_new(self, store: Store) -> None:
        await store_request(store, "old")
        tail = await store.tail()
        await store_request(store, "new")

        assert [event.record_id for event in await store.events(tail)] == ["new"]

    async def test_a_follower_stands_where_it_was_moved(self, store: Store, other: Store) -> None:
        await store_request(store)
        tail = await store.tail()

        assert await store.cursor("webhooks") == START
        await store.move_cursor("webhooks", START, tail)

        assert await other.cursor("webhooks") == tail
        assert await store.cursor("notices") == START

    async def test_a_follower_that_was_moved_meanwhile_conflicts(self, store: Store, other: Store) -> None:
        await store_request(store)
        tail = await store.tail()
        await other.move_cursor("webhooks", START, tail)

        with pytest.raises(ConflictError):
            await store.move_cursor("webhooks", START, tail)

        assert await store.cursor("webhooks") == tail

    async def test_of_ten_moves_at_once_one_wins(self, store: Store, other: Store) -> None:
        await store_requests(store, REQUESTS)
        positions = [event.position for event in await store.events()]

        moves = [(store, other)[n % 2].move_cursor("webhooks", START, each) for n, each in enumerate(positions)]
        won = await results_of_rivals(moves)

        assert won.count(True) == 1
        assert await store.cursor("webhooks") == positions[won.index(True)]
