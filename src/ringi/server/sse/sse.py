"""Server-sent events: bytes encoded once, shared by all connections of the process.

An idle connection is one task in `receive` and a few slots: it has no queue task and no timer of its own.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import coroutine
from typing import Any, NamedTuple, TypeVar

from starlette.datastructures import Headers, QueryParams
from starlette.types import Receive, Scope, Send

from ringi.base.outages import FailureLog
from ringi.contracts.backend import Notifier, Wakeup
from ringi.errors import InvalidError, UnavailableError
from ringi.server.auth.authenticator import Authenticator, Principal, VerifiedToken
from ringi.server.middleware import HEAD, SEND
from ringi.server.refusals import MalformedError
from ringi.server.settings import ServerSettings

log = logging.getLogger(__name__)
T = TypeVar("T")
StreamHeaders = Sequence[tuple[bytes, bytes]]
HEADERS: StreamHeaders = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
RETRY_MILLISECONDS = (500, 3_000)
"""The range of reconnect delays: with a single delay, all readers of a lost server would return at once."""
OPENING = "ringi.talk"
"""Scope key of a prepared stream."""
POSITION_PARAMETERS = frozenset({"after"})
"""The parameter that contains the client's position."""
HEARTBEAT = b"event: heartbeat\ndata: {}\n\n"
"""Sent at intervals. It is no comment: a script in a browser sees none, and could not tell silence from a loss."""
COMMENT = b":\n\n"
"""The heartbeat of protocols whose readers refuse unknown events."""
BEGINNING = "0"
"""The position before the first event: a browser would discard its position on an empty id."""
CLOSING = b"event: closing\ndata: {}\n\n"
MAX_LOADING = 64
"""Connections that read their history at once: with thousands in one turn of the loop, all others wait."""
GOODBYE_SECONDS = 1.0
"""Seconds that the end of a stream may take to reach a slow reader."""


def encode_sse(data: bytes, *, id: str, name: str | None = None) -> bytes:
    """Return one event; the data must not contain a line break, as JSON never does."""
    head = f"event: {name}\nid: {id}\n" if name else f"id: {id}\n"
    return head.encode() + b"data: " + data + b"\n\n"


def sse_reconnect_delay() -> bytes:
    """Return the reconnect delay, jittered for each reader."""
    return f"retry: {random.randint(*RETRY_MILLISECONDS)}\n\n".encode()


def last_event_id(scope: Scope) -> str | None:
    """Return the client's position: the header that a browser repeats, else `?after=`."""
    return Headers(scope=scope).get("last-event-id") or QueryParams(scope["query_string"]).get("after") or None


@dataclass(slots=True, eq=False, repr=False)
class StreamConnection:
    """One streaming client. Chunks are whole events, so they may come from several sources."""

    _send: Send
    token: VerifiedToken
    _limit: int
    turns: asyncio.Semaphore
    skip: set[str] = field(default_factory=set)
    """Positions that were sent from the store and will come again from the feed."""
    is_over: bool = False
    heartbeat: bytes = HEARTBEAT
    goodbye: bytes = CLOSING
    """The last chunk that a reader receives when the server ends the stream."""
    _pending: list[bytes] = field(default_factory=list)
    _size: int = 0
    _flushing: asyncio.Task[None] | None = None
    _task: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)

    @property
    def caller(self) -> Principal:
        """The reader."""
        return self.token.principal

    def push(self, chunk: bytes) -> None:
        """Queue a chunk in order; a slow reader is disconnected and resumes later."""
        if self.is_over:
            return
        if self._pending and self._size + len(chunk) > self._limit:
            self._pending.clear()
            self.end()
            return
        self._pending.append(chunk)
        self._size += len(chunk)
        if self._flushing is None:
            self._flushing = start_coroutine_now(self._flush())

    async def write(self, chunk: bytes) -> None:
        """Send at the speed of the client."""
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    def end(self) -> None:
        """Close the connection from the server's side."""
        if not self.is_over and self._task:
            self.is_over = True
            self._task.cancel()

    async def finish(self, last: bytes = b"") -> None:
        """Send the end of the response."""
        await self._send({"type": "http.response.body", "body": last, "more_body": False})

    async def wait_closed(self, receive: Receive) -> None:
        """Return when the client has disconnected or the server has ended the connection."""
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        except asyncio.CancelledError:
            if not self.is_over or (self._task and self._task.uncancel()):
                raise
            await self._say_goodbye()
        finally:
            self.is_over = True
            if self._flushing:
                self._flushing.cancel()

    async def _flush(self) -> None:
        try:
            while self._pending:
                chunk = b"".join(self._pending)
                self._pending.clear()
                self._size = 0
                await self.write(chunk)
        except Exception as error:
            log.info("a stream of %s ended: %s", self.caller.name, error)
            self.end()
        finally:
            self._flushing = None

    async def _say_goodbye(self) -> None:
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                if self._flushing:
                    await asyncio.wait({self._flushing})
                await self.finish(self.goodbye)
        except TimeoutError:
            log.info("a reader of %s did not receive the end of its stream", self.caller.name)


