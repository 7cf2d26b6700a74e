"""The lifetime of an inbox or a client: until it is closed, and only in the process that opened it."""

from __future__ import annotations

import asyncio
import inspect
import os
import warnings
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from types import TracebackType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from ringi.contracts.store import ClosedError

P = ParamSpec("P")
V = TypeVar("V")


class Lifetime:
    """Rejects new operations after the end, and cancels the ones in progress."""

    def __init__(self, what: str) -> None:
        self._what, self._pid, self._is_over = what, os.getpid(), False
        self._running: set[asyncio.Task[Any]] = set()

    def check(self) -> None:
        """Raise `ClosedError` after the end, or in a process that was forked since."""
        if self.is_elsewhere:
            raise ClosedError(self._what, self._pid)
        if self._is_over:
            raise ClosedError(self._what)

    @property
    def is_elsewhere(self) -> bool:
        """Return whether this is a different process than the one that opened it."""
        return os.getpid() != self._pid

    def abort(self) -> None:
        """End the lifetime: reject all new operations and cancel those in progress."""
        self._is_over = True
        for task in self._running:
            task.cancel()

    @contextmanager
    def using(self) -> Iterator[None]:
        """Run a block that ends with `ClosedError` when the lifetime ends."""
        self.check()
        task = asyncio.current_task()
        if task:
            self._running.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not task or not self._is_over or task.uncancel():  # Another caller has cancelled it too.
                raise
            raise ClosedError(self._what) from None
        finally:
            if task:
                self._running.discard(task)


class Openable(Protocol):
    """Opened by `async with` or by `await`, and closed by its own `close()`."""

    _closing: Callable[[], Awaitable[None]] | None

    @property
    def lifetime(self) -> Lifetime:
        """The lifetime of the object."""


class UntilClosed(Generic[V]):
    """An attribute of an inbox: reading it raises `ClosedError` after the end."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, inbox: Openable, owner: type | None = None) -> V:
        inbox.lifetime.check()
        value: V = inbox.__dict__[self._name]
        return value

    def __set__(self, inbox: Openable, value: V) -> None:
        inbox.lifetime.check()
        inbox.__dict__[self._name] = value


O = TypeVar("O", bound=Openable)  # noqa: E741


class Opening(Generic[O]):
    """An object to be opened: `async with opening as it`, or `it = await opening` and later `await it.close()`."""

    def __init__(self, context: AbstractAsyncContextManager[O]) -> None:
        self._context, self._stack = context, AsyncExitStack()
        self._opened: O | None = None

    def __await__(self) -> Generator[Any, None, O]:
        opened = yield from self.__aenter__().__await__()
        frame, is_closed = inspect.currentframe(), asyncio.Event()
        caller = frame.f_back if frame else None
        place = (caller.f_code.co_filename, caller.f_lineno) if caller else (__file__, 1)
        guard = asyncio.create_task(self._guard(is_closed, *place))
        self._stack.callback(is_closed.set)
        self._stack.callback(id, guard)  # The loop holds tasks only weakly.
        return opened

    async def __aenter__(self) -> O:
        self._opened = await self._stack.enter_async_context(self._context)
        self._opened._closing = self._stack.aclose
        return self._opened

    async def _guard(self, is_closed: asyncio.Event, file: str, line: int) -> None:
        try:
            await is_closed.wait()
        except asyncio.CancelledError:  # The loop ends.
            what = "opened here and never closed: use `async with`, or await its close()"
            try:
                warnings.warn_explicit(what, RuntimeWarning, file, line)
            finally:
                await self._stack.aclose()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._opened and self._opened.lifetime.is_elsewhere:
            return None
        return await self._stack.__aexit__(kind, error, trace)


def opening(opened: Callable[P, AbstractAsyncContextManager[O]]) -> Callable[P, Opening[O]]:
    """Return a function whose result can be opened with `async with` or with `await`."""

    def open(*args: P.args, **kwargs: P.kwargs) -> Opening[O]:
        return Opening(opened(*args, **kwargs))

    open.__doc__, open.__name__ = opened.__doc__, opened.__name__
    open.__wrapped__ = opened  # type: ignore[attr-defined]
    return open
