"""Batching of simultaneous statements: one statement, one round trip, one commit."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from ringi.errors import UnavailableError

WAIT_SECONDS = 10.0
"""Seconds for a statement, including the wait for its batch, before it is refused."""
LANES = 2
"""Maximum batches in flight: one that waits, or was lost on the network, does not block the others."""
MOST = 32
"""Maximum statements per batch; with more, the first would wait for the last."""
I = TypeVar("I")  # noqa: E741
Rows: TypeAlias = Sequence[Any]


class BatchedCaller(NamedTuple, Generic[I]):
    """A caller that waits for a result."""

    item: I
    alone: Callable[[], Awaitable[Rows]] | None
    future: asyncio.Future[Rows | None]


class StatementBatcher(Generic[I]):
    """Runs `together` on items collected during the previous batch, without waiting for further items.

    It returns the rows of each item, or None for an item to be executed alone.
    """

    def __init__(self, together: Callable[[Sequence[I]], Awaitable[Sequence[Rows | None]]]) -> None:
        self._together = together
        self._under_way = 0
        self._waiting: list[BatchedCaller[I]] = []
        self._serving = set[asyncio.Task[None]]()

    async def result(self, item: I, alone: Callable[[], Awaitable[Rows]] | None = None) -> Rows:
        """Return the rows of an item, executed in a batch, or individually by `alone` (by default, a batch of one)."""
        future: asyncio.Future[Rows | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(BatchedCaller(item, alone, future))
        if len(self._waiting) == 1:
            self._begin()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                rows = await future
        except TimeoutError:
            if not future.done() or future.cancelled():
                raise statement_timeout_error() from None
            rows = future.result()  # It has just arrived.
        if rows is None:
            rows = await alone() if alone else (await self._together([item]))[0]
        assert rows is not None
        return rows

    def _begin(self) -> None:
        if not self._waiting or self._under_way >= LANES:
            return
        self._under_way += 1
        # The task starts after all ready tasks, so their items join the batch. It has an empty context: a copy would
        # run everything under the first caller's identity.
        serving = asyncio.create_task(self._serve(), context=contextvars.Context())
        self._serving.add(serving)
        serving.add_done_callback(self._ended)

    def _ended(self, serving: asyncio.Task[None]) -> None:
        """Release the slot; this also runs for a task that was canceled before it began."""
        self._serving.discard(serving)
        self._under_way -= 1
        self._begin()

    async def _serve(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            self._begin()
            if batch := [each for each in batch if not each.future.done()]:
                await self._settle(batch)

    async def _settle(self, batch: Sequence[BatchedCaller[I]]) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                deliver_batch_results(batch, await self._found(batch))
        except TimeoutError:
            deliver_batch_results(batch, [statement_timeout_error()] * len(batch))
        except Exception as error:
            # The error may name values of other callers.
            is_of_all = len(batch) > 1 and not isinstance(error, UnavailableError)
            deliver_batch_results(batch, [None if is_of_all else error] * len(batch))
        except BaseException:
            deliver_batch_results(batch, [UnavailableError("the statement was cancelled")] * len(batch))
            raise

    async def _found(self, batch: Sequence[BatchedCaller[I]]) -> Sequence[Rows | None]:
        alone = batch[0].alone
        if alone and len(batch) == 1 and self._under_way == 1:
            return [await alone()]  # It may wait for a row lock: one slot is left to the others.
        return await self._together([each.item for each in batch])


def split_batch_pages(rows: Rows, limits: Sequence[int]) -> list[Rows | None]:
    """Return the rows of each page of a batch; None for a page of another size than the first.

    Args:
        rows: The rows of a statement for the size of the first page; each begins with the place of its page, from 1.
        limits: The sizes of the pages.
    """
    pages = [list[Any]() if limit == limits[0] else None for limit in limits]
    for n, *row in rows:
        if (page := pages[n - 1]) is not None:
            page.append(row)
    return [*pages]


def deliver_batch_results(batch: Sequence[BatchedCaller[Any]], outcomes: Sequence[Rows | Exception | None]) -> None:
    """Deliver each outcome, unless its caller has gone."""
    for each, outcome in zip(batch, outcomes, strict=True):
        if each.future.done():
            continue
        if isinstance(outcome, Exception):
            each.future.set_exception(outcome)
        else:
            each.future.set_result(outcome)


def statement_timeout_error() -> UnavailableError:
    """Return the error of a statement after its deadline."""
    return UnavailableError(f"no answer in {WAIT_SECONDS:g} s")
