"""The only reader of events in a process: it wakes all local waiters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Self

from ringi.base.bounded import Bounded
from ringi.base.outages import rate_limited_logger
from ringi.contracts.backend import EVENTS, Notifier, Wakeup
from ringi.contracts.store import Store, skip_unreadable_records
from ringi.domain.record import Event, Key, Position, record_topic
from ringi.domain.request import Request
from ringi.errors import RingiError

log = rate_limited_logger(__name__)
TOPIC = EVENTS
"""The topic that is notified when there may be new events."""
BATCH = 500
MAX_WRITTEN = 256
"""The requests of this process to keep for the readers of their events."""
Listener = Callable[[Sequence[Event]], None]


class Feed:
    """Reads new events while there are followers: one query per notification and interval, for any number of waiters.

    It is the fallback for lost notifications: a loss costs one interval. It reads the changes rather than everything
    that is waited for, so 10,000 waiters cost one query.
    """

    def __init__(self, store: Store, notifier: Notifier) -> None:
        self._store, self._notifier = store, notifier
        self._listeners: set[Listener] = set()
        self._watches = list[Listener]()
        self._written = Bounded[Key, Request](MAX_WRITTEN)
        self._reading: asyncio.Task[None] | None = None
        self._beginning = asyncio.Lock()
        self.position: Position | None = None
        """The position up to which listeners were notified; None before the first follower."""
        self.failures = 0
        """The number of failed reads of the store; exposed as a metric."""

    @asynccontextmanager
    async def follow(self, listener: Listener | None = None) -> AsyncIterator[None]:
        """Keep reading the feed; all events after the start of the block wake their topics in this process."""
        if listener:
            self._listeners.add(listener)
        try:
            await self._begin()
            yield
        finally:
            if listener:
                self._listeners.discard(listener)

    @property
    def is_read(self) -> bool:
        """Whether this process reads the feed now."""
        return self._reading is not None and not self._reading.done()

    def watch(self, listener: Listener) -> None:
        """Call a listener with all events that this process reads, without making it read any.

        Args:
            listener: Called with new events until the process ends.
        """
        self._watches.append(listener)

    def keep(self, request: Request) -> None:
        """Keep a request that this process has just written, so that followers of its event need not read it.

        Args:
            request: The written version.
        """
        earlier = self._written.pop(request.key, None)
        if self._listeners:
            # A change that was saved first may arrive here last.
            self._written[request.key] = earlier if earlier and earlier.version > request.version else request

    def written(self, event: Event) -> Request | None:
        """Return a kept request that is at least as new as an event; None if it must be read.

        Args:
            event: An event that the feed has just read. Older ones are read with what the store has now.
        """
        request = self._written.get(Key(event.tenant, event.record_id))
        if not request or request.version < event.version:
            return None
        # A store that lost its last changes can give one version twice.
        return request if request.version > event.version or request.head == event.hash else None

    async def requests(self, events: Sequence[Event]) -> list[Request]:
        """Return the requests of events, each at least as new as its events; unreadable ones are skipped.

        Args:
            events: Events of requests.
        """
        newest = {Key(event.tenant, event.record_id): event for event in events}
        found = [request for event in newest.values() if (request := self.written(event))]
        missing = newest.keys() - {request.key for request in found}
        return found + await skip_unreadable_records(self._store, Request, list(missing))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._reading:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _begin(self) -> None:
        async with self._beginning:
            if self._reading is None:
                async with AsyncExitStack() as stack:
                    # Before the tail is read: a notification in between would be lost.
                    wakeup = await stack.enter_async_context(self._notifier.subscribe(TOPIC))
                    self.position = await self._store.tail()
                    self._reading = asyncio.create_task(self._read(self.position, wakeup, stack.pop_all()))

    async def _read(self, position: Position, wakeup: Wakeup, subscription: AsyncExitStack) -> None:
        async with subscription:
            seconds = self._notifier.pulse_after
            while True:
                await wakeup.wait(seconds)
                failures = self.failures
                position = await self._catch_up(position)
                seconds = self._notifier.pulse_after if failures == self.failures else self._notifier.recheck_after

    async def _catch_up(self, position: Position) -> Position:
        try:
            while events := await self._store.events(position, BATCH):
                position = self.position = events[-1].position
                self._wake(events)
                if len(events) < BATCH:
                    break
        except RingiError as error:
            self.failures += 1
            log.warning("the feed cannot be read, trying again: %s", error)
        except Exception:  # If this reader stopped, all local waiters would sleep forever.
            self.failures += 1
            log.exception("the feed cannot be read, trying again")
        return position

    def forget(self) -> None:
        """Drop the kept requests: erased content must not be served from memory."""
        self._written.clear()

    def _wake(self, events: Sequence[Event]) -> None:
        for event in events:
            key = Key(event.tenant, event.record_id)
            request = self._written.get(key)
            if request and request.version < event.version:
                del self._written[key]  # Another process has changed it, and may have erased it.
            self._notifier.wake(record_topic(event.record, key))
        for listener in (*self._watches, *self._listeners):
            listener(events)
