"""Leases on threads: one worker holds a thread at a time, also while its event loop is blocked.

A run that ends, asks or is stopped releases its lease in `executor.py`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import sysconfig
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Self

from ringi.base.clock import Clock
from ringi.base.loops import cancel_all
from ringi.base.outages import FailureLog, rate_limited_logger, report_outages
from ringi.contracts.store import Store, change_record
from ringi.domain.record import Event, Key, UnreadableError
from ringi.domain.request import RUN_CHECK
from ringi.domain.thread import FenceError, ModelCalls, Thread
from ringi.errors import NotFoundError, UnavailableError
from ringi.runs.agent import Agent

limited_log = rate_limited_logger(f"{__name__}.renewal")  # Its own name: the watch below reports each block.
Put = Callable[[Thread, Event | None], Awaitable[None]]
OpenStore = Callable[[], AbstractAsyncContextManager[Store]]
LEASE_SECONDS = 6.0
"""Seconds until another worker may take the thread of a dead worker."""


class Lease:
    """The right to write to one thread, renewed for the duration of the block."""

    def __init__(self, store: Store, clock: Clock, thread: Thread, valid_until: float = 0.0) -> None:
        self._store, self._clock = store, clock
        self.thread = thread
        self.valid_until = valid_until
        """The time by `time.monotonic` until which no other worker may take the thread."""
        self.changing = asyncio.Lock()
        """Held while the holder changes the thread."""
        self.is_cut_off = False
        """True if the store was unavailable at the last renewal or release of the lease."""
        self.usage: Callable[[], tuple[ModelCalls, ...]] = tuple
        """Returns the calls of models by the run, which each renewal saves: a dead worker cannot report them."""

    @property
    def key(self) -> Key:
        """The thread's key."""
        return self.thread.key

    @property
    def is_ended(self) -> bool:
        """Whether the holder itself has released the thread."""
        return self.thread.owner is None

    @property
    def fence(self) -> int:
        """The fence number that every write to the thread carries."""
        return self.thread.fence

    async def change(self, step: Callable[[Thread], tuple[Thread, Event | None]], put: Put | None = None) -> None:
        """Save the next version of the thread, or raise `FenceError` if another worker holds it.

        `put` saves it, by default the store's own `put`.
        """

        def fenced_step(thread: Thread) -> tuple[Thread, Event | None]:
            thread.refuse_old(self.thread)
            return step(thread)

        async with self.changing:
            _, self.thread = await change_record(self._store, Thread, self.key, fenced_step, self.thread, put)

    async def renew(self, store: Store | None = None) -> None:
        """Renew the lease; `store` is used instead of the lease's own store if its event loop is blocked."""
        length, began = timedelta(seconds=LEASE_SECONDS), time.monotonic()
        renewed = lambda thread: thread.renewed(self.thread, self._clock(), length, self.usage())  # noqa: E731
        await change_record(store or self._store, Thread, self.key, renewed)
        self.valid_until = began + LEASE_SECONDS

    @contextmanager
    def guarding(self, open_store: OpenStore | None) -> Iterator[None]:
        """Let `Request.authorize` refuse within the block once another worker has taken the thread.

        `open_store` opens the lease's store for another event loop.
        """
        token = RUN_CHECK.set(partial(self._check_without_await, open_store))
        try:
            yield
        finally:
            RUN_CHECK.reset(token)

    def _check_without_await(self, open_store: OpenStore | None) -> None:
        if open_store and not self.is_ended and time.monotonic() >= self.valid_until:
            # In a thread of its own, because the event loop may be that of the caller.
            with report_outages(), ThreadPoolExecutor(1) as thread:
                thread.submit(lambda: asyncio.run(self._check_apart(open_store))).result()

    async def _check_apart(self, open_store: OpenStore) -> None:
        async with open_store() as store:
            await self.check(store)

    async def check(self, store: Store | None = None) -> None:
        """Raise `UnavailableError` if another worker has taken the thread, such as while this process was suspended."""
        if time.monotonic() >= self.valid_until:
            try:
                await self.renew(store)
            except (FenceError, NotFoundError) as error:
                raise UnavailableError(str(error), part="the run") from error


