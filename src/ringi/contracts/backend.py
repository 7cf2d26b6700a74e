"""The open services of one store URL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from ringi.base.clock import Clock, utc_now
from ringi.contracts.jobs import Jobs
from ringi.contracts.notifier import Notifier
from ringi.contracts.store import Store
from ringi.contracts.stream import Stream
from ringi.domain.thread import Savers

AgentStores = Callable[..., Any]
"""Returns LangGraph's store for a tenant and an agent name; without a name, the store for all agents."""


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
