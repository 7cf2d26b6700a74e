"""One reading for all who want the same at the same time."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class SingleFlight:
    """Readings that are under way, by what they read."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Future[Any]] = {}

    async def read(self, what: Hashable, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what is read, by somebody else who began it before or by a new reading; it fails for all or none.

        So it may be older than this call: who needs what comes after it must know from the result where that begins.
        """
        reading = self._under_way.get(what)
        if reading is None:
            # In a copy of the first one's context everything would be read in its name.
            reading = asyncio.create_task(read(), context=contextvars.Context())
            self._under_way[what] = reading
            reading.add_done_callback(lambda _: self._under_way.pop(what))
        result: T = await asyncio.shield(reading)  # Who leaves takes it from nobody else.
        return result

    async def close(self) -> None:
        """End what is under way."""
        left = list(self._under_way.values())
        for reading in left:
            reading.cancel()
        await asyncio.gather(*left, return_exceptions=True)
