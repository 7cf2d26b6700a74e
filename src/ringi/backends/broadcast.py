"""Wakeups by broadcast to every process: the common part of all brokers."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
import uuid
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Self

from ringi.base.clock import retry_delay_after
from ringi.base.loops import cancel_all
from ringi.contracts.backend import Notifier, StreamItem
from ringi.errors import RingiError

log = logging.getLogger(__name__)
MAX_TOPIC_BYTES = 1_000
"""Maximum bytes of a topic in a message; a longer topic is replaced by its digest."""
BATCH = 500
"""Maximum topics sent at once."""
REST = 2.0
"""Pause after a sending, as a multiple of its time."""
MAX_REST_SECONDS = 0.05
RETRY_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds until the next attempt to listen again."""
UntilDead = Callable[[], Awaitable[None]]


class BroadcastNotifier(Notifier):
    """Notifies this process at once and others by a message; simultaneous topics are sent together.

    One connection listens for all waits of the process. After a loss it is reopened, and then all waits are woken once,
    in case a notification was missed.
    """

    def __init__(self, recheck_after: float, *, must_listen: bool = True) -> None:
        super().__init__(recheck_after)
        self._must_listen = must_listen
        self._sender = uuid.uuid4().hex[:12]
        self._topics: dict[str, None] = {}
        self._has_topics = asyncio.Event()
        self._is_sending = True

    @abstractmethod
    async def _send(self, messages: Sequence[str]) -> None:
        """Send messages to all processes, or raise a `RingiError`."""

    @abstractmethod
    def _listening(self) -> AbstractAsyncContextManager[UntilDead]:
        """Pass each message to `_receive` in the block; the yielded function returns when the connection is lost."""

    async def __aenter__(self) -> Self:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks = [asyncio.create_task(self._listen_forever(ready)), asyncio.create_task(self._send_forever())]
        try:
            await ready
        except BaseException:
            await cancel_all(*self._tasks)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_all(*self._tasks)
        await self._send_batches()

    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        """Notify the local listeners now, and remote ones as soon as possible; return without waiting for them."""
        self.wake(topic, items)
        self._topics[topic] = None
        self._has_topics.set()

    async def _send_forever(self) -> None:
        while True:
            await self._has_topics.wait()
            self._has_topics.clear()
            began = time.monotonic()
            await self._send_batches()
            # The busier the process, the more topics are sent together.
            await asyncio.sleep(min(MAX_REST_SECONDS, REST * (time.monotonic() - began)))

    async def _send_batches(self) -> None:
        while self._topics:
            batch = list(self._topics)[:BATCH]
            for topic in batch:
                del self._topics[topic]
            try:
                await self._send([f"{self._sender} {broadcast_topic(topic)}" for topic in batch])
                self._is_sending = True
            except RingiError as error:
                self.lost += len(batch)
                # Logged once: during an outage of an hour every request would write a line.
                level = logging.WARNING if self._is_sending else logging.DEBUG
                log.log(level, "%d wake-ups were lost, their waiters wake by polling: %s", len(batch), error)
                self._is_sending = False

    def _receive(self, message: str) -> None:
        sender, _, name = message.partition(" ")
        if sender == self._sender:
            return
        self.wake(name)
        if name.startswith("sha256:"):
            for topic in [topic for topic in self._listeners if broadcast_topic(topic) == name]:
                self.wake(topic)

    async def _listen_forever(self, ready: asyncio.Future[None]) -> None:
        attempts = 0
        while True:
            try:
                async with self._listening() as until_dead:
                    attempts = 0
                    if ready.done():
                        self.wake_all()
                    else:
                        ready.set_result(None)
                    await until_dead()
            except RingiError as error:
                if not ready.done() and self._must_listen:
                    return ready.set_exception(error)
                if not ready.done():
                    ready.set_result(None)
                log.warning("no connection for wake-ups from other processes, trying again: %s", error)
            await asyncio.sleep(retry_delay_after(RETRY_SECONDS, attempts))
            attempts += 1


def broadcast_topic(topic: str) -> str:
    """Return the topic in a form that fits into a message."""
    raw = topic.encode()
    return topic if len(raw) <= MAX_TOPIC_BYTES else f"sha256:{hashlib.sha256(raw).hexdigest()}"
