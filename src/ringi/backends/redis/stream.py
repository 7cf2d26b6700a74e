"""Numbered output in Redis: a list per key."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ringi.backends.redis.server import Server, new_token
from ringi.base.canonical_json import COMPACT
from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Key
from ringi.errors import ConflictError, FenceError


class RedisStream(Stream):
    """A stream in which an item's number is its position in the list."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._append, self._delete, self._read = (server.script(name) for name in ("append", "delete", "read"))
        self._replace = server.script("replace")

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        last = int(await self._append(self._keys(key), [fence, new_token(), *texts_of(items)]))
        if last < 0:
            raise FenceError(key.id, fence)
        return last

    async def delete(self, key: Key, *, fence: int) -> int:
        last = int(await self._delete(self._keys(key), [fence]))
        if last < 0:
            raise FenceError(key.id, fence)
        return last

    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        number = int(await self._replace(self._keys(key), [last, new_token(), *texts_of(items)]))
        if number < 0:
            raise ConflictError
        return number

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        first, found = await self._read(self._keys(key), [after, limit])
        pairs = (json.loads(text) for text in found)
        return [StreamItem(event, origin, number) for number, (event, origin) in enumerate(pairs, first + 1)]

    def _keys(self, key: Key) -> list[str]:
        return [self._server.key("fence", *key), self._server.key("stream", *key)]


def texts_of(items: Sequence[StreamItem]) -> list[str]:
    """Return items as the elements of a list."""
    return [COMPACT.encode([item.event, item.origin]) for item in items]
