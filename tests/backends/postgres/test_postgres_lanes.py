"""A statement that is lost, cancelled or slow is so for those whose it is, and for nobody else."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Sequence
from typing import Any

import pytest

from ringi.backends.batcher import LANES, MOST, StatementBatcher
from ringi.backends.postgres.database import WAIT_SECONDS
from ringi.contracts.backend import Wakeup
from ringi.errors import UnavailableError

LIMIT = 20.0


class Line:
    """A way to a server on which a batch can be held up; it remembers who travelled together."""

    def __init__(self) -> None:
        self.batches: list[Sequence[str]] = []
        self.held: dict[str, asyncio.Event] = {}
        self.gathering = StatementBatcher(self.together)

    def hold(self, item: str) -> asyncio.Event:
        """Let no batch with this item arrive until the event is set."""
        return self.held.setdefault(item, asyncio.Event())

    async def together(self, items: Sequence[str]) -> list[Sequence[str]]:
        self.batches.append(items)
        for item in items:
            if item in self.held:
                await self.held[item].wait()
        return [[item] for item in items]

    async def one(self, item: str) -> Sequence[str]:
        return (await self.together([item]))[0]

    def ask(self, item: str) -> asyncio.Task[Sequence[str]]:
        return asyncio.create_task(self._ask(item))

    async def _ask(self, item: str) -> Sequence[str]:
        return await self.gathering.result(item, lambda: self.one(item))

    async def has_sent(self, count: int) -> None:
        rest = Wakeup()
        async with asyncio.timeout(LIMIT):
            while len(self.batches) < count:
                await rest.wait(0.02)


async def results(*asked: asyncio.Task[Sequence[str]]) -> list[Any]:
    """Return what came of each, an error as itself, and fail for one that is left asleep."""
    _, asleep = await asyncio.wait(asked, timeout=LIMIT)
    assert not asleep
    return await asyncio.gather(*asked, return_exceptions=True)


async def test_a_crowd_of_more_than_travel_together_and_a_batch_lost_on_its_way_stop_nobody_else() -> None:
    line = Line()
    line.hold("item-0")

    crowd = [line.ask(f"item-{n}") for n in range(MOST + 1)]
    await line.has_sent(1)
    found = await results(crowd.pop(), line.ask("late"))

    assert found == [[f"item-{MOST}"], ["late"]]
    line.held["item-0"].set()
    assert await results(*crowd) == [[f"item-{n}"] for n in range(MOST)]


def cancelling(spared: set[asyncio.Task[Any]]) -> asyncio.Task[None]:
    """Cancel all other tasks, once those that are there have begun and before those begin that they make."""

    async def cancel() -> None:
        for task in asyncio.all_tasks() - spared - {asyncio.current_task()}:
            task.cancel()

    return asyncio.create_task(cancel())


@pytest.mark.parametrize("is_sent", [True, False])
@pytest.mark.parametrize("lanes", [0, 1, LANES])
async def test_when_all_tasks_are_cancelled_who_asks_once_more_gets_an_answer(lanes: int, is_sent: bool) -> None:
    line, test = Line(), asyncio.all_tasks()
    line.hold("before")
    after = list[Sequence[str]]()
    for lane in range(lanes):
        line.ask("before")
        await line.has_sent(lane + 1)

    async def work() -> None:
        try:
            await line.gathering.result("before", lambda: line.one("before"))
        finally:
            after.append(await line.gathering.result("after", lambda: line.one("after")))

    workers = [asyncio.create_task(work()) for _ in range(3)]
    if is_sent:
        await line.has_sent(min(lanes + 1, LANES))
    await cancelling(test)
    _, asleep = await asyncio.wait(workers, timeout=LIMIT)

    assert not asleep
    assert all(worker.cancelled() for worker in workers)
    assert after == [["after"]] * 3


async def test_a_statement_that_is_cancelled_before_it_is_sent_is_sent_by_another() -> None:
    line, test = Line(), asyncio.all_tasks()

    for _ in range(LANES + 1):  # What is lost at each is missing in the end.
        asked = [line.ask("one"), line.ask("other")]
        await cancelling({*test, *asked})

        assert await results(*asked) == [["one"], ["other"]]


async def test_a_statement_that_is_cancelled_on_its_way_is_refused() -> None:
    line, test = Line(), asyncio.all_tasks()
    line.hold("one")

    for count in range(1, LANES + 2):
        asked = [line.ask("one"), line.ask("other")]
        await line.has_sent(count)
        await cancelling({*test, *asked})

        assert ["cancelled" in str(each) for each in await results(*asked)] == [True, True]
        assert [type(each) for each in await results(*asked)] == [UnavailableError] * 2


async def test_who_came_late_is_not_refused_with_who_waited_long(monkeypatch: pytest.MonkeyPatch) -> None:
    line, loop, passed = Line(), asyncio.get_running_loop(), [0.0]
    time = loop.time
    monkeypatch.setattr(loop, "time", lambda: time() + sum(passed))
    for name in ("lane-1", "lane-2", "old"):
        line.hold(name)
    lanes = []
    for count, name in enumerate(("lane-1", "lane-2"), 1):
        lanes.append(line.ask(name))
        await line.has_sent(count)

    old = line.ask("old")
    await asyncio.wait([old], timeout=0)
    passed.append(WAIT_SECONDS * 0.6)
    young = line.ask("young")
    await asyncio.wait([young], timeout=0)
    for name in ("lane-1", "lane-2"):
        line.held[name].set()
    assert await results(*lanes) == [["lane-1"], ["lane-2"]]
    await line.has_sent(3)
    assert line.batches[-1] == ["old", "young"]
    passed.append(WAIT_SECONDS * 0.5)

    assert [type(each) for each in await results(old)] == [UnavailableError]
    line.held["old"].set()
    assert await results(young) == [["young"]]


async def test_a_statement_for_many_knows_nothing_of_who_asked_first() -> None:
    caller = contextvars.ContextVar("caller", default="nobody")

    async def together(items: Sequence[str]) -> list[Sequence[str]]:
        return [[caller.get()] for _ in items]

    async def ask(name: str) -> Sequence[str]:
        caller.set(name)
        return await gathering.result(name, lambda: together([name]))

    gathering = StatementBatcher(together)

    assert [*await asyncio.gather(ask("ann"), ask("ben"))] == [["nobody"], ["nobody"]]
