"""Wakeups within one process."""

from __future__ import annotations

from collections.abc import Sequence

from ringi.contracts.notifier import Notifier
from ringi.contracts.stream import StreamItem


class MemoryNotifier(Notifier):
    """Notifies at once; there are no other processes to notify."""

    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        self.wake(topic, items)
