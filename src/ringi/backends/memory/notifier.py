"""Wakeups within one process."""

from __future__ import annotations

from ringi.contracts.notifier import Notifier


class MemoryNotifier(Notifier):
    """Notifies at once; there are no other processes to notify."""

    async def publish(self, topic: str) -> None:
        self.wake(topic)
