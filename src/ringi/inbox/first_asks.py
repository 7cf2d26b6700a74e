"""Whether a request is the first about its tool for 30 days."""

from __future__ import annotations

from datetime import datetime, timedelta

from ringi.contracts.store import Store
from ringi.domain.ask import Ask
from ringi.domain.record import POLICY, Query
from ringi.domain.request import Request

RECENT = timedelta(days=30)
"""The time in which nobody was asked about a tool before the first of its kind."""
NEWEST = 20
"""The number of requests about a tool that are read: rules may have decided the newest of them."""
MAX_TOOLS = 10_000
"""The number of tools whose last request a process remembers."""


class FirstAsks:
    """When people were last asked about each tool, as far as this process has looked.

    Args:
        store: The store of the requests.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: dict[tuple[str, str], datetime] = {}

    async def note(self, tenant: str, ask: Ask, now: datetime) -> bool:
        """Record that people are asked about a tool, and return whether nobody was for 30 days.

        Only the first ask about a tool reads the store. Of asks at the same time, by clocks that may differ, one in
        each process is the first.

        Args:
            tenant: The tenant.
            ask: The question.
            now: The time of the question.
        """
        if ask.action is None:
            return False
        key = (tenant, ask.action.name)
        last, self._last[key] = self._last.pop(key, None), now
        while len(self._last) > MAX_TOOLS:
            del self._last[next(iter(self._last))]
        if last is not None and last > now - RECENT:
            return False
        try:
            return not await self._has_asked(*key, now)
        except BaseException:
            self._last.pop(key, None)
            raise

    def forget(self, request: Request) -> None:
        """Forget a request that could not be stored.

        Args:
            request: The request.
        """
        if request.action:
            self._last.pop((request.tenant, request.action.name), None)

    async def _has_asked(self, tenant: str, tool: str, now: datetime) -> bool:
        newest = await self._store.find(Request, Query(tenant=tenant, tool=tool, limit=NEWEST))
        # An ask that came later may be stored before this one has read.
        return any(now - RECENT < request.created_at <= now and is_asked(request) for request in newest)


def is_asked(request: Request) -> bool:
    """Return whether people were asked, and no rule or grant decided at once."""
    return not (request.response and request.response.responder.startswith(POLICY))
