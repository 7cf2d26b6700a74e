"""Distribution of request events to all followers in this process: each event is loaded and encoded once."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import NamedTuple

from ringi.base.loops import SingleFlight, cancel_all
from ringi.contracts.backend import Notifier
from ringi.contracts.store import MAX_PAGE_BYTES, Store
from ringi.domain import pauses
from ringi.domain.events import FEED_EVENTS, TenantEventName
from ringi.domain.journal import WRITTEN
from ringi.domain.people import REASSIGNED, assignment_before_event
from ringi.domain.record import START, CutPage, Event, Key, Position, UnreadableError
from ringi.domain.request import Request
from ringi.errors import InvalidError, RingiError
from ringi.inbox.feed import TOPIC, Feed
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import may_read
from ringi.server.serialize import feed_event_json, hidden_request_event_json, request_json, tenant_event_json
from ringi.server.sse.sse import BEGINNING, StreamConnection, encode_sse

log = logging.getLogger(__name__)
NAMES = frozenset(FEED_EVENTS)
PAUSES_CHANGED: TenantEventName = "pauses.changed"
ALL = ""
"""Subscription key for all requests that the caller may read."""
PAGE = 100
BATCH = 500
MAX_RECENT, MAX_RECENT_BYTES = 1_000, 4 * 1024 * 1024
"""The amount of recent events retained for new connections."""


class FeedItem(NamedTuple):
    """An event in feed order; one without a chunk is not shown to any reader."""

    number: int
    event: Event
    request: Request | None
    chunk: bytes
    before: Request | None = None
    """The request before a reassign: readers who lost access receive a `gone` event."""

    def chunk_for(self, caller: Principal) -> bytes:
        """Return the visible part of this event for the caller."""
        if self.request is None or may_read(caller, self.request):
            return self.chunk
        if not self.before or not may_read(caller, self.before):
            return b""
        # A reassign event for readers who may no longer read the request.
        return encode_sse(hidden_request_event_json(self.event), id=self.event.position, name=self.event.type)


class HistoryPage(NamedTuple):
    """A page of the history; the last page reaches at least a number of the live events."""

    number: int
    items: Sequence[FeedItem]
    has_more: bool


def position_of_event_id(id: str | None) -> Position | None:
    """Return the position of a client's event id."""
    return START if id == BEGINNING else id


