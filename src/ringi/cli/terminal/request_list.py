"""The list of open requests and the changes since; the list moves only when the person asks for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager

from ringi.cli.error_texts import cli_error_text
from ringi.domain.record import Event, Key, Query, normalize_for_search
from ringi.domain.request import Request
from ringi.domain.urgency import query_for_tenant, urgent_query
from ringi.domain.voting import Decider
from ringi.errors import RingiError
from ringi.inbox.inbox import StoreInbox

log = logging.getLogger(__name__)
PAGE = 200
AGAIN = 1.0
"""Seconds before a failed read is repeated."""
COUNTED = 1_000
"""The highest exact count."""


class RequestList:
    """The listed requests in order, and new ones that are not listed yet."""

    def __init__(self, inbox: StoreInbox, person: str, groups: tuple[str, ...] = ()) -> None:
        self.inbox, self.person, self.groups = inbox, person, groups
        self.search = ""
        self.listed: dict[str, Request] = {}
        self.news: dict[str, Request] = {}
        self.waiting = 0
        self.urgent = urgent_query(query_for_tenant(self._query(PAGE), inbox.tenant, inbox.clock()))
        self.has_more = False
        self._reads: list[dict[str, Request]] = []
        """The requests that changed during each read of the list that is under way: its reply may be older."""
        self._changed_ids: set[str] = set()
        self._changed = asyncio.Event()

    @property
    def ended(self) -> int:
        """The number of listed requests that have ended."""
        return sum(request.is_final for request in self.listed.values())

    @property
    def is_done(self) -> bool:
        """Whether all listed requests have ended."""
        return all(request.is_final for request in self.listed.values())

    async def decider(self) -> Decider:
        """Return the person, with their groups and those for whom the person stands now."""
        return await self.inbox.people.decider(Decider(self.person, self.groups))

    async def reload(self) -> None:
        """Read the list again: add new requests and remove ended ones."""
        query = self._query(PAGE + 1)
        self.urgent = urgent_query(query_for_tenant(query, self.inbox.tenant, self.inbox.clock()))
        with self._taking_changes():
            found = await self.inbox.search(query.model_copy(update={"now": self.urgent.now}))
            self.has_more = len(found) > PAGE
            self.listed = {request.id: request for request in found[:PAGE]}
            self.news = {}
        await self._count()

    async def more(self) -> None:
        """Add the next page to the end of the list."""
        if not (self.has_more and self.listed):
            return
        before = {"before": self.urgent.cursor_of(next(reversed(self.listed.values())))}
        with self._taking_changes():
            found = await self.inbox.search(self._query(PAGE + 1).model_copy(update=before))
            self.has_more = len(found) > PAGE
            self.listed |= {request.id: request for request in found[:PAGE] if request.id not in self.listed}

    def follow(self) -> AbstractAsyncContextManager[None]:
        """Collect changes within the block; entered before the list is read, so that none is missed."""
        return self.inbox.feed.follow(self._collect)

    async def changes(self) -> AsyncIterator[set[str]]:
        """Yield the ids of changed requests after reading them; the order of the list stays."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            ids, self._changed_ids = self._changed_ids, set()
            try:
                for request in await self.inbox.store.get_many(Request, [Key(self.inbox.tenant, id) for id in ids]):
                    self.take(request)
                await self._count()
            except RingiError as error:
                log.warning("%s", cli_error_text(error))
                self._changed_ids |= ids
                asyncio.get_running_loop().call_later(AGAIN, self._changed.set)
            else:
                yield ids

    @property
    def held_by_person(self) -> Request | None:
        """The request with the person's latest answer that they can still undo."""
        found = [one for one in self.listed.values() if one.held and one.held.responder == self.person]
        return max(found, key=lambda one: one.held.at if one.held else one.created_at, default=None)

    def neighbor(self, id: str, step: int, *, waiting: bool = False) -> Request | None:
        """Return the nearest open request above or below in the list; with `waiting`, one that waits for the person."""
        order = list(self.listed)
        at = order.index(id) if id in self.listed else -1
        ahead = order[at + 1 :] if step > 0 else order[:at][::-1] if at > 0 else []
        return next((self.listed[other] for other in ahead if self._is_next(self.listed[other], waiting)), None)

    def _is_next(self, request: Request, waiting: bool) -> bool:
        is_answered = bool(request.held) or any(vote.responder == self.person for vote in request.votes)
        return not request.is_final and not (waiting and is_answered)

    def _is_further_down(self, request: Request) -> bool:
        if not (self.has_more and self.listed):
            return False
        last = next(reversed(self.listed.values()))
        return self.urgent.place_of(request) > self.urgent.place_of(last)

    def _query(self, limit: int) -> Query:
        return Query(order="urgent", statuses=("pending",), text=self.search or None, limit=limit)

    async def _count(self) -> None:
        self.waiting = await self.inbox.count(self._query(COUNTED))

    def _collect(self, events: Sequence[Event]) -> None:
        own = {e.record_id for e in events if e.record == Request.record and e.tenant == self.inbox.tenant}
        if own:
            self._changed_ids |= own
            self._changed.set()

    @contextmanager
    def _taking_changes(self) -> Iterator[None]:
        """Read a part of the list, then take the requests that changed meanwhile."""
        changed: dict[str, Request] = {}
        self._reads.append(changed)
        try:
            yield
        finally:
            self._reads.remove(changed)
        for request in changed.values():
            self.take(request)

    def take(self, request: Request) -> None:
        """Store the newest version of a request: in the list, or among the new ones."""
        for read in self._reads:
            read[request.id] = request
        if current := self.listed.get(request.id):
            if request.version >= current.version:
                self.listed[request.id] = request
            return
        is_found = normalize_for_search(self.search) in request.search_text
        if is_found and not request.is_final and not self._is_further_down(request):
            self.news[request.id] = request
        else:
            self.news.pop(request.id, None)
