"""The components that a server depends on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ringi.contracts.store import MAX_PAGE_BYTES
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.server.settings import ServerSettings

if TYPE_CHECKING:
    from ringi.connect import Backend
    from ringi.delivery.deliveries import Deliveries
    from ringi.inbox.inbox import StoreInbox
    from ringi.runs.runner import Runner
    from ringi.server.auth.authenticator import Keys


@dataclass(frozen=True)
class ServerComponents:
    """The open components that a server uses; the code that opened them must also close them."""

    backend: Backend
    """The store with its notifier, streams and jobs."""
    inbox: StoreInbox
    """The inbox on the store."""
    runner: Runner | None
    """Starts and cancels runs; None if the server has no agents."""
    keys: Keys
    """Creates and verifies tokens."""
    settings: ServerSettings
    """The settings of the server."""
    deliveries: Deliveries
    """Deliveries to webhooks and e-mail."""
    large_reads: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, 4), init=False)
    """Taken while more than a page of records is in memory."""

    async def requests_to_count(self, inbox: StoreInbox, query: Query) -> list[Request]:
        """Return the newest matching requests for a summary; a `CutPage` if they are larger than what is read."""
        async with self.large_reads:
            return await inbox.search(query.model_copy(update={"max_bytes": 4 * MAX_PAGE_BYTES}))
