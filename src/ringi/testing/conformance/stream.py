"""Conformance tests of `ringi.contracts.backend.Stream`: one permanent numbering, and no late writes."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

import asyncio

import pytest

from ringi.contracts.backend import Stream, StreamItem
from ringi.domain.record import Key
from ringi.domain.thread import FenceError
from ringi.errors import ConflictError

KEY = Key("tenant-1", "thread-1")


def stream_items_of_texts(*texts: str, origin: str | None = None) -> list[StreamItem]:
    """Return one item for each text."""
    return [StreamItem({"text": text}, origin) for text in texts]


async def read_stream_texts(stream: Stream, key: Key = KEY, after: int = 0, limit: int = 500) -> list[tuple[int, str]]:
    """Return the numbers and texts in a stream."""
    return [(item.number, item.event["text"]) for item in await stream.read(key, after, limit)]


class StreamConformance:
    """Conformance tests of a stream. `stream` is an empty one; `other` may be a second one on the same data."""

    @pytest.fixture
    def stream(self) -> Stream:
        """Override: an empty stream."""
        raise NotImplementedError

    @pytest.fixture
    def other(self, stream: Stream) -> Stream:
        """Override if two processes can share the data: another instance on the data of `stream`."""
        return stream

    async def test_items_are_numbered_from_one_without_a_gap(self, stream: Stream) -> None:
        assert await stream.append(KEY, stream_items_of_texts("a", "b"), fence=1) == 2
        assert await stream.append(KEY, stream_items_of_texts("c"), fence=1) == 3

        assert await read_stream_texts(stream) == [(1, "a"), (2, "b"), (3, "c")]

    async def test_an_item_comes_back_as_it_was_added(self, stream: Stream) -> None:
        event = {"type": "CUSTOM", "value": {"text": "稟議 𠮷\u0000", "n": [1, 2.5, None, True]}}

        await stream.append(KEY, [StreamItem(event, "node:7"), StreamItem({})], fence=1)

        assert await stream.read(KEY) == [StreamItem(event, "node:7", 1), StreamItem({}, None, 2)]

    async def test_the_numbering_goes_on_under_a_higher_fence(self, stream: Stream, other: Stream) -> None:
        await stream.append(KEY, stream_items_of_texts("a"), fence=1)

        assert await other.append(KEY, stream_items_of_texts("b"), fence=7) == 2
        assert await read_stream_texts(stream) == [(1, "a"), (2, "b")]

    async def test_an_old_fence_is_refused_and_changes_nothing(self, stream: Stream, other: Stream) -> None:
        await other.append(KEY, stream_items_of_texts("new"), fence=2)

        with pytest.raises(FenceError, match="thread-1"):
            await stream.append(KEY, stream_items_of_texts("old"), fence=1)
        with pytest.raises(FenceError, match="thread-1"):
            await stream.delete(KEY, fence=1)

        assert await read_stream_texts(stream) == [(1, "new")]

    async def test_an_old_fence_is_refused_also_after_an_empty_append(self, stream: Stream, other: Stream) -> None:
        await stream.append(KEY, stream_items_of_texts("a"), fence=1)
        assert await other.append(KEY, [], fence=2) == 1

        with pytest.raises(FenceError):
            await stream.append(KEY, stream_items_of_texts("b"), fence=1)

        assert await read_stream_texts(stream) == [(1, "a")]

    async def test_an_empty_append_of_an_old_fence_is_refused_too(self, stream: Stream) -> None:
        assert await stream.append(KEY, [], fence=2) == 0

        with pytest.raises(FenceError):
            await stream.append(KEY, [], fence=1)

    async def test_the_fence_of_one_stream_is_not_that_of_another(self, stream: Stream) -> None:
        await stream.append(KEY, stream_items_of_texts("a"), fence=9)

        assert await stream.append(Key("tenant-1", "thread-2"), stream_items_of_texts("b"), fence=1) == 1

    async def test_reading_goes_on_after_any_number(self, stream: Stream) -> None:
        await stream.append(KEY, stream_items_of_texts("a", "b", "c", "d"), fence=1)

        assert await read_stream_texts(stream, after=1, limit=2) == [(2, "b"), (3, "c")]
        assert await read_stream_texts(stream, after=4) == []

    async def test_the_last_items_are_read_in_order(self, stream: Stream) -> None:
        assert await stream.read_last(KEY, 2) == []
        await stream.append(KEY, stream_items_of_texts("a", "b", "c", "d"), fence=1)

        assert [item.number for item in await stream.read_last(KEY, 2)] == [3, 4]
        assert [item.number for item in await stream.read_last(KEY, 9)] == [1, 2, 3, 4]
        assert [item.event for item in await stream.read_last(KEY, 2, before=3)] == [{"text": "a"}, {"text": "b"}]
        assert await stream.read_last(KEY, 1, before=9) == await stream.read_last(KEY, 1)
        assert await stream.read_last(KEY, 2, before=1) == []

        await stream.replace(KEY, stream_items_of_texts("e", "f"), last=4)
        assert [item.number for item in await stream.read_last(KEY, 9)] == [5, 6]
        assert [item.number for item in await stream.read_last(KEY, 9, before=6)] == [5]
        assert await stream.read_last(KEY, 9, before=5) == await stream.read_last(KEY, 9, before=2) == []

    async def test_what_is_deleted_is_gone_and_the_numbering_goes_on(self, stream: Stream, other: Stream) -> None:
        await stream.append(KEY, stream_items_of_texts("a", "b", "c"), fence=1)

        assert await stream.delete(KEY, fence=1) == 3
        assert await read_stream_texts(other) == []
        assert await other.append(KEY, stream_items_of_texts("d", "e"), fence=1) == 5

        assert await read_stream_texts(stream) == [(4, "d"), (5, "e")]
        assert await read_stream_texts(stream, after=2, limit=1) == [(4, "d")]
        assert await read_stream_texts(stream, after=4) == [(5, "e")]
        assert await stream.delete(KEY, fence=1) == 5
        assert await stream.append(KEY, [], fence=1) == 5

    async def test_after_a_delete_older_fences_are_refused(self, stream: Stream) -> None:
        assert await stream.delete(KEY, fence=3) == 0

        with pytest.raises(FenceError):
            await stream.append(KEY, stream_items_of_texts("old"), fence=2)

    async def test_items_are_replaced_at_once_and_the_numbering_goes_on(self, stream: Stream, other: Stream) -> None:
        await stream.append(KEY, stream_items_of_texts("a", "b", "c"), fence=2)

        own = {"text": "稟議\u0000"}
        assert await other.replace(KEY, [StreamItem(own, "node:7"), *stream_items_of_texts("d")], last=3) == 5
        assert await stream.read(KEY) == [StreamItem(own, "node:7", 4), StreamItem({"text": "d"}, None, 5)]
        assert await stream.append(KEY, stream_items_of_texts("e"), fence=2) == 6
        assert await read_stream_texts(other, after=4) == [(5, "d"), (6, "e")]
        assert await stream.replace(KEY, [], last=6) == 6
        assert await read_stream_texts(other) == []
        assert await stream.replace(KEY, stream_items_of_texts("f"), last=6) == 7
        with pytest.raises(FenceError):
            await stream.append(KEY, stream_items_of_texts("old"), fence=1)

    async def test_items_that_somebody_has_not_read_are_not_replaced(self, stream: Stream, other: Stream) -> None:
        await other.append(KEY, stream_items_of_texts("a", "b"), fence=1)
        await stream.delete(KEY, fence=1)
        await other.append(KEY, stream_items_of_texts("c"), fence=1)

        for last in (0, 1, 2, 4):
            with pytest.raises(ConflictError):
                await stream.replace(KEY, stream_items_of_texts("x"), last=last)
        assert await read_stream_texts(stream) == [(3, "c")]

    async def test_an_unknown_stream_is_replaced_as_an_empty_one(self, stream: Stream) -> None:
        with pytest.raises(ConflictError):
            await stream.replace(KEY, stream_items_of_texts("x"), last=1)

        assert await stream.replace(KEY, stream_items_of_texts("a"), last=0) == 1
        assert await read_stream_texts(stream) == [(1, "a")]

    async def test_of_those_who_replace_at_once_one_does(self, stream: Stream, other: Stream) -> None:
        await stream.append(KEY, stream_items_of_texts("a"), fence=1)
        both = [each.replace(KEY, stream_items_of_texts(text), last=1) for each, text in ((stream, "b"), (other, "c"))]
        added = other.append(KEY, stream_items_of_texts("d"), fence=1)

        results = await asyncio.gather(*both, added, return_exceptions=True)

        failed = [each for each in results if isinstance(each, Exception)]
        assert all(isinstance(each, ConflictError) for each in failed)
        texts = [text for _, text in await read_stream_texts(stream)]
        assert texts in (["a", "d"], ["b", "d"], ["c", "d"])
        assert len(failed) == (2 if texts[0] == "a" else 1)

    async def test_a_delete_leaves_other_streams_alone(self, stream: Stream) -> None:
        theirs = Key("tenant-2", "thread-1")
        await stream.append(theirs, stream_items_of_texts("theirs"), fence=1)

        await stream.delete(KEY, fence=1)

        assert await read_stream_texts(stream, theirs) == [(1, "theirs")]

    async def test_an_unknown_stream_is_empty(self, stream: Stream) -> None:
        assert await stream.read(KEY) == []

    async def test_equal_names_of_two_tenants_never_meet(self, stream: Stream) -> None:
        theirs = Key("tenant-2", "thread-1")
        await stream.append(KEY, stream_items_of_texts("ours"), fence=1)
        await stream.append(theirs, stream_items_of_texts("theirs"), fence=1)

        assert await read_stream_texts(stream) == [(1, "ours")]
        assert await read_stream_texts(stream, theirs) == [(1, "theirs")]

    async def test_tenant_and_name_do_not_run_into_each_other(self, stream: Stream) -> None:
        await stream.append(Key("a", "b:c"), stream_items_of_texts("ours"), fence=1)

        assert await stream.read(Key("a:b", "c")) == []

    async def test_appends_at_once_get_different_numbers_and_stay_whole(self, stream: Stream, other: Stream) -> None:
        items = [stream_items_of_texts(f"{n}a", f"{n}b") for n in range(20)]
        await asyncio.gather(*((stream, other)[n % 2].append(KEY, each, fence=1) for n, each in enumerate(items)))

        seen = await read_stream_texts(stream)

        assert [number for number, _ in seen] == list(range(1, 41))
        pairs = [(seen[n][1], seen[n + 1][1]) for n in range(0, 40, 2)]
        assert sorted(pairs) == sorted((f"{n}a", f"{n}b") for n in range(20))
