"""The calls of the store from a question to the parked run, and from its answer to the end of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.runs.world import World, opened, until, working

from ringi.domain.thread import Thread

READS = ("get", "get_many", "find", "count")
POLL = 60.0
"""Nothing is read at intervals while the calls are counted."""
ASK = Counter({"put Thread": 3, "get Thread": 1, "put Request": 1, "append": 3})
ANSWER = Counter({"get Request": 1, "put Request": 2, "get Thread": 1, "find Request": 1, "put Thread": 2, "append": 3})


class Calls:
    """The calls of the store and of the stream; an append without items only raises the fence."""

    def __init__(self, world: World, patch: pytest.MonkeyPatch) -> None:
        self._world, self._store = world, world.backend.store
        self._get = self._store.get
        self.made: Counter[str] = Counter()
        for name in READS:
            self._count(patch, self._store, name, lambda args: f" {args[0].__name__}")
        self._count(patch, self._store, "put", lambda args: f" {type(args[0]).__name__}")
        self._count(patch, world.backend.stream, "append", lambda args: "" if args[1] else " of a fence")

    def _count(self, patch: pytest.MonkeyPatch, part: object, name: str, of: Callable[[Any], str]) -> None:
        call: Callable[..., Awaitable[Any]] = getattr(part, name)

        async def counted(*args: Any, **options: Any) -> Any:
            self.made[name + of(args)] += 1
            return await call(*args, **options)

        patch.setattr(part, name, counted)

    async def until(self, status: str) -> Counter[str]:
        """Return the calls until the thread has a status, and forget them."""

        async def has_status() -> bool:
            return (await self._get(Thread, "default", "t1")).status == status

        await until(has_status, status)
        made, self.made = self.made, Counter()
        return made


async def test_a_question_and_its_answer_take_few_calls(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(file, poll=POLL) as world, working(world):
        await world.run("refund", {"order": 1182, "amount": 40}, id="first")
        calls = Calls(world, monkeypatch)
        await world.start("refund", {"order": 1182, "amount": 40})
        made = await calls.until("interrupted")
        assert made - Counter({"append of a fence": 1}) == ASK
        request = await world.one()
        calls.made.clear()
        await world.respond(request, "approve")
        made = await calls.until("done")
        assert made - Counter({"append of a fence": 1}) == ANSWER
