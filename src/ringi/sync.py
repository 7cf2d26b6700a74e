"""The same verbs without async: each call runs on one event loop in the background of the process."""

from __future__ import annotations

import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from concurrent.futures import thread as _pools  # noqa: F401
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from threading import Lock
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakSet

from anyio.from_thread import BlockingPortal, BlockingPortalProvider

from ringi import connect
from ringi.client import client
from ringi.errors import ClosedError
from ringi.inbox import inbox
from ringi.inbox.lifetime import Lifetime

P = ParamSpec("P")
T = TypeVar("T")
LOOP = BlockingPortalProvider()
"""Starts with the first that is opened and ends with the last that is closed."""
OPEN: WeakSet[_Blocking] = WeakSet()
"""What a program may leave open at its end: the loop in the background would never end then."""


def close_all() -> None:
    """Close what is open."""
    for desk in list(OPEN):
        desk.close()


# Before the pools of threads end, as `atexit` would not: their own hook is registered by the import of their module.
threading._register_atexit(close_all)  # type: ignore[attr-defined]


class _Blocking:
    """What does its verbs in the background; safe to be used by many threads."""

    def __init__(self, verbs: Any, portal: BlockingPortal) -> None:
        self._verbs, self._portal, self._stack = verbs, portal, ExitStack()
        self._lifetime = Lifetime(type(self).__name__.lower())
        self._running: set[Future[Any]] = set()
        self._lock, self._is_closed = Lock(), False
        OPEN.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; who still waits gets `ClosedError`. Twice is once."""
        if not self._lifetime.is_elsewhere:
            self._stack.close()

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        running = self._begun(work)
        try:
            return running.result()
        except CancelledError:
            raise self._closed() from None
        finally:
            # Else a wait that Ctrl-C has broken off would go on, and the end of the program would wait for it.
            running.cancel()
            self._running.discard(running)

    def _begun(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        self._lifetime.check()
        with self._lock:
            if self._is_closed:
                raise self._closed()
            running: Future[T] = self._portal.start_task_soon(work)
            self._running.add(running)
        return running

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
        for running in list(self._running):
            running.cancel()

    def _closed(self) -> ClosedError:
        return ClosedError(type(self).__name__.lower())


def blocking(verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return the verb as one that blocks until it is done."""

    def call(desk: _Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        own: Callable[P, Coroutine[Any, Any, T]] = getattr(desk._verbs, verb.__name__)
        return desk._run(functools.partial(own, *args, **kwargs))

    functools.update_wrapper(call, verb)
    return call


def stepping(
    verb: Callable[Concatenate[Any, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Any, P], Generator[T, None, None]]:
    """Return the verb as one whose iterator blocks until the next is there."""

    def call(desk: _Blocking, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        steps: AsyncGenerator[T, None] = getattr(desk._verbs, verb.__name__)(*args, **kwargs)
        try:
            while True:
                yield desk._run(steps.__anext__)
        finally:
            with suppress(ClosedError):
                desk._run(steps.aclose)

    functools.update_wrapper(call, verb)
    return call


class Inbox(_Blocking):
    """An inbox on a store; see `ringi.Inbox`. Close it, or use it as a `with` block."""

    ask = blocking(inbox.Inbox.ask)
    submit = blocking(inbox.Inbox.submit)
    get = blocking(inbox.Inbox.get)
    find = blocking(inbox.Inbox.find)
    count = blocking(inbox.Inbox.count)
    events = blocking(inbox.Inbox.events)
    follow = stepping(inbox.Inbox.follow)
    respond = blocking(inbox.Inbox.respond)
    attach = blocking(inbox.Inbox.attach)
    attachment = blocking(inbox.Inbox.attachment)
    claim = blocking(inbox.Inbox.claim)
    release = blocking(inbox.Inbox.release)
    reassign = blocking(inbox.Inbox.reassign)
    cancel = blocking(inbox.Inbox.cancel)
    erase = blocking(inbox.Inbox.erase)
    erase_all = blocking(inbox.Inbox.erase_all)
    erase_some = blocking(inbox.Inbox.erase_some)
    memories = blocking(inbox.Inbox.memories)
    memory = blocking(inbox.Inbox.memory)
    edit_memory = blocking(inbox.Inbox.edit_memory)
    delete_memory = blocking(inbox.Inbox.delete_memory)
    wait = blocking(inbox.Inbox.wait)


class Client(_Blocking):
    """An inbox behind the address of a server; see `ringi.Client`. Close it, or use it as a `with` block."""

    def __init__(self, url: str, token: str, *, retry_for: float = 30.0) -> None:
        with ExitStack() as stack:
            portal = stack.enter_context(LOOP)
            verbs = portal.call(functools.partial(client.Client, url, token, retry_for=retry_for))
            stack.callback(portal.call, verbs.close)
            super().__init__(verbs, portal)
            stack.callback(self._close)
            self._stack = stack.pop_all()

    ask = blocking(client.Client.ask)
    submit = blocking(client.Client.submit)
    get = blocking(client.Client.get)
    find = blocking(client.Client.find)
    count = blocking(client.Client.count)
    events = blocking(client.Client.events)
    follow = stepping(client.Client.follow)
    respond = blocking(client.Client.respond)
    attach = blocking(client.Client.attach)
    attachment = blocking(client.Client.attachment)
    claim = blocking(client.Client.claim)
    release = blocking(client.Client.release)
    reassign = blocking(client.Client.reassign)
    cancel = blocking(client.Client.cancel)
    erase = blocking(client.Client.erase)
    erase_all = blocking(client.Client.erase_all)
    erase_some = blocking(client.Client.erase_some)
    memories = blocking(client.Client.memories)
    memory = blocking(client.Client.memory)
    edit_memory = blocking(client.Client.edit_memory)
    delete_memory = blocking(client.Client.delete_memory)
    wait = blocking(client.Client.wait)


def blocking_open(
    opened: Callable[P, AbstractAsyncContextManager[inbox.Inbox]],
) -> Callable[P, Inbox]:
    """Return what opens an inbox as one that opens it without async."""

    @functools.wraps(opened)
    def open(*args: P.args, **kwargs: P.kwargs) -> Inbox:
        with ExitStack() as stack:
            portal = stack.enter_context(LOOP)
            verbs = stack.enter_context(portal.wrap_async_context_manager(opened(*args, **kwargs)))
            desk = Inbox(verbs, portal)
            stack.callback(desk._close)
            desk._stack = stack.pop_all()
        return desk

    return open


open = blocking_open(connect.open)
"""As `ringi.open`, for programs without async: a `with` block, or close it yourself."""
