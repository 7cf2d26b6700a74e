"""The calls of the store from a question to the parked run, and from its answer to the end of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from tests.runs.world import World, opened, until, working

from ringi.backends.sqlite.database import SqliteDatabase
from ringi.domain.thread import Thread

READS = ("get", "get_many", "find", "count")
POLL = 60.0
"""Nothing is read at intervals while the calls are counted."""
RUN = {"SqliteStore.put_together": 2}
"""The lease on the thread, and the end of its stretch with its requests, the last output and the end of its job."""
ASK = {**RUN, "SqliteStore.put_together": 3}
"""The new thread with its job, which the worker has claimed: it takes the thread as it was saved."""
READ = {"get Request": 1, "get Thread": 1, "find Request": 1, "get Journal": 1}
ANSWER = {**RUN, **READ, "SqliteStore.put": 1}
"""The answer with the job of the run. Before an approved call, the worker reads whether its agent is paused."""
BESIDE = ("FencedSqliteSaver", "SqliteStream.append", "SqliteJobs._execute")
"""Checkpoints, and output before them and at intervals. The job ends with the stretch."""


class Calls:
    """The reads of the store, and the transactions."""

    def __init__(self, world: World, patch: pytest.MonkeyPatch) -> None:
        self._world, self._store = world, world.backend.store
        self._get = self._store.get
        self.made: Counter[str] = Counter()
        for name in READS:
            self._count(patch, self._store, name, partial(read_of, name))
        self._count(patch, SqliteDatabase, "write", lambda args: args[-1].__qualname__.partition(".<locals>")[0])

    def _count(self, patch: pytest.MonkeyPatch, part: object, name: str, of: Callable[[Any], str]) -> None:
        call: Callable[..., Awaitable[Any]] = getattr(part, name)

        async def counted(*args: Any, **options: Any) -> Any:
            self.made[of(args)] += 1
            return await call(*args, **options)

        patch.setattr(part, name, counted)

    async def until(self, status: str) -> dict[str, int]:
        """Return the calls until the thread has a status, and forget them."""

        async def has_status() -> bool:
            return (await self._get(Thread, "default", "t1")).status == status

        await until(has_status, status)
        made, self.made = self.made, Counter()
        return {name: number for name, number in made.items() if not name.startswith(BESIDE)}


def read_of(name: str, args: Any) -> str:
    """Return the name of a read and of what it reads."""
    return f"{name} {args[0].__name__}"


async def test_a_question_and_its_answer_take_few_calls(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(file, poll=POLL) as world, working(world):
        await world.run("refund", {"order": 1182, "amount": 40}, id="first")
        calls = Calls(world, monkeypatch)
        await world.start("refund", {"order": 1182, "amount": 40})
        assert await calls.until("interrupted") == ASK
        request = await world.one()
        calls.made.clear()
        await world.respond(request, "approve")
        assert await calls.until("done") == ANSWER
