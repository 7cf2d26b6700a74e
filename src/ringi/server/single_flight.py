"""Shared reads for concurrent callers."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

from ringi.base.loops import cancel_all

T = TypeVar("T")


class SingleFlight:
    """Reads in progress, by their key."""

    def __init__(self) -> None:
        self._reads: dict[Hashable, asyncio.Future[Any]] = {}

    async def read(self, key: Hashable, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a read in progress, or of a new one; it fails for all callers or none.

        The result may predate this call: a caller that needs later data must check its starting position.
        """
        task = self._reads.get(key)
        if task is None:
            # In a copy of the first caller's context, the read would run under that caller's identity for everyone.
            task = asyncio.create_task(read(), context=contextvars.Context())
            self._reads[key] = task
            task.add_done_callback(lambda _: self._reads.pop(key))
        result: T = await asyncio.shield(task)  # A canceled caller does not cancel the read of the others.
        return result

    async def close(self) -> None:
        """Cancel the reads in progress."""
        await cancel_all(*self._reads.values())
