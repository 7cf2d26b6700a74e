"""The list as it stands and what has happened since: nothing moves under the finger before it is asked to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from ringi.domain.record import Event, Key, Query, cursor_of, searchable
from ringi.domain.request import Request
from ringi.errors import RingiError
from ringi.inbox.inbox import Inbox

log = logging.getLogger(__name__)
PAGE = 200
AGAIN = 1.0
"""Seconds after which a store that could not be read is asked again."""
COUNTED = 1_000
"""Above this many, people need no exact number."""


class Live:
    """The requests that are shown, in their order, and those that wait to be shown."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.search = ""
        self.shown: dict[str, Request] = {}
        self.news: dict[str, Request] = {}
        self.waiting = 0
        self.has_more = False
        self._heard: set[str] = set()
        self._ring = asyncio.Event()

    @property
    def ended(self) -> int:
        """How many of those shown have ended since."""
        return sum(request.is_final for request in self.shown.values())

    @property
    def is_done(self) -> bool:
        """Whether nothing that is shown can still be decided."""
        return all(request.is_final for request in self.shown.values())

    async def reload(self) -> None:
        """Read the list anew: what is new is shown, what has ended is gone."""
        found = await self.inbox.find(self._query(PAGE + 1))
        self.has_more = len(found) > PAGE
        self.shown = {request.id: request for request in found[:PAGE]}
        self.news = {}
        await self._count()

    async def more(self) -> None:
        """Add the next page to the end of the list."""
        if not (self.has_more and self.shown):
            return
        last = list(self.shown.values())[-1]
        found = await self.inbox.find(self._query(PAGE + 1).model_copy(update={"before": cursor_of(last)}))
        self.has_more = len(found) > PAGE
        self.shown |= {request.id: request for request in found[:PAGE] if request.id not in self.shown}

    async def changes(self) -> AsyncIterator[set[str]]:
        """Yield the ids of requests as they change, once they are known here; the list stays in its order."""
        async with self.inbox.feed.follow(self._hear):
            while True:
                await self._ring.wait()
                self._ring.clear()
                ids, self._heard = self._heard, set()
                try:
                    await self._read(ids)
                except RingiError as error:
                    log.warning("%s", error)
                    self._heard |= ids
                    asyncio.get_running_loop().call_later(AGAIN, self._ring.set)
                else:
                    yield ids

    def neighbour(self, id: str, step: int) -> Request | None:
        """Return the next pending request of the list in one direction."""
        order = list(self.shown)
        at = order.index(id) if id in self.shown else -1
        ahead = order[at + 1 :] if step > 0 else order[:at][::-1] if at > 0 else []
        return next((self.shown[other] for other in ahead if not self.shown[other].is_final), None)

    async def _read(self, ids: set[str]) -> None:
        for request in await self.inbox.store.get_many(Request, [Key(self.inbox.tenant, id) for id in ids]):
            self.take(request)
        await self._count()

    def _is_further_down(self, request: Request) -> bool:
        if not (self.has_more and self.shown):
            return False
        last = next(reversed(self.shown.values()))
        return (request.created_at, request.id) < (last.created_at, last.id)

    def _query(self, limit: int) -> Query:
        return Query(statuses=("pending",), text=self.search or None, limit=limit)

    async def _count(self) -> None:
        self.waiting = await self.inbox.count(self._query(COUNTED))

    def _hear(self, events: Sequence[Event]) -> None:
        own = {e.record_id for e in events if e.record == Request.record and e.tenant == self.inbox.tenant}
        if own:
            self._heard |= own
            self._ring.set()

    def take(self, request: Request) -> None:
        """Know the newest version of a request: in its place if it is shown, else among the news."""
        known = self.shown.get(request.id)
        if known and known.version > request.version:
            return
        if request.id in self.shown:
            self.shown[request.id] = request
        elif request.is_final or self._is_further_down(request) or searchable(self.search) not in request.search_text:
            self.news.pop(request.id, None)
        else:
            self.news[request.id] = request
