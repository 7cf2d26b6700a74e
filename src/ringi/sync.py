"""The same operations without async: each call runs on one background event loop of the process."""

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
from ringi.contracts.store import ClosedError
from ringi.inbox import api
from ringi.inbox.api import Inbox
from ringi.inbox.lifetime import Lifetime

__all__ = ["BlockingInbox", "open"]

P = ParamSpec("P")
T = TypeVar("T")
LOOP = BlockingPortalProvider()
"""Starts with the first open object and ends when the last one is closed."""
OPEN: WeakSet[BlockingInbox] = WeakSet()
"""The objects that a program may leave open at exit: they would keep the background loop running."""


def close_all() -> None:
    """Close all open objects."""
    for facade in list(OPEN):
        facade.close()


# Before the thread pools end, which is too early for `atexit`: importing their module registers their own hook.
threading._register_atexit(close_all)  # type: ignore[attr-defined]


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


def async_inbox(facade: BlockingInbox) -> Inbox:
    """Return the inbox behind an open object; it must be used on the background event loop.

    Args:
        facade: The open object.
    """
    facade._lifetime.check()
    return facade._api


def blocking(operation: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return the operation as a function that blocks until it is done.

    Args:
        operation: A coroutine method of an inbox.
    """

    @functools.wraps(operation)
    def call(facade: BlockingInbox | _Part, /, *args: P.args, **kwargs: P.kwargs) -> T:
        method: Callable[P, Coroutine[Any, Any, T]] = getattr(facade._api, operation.__name__)
        return facade._run(functools.partial(method, *args, **kwargs))

    return call


def iterating(
    operation: Callable[Concatenate[Any, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Any, P], Generator[T, None, None]]:
    """Return the operation as a function whose iterator blocks until the next item.

    Args:
        operation: An async generator method of an inbox.
    """

    @functools.wraps(operation)
    def call(facade: BlockingInbox, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        iterator: AsyncGenerator[T, None] = getattr(facade._api, operation.__name__)(*args, **kwargs)
        try:
            while True:
                yield facade._run(iterator.__anext__)
        finally:
            with suppress(ClosedError):
                facade._run(iterator.aclose)

    return call


class _Part:
    """A part of a blocking inbox."""

    def __init__(self, whole: BlockingInbox, api: Any) -> None:
        self._api, self._run = api, whole._run


class BlockingGrants(_Part):
    """The same as `ringi.inbox.Grants`, blocking."""

    list = blocking(api.Grants.list)
    revoke = blocking(api.Grants.revoke)


class BlockingSuggestions(_Part):
    """The same as `ringi.inbox.Suggestions`, blocking."""

    list = blocking(api.Suggestions.list)
    accept = blocking(api.Suggestions.accept)


class BlockingPauses(_Part):
    """The same as `ringi.inbox.Pauses`, blocking."""

    begin = blocking(api.Pauses.begin)
    list = blocking(api.Pauses.list)
    end = blocking(api.Pauses.end)
    check = blocking(api.Pauses.check)


class BlockingPeople(_Part):
    """The same as `ringi.inbox.People`, blocking."""

    leave = blocking(api.People.leave)
    come_back = blocking(api.People.come_back)
    away = blocking(api.People.away)
    absences = blocking(api.People.absences)
    end_absence = blocking(api.People.end_absence)


class BlockingChecks(_Part):
    """The same as `ringi.inbox.Checks`, blocking."""

    plant = blocking(api.Checks.plant)
    report = blocking(api.Checks.report)


class BlockingMemories(_Part):
    """The same as `ringi.inbox.Memories`, blocking."""

    list = blocking(api.Memories.list)
    get = blocking(api.Memories.get)
    edit = blocking(api.Memories.edit)
    delete = blocking(api.Memories.delete)


class BlockingTrail(_Part):
    """The same as `ringi.inbox.Trail`, blocking."""

    erase = blocking(api.Trail.erase)
    erase_some = blocking(api.Trail.erase_some)


class BlockingInbox:
    """An inbox on a store or behind a server's URL; see `ringi.open`. Close it, or use it as a `with` block.

    Its operations run in the background; several threads may use it.
    """

    ask = blocking(Inbox.ask)
    submit = blocking(Inbox.submit)
    get = blocking(Inbox.get)
    find = blocking(Inbox.find)
    events = blocking(Inbox.events)
    respond = blocking(Inbox.respond)
    attach = blocking(Inbox.attach)
    attachment = blocking(Inbox.attachment)
    claim = blocking(Inbox.claim)
    release = blocking(Inbox.release)
    undo = blocking(Inbox.undo)
    reassign = blocking(Inbox.reassign)
    cancel = blocking(Inbox.cancel)
    report_outcome = blocking(Inbox.report_outcome)
    erase = blocking(Inbox.erase)
    wait = blocking(Inbox.wait)
    follow = iterating(Inbox.follow)

    def __init__(self, api: Inbox, portal: BlockingPortal) -> None:
        self._api, self._portal, self._stack = api, portal, ExitStack()
        self._lifetime = Lifetime("inbox")
        self._running: set[Future[Any]] = set()
        self._lock, self._is_closed = Lock(), False
        self.grants, self.suggestions = BlockingGrants(self, api.grants), BlockingSuggestions(self, api.suggestions)
        self.pauses, self.people = BlockingPauses(self, api.pauses), BlockingPeople(self, api.people)
        self.checks, self.memories = BlockingChecks(self, api.checks), BlockingMemories(self, api.memories)
        self.trail = BlockingTrail(self, api.trail)
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
        self._lifetime.check()
        with self._lock:
            if self._is_closed:
                raise ClosedError("inbox")
            running: Future[T] = self._portal.start_task_soon(work)
            self._running.add(running)
        try:
            return running.result()
        except CancelledError:
            raise ClosedError("inbox") from None
        finally:
            # Otherwise a wait interrupted by Ctrl-C would continue, and the program would wait for it at exit.
            running.cancel()
            self._running.discard(running)

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
        for running in list(self._running):
            running.cancel()


def blocking_open(opened: Callable[P, AbstractAsyncContextManager[Inbox]]) -> Callable[P, BlockingInbox]:
    """Return the blocking variant of a function that opens an inbox.

    Args:
        opened: A function that returns an async context manager of an inbox.

    Returns:
        A function with the same arguments. Close its inbox with `close()` or a `with` block.
    """

    @functools.wraps(opened)
    def open(*args: P.args, **kwargs: P.kwargs) -> BlockingInbox:
        with ExitStack() as stack:
            portal = stack.enter_context(LOOP)
            api = stack.enter_context(portal.wrap_async_context_manager(opened(*args, **kwargs)))
            facade = BlockingInbox(api, portal)
            stack.callback(facade._close)
            facade._stack = stack.pop_all()
        return facade

    return open


open = blocking_open(connect.open)
"""The blocking variant of `ringi.open`: use it as a `with` block, or close the inbox yourself."""
