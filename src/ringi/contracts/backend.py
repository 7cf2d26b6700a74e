"""The open parts of one store."""

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
"""From a tenant and the name of an agent to LangGraph's store for what that agent keeps; without a name, for all."""


@dataclass(frozen=True)
class Backend:
    """The open parts behind one URL."""

    url: str
    store: Store
    notifier: Notifier
    stream: Stream
    jobs: Jobs
    savers: Savers
    durability: str | None = None
    """What an acknowledged change outlives, where that is a setting of the server."""
    clock: Clock = utc_now
    """The time by which deadlines count: that of the store where machines share one, else that of this machine."""
    runs_agents: bool = True
    """Whether the store has what runs need: a checkpointer."""
    another_store: Callable[[], AbstractAsyncContextManager[Store]] | None = None
    """Opens the store once more, for a thread with an event loop of its own; None where no leases are held on it."""
    agent_stores: AgentStores | None = None
    """What agents keep beyond their threads; None where agents cannot run."""
