"""Distribution of thread output to followers: one reader for each followed thread. The event `hitl` shows a request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from ringi.base.loops import SingleFlight, cancel_all
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.contracts.backend import Notifier, Stream, StreamItem, Wakeup
from ringi.contracts.store import Store
from ringi.domain.record import Key, parse_position_number
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.runs.stream_writer import PAGE, REPEATED, stream_topic
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import may_read
from ringi.server.serialize import plain_json_bytes, request_json
from ringi.server.sse.run_output import interrupts_of_pause, pause_without_hidden, readable_requests_by_id
from ringi.server.sse.sse import StreamConnection, encode_sse

log = rate_limited_logger(__name__)


class ThreadOutput:
    """Items of a thread's output, encoded once for all readers with the same access.

    Requests of a pause precede the pause: a client disconnected in between receives them again, and never misses them.
    """

    def __init__(self, items: Sequence[StreamItem], requests: Mapping[str, Request]) -> None:
        self.items, self._requests = items, requests
        self._chunks: dict[tuple[int, frozenset[str]], bytes] = {}

    def chunk(self, caller: Principal, after: int = 0) -> bytes:
        """Return a reader's chunk of the items after a number."""
        readable = frozenset(id for id, request in self._requests.items() if may_read(caller, request))
        if (after, readable) not in self._chunks:
            parts = [self._encode(item, readable) for item in self.items if item.number > after]
            self._chunks[after, readable] = b"".join(parts)
        return self._chunks[after, readable]

    def _encode(self, item: StreamItem, readable: frozenset[str]) -> bytes:
        interrupts = interrupts_of_pause(item.event)
        new = [each["id"] for each in interrupts if REPEATED not in (each.get("metadata") or {})]
        asked = [hitl_request_event(self._requests[id]) for id in new if id in readable]
        event = pause_without_hidden(item.event, readable)
        return b"".join([*asked, encode_sse(plain_json_bytes(event), id=str(item.number))])


async def read_thread_output(stream: Stream, store: Store, key: Key, after: int) -> ThreadOutput:
    """Return a page of items after a number, with the current versions of the requests that they ask."""
    items = await stream.read(key, after, PAGE)
    asked = {interrupt["id"] for item in items for interrupt in interrupts_of_pause(item.event)}
    return ThreadOutput(items, await readable_requests_by_id(store, key.tenant, asked))


class ThreadHub:
    """Passes a thread's output to connections, exactly from the end of their history."""

    def __init__(self, stream: Stream, notifier: Notifier, store: Store) -> None:
        self._stream, self._notifier, self._store = stream, notifier, store
        self._readers: dict[Key, ThreadReader] = {}
        self._single_flight = SingleFlight()

    async def check(self, key: Key, id: str | None) -> int:
        """Return the number of a client's event id, or raise `InvalidError`."""
        number = parse_position_number(id or "")
        if number and not await self._stream.read(key, number - 1, 1):
            raise InvalidError.of("after", f"{number} is past the end of the stream of thread {key.id!r}")
        return number

    async def feed(self, connection: StreamConnection, key: Key, after: int, *, follows: bool = True) -> None:
        """Send the output after a number, then subscribe the connection, or end it if it does not follow."""
        while True:
            read = partial(read_thread_output, self._stream, self._store, key, after)
            async with connection.turns:
                output = await self._single_flight.read((key, after), read)
            if chunk := output.chunk(connection.caller):
                await connection.write(chunk)
            after = output.items[-1].number if output.items else after
            is_end = len(output.items) < PAGE
            if is_end and not follows:
                return connection.end()
            if connection.is_over or (is_end and self._reader(key, after).subscribe(connection, after)):
                return

    def leave(self, connection: StreamConnection, key: Key) -> None:
        """Unsubscribe a connection; the last one stops the reader."""
        reader = self._readers.get(key)
        if reader and reader.unsubscribe(connection):
            reader.task.cancel()
            del self._readers[key]

    async def close(self) -> None:
        """Stop following threads."""
        await self._single_flight.close()
        readers, self._readers = self._readers, {}
        await cancel_all(*(reader.task for reader in readers.values()))

    def _reader(self, key: Key, at: int) -> ThreadReader:
        if key not in self._readers:
            self._readers[key] = ThreadReader(self._stream, self._notifier, self._store, key, at)
        return self._readers[key]


class ThreadReader(Wakeup):
    """Passes on one thread's output as it arrives, once for all followers.

    Output of this process arrives with its notification, and is not read from the store.
    """

    def __init__(self, stream: Stream, notifier: Notifier, store: Store, key: Key, at: int) -> None:
        super().__init__()
        self._stream, self._notifier, self._store, self._key, self._at = stream, notifier, store, key, at
        self._subscribers: dict[StreamConnection, int] = {}
        self.task = asyncio.create_task(self._run())

    def subscribe(self, connection: StreamConnection, after: int) -> bool:
        """Subscribe a connection that has received all up to a number, unless the reader is past it."""
        if after < self._at:
            return False
        self._subscribers[connection] = after
        return True

    def unsubscribe(self, connection: StreamConnection) -> bool:
        """Unsubscribe a connection; return whether none is left."""
        self._subscribers.pop(connection, None)
        return not self._subscribers

    def set(self, items: Sequence[StreamItem] = ()) -> None:
        """Deliver items that continue the output; read the store if there are none, or if they ask people."""
        if items and items[0].number == self._at + 1 and not any(interrupts_of_pause(item.event) for item in items):
            self._deliver(ThreadOutput(items, {}))
        else:
            super().set()

    async def _run(self) -> None:
        async with self._notifier.subscribe(stream_topic(self._key), self):
            while True:
                if not await self._read():
                    await self.wait(self._notifier.recheck_after)

    async def _read(self) -> bool:
        with FailureLog(log, "the output of thread %s cannot be read, trying again", self._key.id):
            output = await read_thread_output(self._stream, self._store, self._key, self._at)
            if output.items:
                self._deliver(output)
            return len(output.items) == PAGE
        return False

    def _deliver(self, output: ThreadOutput) -> None:
        before, self._at = self._at, max(self._at, output.items[-1].number)
        for connection, position in self._subscribers.items():
            if position < self._at:
                connection.push(output.chunk(connection.caller, max(position, before)))


def hitl_request_event(request: Request) -> bytes:
    """Return the event that shows a request to a chat."""
    form = {"type": "form", "fields": request.form.model_dump(mode="json")["fields"]} if request.form else {}
    payload = request_json(request)[:-1] + b"," + plain_json_bytes({"type": request.kind, **form})[1:]
    return b'event: hitl\ndata: {"type":"hitl","payload":{"request":' + payload + b"}}\n\n"
