"""The pauses of agents as a process of workers follows them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

from ringi.domain.journal import Journal
from ringi.domain.pauses import JOURNAL, Pause, find_pause
from ringi.domain.record import Event
from ringi.errors import RingiError
from ringi.inbox.feed import Feed
from ringi.inbox.inbox import Inbox
from ringi.inbox.pauses import read_tenant_pauses

REREAD_SECONDS = 10.0
"""Seconds after which the pauses of a tenant are read again even if the feed reports no change."""


class PauseWatch:
    """Knows the pauses of each tenant from one read, until the feed reports a change of them.

    Args:
        inbox: The inbox on the store.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._known: dict[str, tuple[float, tuple[Pause, ...]]] = {}
        self._changes = 0
        self._is_following = False

    async def follow(self, feed: Feed) -> None:
        """Follow the feed until it is canceled; returns if the feed cannot be read now."""
        with suppress(RingiError):
            async with feed.follow(self.collect):
                self._is_following = True
                try:
                    await asyncio.Event().wait()
                finally:
                    self._is_following = False

    def collect(self, events: Sequence[Event]) -> None:
        """Forget what has changed; a listener of the feed.

        Args:
            events: New events of the store.
        """
        for event in events:
            if event.record == Journal.record and event.record_id == JOURNAL:
                self._known.pop(event.tenant, None)
                self._changes += 1

    async def find(self, tenant: str, agent: str) -> Pause | None:
        """Return a pause that stops an agent, as this process knows it; from the store while it follows no feed.

        Args:
            tenant: The tenant of the agent.
            agent: The name of the agent.

        Raises:
            UnavailableError: The pauses cannot be read.
        """
        if not self._is_following:
            self._known.pop(tenant, None)
            return await self.find_now(tenant, agent)
        known_until, pauses = self._known.get(tenant, (0.0, ()))
        if time.monotonic() >= known_until:
            changes = self._changes
            pauses = await read_tenant_pauses(self._inbox.store, tenant)
            # A pause that began during the read may be missing from its result.
            if changes == self._changes:
                self._known[tenant] = time.monotonic() + REREAD_SECONDS, pauses
        return find_pause(pauses, agent, self._inbox.clock())

    async def find_now(self, tenant: str, agent: str) -> Pause | None:
        """Return a pause that stops an agent, from the store.

        Args:
            tenant: The tenant of the agent.
            agent: The name of the agent.

        Raises:
            UnavailableError: The pauses cannot be read.
        """
        pauses = await read_tenant_pauses(self._inbox.store, tenant)
        return find_pause(pauses, agent, self._inbox.clock())
