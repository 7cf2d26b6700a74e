"""Numbered output and wakeups in this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ringi.contracts.backend import Notifier, Stream, StreamItem
from ringi.domain.record import Key
from ringi.domain.thread import FenceError
from ringi.errors import ConflictError


class MemoryStream(Stream):
    """A list per key."""

    def __init__(self) -> None:
        self._items: dict[Key, list[StreamItem]] = defaultdict(list)
        self._fences: dict[Key, int] = {}
        self._deleted: dict[Key, int] = defaultdict(int)

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        self._take_fence(key, fence)
        known = self._items[key]
        first = self._deleted[key] + len(known) + 1
        known.extend(item._replace(number=n) for n, item in enumerate(items, first))
        return self._deleted[key] + len(known)

    async def delete(self, key: Key, *, fence: int) -> int:
        self._take_fence(key, fence)
        self._deleted[key] += len(self._items.pop(key, []))
        return self._deleted[key]

    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        if last != self._deleted[key] + len(self._items[key]):
            raise ConflictError
        self._deleted[key] = last
        self._items[key] = [item._replace(number=n) for n, item in enumerate(items, last + 1)]
        return last + len(items)

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        first = max(0, after - self._deleted[key])
        return self._items.get(key, [])[first : first + limit]

    async def read_last(self, key: Key, limit: int, before: int | None = None) -> list[StreamItem]:
        known = self._items.get(key, [])
        end = len(known) if before is None else max(0, before - 1 - self._deleted[key])
        return known[:end][-limit:]

    def _take_fence(self, key: Key, fence: int) -> None:
        if fence < self._fences.get(key, 0):
            raise FenceError(key.id, fence)
        self._fences[key] = fence


class MemoryNotifier(Notifier):
    """Notifies at once; there are no other processes to notify."""

    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        self.wake(topic, items)
