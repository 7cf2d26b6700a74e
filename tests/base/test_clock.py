"""The time of a store, as a process reckons it between two looks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from ringi.base.clock import SharedClock, utc_now
from ringi.contracts.backend import Wakeup
from ringi.testing import ManualClock
from ringi.testing.clock import NOON

MOMENT = timedelta(seconds=30)
"""More than a test takes."""


async def test_it_tells_the_time_of_the_store_and_goes_on_by_itself() -> None:
    clock = SharedClock(look_at(ManualClock()))
    await clock.look()
    first = clock()
    assert NOON <= first < NOON + MOMENT
    assert clock() > first


async def test_it_follows_a_store_whose_time_jumps() -> None:
    store = ManualClock()
    clock = SharedClock(look_at(store))
    await clock.look()
    for seconds in (3600, -7200):
        there = store.advance(seconds)
        await clock.look()
        assert there - MOMENT < clock() < there + MOMENT


async def test_it_is_never_ahead_of_the_store_when_the_way_there_is_long() -> None:
    async def slow() -> datetime:
        moment = utc_now()
        await Wakeup().wait(0.05)
        return moment

    clock = SharedClock(slow)
    for _ in range(3):
        await clock.look()
        assert clock() <= utc_now()


def look_at(clock: ManualClock) -> Callable[[], Awaitable[datetime]]:
    """Return a way to look at a clock that is another machine's."""

    async def look() -> datetime:
        return clock()

    return look
