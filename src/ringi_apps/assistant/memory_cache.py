"""Reads the memory of a conversation from the newest checkpoint of its thread."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ringi.connect import Backend
from ringi.domain import Thread
from ringi.runs import graph_state
from ringi_apps.assistant.memory import ContextMemory, memory_from_json, memory_to_json


async def memory_of(backend: Backend, thread: Thread) -> ContextMemory:
    """Return the memory after the newest step; empty if the conversation was erased."""
    return memory_from_json((await graph_state(backend, thread)).get("memory") or {})


class MemoryCache:
    """A cache of parsed memories, so that one step of a turn need not parse what the previous step wrote."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[dict[str, Any], ContextMemory]] = OrderedDict()

    def read(self, state: dict[str, Any]) -> ContextMemory:
        """Return the memory in a graph state."""
        known = self._known.get(id(state))
        # Another dict may have reused the id of one that was deleted.
        return known[1] if known and known[0] is state else self._store(state, memory_from_json(state))

    def write(self, memory: ContextMemory) -> dict[str, Any]:
        """Return a memory as JSON for the graph state."""
        state = memory_to_json(memory)
        self._store(state, memory)
        return state

    def _store(self, state: dict[str, Any], memory: ContextMemory) -> ContextMemory:
        self._known[id(state)] = (state, memory)
        if len(self._known) > MAX_CACHED_MEMORIES:
            self._known.popitem(last=False)
        return memory


MAX_CACHED_MEMORIES = 64
"""About the number of turns that a process runs at once. A memory that is not cached is parsed again."""
