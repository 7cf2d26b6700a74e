"""The open services of one store URL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ringi.base.clock import Clock, utc_now
from ringi.contracts.jobs import Job, Jobs
from ringi.contracts.notifier import Notifier
from ringi.contracts.store import Change, Store
from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Event
from ringi.domain.thread import Savers, Thread

AgentStores = Callable[..., Any]
"""Returns LangGraph's store for a tenant and an agent name; without a name, the store for all agents."""


class OtherConflictError(Exception):
    """A record that was to be saved together with a thread has changed."""


class Moment(NamedTuple):
    """The next version of a thread, and what is saved with it."""

    thread: Thread
    event: Event | None
    items: Sequence[StreamItem] | None = None
    """New items of the thread's stream, appended under the fence of this version; None leaves the stream and its fence
    as they are.
    """
    others: Sequence[Change] = ()
    """Next versions of other records. Their events precede that of the thread."""
    jobs: Sequence[Job] = ()
    """New jobs; one with the key of an unfinished job is dropped."""


PutTogether: TypeAlias = Callable[[Moment], Awaitable[None]]
"""Saves a moment as `Store.put` saves a record, in one transaction: all of it or nothing.

Raises `ConflictError` if the stored version of the thread is not exactly one less, `OtherConflictError` if that of
another record is not, and `FenceError` if a higher fence was used on the stream before.
"""


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
    put_together: PutTogether | None = None
    """Saves a thread with items, records and jobs in one transaction; None if the parts of the store share none."""

    async def put_fenced(self, thread: Thread, event: Event | None) -> None:
        """Save the next version of a thread, and set the fence of its stream to that of the thread.

        Args:
            thread: The next version.
            event: The event of this change.

        Raises:
            ConflictError: The stored version is not exactly one less.
            FenceError: A higher fence was used on the stream before.
        """
        if self.put_together:
            await self.put_together(Moment(thread, event, items=()))
        else:
            await self.store.put(thread, event)
            await self.stream.append(thread.key, (), fence=thread.fence)
