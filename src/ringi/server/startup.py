"""Startup: wait for the store and report the wait, and then set up the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from itertools import chain, repeat
from urllib.parse import urlsplit

import uvicorn
from starlette.types import Receive, Scope, Send

from ringi.connect import Backend, open_backend, resolve_inbox_url
from ringi.errors import UnavailableError
from ringi.server.calls import reply
from ringi.server.connections import uvicorn_config
from ringi.server.problems import problem_response
from ringi.server.schemas import Health
from ringi.server.settings import ServerSettings

log = logging.getLogger(__name__)
REMOTE = ("postgresql", "postgres", "redis", "rediss")
"""The stores that are separate servers, and may start later than this process."""
PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds until the next attempt; the last value repeats."""
GC_THRESHOLD = 10_000
"""New objects between two collections. With Python's 700, each would visit all calls in progress every few calls."""
WAITING = "this server is waiting for its store, which does not respond yet"
Meanwhile = Callable[[], AbstractAsyncContextManager[object]]


def collect_garbage_rarely() -> None:
    """Set up the garbage collector of a process that now begins to serve or to work."""
    gc.set_threshold(GC_THRESHOLD)
    gc.freeze()  # Imported objects stay: a full collection over them would stop everything for 0.2 s.


@asynccontextmanager
async def open_store_when_available(
    url: str | None, *, poll_interval: float, timeout: float | None = None, meanwhile: Meanwhile = nullcontext
) -> AsyncIterator[Backend]:
    """Open a store; a remote store is tried within `meanwhile` until it responds.

    Raises `UnavailableError` after `timeout` seconds, by default never. Raises `SettingError` at once for permanent
    errors, such as a wrong password or a missing database.
    """
    async with AsyncExitStack() as stack:

        async def open_once() -> Backend:
            return await stack.enter_async_context(open_backend(url, poll_interval=poll_interval))

        try:
            backend = await open_once()
        except UnavailableError as error:
            if urlsplit(resolve_inbox_url(url)).scheme not in REMOTE:
                raise
            async with meanwhile():
                backend = await _retry(open_once, error, timeout)
            log.warning("the store responds: continuing")
        yield backend


async def _retry(
    open_once: Callable[[], Awaitable[Backend]], error: UnavailableError, timeout: float | None
) -> Backend:
    began, last_reason = time.monotonic(), ""
    for pause in chain(PAUSES, repeat(PAUSES[-1])):
        if timeout is not None and time.monotonic() - began + pause > timeout:
            raise error
        # Once per reason: an outage of an hour must not write a log line every five seconds.
        log.log(logging.WARNING if str(error) != last_reason else logging.DEBUG, "waiting for the store: %s", error)
        last_reason = str(error)
        await asyncio.sleep(pause)
        try:
            return await open_once()
        except UnavailableError as again:
            error = again
    raise AssertionError


@asynccontextmanager
async def serve_not_ready_reports(listener: socket.socket, settings: ServerSettings) -> AsyncIterator[None]:
    """Report on the server's port that the process is alive and not ready."""
    config = uvicorn_config(answer_not_ready, settings, log_level="warning", timeout_graceful_shutdown=1)
    server, copy = uvicorn.Server(config), listener.dup()
    serving = asyncio.create_task(server.serve(sockets=[copy]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
        copy.close()


async def answer_not_ready(scope: Scope, receive: Receive, send: Send) -> None:
    """Handle one call."""
    is_alive = scope["path"] == "/healthz"
    answer = reply(Health(status="ok")) if is_alive else problem_response(UnavailableError(WAITING))
    await answer(scope, receive, send)
