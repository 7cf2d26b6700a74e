"""Statements that are asked for at the same moment: one statement, one way there, one commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from ringi.backends.postgres.database import WAIT_SECONDS, refusing

LANES = 2
"""How many statements are under way before others gather: one that waits, or was lost on its way, stops nobody."""
MOST = 32
"""How many travel together; more and the first wait for the last."""
I = TypeVar("I")  # noqa: E741
Rows: TypeAlias = Sequence[Any]


class Waiting(NamedTuple, Generic[I]):
    """One who waits for a result, and until when."""

    item: I
    alone: Callable[[], Awaitable[Rows]]
    future: asyncio.Future[Rows | None]
    until: float


class Gathering(Generic[I]):
    """Runs `together` on what has gathered while it was running; nobody waits for others to come.

    It returns the rows of each, or None for one that is left to be done alone.
    """

    def __init__(self, together: Callable[[Sequence[I]], Awaitable[Sequence[Rows | None]]]) -> None:
        self._together = together
        self._under_way = 0
        self._waiting: list[Waiting[I]] = []
        self._serving = set[asyncio.Task[None]]()

    async def result(self, item: I, alone: Callable[[], Awaitable[Rows]]) -> Rows:
        """Return the rows of `alone`, done by it or together with others."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Rows | None] = loop.create_future()
        if not self._waiting and self._under_way < LANES:
            # It begins when all others that are ready have run too, so theirs goes with it.
            self._under_way += 1
            serving = asyncio.create_task(self._serve())
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)
        self._waiting.append(Waiting(item, alone, future, loop.time() + WAIT_SECONDS))
        rows = await future
        return await alone() if rows is None else rows

    async def _serve(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await self._settle([each for each in batch if not each.future.done()])
        finally:
            self._under_way -= 1

    async def _settle(self, batch: Sequence[Waiting[I]]) -> None:
        if not batch:
            return
        try:
            with refusing():
                async with asyncio.timeout_at(batch[0].until):
                    found = await self._found(batch)
        except Exception as error:
            for each in batch:
                if not each.future.done():
                    each.future.set_exception(error)
            return
        for each, rows in zip(batch, found, strict=True):
            if not each.future.done():
                each.future.set_result(rows)

    async def _found(self, batch: Sequence[Waiting[I]]) -> Sequence[Rows | None]:
        if len(batch) == 1 and self._under_way == 1:  # It may have to wait for a row: a lane is left to the others.
            return [await batch[0].alone()]
        return await self._together([each.item for each in batch])
