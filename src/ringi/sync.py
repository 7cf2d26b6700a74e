"""The same operations without async: each call runs on one background event loop of the process."""

from __future__ import annotations

import functools
import inspect
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
from ringi.inbox.api import InboxAPI
from ringi.inbox.lifetime import Lifetime

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])
LOOP = BlockingPortalProvider()
"""Starts with the first open object and ends when the last one is closed."""
OPEN: WeakSet[_Blocking] = WeakSet()
"""The objects that a program may leave open at exit: they would keep the background loop running."""


def close_all() -> None:
    """Close all open objects."""
    for facade in list(OPEN):
        facade.close()


# Before the thread pools end, which is too early for `atexit`: importing their module registers their own hook.
threading._register_atexit(close_all)  # type: ignore[attr-defined]


class _Blocking:
    """Runs its operations in the background; safe for use by several threads."""

    def __init__(self, api: Any, portal: BlockingPortal) -> None:
        self._api, self._portal, self._stack = api, portal, ExitStack()
        self._lifetime = Lifetime(type(self).__name__.lower())
        self._running: set[Future[Any]] = set()
        self._lock, self._is_closed = Lock(), False
        OPEN.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; waiters get `ClosedError`. Idempotent."""
        if not self._lifetime.is_elsewhere:
            self._stack.close()

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        running = self._start(work)
        try:
            return running.result()
        except CancelledError:
            raise self._closed_error() from None
        finally:
            # Otherwise a wait interrupted by Ctrl-C would continue, and the program would wait for it at exit.
            running.cancel()
            self._running.discard(running)

    def _start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        self._lifetime.check()
        with self._lock:
            if self._is_closed:
                raise self._closed_error()
            running: Future[T] = self._portal.start_task_soon(work)
            self._running.add(running)
        return running

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
        for running in list(self._running):
            running.cancel()

    def _closed_error(self) -> ClosedError:
        return ClosedError(type(self).__name__.lower())


def run_blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Do work on the background event loop, and block until it is done.

    Args:
        work: Returns the coroutine; it may use the async inbox of an open object, see `async_inbox`.
    """
    with LOOP as portal:
        running: Future[T] = portal.start_task_soon(work)
        try:
            return running.result()
        finally:
            running.cancel()


def async_inbox(facade: Inbox | Client) -> InboxAPI:
    """Return the inbox or client behind an open object; it must be used on the background event loop.

    Args:
        facade: The open object.
    """
    facade._lifetime.check()
    api: InboxAPI = facade._api
    return api


