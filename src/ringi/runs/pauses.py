"""The pauses of agents as a process of workers knows them."""

from __future__ import annotations

from ringi.domain.pauses import JOURNAL, Pause, find_pause, read_pauses
from ringi.inbox.inbox import Inbox
from ringi.inbox.journal_watch import JournalWatch


class PauseWatch:
    """Knows the pauses of each tenant.

    Args:
        inbox: The inbox on the store; its feed reports changes.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._watch, self._clock = JournalWatch(inbox.store, inbox.feed, JOURNAL), inbox.clock

    async def find(self, tenant: str, agent: str) -> Pause | None:
        """Return a pause that stops an agent, as this process knows it; from the store while it reads no feed.

        Args:
            tenant: The tenant of the agent.
            agent: The name of the agent.

        Raises:
            UnavailableError: The pauses cannot be read.
        """
        return find_pause(read_pauses(await self._watch.find(tenant)), agent, self._clock())

    async def find_now(self, tenant: str, agent: str) -> Pause | None:
        """Return a pause that stops an agent, from the store.

        Args:
            tenant: The tenant of the agent.
            agent: The name of the agent.

        Raises:
            UnavailableError: The pauses cannot be read.
        """
        return find_pause(read_pauses(await self._watch.read(tenant)), agent, self._clock())
