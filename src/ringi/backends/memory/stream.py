"""Numbered output in this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ringi.errors import FenceError
from ringi.record import Key
from ringi.stream import Stream, StreamItem


class MemoryStream(Stream):
    """A list per key."""

    def __init__(self) -> None:
        self._items: dict[Key, list[StreamItem]] = defaultdict(list)
        self._fences: dict[Key, int] = {}

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        if fence < self._fences.get(key, 0):
            raise FenceError(key.id, fence)
        self._fences[key] = fence
        known = self._items[key]
        first = len(known) + 1
        known.extend(item._replace(number=n) for n, item in enumerate(items, first))
        return len(known)

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        return self._items.get(key, [])[after : after + limit]
