"""Conformance tests of `ringi.contracts.backend.Notifier`: a hint reaches each listener, and lasts until its wait."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from ringi.contracts.backend import Notifier, StreamItem, Wakeup

LIMIT = 5.0
"""Seconds after which a published hint counts as lost."""


class ItemWakeup(Wakeup):
    """Uses items instead of waking."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[StreamItem] = []

    def set(self, items: Sequence[StreamItem] = ()) -> None:
        """Keep the items; wake if there are none."""
        self.items += items
        if not items:
            super().set()


class NotifierConformance:
    """Conformance tests of a notifier. `other` may be a second one, as in another process."""

    @pytest.fixture
    def notifier(self) -> Notifier:
        """Override: an open notifier."""
        raise NotImplementedError

    @pytest.fixture
    def other(self, notifier: Notifier) -> Notifier:
        """Override if processes can notify each other: another open notifier on the same server."""
        return notifier

    @pytest.mark.parametrize("topic", ["topic", "stream/a b:c/稟議'\"; --" + "x" * 200], ids=["name", "any text"])
    async def test_publishing_wakes_the_listener(self, notifier: Notifier, other: Notifier, topic: str) -> None:
        async with notifier.subscribe(topic) as wakeup:
            await other.publish(topic)

            assert await wakeup.wait(LIMIT)

    async def test_publishing_wakes_one_who_waits_already(self, notifier: Notifier, other: Notifier) -> None:
        async with notifier.subscribe("topic") as wakeup:
            waiting = asyncio.create_task(wakeup.wait(LIMIT))
            await other.publish("topic")

            assert await waiting

    async def test_a_notification_before_the_wait_is_delivered(self, notifier: Notifier) -> None:
        async with notifier.subscribe("topic") as wakeup, notifier.subscribe("topic") as witness:
            await notifier.publish("topic")
            await witness.wait(LIMIT)

            assert await wakeup.wait(LIMIT)

    async def test_a_notification_wakes_once(self, notifier: Notifier) -> None:
        async with notifier.subscribe("topic") as wakeup:
            wakeup.set()
            wakeup.set()

            assert await wakeup.wait(LIMIT)
            assert not await wakeup.wait(0)

    async def test_every_listener_wakes(self, notifier: Notifier, other: Notifier) -> None:
        async with (
            notifier.subscribe("topic") as first,
            notifier.subscribe("topic") as second,
            other.subscribe("topic") as third,
        ):
            await notifier.publish("topic")

            assert await asyncio.gather(*(wakeup.wait(LIMIT) for wakeup in (first, second, third))) == [True] * 3

    async def test_other_topics_do_not_wake(self, notifier: Notifier) -> None:
        async with notifier.subscribe("topic") as wakeup, notifier.subscribe("another") as bystander:
            await bystander.wait(0)
            await notifier.publish("topic")
            assert await wakeup.wait(LIMIT)

            assert not await bystander.wait(0)

    async def test_a_closed_subscription_is_not_notified(self, notifier: Notifier) -> None:
        async with notifier.subscribe("topic") as left:
            pass
        async with notifier.subscribe("topic") as witness:
            await notifier.publish("topic")
            assert await witness.wait(LIMIT)

        assert not await left.wait(0)

    async def test_items_reach_the_listeners_of_the_same_process(self, notifier: Notifier) -> None:
        item = StreamItem({"n": 1}, number=1)
        async with notifier.subscribe("topic", ItemWakeup()) as listener, notifier.subscribe("topic") as witness:
            await notifier.publish("topic", [item])
            assert await witness.wait(LIMIT)

        assert isinstance(listener, ItemWakeup)
        assert listener.items == [item]
        assert not await listener.wait(0)

    async def test_publishing_to_nobody_is_no_error(self, notifier: Notifier) -> None:
        await notifier.publish("nobody")

    async def test_silence_ends_with_the_timeout(self, notifier: Notifier) -> None:
        async with notifier.subscribe("topic") as wakeup:
            await wakeup.wait(0)

            assert not await wakeup.wait(0.01)

    async def test_silence_may_be_trusted_for_a_while_only(self, notifier: Notifier) -> None:
        assert 0 < notifier.recheck_after < float("inf")
