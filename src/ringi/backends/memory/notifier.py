"""Wake-ups within one process."""

from __future__ import annotations

from ringi.contracts.notifier import Notifier


class MemoryNotifier(Notifier):
    """Rings at once; nobody else has to hear it."""

    async def publish(self, topic: str) -> None:
        self.ring(topic)
