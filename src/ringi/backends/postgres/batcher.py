"""Statements that are asked for at the same moment: one statement, one way there, one commit."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from ringi.backends.postgres.database import WAIT_SECONDS, refusing
from ringi.errors import UnavailableError

LANES = 2
"""How many statements are under way before others gather: one that waits, or was lost on its way, stops nobody."""
MOST = 32
"""How many travel together; more and the first wait for the last."""
I = TypeVar("I")  # noqa: E741
Rows: TypeAlias = Sequence[Any]


class Waiting(NamedTuple, Generic[I]):
    """One who waits for a result."""

    item: I
    alone: Callable[[], Awaitable[Rows]]
    future: asyncio.Future[Rows | None]


class StatementBatcher(Generic[I]):
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
        self._waiting.append(Waiting(item, alone, future))
        if len(self._waiting) == 1:
            self._begin()
        late = loop.call_later(WAIT_SECONDS, refuse, future)
        try:
            rows = await future
        finally:
            late.cancel()
        return await alone() if rows is None else rows

    def _begin(self) -> None:
        if not self._waiting or self._under_way >= LANES:
            return
        self._under_way += 1
        # It begins when all others that are ready have run too, so theirs goes with it. In a copy of the first one's
        # context everything would be done in its name.
        serving = asyncio.create_task(self._serve(), context=contextvars.Context())
        self._serving.add(serving)
        serving.add_done_callback(self._ended)

    def _ended(self, serving: asyncio.Task[None]) -> None:
        """Give the lane on. A task that is cancelled before it has begun comes by here too."""
        self._serving.discard(serving)
        self._under_way -= 1
        self._begin()

    async def _serve(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            self._begin()
            if batch := [each for each in batch if not each.future.done()]:
                await self._settle(batch)

    async def _settle(self, batch: Sequence[Waiting[I]]) -> None:
        try:
            with refusing():
                async with asyncio.timeout(WAIT_SECONDS):
                    tell(batch, await self._found(batch))
        except Exception as error:
            # It may name what the others asked for.
            is_of_all = len(batch) > 1 and not isinstance(error, UnavailableError)
            tell(batch, [None if is_of_all else error] * len(batch))
        except BaseException:
            tell(batch, [UnavailableError("the statement was cancelled")] * len(batch))
            raise

    async def _found(self, batch: Sequence[Waiting[I]]) -> Sequence[Rows | None]:
        if len(batch) == 1 and self._under_way == 1:  # It may have to wait for a row: a lane is left to the others.
            return [await batch[0].alone()]
        return await self._together([each.item for each in batch])


def tell(batch: Sequence[Waiting[Any]], outcomes: Sequence[Rows | Exception | None]) -> None:
    """Give each its outcome, unless it has gone."""
    for each, outcome in zip(batch, outcomes, strict=True):
        if each.future.done():
            continue
        if isinstance(outcome, Exception):
            each.future.set_exception(outcome)
        else:
            each.future.set_result(outcome)


def refuse(future: asyncio.Future[Rows | None]) -> None:
    """Give up what has taken too long, unless it has just come."""
    if not future.done():
        future.set_exception(UnavailableError(f"no answer in {WAIT_SECONDS:g} s"))
