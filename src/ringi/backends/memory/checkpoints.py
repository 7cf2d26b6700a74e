"""LangGraph checkpoints in this process."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from ringi.backends.fenced_saver import FencedSaver, called
from ringi.store import Store
from ringi.thread import Thread


class FencedMemorySaver(FencedSaver):
    """Nothing else runs between the check and the write: one process, no await between them."""

    def __init__(self, inner: InMemorySaver, store: Store, held: Thread) -> None:
        super().__init__(held)
        self._inner, self._store = inner, store

    async def _read(self, method: str, *args: Any, **options: Any) -> Any:
        return called(self._inner, method, *args, **options)

    async def _write(self, method: str, *args: Any) -> Any:
        self._refuse_other(await self._store.get(Thread, *self._held.key))
        return called(self._inner, method, *args)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return LangGraph's own next version for this saver."""
        return self._inner.get_next_version(current, channel)
