"""LangGraph checkpoints in this process."""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from ringi.backends.fenced_saver import FencedCheckpointSaver, call_saver_method
from ringi.backends.kept_checkpoints import DELTA
from ringi.base.loops import run_without_waiting
from ringi.contracts.store import Store
from ringi.domain.thread import Thread


class MemorySaver(InMemorySaver):
    """LangGraph's own saver, with deletion of old checkpoints."""

    def keep_newest(self, thread_id: str) -> None:
        """Delete checkpoints that no run needs: LangGraph's own saver has no `prune`."""
        spaces = self.storage.get(thread_id, {})
        if any(DELTA in self.serde.loads_typed(saved[1]) for space in spaces.values() for saved in space.values()):
            return
        needed = defaultdict[str, dict[str, Any]](dict)
        for place, space in spaces.items():
            # A subgraph call's namespace ends with a colon and its task; it is not needed after the call.
            newest = None if ":" in place else max(space, default=None)
            versions = self._versions(space[newest]) if newest else set()
            for id in space.keys() - {newest}:
                self.writes.pop((thread_id, place, id), None)
                for blob in self._versions(space[id]) - versions:
                    self.blobs.pop((thread_id, place, *blob), None)
            if newest:
                needed[place] = {newest: (*space[newest][:2], None)}
        self.storage[thread_id] = needed

    def _versions(self, saved: tuple[Any, ...]) -> set[tuple[str, Any]]:
        return set(self.serde.loads_typed(saved[0])["channel_versions"].items())


class FencedMemorySaver(FencedCheckpointSaver):
    """A saver without a gap between check and write: one process, and no await between them."""

    get_next_version = InMemorySaver.get_next_version

    def __init__(self, inner: MemorySaver, store: Store, held: Thread) -> None:
        super().__init__(held)
        # The same checkpoints, with the serializer of this run.
        self._inner, self._store = copy(inner), store
        self._inner.serde = self.serde

    async def _read(self, method: str, *args: object, **options: object) -> Any:
        return call_saver_method(self._inner, method, *args, **options)

    async def _write(self, method: str, *args: object) -> Any:
        self._refuse_other(await self._store.get(Thread, *self._held.key))
        return call_saver_method(self._inner, method, *args)

    def _read_now(self, method: str, *args: object, **options: object) -> Any:
        return call_saver_method(self._inner, method, *args, **options)

    def _write_now(self, method: str, *args: object) -> Any:
        # The memory store never waits, so its coroutine ends at its first step.
        self._refuse_other(run_without_waiting(self._store.get(Thread, *self._held.key)))
        return call_saver_method(self._inner, method, *args)
