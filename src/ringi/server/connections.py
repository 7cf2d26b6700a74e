"""Connections of a server: deadlines, a maximum number, and a shutdown that waits for no stream."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import Any, ClassVar, NoReturn

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ringi.audit.seals import Sealer
from ringi.errors import RingiError
from ringi.server.app import App
from ringi.server.middleware import CALLER, REPLY_BYTES
from ringi.server.problems import problem_response
from ringi.server.refusals import MalformedError, RefusalError
from ringi.server.settings import ServerSettings

RESERVED_FILES = 256
"""File descriptors reserved for the store, workers and webhooks, besides the connections of callers."""
MAX_UNREAD = 32 * 1024 * 1024
"""Bytes of replies that one caller has not read to their end, above which the one that waits longest is dropped."""
MAX_HEADER_BYTES, MAX_HEADERS = 64 * 1024, 200
"""Of one call: bytes of its address, headers and trailers, and their number."""
MAX_PIPELINE = 16
"""Calls of one connection that may wait for the reply to an earlier one."""
PROGRESS = 256 * 1024
"""Bytes of a body that restart its deadline: a photo from a phone may take minutes."""
log = logging.getLogger(__name__)


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose call is late or whose reply is not read, and the oldest late one above the limit."""

    settings = ServerSettings()
    waiting: ClassVar[dict[BoundedProtocol, None]] = {}
    """The connections of one server that have not sent a complete call yet, oldest first."""
    _timer: asyncio.TimerHandle | None = None
    _awaited_part: str | None = None
    _timed_part: str | None = None
    """The part of the call for which the timer runs."""
    _received = 0
    """Bytes received since the timer began."""
    _header_bytes = 0
    """Bytes received since the last complete headers or the last part of a body."""
    _header_size = 0
    """Bytes of the address, the headers and the trailers of the newest call."""
    _refusal: RefusalError | None = None
    """Why the parser stopped."""
    unread: ClassVar[dict[object, dict[BoundedProtocol, int]]] = {}
    """The bytes that the callers of one server have not read yet, by caller and connection, oldest first."""
    _reader: object = None
    """The caller of this connection, while it is in `unread`."""
    _answered: RequestResponseCycle | None = None
    """The call that is answered now: `cycle` is the newest one, which may wait for it."""
    _unread: asyncio.TimerHandle | None = None
    """Runs while the caller reads too slowly."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for headers, and close the oldest waiting connection above the limit."""
        super().connection_made(transport)
        self._awaited_part = "headers"
        self._watch()
        if len(self.connections) > self.settings.max_connections:
            what = f"this server has reached its limit of {self.settings.max_connections} connections: retry in 1 s"
            next(iter(self.waiting)).refuse(RefusalError(503, "connections", what, retry_after=1))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._awaited_part = None
        self._watch()
        self._forget_unread()
        if self._answered:
            self._answered.disconnected = True
            self._answered.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass on received data, and start the timer for the next part; close a connection with endless headers."""
        self._received += len(data)
        self._header_bytes += len(data)
        super().data_received(data)
        if self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.refuse(headers_too_large_error())
        if self._awaited_part is None and self.cycle.response_complete:
            self._awaited_part = "headers"  # Line breaks between calls end the wait for the next call.
        self._watch()

    def on_message_begin(self) -> None:
        """Start the timer for headers."""
        self._awaited_part, self._header_size = "headers", 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count_header(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header or a trailer."""
        self._count_header(name + value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the timer for a body."""
        self._awaited_part, self._header_bytes = "body", 0
        if len(self.pipeline) >= MAX_PIPELINE:
            what = f"{MAX_PIPELINE} calls of this connection wait for a reply: read the replies, or open another one"
            self._stop(RefusalError(429, "limit", what, retry_after=1))
        super().on_headers_complete()
        if not self.pipeline:
            self._answered = self.cycle

    def on_body(self, body: bytes) -> None:
        """Pass on a part of a body."""
        self._header_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Continue with the next call."""
        if self.pipeline:
            self._answered = self.pipeline[-1][0]
        super().on_response_complete()

    def on_message_complete(self) -> None:
        """Stop the timer."""
        self._awaited_part, self._header_bytes = None, 0
        super().on_message_complete()

    def _count_header(self, part: bytes) -> None:
        self._header_size += len(part)
        if self._header_size > MAX_HEADER_BYTES or len(self.headers) >= MAX_HEADERS:
            self._stop(headers_too_large_error())

    def _stop(self, error: RefusalError) -> NoReturn:
        """Stop the parser, which calls `send_400_response`."""
        self._refusal = error
        raise error

    def send_400_response(self, msg: str) -> None:
        """Refuse a call that cannot be read."""
        self.refuse(self._refusal or MalformedError(f"{msg} Send HTTP/1.1."))

    def pause_writing(self) -> None:
        """Start the timer for a reply that waits for its reader, and drop the oldest above the limit of one caller."""
        super().pause_writing()
        self._watch_reader()
        state = self._answered.scope["state"] if self._answered else {}
        self._reader = state.get(CALLER, self.client and self.client[0])
        mine = self.unread.setdefault(self._reader, {})
        # The whole reply stays in memory until its last byte is sent.
        mine[self] = max(self.transport.get_write_buffer_size(), state.get(REPLY_BYTES, 0))
        while sum(mine.values()) > MAX_UNREAD and len(mine) > 1:
            oldest = next(iter(mine))
            del mine[oldest]
            oldest.transport.abort()

    def resume_writing(self) -> None:
        """Stop it."""
        super().resume_writing()
        self._forget_unread()

    def _forget_unread(self) -> None:
        if self._unread:
            self._unread.cancel()
        mine = self.unread.get(self._reader, {})
        mine.pop(self, None)
        if not mine:
            self.unread.pop(self._reader, None)

    def _watch_reader(self, last: int = 0) -> None:
        # The part of a reply that was not read stays in memory.
        unsent = self.transport.get_write_buffer_size()
        if last and last - unsent < min(PROGRESS, last // 2):
            self.transport.abort()
        else:
            self._unread = self.loop.call_later(self.settings.body_seconds, self._watch_reader, unsent)

    def refuse(self, error: Exception) -> None:
        """Close the connection; a caller without a reply receives the error."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(error_response_bytes(error))
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # A regular close would wait for a peer that does not read.
        else:
            self.transport.close()

    def _watch(self) -> None:
        if self._timed_part == self._awaited_part:
            return
        if self._timer:
            self._timer.cancel()
        self._timer, self._timed_part, self._received = None, self._awaited_part, 0
        self.waiting.pop(self, None)
        if self._awaited_part and not self.transport.is_closing():
            self.waiting[self] = None
            self._timer = self.loop.call_later(self._deadline_seconds, self._expire)

    @property
    def _deadline_seconds(self) -> float:
        return self.settings.header_seconds if self._awaited_part == "headers" else self.settings.body_seconds

    def _expire(self) -> None:
        is_progressing = self._awaited_part == "body" and self._received >= PROGRESS
        if is_progressing or self.flow.read_paused:  # Paused: the server itself does not read on.
            self._received = 0
            self._timer = self.loop.call_later(self._deadline_seconds, self._expire)
        elif not self.transport.is_closing():
            what = f"the {self._awaited_part} of the call did not arrive within {self._deadline_seconds:g} s"
            self.refuse(RefusalError(408, "too_slow", f"{what}: send the call again"))


def headers_too_large_error() -> RefusalError:
    """Return the error of a call with more headers than a server accepts."""
    most = f"{MAX_HEADER_BYTES} bytes in {MAX_HEADERS} lines"
    return RefusalError(431, "headers_too_large", f"address and headers of a call may have {most}: send less")


def error_response_bytes(error: Exception) -> bytes:
    """Return the complete error response after which the connection is closed."""
    response = problem_response(error)
    lines = [f"HTTP/1.1 {response.status_code} Refused".encode(), *(b": ".join(pair) for pair in response.raw_headers)]
    return b"\r\n".join([*lines, b"connection: close", b"", bytes(response.body)])


def raise_open_file_limit() -> int | None:
    """Raise this process's file limit to the hard limit, and return it; None if there is no limit."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limit.
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = 1 << 20 if hard == resource.RLIM_INFINITY else hard
        if soft != most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return most
    return None


def uvicorn_config(app: ASGIApp, settings: ServerSettings, **more: Any) -> uvicorn.Config:
    """Return the uvicorn configuration for an app, with a protocol class for the connections of one server."""
    fields: dict[str, Any] = {"settings": settings, "waiting": {}, "unread": {}}
    more["http"] = type("ServerProtocol", (BoundedProtocol,), fields)
    # uvicorn would replace the peer by any address in the headers, and a trusted proxy is known by its own address.
    more["proxy_headers"] = settings.proxy is None
    # No level of ours shows the access log, but its lines would be composed.
    return uvicorn.Config(app, ws="none", lifespan="off", access_log=False, **more)


class UvicornServer(uvicorn.Server):
    """On shutdown, ends the app's streams, waits for running work, and seals the recorded events."""

    def __init__(self, config: uvicorn.Config, app: App, sealer: Sealer | None = None) -> None:
        super().__init__(config)
        self._app, self._sealer = app, sealer

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down."""
        await self._app.close()
        await super().shutdown(sockets)
        try:
            if self._sealer:
                await self._sealer.seal()
        except RingiError as error:
            log.warning("the latest events could not be sealed: %s", error)