def start_coroutine_now(work: Coroutine[Any, None, None]) -> asyncio.Task[None] | None:
    """Run a coroutine up to its first wait; return a task for the remainder, if any.

    A task for every event and reader would add half the cost of sending.
    """
    try:
        blocked_on = work.send(None)
    except StopIteration:
        return None
    return asyncio.create_task(run_rest_of_coroutine(work, blocked_on))


@coroutine
def await_rest_of_coroutine(work: Coroutine[Any, None, None], blocked_on: Any) -> Generator[Any, None, None]:
    """Await the value at which a coroutine stopped, then continue it."""
    yield blocked_on
    yield from work.__await__()


async def run_rest_of_coroutine(work: Coroutine[Any, None, None], blocked_on: Any) -> None:
    """Await the remainder of a coroutine that was started outside a task."""
    await await_rest_of_coroutine(work, blocked_on)


class Streams:
    """All open connections of a server: their number, heartbeat and end."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._open: set[StreamConnection] = set()
        self._by_caller: Counter[tuple[str, str, str]] = Counter()
        self._beat_at: asyncio.TimerHandle | None = None
        self._waits: dict[asyncio.Task[object], VerifiedToken | None] = {}
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._open)

    def connection(self, send: Send, token: VerifiedToken, turns: asyncio.Semaphore) -> StreamConnection:
        """Return a new connection with its own slot, or raise the error that refuses it."""
        self._refuse(token.principal)
        if len(self._open) >= self._settings.streams_per_process:
            what = f"this server has reached its limit of {len(self._open)} open streams: retry later"
            raise UnavailableError(what, 5, code="limit")
        connection = StreamConnection(send, token, self._settings.stream_buffer, turns)
        self._open.add(connection)
        self._by_caller[token.principal[:3]] += 1
        if self._beat_at is None:
            self._beat_later()
        return connection

    def release(self, connection: StreamConnection) -> None:
        """Release a connection's slot."""
        self._open.discard(connection)
        self._release_slot(connection.caller)
        if not self._open and self._beat_at:
            self._beat_at.cancel()
            self._beat_at = None

    @contextmanager
    def slot(self, caller: Principal) -> Iterator[None]:
        """Hold one of the caller's slots for a long poll or an opening, or raise the error that refuses it."""
        self._refuse(caller)
        self._by_caller[caller[:3]] += 1
        try:
            yield
        finally:
            self._release_slot(caller)

    async def wait(self, work: Awaitable[object], token: VerifiedToken | None = None) -> None:
        """Wait for a long poll, until the server stops, or until the token of the caller is revoked."""
        task = asyncio.ensure_future(work)
        self._waits[task] = token
        try:
            await asyncio.wait({task})
        finally:
            del self._waits[task]
            task.cancel()
        if not task.cancelled():
            task.result()

    def close(self) -> None:
        """End all connections and long polls, and refuse new ones."""
        self.is_closed = True
        for task in list(self._waits):
            task.cancel()
        for connection in list(self._open):
            connection.end()

    def end_revoked(self, auth: Authenticator) -> None:
        """End the connections and long polls of revoked tokens."""
        for task, token in list(self._waits.items()):
            if token and auth.is_revoked(token):
                task.cancel()
        for connection in list(self._open):
            if auth.is_revoked(connection.token):
                connection.end()

    def end_changed(self, auth: Authenticator) -> None:
        """End the connections of people who have become a deputy, or no longer are: they see other requests now."""
        for connection in list(self._open):
            if auth.with_deputies(connection.token) != connection.token:
                connection.end()

    def _refuse(self, caller: Principal) -> None:
        if self.is_closed:
            raise UnavailableError("the server is stopping")
        own = self._by_caller[caller[:3]]
        if own >= self._settings.streams_per_caller:
            what = f"{caller.name!r} has {own} streams and long polls open: close one"
            raise UnavailableError(what, 5, code="limit")

    def _release_slot(self, caller: Principal) -> None:
        self._by_caller[caller[:3]] -= 1
        if not self._by_caller[caller[:3]]:
            del self._by_caller[caller[:3]]

    def _beat_later(self) -> None:
        self._beat_at = asyncio.get_running_loop().call_later(self._settings.keep_alive_seconds, self._beat)

    def _beat(self) -> None:
        self._beat_later()
        now = time.time()
        for connection in list(self._open):
            expires_at = connection.token.expires_at
            if expires_at is not None and expires_at <= now:
                connection.end()
            else:
                connection.push(connection.heartbeat)


