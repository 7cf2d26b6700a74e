"""Numbered output in Redis, a list per key, and wakeups by its channels."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ringi.backends.broadcast import BroadcastNotifier, UntilDead
from ringi.backends.redis.server import RedisServer, new_redis_write_token
from ringi.base.canonical_json import COMPACT
from ringi.contracts.backend import Stream, StreamItem
from ringi.domain.record import Key
from ringi.domain.thread import FenceError
from ringi.errors import ConflictError, RingiError

SILENCE = 5.0
"""Seconds of silence after which the listening connection is checked, and the time for its reply."""


class RedisStream(Stream):
    """A stream in which an item's number is its position in the list."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._append, self._delete = server.script("append"), server.script("delete")
        self._read, self._replace = server.script("read"), server.script("replace")
        self._read_last = server.script("read_last")

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        arguments = [fence, new_redis_write_token(), *stream_items_as_text(items)]
        return last_redis_number(await self._append(self._keys(key), arguments), FenceError(key.id, fence))

    async def delete(self, key: Key, *, fence: int) -> int:
        return last_redis_number(await self._delete(self._keys(key), [fence]), FenceError(key.id, fence))

    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        arguments = [last, new_redis_write_token(), *stream_items_as_text(items)]
        return last_redis_number(await self._replace(self._keys(key), arguments), ConflictError())

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        return stream_items_of_texts(*await self._read(self._keys(key), [after, limit]))

    async def read_last(self, key: Key, limit: int, before: int | None = None) -> list[StreamItem]:
        return stream_items_of_texts(*await self._read_last(self._keys(key), [before or 0, limit]))

    def _keys(self, key: Key) -> list[str]:
        return [self._server.key("fence", *key), self._server.key("stream", *key)]


def stream_items_of_texts(first: int, found: Sequence[str]) -> list[StreamItem]:
    """Return the items in the elements of a list, after that with the number `first`."""
    pairs = (json.loads(text) for text in found)
    return [StreamItem(event, origin, number) for number, (event, origin) in enumerate(pairs, first + 1)]


def last_redis_number(result: Any, refusal: RingiError) -> int:
    """Return the last number of a stream after a change; raise the error if the change was refused."""
    if int(result) < 0:
        raise refusal
    return int(result)


def stream_items_as_text(items: Sequence[StreamItem]) -> list[str]:
    """Return items as the elements of a list."""
    return [COMPACT.encode([item.event, item.origin]) for item in items]


class RedisNotifier(BroadcastNotifier):
    """A notifier with one channel for all topics."""

    def __init__(self, server: RedisServer, recheck_after: float, *, must_listen: bool = True) -> None:
        super().__init__(recheck_after, must_listen=must_listen)
        self._server, self._channel = server, server.key("bell")

    async def _send(self, messages: Sequence[str]) -> None:
        async with self._server.answering(), self._server.redis.pipeline(transaction=False) as pipeline:
            for message in messages:
                pipeline.execute_command("PUBLISH", self._channel, message)  # `publish` also counts, at a third more.
            await pipeline.execute()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[UntilDead]:
        with self._server.refusing():
            async with self._server.redis.pubsub() as listener:
                async with self._server.answering():
                    await listener.subscribe(self._channel)
                    while not await listener.get_message(timeout=SILENCE):
                        pass  # The first message confirms the subscription.
                yield lambda: self._listen(listener)

    async def _listen(self, listener: Any) -> None:
        is_asked = False
        while True:
            message = await listener.get_message(timeout=SILENCE)
            if message is None and is_asked:
                return
            if message is None:  # A connection dropped by a firewall is silent too.
                await listener.ping()
            elif message["type"] == "message":
                self._receive(message["data"].decode())
            elif message["type"] == "subscribe":  # The driver has silently reconnected.
                self.wake_all()
            is_asked = message is None
