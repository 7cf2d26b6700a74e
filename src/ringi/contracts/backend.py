"""The open services of one store URL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from ringi.base.clock import Clock, utc_now
from ringi.contracts.jobs import Jobs
from ringi.contracts.notifier import Notifier
from ringi.contracts.store import Store
from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Event
from ringi.domain.thread import Savers, Thread

AgentStores = Callable[..., Any]
"""Returns LangGraph's store for a tenant and an agent name; without a name, the store for all agents."""

PutWithItems = Callable[[Thread, Event | None, Sequence[StreamItem]], Awaitable[None]]


@dataclass(frozen=True)
class Backend:
    """The open services behind one URL."""

    url: str
    store: Store
    notifier: Notifier
    stream: Stream
    jobs: Jobs
    savers: Savers
    durability: str | None = None
    """The failures that an acknowledged change survives, if the server has a setting for it."""
    clock: Clock = utc_now
    """The clock for deadlines: the store's time if several machines share the store, else this machine's time."""
    runs_agents: bool = True
    """True if the store has what runs need: a checkpointer."""
    another_store: Callable[[], AbstractAsyncContextManager[Store]] | None = None
    """Opens the store again, for a thread with its own event loop; None if the store holds no leases."""
    agent_stores: AgentStores | None = None
    """The data that agents keep beyond their threads; None if agents cannot run."""
    put_with_items: PutWithItems | None = None
    """Saves a version of a thread as `Store.put` does, and appends to its stream under the fence of that version, in
    one transaction; None if store and stream share none.
    """

    async def put_fenced(self, thread: Thread, event: Event | None) -> None:
        """Save the next version of a thread, and set the fence of its stream to that of the thread.

        Args:
            thread: The next version.
            event: The event of this change.

        Raises:
            ConflictError: The stored version is not exactly one less.
            FenceError: A higher fence was used on the stream before.
        """
        if self.put_with_items:
            await self.put_with_items(thread, event, ())
        else:
            await self.store.put(thread, event)
            await self.stream.append(thread.key, (), fence=thread.fence)
