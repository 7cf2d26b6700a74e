"""The contract of notifications: a hint wakes the waiters of a topic, but only the store is authoritative."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from typing import Self

from ringi.contracts.stream import StreamItem

EVENTS, JOBS, EXPIRY, REVOCATIONS, STRANDED = "events", "jobs", "expiry", "revoked", "stranded"
"""The topics of new events, due jobs, overdue requests, revoked tokens, and runs that should continue."""
ABSENCES = "away"
"""The topic of people who left or came back."""


class Wakeup:
    """A signal that stays set until the next wait."""

    __slots__ = ("_is_set", "_waiter")

    def __init__(self) -> None:
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self, items: Sequence[StreamItem] = ()) -> None:
        """Wake the waiter, or else the next one.

        Args:
            items: The items that the topic's stream has gained, if known; a listener that uses them need not wake.
        """
        self._is_set = True
        self._release()

    async def wait(self, timeout: float | None) -> bool:
        """Wait for the signal and clear it.

        Args:
            timeout: Seconds to wait; None waits without a limit.

        Returns:
            True if the signal was set, False after `timeout` seconds without a signal.
        """
        if not self._is_set and (timeout is None or timeout > 0):
            await self._wait_for_release(timeout)
        was_set, self._is_set = self._is_set, False
        return was_set

    async def _wait_for_release(self, timeout: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(timeout, self._release) if timeout is not None else None
        try:
            await self._waiter
        finally:
            self._waiter = None
            if timer:
                timer.cancel()

    def _release(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


class Subscription:
    """A listener of one topic for the duration of an `async with` block.

    Args:
        listeners: The listeners by topic; the block adds its own, and removes it at its end.
        topic: The topic.
        wakeup: The listener.
    """

    __slots__ = ("_listeners", "_topic", "_wakeup")

    def __init__(self, listeners: dict[str, set[Wakeup]], topic: str, wakeup: Wakeup | None = None) -> None:
        self._listeners, self._topic, self._wakeup = listeners, topic, wakeup or Wakeup()

    async def __aenter__(self) -> Wakeup:
        self._listeners[self._topic].add(self._wakeup)
        return self._wakeup

    async def __aexit__(self, *_: object) -> None:
        listeners = self._listeners[self._topic]
        listeners.discard(self._wakeup)
        if not listeners:
            del self._listeners[self._topic]


class Notifier(ABC):
    """Wakes the listeners of a topic, in this process and in others."""

    recheck_after: float
    """Seconds after which a listener without a signal must read the store."""
    pulse_after: float
    """The same for listeners of the topics above: longer if the store itself looks for them."""
    is_leader: bool
    """True while this process looks for runs that should continue; one process per store does."""
    lost: int
    """The number of failed publications. Their listeners wake by polling. Exposed as a metric."""

    def __init__(self, recheck_after: float) -> None:
        self.recheck_after = self.pulse_after = recheck_after
        self.is_leader = False
        self.lost = 0
        self._listeners: dict[str, set[Wakeup]] = defaultdict(set)

    @abstractmethod
    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        """Notify all processes. A notification may be lost; a topic without listeners is no error.

        Args:
            topic: The topic that changed.
            items: The stored items that the topic's stream has gained. Only listeners in this process receive them.
        """

    def subscribe(self, topic: str, wakeup: Wakeup | None = None) -> Subscription:
        """Return an `async with` block that yields the topic's `Wakeup`.

        Args:
            topic: The topic to listen to.
            wakeup: The listener; by default a new one.
        """
        return Subscription(self._listeners, topic, wakeup)

    def wake(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        """Wake the listeners of a topic in this process.

        Args:
            topic: The topic that changed.
            items: The items that the topic's stream has gained, if known.
        """
        for wakeup in self._listeners.get(topic, ()):
            wakeup.set(items)

    def wake_all(self, except_prefixes: tuple[str, ...] = ()) -> None:
        """Wake the listeners in this process if the changed topic is unknown.

        Args:
            except_prefixes: Prefixes of the topics whose listeners are not woken.
        """
        for topic in [topic for topic in self._listeners if not topic.startswith(except_prefixes)]:
            self.wake(topic)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None
