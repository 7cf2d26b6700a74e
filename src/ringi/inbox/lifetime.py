"""How long an inbox or a client may be used: until it is closed, and in the process that opened it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from types import TracebackType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from ringi.contracts.notifier import Notifier
from ringi.contracts.store import Store
from ringi.errors import ClosedError
from ringi.privacy.erasure import Eraser

P = ParamSpec("P")


class Lifetime:
    """Refuses what is begun too late, and ends what is under way when it is over."""

    def __init__(self, what: str) -> None:
        self._what, self._pid, self._is_over = what, os.getpid(), False
        self._running: set[asyncio.Task[Any]] = set()

    def check(self) -> None:
        """Raise `ClosedError` after the end, and in a process that was forked since."""
        if self.is_elsewhere:
            raise ClosedError(self._what, self._pid)
        if self._is_over:
            raise ClosedError(self._what)

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is another process than the one that opened it."""
        return os.getpid() != self._pid

    def end(self) -> None:
        """Refuse everything from now on."""
        self._is_over = True
        for task in self._running:
            task.cancel()

    @contextmanager
    def using(self) -> Iterator[None]:
        """Do something that ends with `ClosedError` when the lifetime does."""
        self.check()
        task = asyncio.current_task()
        if task:
            self._running.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not task or not self._is_over or task.uncancel():  # Somebody else has cancelled it too.
                raise
            raise ClosedError(self._what) from None
        finally:
            if task:
                self._running.discard(task)


class Closable:
    """What of an inbox ends when it is closed: every verb comes by the store or by the eraser."""

    notifier: Notifier
    _closing: Callable[[], Awaitable[None]] | None = None

    @property
    def lifetime(self) -> Lifetime:
        """How long it may be used."""
        lifetime: Lifetime = self.__dict__.setdefault("_lifetime", Lifetime("inbox"))
        return lifetime

    @property
    def store(self) -> Store:
        """The store, or `ClosedError`."""
        self.lifetime.check()
        return self._store

    @store.setter
    def store(self, store: Store) -> None:
        self._store = store
        self.lifetime.check()

    @property
    def _eraser(self) -> Eraser:
        self.lifetime.check()
        return self._erasing

    @_eraser.setter
    def _eraser(self, eraser: Eraser) -> None:
        self._erasing = eraser

    def end(self) -> None:
        """Refuse everything from now on, and wake all that waits to tell it."""
        self.lifetime.end()
        self.notifier.ring_all()

    async def close(self) -> None:
        """Close it and what it stands on; who still waits gets `ClosedError`. Twice is once."""
        if self.lifetime.is_elsewhere:  # The connections belong to the process that opened them.
            return
        if self._closing:
            await self._closing()
        else:
            self.end()


class Openable(Protocol):
    """What is opened by `async with` or by `await`, and closed by its own `close()`."""

    _closing: Callable[[], Awaitable[None]] | None

    @property
    def lifetime(self) -> Lifetime:
        """How long it may be used."""


O = TypeVar("O", bound=Openable)  # noqa: E741


class Opening(Generic[O]):
    """Something to be opened: `async with opening as it`, or `it = await opening` and later `await it.close()`."""

    def __init__(self, context: AbstractAsyncContextManager[O]) -> None:
        self._context, self._stack = context, AsyncExitStack()
        self._opened: O | None = None

    def __await__(self) -> Generator[Any, None, O]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> O:
        self._opened = await self._stack.enter_async_context(self._context)
        self._opened._closing = self._stack.aclose
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._opened and self._opened.lifetime.is_elsewhere:
            return None
        return await self._stack.__aexit__(kind, error, trace)


def opening(opened: Callable[P, AbstractAsyncContextManager[O]]) -> Callable[P, Opening[O]]:
    """Return what opens something in a block as one that opens it by `await` too."""

    def open(*args: P.args, **kwargs: P.kwargs) -> Opening[O]:
        return Opening(opened(*args, **kwargs))

    open.__doc__, open.__name__ = opened.__doc__, opened.__name__
    open.__wrapped__ = opened  # type: ignore[attr-defined]
    return open
