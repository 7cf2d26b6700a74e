"""Leases on threads: one worker holds a thread at a time, and the newest lease wins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from ringi.base.clock import Clock
from ringi.base.log_limit import rate_limited_logger
from ringi.contracts.store import Store, change_record
from ringi.domain.record import Event, Key, UnreadableError
from ringi.domain.thread import FenceError, ModelCalls, Thread
from ringi.errors import NotFoundError, UnavailableError

log = rate_limited_logger(__name__)
Put = Callable[[Thread, Event | None], Awaitable[None]]
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

    async def change(self, step: Callable[[Thread], tuple[Thread, Event | None]], put: Put | None = None) -> Thread:
        """Save the next version of the thread, or raise `FenceError` if another worker holds it.

        `put` saves it, by default the store's own `put`.
        """

        def fenced_step(thread: Thread) -> tuple[Thread, Event | None]:
            thread.refuse_old(self.thread)
            return step(thread)

        async with self.changing:
            _, self.thread = await change_record(self._store, Thread, self.key, fenced_step, self.thread, put)
        return self.thread

    async def renew(self, store: Store | None = None) -> None:
        """Renew the lease; `store` is used instead of the lease's own store if its event loop is blocked."""
        length, began = timedelta(seconds=LEASE_SECONDS), time.monotonic()
        renewed = lambda thread: thread.renewed(self.thread, self._clock(), length, self.usage())  # noqa: E731
        await change_record(store or self._store, Thread, self.key, renewed)
        self.valid_until = began + LEASE_SECONDS


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
        await change_record(
            self._store, Thread, key, lambda thread: thread.attempt_refunded(owner, leased_thread, self._clock())
        )


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
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
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
            log.warning("cannot renew the lease of thread %s: %s", lease.key.id, str(error) or "no answer")
        except (FenceError, NotFoundError):
            async with lease.changing:  # The holder may be releasing it.
                if not lease.is_ended:
                    return
