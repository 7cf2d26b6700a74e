"""LangGraph checkpoints in this process."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from ringi.backends.fenced_saver import FencedSaver, called
from ringi.errors import FenceError
from ringi.record import Key
from ringi.store import Store
from ringi.thread import Thread


class FencedMemorySaver(FencedSaver):
    """Nothing else runs between the check and the write: one process, no await between them."""

    def __init__(self, inner: InMemorySaver, store: Store, key: Key, fence: int) -> None:
        super().__init__()
        self._inner, self._store, self._key, self._fence = inner, store, key, fence

    async def _read(self, method: str, *args: Any, **options: Any) -> Any:
        return called(self._inner, method, *args, **options)

    async def _write(self, method: str, *args: Any) -> Any:
        thread = await self._store.get(Thread, *self._key)
        if thread.fence != self._fence:
            raise FenceError(self._key.id, self._fence)
        return called(self._inner, method, *args)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return LangGraph's own next version for this saver."""
        return self._inner.get_next_version(current, channel)