class LongPoll(NamedTuple):
    """One call that waits; revoking its token ends the wait at once."""

    auth: Authenticator
    streams: Streams
    scope: Scope

    def caller(self) -> Principal:
        """Authenticate the call, also again after a wait; the errors are those of `Authenticator.caller`."""
        return self.auth.caller(self.scope)

    async def wait(self, wakeup: Wakeup, seconds: float) -> None:
        """Wait for a wake-up as one of the caller's long polls, then authenticate the call again.

        Args:
            wakeup: The wake-up.
            seconds: The maximum time.

        Raises:
            UnauthenticatedError: The token was revoked, or has expired.
            UnavailableError: The caller has too many long polls and streams (`limit`), or the server is stopping.
        """
        token = self.auth.verified_token(self.scope)
        with self.streams.slot(token.principal):
            await self.streams.wait(wakeup.wait(seconds), token)
        self.caller()

    async def until(
        self, check: Callable[[], Awaitable[T | None]], notifier: Notifier, topic: str, seconds: float
    ) -> T | None:
        """Repeat a check until its result is true, after each notification and at intervals.

        Args:
            check: The check; its first true result is returned.
            notifier: The notifier of the store.
            topic: The topic whose notifications may change the result.
            seconds: The maximum time.

        Returns:
            The result; None if the time is over, or if the caller has too many long polls and streams.

        Raises:
            UnauthenticatedError: The token was revoked, or has expired.
            UnavailableError: The server is stopping.
        """
        end = time.monotonic() + seconds
        async with notifier.subscribe(topic) as wakeup:
            while not (result := await check()):
                left = end - time.monotonic()
                if left <= 0:
                    return None
                try:
                    await self.wait(wakeup, min(left, notifier.recheck_after))
                except UnavailableError as error:
                    if error.code != "limit":
                        raise
                    return None
        return result


Feeder = Callable[[StreamConnection], Awaitable[None]]
"""Sends the history, then subscribes the connection to new events."""


class StreamOpening(NamedTuple):
    """A stream that is about to be sent."""

    feed: Feeder
    leave: Callable[[StreamConnection], None] = lambda connection: None
    """Unsubscribes the connection."""
    begins_after: str | None = None
    """The position of a stream that was opened without one: read before the headers are sent, so that nothing that is
    committed after a client has seen the stream open is missed."""
    headers: StreamHeaders = ()

    @property
    def position(self) -> tuple[StreamHeaders, bytes]:
        """The headers, and the position as a heartbeat: a browser's script does not learn of an event without data."""
        if self.begins_after is None:
            return self.headers, b""
        id = self.begins_after or BEGINNING
        return [*self.headers, (b"last-event-id", id.encode())], encode_sse(b"{}", id=id, name="heartbeat")


StreamOpener = Callable[[Scope, Principal], Awaitable[StreamOpening]]
"""Returns the stream of a call; raises the error that refuses the call."""


async def opening_in_scope(scope: Scope, caller: Principal) -> StreamOpening:
    """Return the stream that was prepared before the call reached its endpoint."""
    opening: StreamOpening = scope[OPENING]
    return opening


class EventStream:
    """An ASGI endpoint that sends one kind of events."""

    def __init__(
        self,
        auth: Authenticator,
        streams: Streams,
        opener: StreamOpener = opening_in_scope,
        headers: StreamHeaders = HEADERS,
        *,
        hint: Callable[[], bytes] = sse_reconnect_delay,
        heartbeat: bytes = HEARTBEAT,
    ) -> None:
        self._auth, self._streams, self._opener, self._headers = auth, streams, opener, headers
        self._hint, self._heartbeat = hint, heartbeat
        self._turns = asyncio.Semaphore(MAX_LOADING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until either side ends the connection."""
        token = self._auth.verified_token(scope)
        with self._streams.slot(token.principal):
            async with self._turns:
                try:
                    opening = await self._opener(scope, token.principal)
                except InvalidError as error:
                    raise MalformedError(f"{error}: send the id of an event of this stream, or none") from error
        self._auth.refuse_revoked(token)  # Meanwhile: open connections have been ended, but not this one yet.
        connection = self._streams.connection(scope[SEND], token, self._turns)
        connection.heartbeat = self._heartbeat
        feeding: asyncio.Task[None] | None = None
        try:
            headers, first = opening.position
            await send({"type": "http.response.start", "status": 200, "headers": [*self._headers, *headers]})
            if scope.get(HEAD):
                await connection.finish()
                return
            feeding = asyncio.create_task(feed_stream_connection(connection, opening.feed, self._hint() + first))
            await connection.wait_closed(receive)
        finally:
            connection.is_over = True
            if feeding is not None:
                feeding.cancel()
            opening.leave(connection)
            self._streams.release(connection)


async def feed_stream_connection(connection: StreamConnection, feed: Feeder, hint: bytes) -> None:
    """Feed a connection; on failure the client is disconnected, and resumes."""
    with FailureLog(log, "a stream of %s ended", connection.caller.name):
        if hint:
            await connection.write(hint)
        return await feed(connection)
    connection.end()
