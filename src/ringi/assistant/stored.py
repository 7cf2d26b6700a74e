"""Where a conversation's memory is kept: in the newest checkpoint of its thread, and nowhere else."""

from __future__ import annotations

from ringi.assistant.memory import ContextMemory, loaded
from ringi.connect import Backend
from ringi.thread import Thread, checkpoint_thread


async def memory_of(backend: Backend, thread: Thread) -> ContextMemory:
    """Return what a conversation knows as of its newest step; of one that was erased, nothing."""
    place = {"thread_id": checkpoint_thread(thread.key), "checkpoint_ns": ""}
    saved = await backend.savers(thread).aget_tuple({"configurable": place})
    return loaded((saved.checkpoint["channel_values"].get("memory") if saved else None) or {})
