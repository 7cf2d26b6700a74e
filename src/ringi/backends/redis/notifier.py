"""Wakeups by Redis Pub/Sub."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ringi.backends.broadcast import BroadcastNotifier, UntilDead
from ringi.backends.redis.server import Server

SILENCE = 5.0
"""Seconds of silence after which the listening connection is checked, and the time for its reply."""


class RedisNotifier(BroadcastNotifier):
    """A notifier with one channel for all topics."""

    def __init__(self, server: Server, recheck_after: float, *, must_listen: bool = True) -> None:
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
