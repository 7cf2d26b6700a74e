"""Numbered output in Redis: a list per key."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ringi.backends.redis.server import Server, answering, new_token
from ringi.errors import FenceError
from ringi.record import Key
from ringi.stream import Stream, StreamItem


class RedisStream(Stream):
    """An item's number is its place in the list."""

    def __init__(self, server: Server) -> None:
        self._server, self._append = server, server.script("append")

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        keys = [self._server.key("fence", *key), self._server.key("stream", *key)]
        texts = [json.dumps([item.event, item.origin], ensure_ascii=False, separators=(",", ":")) for item in items]
        last = int(await self._append(keys, [fence, new_token(), *texts]))
        if last < 0:
            raise FenceError(key.id, fence)
        return last

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        async with answering():
            found = await self._server.redis.lrange(self._server.key("stream", *key), after, after + limit - 1)
        pairs = (json.loads(text) for text in found)
        return [StreamItem(event, origin, number) for number, (event, origin) in enumerate(pairs, after + 1)]
