"""The end of tasks, and a cache that stays within its size."""

from __future__ import annotations

import asyncio

import pytest

from ringi.base.bounded import Bounded
from ringi.base.loops import cancel_all, end_task


async def test_canceled_tasks_have_ended_and_their_errors_are_nobodys() -> None:
    begun, ended = asyncio.Event(), list[str]()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    async def fail() -> None:
        raise ValueError

    tasks = [asyncio.create_task(work()), asyncio.create_task(fail())]
    await begun.wait()
    await cancel_all(None, *tasks)
    assert ended == ["work"]
    assert all(task.done() for task in tasks)


async def test_a_task_may_end_by_itself_and_its_error_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        await end_task(asyncio.create_task(fail()), grace=5)


async def test_a_task_that_does_not_end_is_canceled() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await end_task(task, grace=0)
    assert task.cancelled()


def test_the_entry_that_was_set_longest_ago_is_dropped() -> None:
    cache = Bounded[str, int](2)
    cache |= {"a": 1, "b": 2}
    cache["a"] = 3
    cache["c"] = 4
    assert dict(cache) == {"a": 3, "c": 4}
