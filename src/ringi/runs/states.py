"""Read the state of a thread's graph outside its run."""

from __future__ import annotations

from typing import Any

from ringi.contracts.backend import Backend
from ringi.domain.thread import Thread, checkpoint_thread
from ringi.runs.images import saver_of


async def graph_state(backend: Backend, thread: Thread) -> dict[str, Any]:
    """Return the state of a thread's graph as of its newest step.

    Args:
        backend: The services of the store.
        thread: The thread.

    Returns:
        The values by channel; empty if the thread was erased.
    """
    config = {"thread_id": checkpoint_thread(thread.key), "checkpoint_ns": ""}
    saver = await saver_of(backend, thread)
    saved = await saver.aget_tuple({"configurable": config})
    return saved.checkpoint["channel_values"] if saved else {}