def blocking(operation: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return the operation as a function that blocks until it is done.

    Args:
        operation: A coroutine method of an inbox or a client.
    """

    def call(facade: _Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        method: Callable[P, Coroutine[Any, Any, T]] = getattr(facade._api, operation.__name__)
        return facade._run(functools.partial(method, *args, **kwargs))

    return _documented(call, operation)


def iterating(
    operation: Callable[Concatenate[Any, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Any, P], Generator[T, None, None]]:
    """Return the operation as a function whose iterator blocks until the next item.

    Args:
        operation: An async generator method of an inbox or a client.
    """

    def call(facade: _Blocking, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        iterator: AsyncGenerator[T, None] = getattr(facade._api, operation.__name__)(*args, **kwargs)
        try:
            while True:
                yield facade._run(iterator.__anext__)
        finally:
            with suppress(ClosedError):
                facade._run(iterator.aclose)

    return _documented(call, operation)


def _documented(call: C, operation: Callable[..., Any]) -> C:
    """Return the function with the name and the documentation of an operation, which its class may inherit."""
    functools.update_wrapper(call, operation)
    call.__doc__ = inspect.getdoc(operation)
    return call


class Inbox(_Blocking):
    """An inbox on a store; see `ringi.Inbox`. Close it, or use it as a `with` block."""

    ask = blocking(inbox.Inbox.ask)
    submit = blocking(inbox.Inbox.submit)
    get = blocking(inbox.Inbox.get)
    find = blocking(inbox.Inbox.find)
    count = blocking(inbox.Inbox.count)
    events = blocking(inbox.Inbox.events)
    follow = iterating(inbox.Inbox.follow)
    respond = blocking(inbox.Inbox.respond)
    attach = blocking(inbox.Inbox.attach)
    attachment = blocking(inbox.Inbox.attachment)
    claim = blocking(inbox.Inbox.claim)
    release = blocking(inbox.Inbox.release)
    undo = blocking(inbox.Inbox.undo)
    leave = blocking(inbox.Inbox.leave)
    come_back = blocking(inbox.Inbox.come_back)
    away = blocking(inbox.Inbox.away)
    find_absences = blocking(inbox.Inbox.find_absences)
    end_absence = blocking(inbox.Inbox.end_absence)
    reassign = blocking(inbox.Inbox.reassign)
    cancel = blocking(inbox.Inbox.cancel)
    report_outcome = blocking(inbox.Inbox.report_outcome)
    erase = blocking(inbox.Inbox.erase)
    erase_all = blocking(inbox.Inbox.erase_all)
    erase_some = blocking(inbox.Inbox.erase_some)
    memories = blocking(inbox.Inbox.memories)
    memory = blocking(inbox.Inbox.memory)
    edit_memory = blocking(inbox.Inbox.edit_memory)
    delete_memory = blocking(inbox.Inbox.delete_memory)
    pause = blocking(inbox.Inbox.pause)
    pauses = blocking(inbox.Inbox.pauses)
    resume = blocking(inbox.Inbox.resume)
    check_pauses = blocking(inbox.Inbox.check_pauses)
    grants = blocking(inbox.Inbox.grants)
    revoke_grant = blocking(inbox.Inbox.revoke_grant)
    suggestions = blocking(inbox.Inbox.suggestions)
    accept_suggestion = blocking(inbox.Inbox.accept_suggestion)
    plant_checks = blocking(inbox.Inbox.plant_checks)
    checks = blocking(inbox.Inbox.checks)
    wait = blocking(inbox.Inbox.wait)


class Client(_Blocking):
    """An inbox behind a server's URL; see `ringi.Client`. Close it, or use it as a `with` block."""

    def __init__(self, url: str, token: str, *, retry_for: float = 30.0) -> None:
        with ExitStack() as stack:
            portal = stack.enter_context(LOOP)
            api = portal.call(functools.partial(client.Client, url, token, retry_for=retry_for))
            stack.callback(portal.call, api.close)
            super().__init__(api, portal)
            stack.callback(self._close)
            self._stack = stack.pop_all()

    ask = blocking(client.Client.ask)
    submit = blocking(client.Client.submit)
    get = blocking(client.Client.get)
    find = blocking(client.Client.find)
    count = blocking(client.Client.count)
    events = blocking(client.Client.events)
    follow = iterating(client.Client.follow)
    respond = blocking(client.Client.respond)
    attach = blocking(client.Client.attach)
    attachment = blocking(client.Client.attachment)
    claim = blocking(client.Client.claim)
    release = blocking(client.Client.release)
    undo = blocking(client.Client.undo)
    leave = blocking(client.Client.leave)
    come_back = blocking(client.Client.come_back)
    away = blocking(client.Client.away)
    find_absences = blocking(client.Client.find_absences)
    end_absence = blocking(client.Client.end_absence)
    reassign = blocking(client.Client.reassign)
    cancel = blocking(client.Client.cancel)
    report_outcome = blocking(client.Client.report_outcome)
    erase = blocking(client.Client.erase)
    erase_all = blocking(client.Client.erase_all)
    erase_some = blocking(client.Client.erase_some)
    memories = blocking(client.Client.memories)
    memory = blocking(client.Client.memory)
    edit_memory = blocking(client.Client.edit_memory)
    delete_memory = blocking(client.Client.delete_memory)
    pause = blocking(client.Client.pause)
    pauses = blocking(client.Client.pauses)
    resume = blocking(client.Client.resume)
    check_pauses = blocking(client.Client.check_pauses)
    grants = blocking(client.Client.grants)
    revoke_grant = blocking(client.Client.revoke_grant)
    suggestions = blocking(client.Client.suggestions)
    accept_suggestion = blocking(client.Client.accept_suggestion)
    plant_checks = blocking(client.Client.plant_checks)
    checks = blocking(client.Client.checks)
    wait = blocking(client.Client.wait)


def blocking_open(
    opened: Callable[P, AbstractAsyncContextManager[inbox.Inbox]],
) -> Callable[P, Inbox]:
    """Return the blocking variant of a function that opens an inbox.

    Args:
        opened: A function that returns an async context manager of an inbox.

    Returns:
        A function with the same arguments. Close its inbox with `close()` or a `with` block.
    """

    @functools.wraps(opened)
    def open(*args: P.args, **kwargs: P.kwargs) -> Inbox:
        with ExitStack() as stack:
            portal = stack.enter_context(LOOP)
            api = stack.enter_context(portal.wrap_async_context_manager(opened(*args, **kwargs)))
            facade = Inbox(api, portal)
            stack.callback(facade._close)
            facade._stack = stack.pop_all()
        return facade

    return open


open = blocking_open(connect.open)
"""The blocking variant of `ringi.open`: use it as a `with` block, or close the inbox yourself."""