class PendingReleases:
    """Threads that a worker could not release during a store outage. An outage does not count as a failed attempt."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._pending: list[tuple[Key, str, Thread | None]] = []

    def add(self, key: Key, owner: str, leased_thread: Thread | None) -> None:
        """Record a thread and its lease; `leased_thread` is None if it is unknown whether the lease was granted."""
        self._pending.append((key, owner, leased_thread))

    async def settle(self) -> None:
        """Release all recorded threads; raises `UnavailableError` during a store outage."""
        while self._pending:
            with suppress(NotFoundError, UnreadableError):
                await self._release(*self._pending[0])
            self._pending.pop(0)

    async def _release(self, key: Key, owner: str, leased_thread: Thread | None) -> None:
        refund = lambda thread: thread.attempt_refunded(owner, leased_thread, self._clock())  # noqa: E731
        await change_record(self._store, Thread, key, refund)


@asynccontextmanager
async def hold_thread_lease(
    store: Store,
    clock: Clock,
    key: Key,
    owner: str,
    pending_releases: PendingReleases,
    held_leases: set[Lease] | None = None,
    read: Thread | None = None,
    put: Put | None = None,
) -> AsyncIterator[Lease]:
    """Hold a thread for the block; if the lease is lost, cancel the block and raise `FenceError`.

    `owner` is unique to the block; `held_leases` contains the lease during the block; `read` is the thread as the
    caller has just read it; `put` saves the acquired thread, by default the store's own `put`.
    Raises `ConflictError` while another worker holds the thread.
    """
    length, began = timedelta(seconds=LEASE_SECONDS), time.monotonic()
    try:
        _, thread = await change_record(
            store, Thread, key, lambda thread: thread.acquired(owner, clock(), length), read, put
        )
    except (UnavailableError, asyncio.CancelledError):
        # The reply was lost: the lease may be held although no worker works on the thread.
        pending_releases.add(key, owner, None)
        raise
    lease, holder = Lease(store, clock, thread, began + LEASE_SECONDS), asyncio.current_task()
    renewing = asyncio.create_task(_renew_until_lost(lease))
    held_leases = set() if held_leases is None else held_leases
    held_leases.add(lease)
    lost: list[FenceError] = []

    def stop(task: asyncio.Task[None]) -> None:
        # The block may have ended at the same moment.
        if not task.cancelled() and holder and lease in held_leases:
            lost.append(FenceError(key.id, thread.fence))
            holder.cancel()

    renewing.add_done_callback(stop)
    try:
        yield lease
    except asyncio.CancelledError:
        if lost and holder:
            holder.uncancel()
            raise lost[0] from None
        raise
    finally:
        held_leases.discard(lease)
        await cancel_all(renewing)
        if lease.is_cut_off and not lease.is_ended:
            pending_releases.add(key, owner, thread)


async def _renew_until_lost(lease: Lease) -> None:
    """Return when the lease is lost."""
    # A slow grant by the store is not the fault of the block.
    lease.is_cut_off = time.monotonic() >= lease.valid_until
    while time.monotonic() < lease.valid_until or lease.is_ended:
        await asyncio.sleep(LEASE_SECONDS / 3)
        if lease.is_ended:
            continue  # The block may still clean up after it has released the thread.
        try:
            # A store that hangs instead of failing would let the block run past its lease.
            async with asyncio.timeout(lease.valid_until - time.monotonic()):
                await lease.renew()
            lease.is_cut_off = False
        except (UnavailableError, TimeoutError) as error:
            lease.is_cut_off = True
            limited_log.warning("cannot renew the lease of thread %s: %s", lease.key.id, str(error) or "no answer")
        except (FenceError, NotFoundError):
            async with lease.changing:  # The holder may be releasing it.
                if not lease.is_ended:
                    return


log = logging.getLogger(__name__)
TICK = 0.5
"""Seconds between two checks of the event loop."""
MISSED_TICKS = 3
"""The number of checks without a response after which the event loop counts as blocked."""
MAX_LOCATIONS = 100
"""Maximum number of code locations that are logged, each once."""
LIBRARIES = tuple(f"{Path(sysconfig.get_path(name))}" for name in ("stdlib", "purelib", "platlib"))
LOOPS = (asyncio.base_events.__file__, asyncio.runners.__file__)
PACKAGE_FOLDER = str(Path(__file__).parents[1])
EXAMPLES = str(Path(PACKAGE_FOLDER) / "demo")


class EventLoopWatch:
    """Watches the event loop of the block in which it is entered.

    It counts ticks, not seconds: a process that was suspended as a whole has blocked nothing. Code that never releases
    the interpreter, such as some C extensions, also stops this thread.
    """

    def __init__(self, open_store: OpenStore, held_leases: set[Lease]) -> None:
        self._open_store, self._held_leases = open_store, held_leases
        self._missed_ticks = 0
        self._ended = threading.Event()
        self._logged: set[str] = set()

    async def __aenter__(self) -> Self:
        self._loop, self._loop_thread = asyncio.get_running_loop(), threading.get_ident()
        self._resetting = asyncio.create_task(self._reset_ticks())
        self._thread = threading.Thread(target=self._run, name="ringi-loop-watch", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ended.set()
        await cancel_all(self._resetting)
        await asyncio.to_thread(self._thread.join)

    @property
    def _is_blocked(self) -> bool:
        return self._missed_ticks >= MISSED_TICKS and not self._ended.is_set()

    async def _reset_ticks(self) -> None:
        while True:
            self._missed_ticks = 0
            await asyncio.sleep(TICK)

    def _run(self) -> None:
        while not self._ended.wait(TICK):
            self._missed_ticks += 1
            if self._is_blocked and self._held_leases:
                self._log_blocking_code()
                with FailureLog(log, "cannot renew leases while the event loop is blocked"):
                    asyncio.run(self._renew_while_blocked())

    async def _renew_while_blocked(self) -> None:
        """Renew the held leases until the event loop responds."""
        async with self._open_store() as store:
            while self._is_blocked:
                for lease in list(self._held_leases):
                    if lease.valid_until - time.monotonic() < LEASE_SECONDS * 2 / 3:
                        # Its own task detects the lost lease once it runs again.
                        with suppress(FenceError, NotFoundError):
                            await lease.renew(store)
                await asyncio.sleep(TICK)
                self._missed_ticks += 1

    def _log_blocking_code(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        if frame is None:
            return
        location, agent = agent_code_location(frame), agent_of_frame(frame)
        if agent is None or location in self._logged or len(self._logged) >= MAX_LOCATIONS:
            return  # Without an agent it is Ringi or Python, such as a slow first import.
        self._logged.add(location)
        log.warning(
            "agent %r blocks the event loop at %s: nothing else runs in this process meanwhile. "
            "Await there, make the step a plain function, or use asyncio.to_thread",
            agent,
            location,
        )


def frames_in_event_loop(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers within the event loop."""
    while frame and frame.f_code.co_filename not in LOOPS:
        yield frame
        frame = frame.f_back


def agent_code_location(frame: FrameType) -> str:
    """Return the innermost line outside libraries, else the innermost line."""
    locations = (each for each in frames_in_event_loop(frame) if is_agent_code(each.f_code.co_filename))
    innermost = next(locations, frame)
    return f"{innermost.f_code.co_filename}:{innermost.f_lineno} in {innermost.f_code.co_name}"


def is_agent_code(file: str) -> bool:
    """Return True if a file is agent code, not to Python, a library or Ringi; Ringi's examples count as such."""
    return not file.startswith(("<", *LIBRARIES)) and (not file.startswith(PACKAGE_FOLDER) or file.startswith(EXAMPLES))


def agent_of_frame(frame: FrameType) -> str | None:
    """Return the name of the agent whose code runs in a frame; None outside runs."""
    from ringi.runs.context import find_run_context  # Without LangGraph this line is not reached.

    for each in frames_in_event_loop(frame):
        config: Any = each.f_locals.get("config")
        if isinstance(config, dict) and (context := find_run_context(config)):
            return context.agent
        agent = getattr(each.f_locals.get("self"), "agent", None)
        if isinstance(agent, Agent):
            return agent.name
    return None