class EventHub:
    """Passes live events of the feed to connections, exactly from the end of their history."""

    def __init__(self, store: Store, notifier: Notifier, feed: Feed) -> None:
        self._store, self._notifier, self._feed = store, notifier, feed
        self._subscribers: dict[Key, dict[Principal, set[StreamConnection]]] = defaultdict(lambda: defaultdict(set))
        self._joining = 0
        self._single_flight = SingleFlight()
        self._queue: deque[Event] = deque()
        self._delivering: asyncio.Task[None] | None = None
        self._recent: deque[FeedItem] = deque()
        self._recent_positions: dict[Position, int] = {}
        self._recent_bytes = 0
        self._number = self._dropped = 0
        self._last: Position | None = None
        self._progress = asyncio.Event()
        self._following: AsyncExitStack | None = None
        self._starting = asyncio.Lock()

    @property
    def is_idle(self) -> bool:
        """Return whether all connections have received every event so far."""
        return self._delivering is None

    async def check(self, tenant: str, after: Position) -> None:
        """Raise `InvalidError` for an invalid or future position."""
        if not after:
            return
        later = await self._single_flight.read((tenant, after), partial(self._store.events, after, 1, tenant=tenant))
        if later:
            return
        tail = await self._store.tail()
        while after != tail and not await self._store.events(after, 1):
            before, tail = tail, await self._store.tail()
            # Only the store can compare positions: one that has no successor and is not the end lies past it.
            if tail == before:
                raise InvalidError.of("after", f"{after!r} is past the end of the events")

    async def tail(self) -> Position:
        """Return a position that precedes every event committed from now on."""
        return await self._single_flight.read("tail", self._store.tail)

    async def feed(self, connection: StreamConnection, id: str, after: Position) -> None:
        """Send the events after a position, then subscribe the connection."""
        self._joining += 1
        try:
            await self._follow()
            await self._send_history(connection, Key(connection.caller.tenant, id), after)
        finally:
            self._joining -= 1

    def leave(self, connection: StreamConnection, id: str) -> None:
        """Unsubscribe a connection."""
        key = Key(connection.caller.tenant, id)
        groups = self._subscribers[key]
        groups[connection.caller].discard(connection)
        if not groups[connection.caller]:
            del groups[connection.caller]
        if not groups:
            del self._subscribers[key]

    async def close(self) -> None:
        """Stop following the feed."""
        await self._single_flight.close()
        await cancel_all(self._delivering)
        if self._following:
            await self._following.aclose()
            self._following = None

    async def _send_history(self, connection: StreamConnection, key: Key, after: Position) -> None:
        while True:
            # Outside a turn: a stalled feed would hold all turns and block everyone's history.
            number = await self._single_flight.read(after, self._latest_number)
            async with connection.turns:
                page = await self._single_flight.read((key, after), partial(self._page, key, after, number))
            if chunk := b"".join(item.chunk_for(connection.caller) for item in page.items):
                await connection.write(chunk)
            after = page.items[-1].event.position if page.items else after
            if not page.has_more and self._subscribe(connection, key, page):
                return

    async def _page(self, key: Key, after: Position, number: int) -> HistoryPage:
        events = await self._store.events(
            after, PAGE, tenant=key.tenant, record_id=key.id or None, max_bytes=MAX_PAGE_BYTES
        )
        has_more = len(events) == PAGE or isinstance(events, CutPage)
        return HistoryPage(number, await self._items(events, is_live=False), has_more)

    def _subscribe(self, connection: StreamConnection, key: Key, page: HistoryPage) -> bool:
        """Subscribe a connection that has received all up to the number of a page, and the page."""
        if page.number < self._dropped or connection.is_over:
            return connection.is_over
        connection.skip = {item.event.position for item in page.items if item.chunk}
        for item in [item for item in self._recent if item.number > page.number and key in _keys_of(item)]:
            _push(connection, item, item.chunk_for(connection.caller))
        connection.skip.difference_update(self._recent_positions)
        self._subscribers[key][connection.caller].add(connection)
        return True

    async def _follow(self) -> None:
        async with self._starting:
            if self._following:
                return
            async with AsyncExitStack() as following:
                await following.enter_async_context(self._feed.follow(self._enqueue))
                # Only once it follows: after a failure the next connection tries again.
                self._following = following.pop_all()
            if not self._number and not self._queue:
                self._last = self._feed.position

    async def _latest_number(self) -> int:
        """Return the number of the live events when they include the newest event of this moment."""
        tail = await self._store.tail()
        while self._last is None or (tail != self._last and tail not in self._recent_positions):
            self._notifier.wake(TOPIC)
            try:
                async with asyncio.timeout(self._notifier.recheck_after):
                    await self._progress.wait()
            except TimeoutError:
                tail = await self._store.tail()
        return self._number

    def _enqueue(self, events: Sequence[Event]) -> None:
        self._queue.extend(events)
        if self._delivering is None:
            self._delivering = asyncio.create_task(self._deliver_queue())

    async def _deliver_queue(self) -> None:
        try:
            while self._queue:
                batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                await self._deliver_batch(batch)
                progress, self._progress = self._progress, asyncio.Event()
                progress.set()
        finally:
            self._delivering = None

    async def _deliver_batch(self, batch: Sequence[Event]) -> None:
        if not self._subscribers and not self._joining:
            self._forget(batch)
            return
        try:
            items = await self._items(batch, is_live=True)
        except Exception:
            log.exception("events cannot be read: disconnecting all readers, which will resume")
            self._forget(batch)
            for connection in [c for groups in self._subscribers.values() for held in groups.values() for c in held]:
                connection.end()
            return
        for item in items:
            self._remember(item)
            self._deliver(item)

    async def _items(self, events: Sequence[Event], *, is_live: bool) -> list[FeedItem]:
        newest = {Key(event.tenant, event.record_id): event for event in events if event.type in NAMES}
        found = [request for event in newest.values() if is_live and (request := self._feed.written(event))]
        if missing := newest.keys() - {request.key for request in found}:
            found += await self._load(list(missing))
        bodies = ((request, _body(request)) for request in found)
        requests = {request.key: (request, body) for request, body in bodies if body}
        items = [_feed_item(event, *requests.get(Key(event.tenant, event.record_id), (None, b""))) for event in events]
        return [await self._with_previous(item) for item in items]

    async def _with_previous(self, item: FeedItem) -> FeedItem:
        event = item.event
        if item.request is None or event.type != REASSIGNED:
            return item
        history = await self._store.events(START, BATCH, tenant=event.tenant, record_id=event.record_id)
        return item._replace(before=assignment_before_event(item.request, event, history))

    async def _load(self, keys: list[Key]) -> list[Request]:
        try:
            return await self._store.get_many(Request, keys)
        except Exception as error:
            if isinstance(error, RingiError) and not isinstance(error, UnreadableError):
                raise
            if len(keys) == 1:
                log.exception("request %s cannot be read: its events are skipped", keys[0].id)
                return []
        return [request for key in keys for request in await self._load([key])]

    def _deliver(self, item: FeedItem) -> None:
        if not item.chunk:
            return
        for key in _keys_of(item):
            for caller, connections in list(self._subscribers.get(key, {}).items()):
                chunk = item.chunk_for(caller)
                for connection in connections:
                    _push(connection, item, chunk)

    def _remember(self, item: FeedItem) -> None:
        self._number += 1
        self._last = item.event.position
        self._recent.append(item._replace(number=self._number))
        self._recent_positions[item.event.position] = self._number
        self._recent_bytes += len(item.chunk)
        while len(self._recent) > MAX_RECENT or self._recent_bytes > MAX_RECENT_BYTES:
            oldest = self._recent.popleft()
            self._dropped = oldest.number
            self._recent_bytes -= len(oldest.chunk)
            del self._recent_positions[oldest.event.position]

    def _forget(self, batch: Sequence[Event]) -> None:
        self._number += len(batch)
        self._dropped, self._last = self._number, batch[-1].position
        self._recent.clear()
        self._recent_positions.clear()
        self._recent_bytes = 0


