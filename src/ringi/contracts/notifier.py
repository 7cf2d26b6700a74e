"""The contract of the hint: who waits on a topic is woken, mostly; the store is the truth."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from typing import Self


class Wakeup:
    """A bell that remembers one ring between two waits."""

    __slots__ = ("_rung", "_waiter")

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Wake the one who waits, or the next one who will."""
        self._rung = True
        self._release()

    async def wait(self, timeout: float | None) -> bool:
        """Return True when rung, False when nobody rang for `timeout` seconds (None: for ever)."""
        if not self._rung and (timeout is None or timeout > 0):
            await self._rest(timeout)
        rung, self._rung = self._rung, False
        return rung

    async def _rest(self, timeout: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        alarm = loop.call_later(timeout, self._release) if timeout is not None else None
        try:
            await self._waiter
        finally:
            self._waiter = None
            if alarm:
                alarm.cancel()

    def _release(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


class Subscription:
    """One listener of one topic, for as long as its `async with` block lasts."""

    __slots__ = ("_listeners", "_topic", "_wakeup")

    def __init__(self, bells: dict[str, set[Wakeup]], topic: str) -> None:
        self._listeners, self._topic, self._wakeup = bells, topic, Wakeup()

    async def __aenter__(self) -> Wakeup:
        self._listeners[self._topic].add(self._wakeup)
        return self._wakeup

    async def __aexit__(self, *_: object) -> None:
        listeners = self._listeners[self._topic]
        listeners.discard(self._wakeup)
        if not listeners:
            del self._listeners[self._topic]


class Notifier(ABC):
    """Rings the bells of those who wait on a topic, in this process or another."""

    recheck_after: float
    """Seconds for which silence may be trusted; after them the store must be read."""
    lost: int
    """How many publications failed; who waits for them wakes by polling. Shown in the metrics."""

    def __init__(self, recheck_after: float) -> None:
        self.recheck_after = recheck_after
        self.lost = 0
        self._listeners: dict[str, set[Wakeup]] = defaultdict(set)

    @abstractmethod
    async def publish(self, topic: str) -> None:
        """Tell all processes; may be lost, never raises for lack of listeners."""

    def subscribe(self, topic: str) -> Subscription:
        """Return an `async with` block that yields the topic's `Wakeup`."""
        return Subscription(self._listeners, topic)

    def ring(self, topic: str) -> None:
        """Wake the listeners of a topic in this process."""
        for wakeup in self._listeners.get(topic, ()):
            wakeup.set()

    def ring_all(self, but: tuple[str, ...] = ()) -> None:
        """Wake the listeners of every topic but those that begin so: something changed, nobody knows what."""
        for topic in [topic for topic in self._listeners if not topic.startswith(but)]:
            self.ring(topic)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None
