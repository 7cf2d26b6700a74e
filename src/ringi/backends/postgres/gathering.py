"""Statements that are asked for while others are under way: one statement, one way there, one commit."""

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
        if not self._under_way and not self._waiting:
            return await self._first(alone)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Rows | None] = loop.create_future()
        self._waiting.append(Waiting(item, future, loop.time() + WAIT_SECONDS))
        self._serve_more()
        rows = await future
        return await alone() if rows is None else rows

    async def _first(self, alone: Callable[[], Awaitable[Rows]]) -> Rows:
        self._under_way += 1
        try:
            return await alone()
        finally:
            self._under_way -= 1
            self._serve_more()

    def _serve_more(self) -> None:
        if self._waiting and self._under_way < LANES:
            self._under_way += 1
            # It begins when all others that are ready have run too, so theirs goes with it.
            serving = asyncio.create_task(self._serve())
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)

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
                    found = await self._together([each.item for each in batch])
        except Exception as error:
            for each in batch:
                if not each.future.done():
                    each.future.set_exception(error)
            return
        for each, rows in zip(batch, found, strict=True):
            if not each.future.done():
                each.future.set_result(rows)