def _body(request: Request) -> bytes:
    try:
        return request_json(request)
    except Exception:
        # Raised further, one invalid request would end all streams, and again at each resume.
        log.exception("request %s cannot be written as JSON: its events are skipped", request.id)
        return b""


def _feed_item(event: Event, request: Request | None, body: bytes) -> FeedItem:
    if event.type == WRITTEN and event.record_id == pauses.JOURNAL:
        chunk = encode_sse(tenant_event_json(event, PAUSES_CHANGED), id=event.position, name=PAUSES_CHANGED)
        return FeedItem(0, event, None, chunk)
    if request is None or event.type not in NAMES:
        return FeedItem(0, event, None, b"")
    chunk = encode_sse(feed_event_json(event, body), id=event.position, name=event.type)
    return FeedItem(0, event, request, chunk)


def _push(connection: StreamConnection, item: FeedItem, chunk: bytes) -> None:
    if item.event.position in connection.skip:
        connection.skip.discard(item.event.position)
    elif chunk:
        connection.push(chunk)


def _keys_of(item: FeedItem) -> tuple[Key, ...]:
    """Return the subscription keys of an event."""
    if item.event.record != Request.record:
        return (Key(item.event.tenant, ALL),)
    return Key(item.event.tenant, ALL), Key(item.event.tenant, item.event.record_id)
