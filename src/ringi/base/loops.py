"""The event loop of a thread, its tasks, and reads that simultaneous callers share."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the running loop of this thread; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def cancel_all(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancel tasks, and return once all of them have ended; None stands for one that never began."""
    begun = [task for task in tasks if task]
    for task in begun:
        task.cancel()
    await asyncio.gather(*begun, return_exceptions=True)


async def rest(stop: asyncio.Event) -> None:
    """Do nothing until `stop` is set."""
    await stop.wait()


async def end_task(task: asyncio.Task[None], grace: float) -> None:
    """Return once a task has ended, which is canceled after some seconds; raise its error."""
    await asyncio.wait([task], timeout=grace)
    task.cancel()
    (result,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(result, Exception):
        raise result


def run_without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("this code cannot wait")


class SingleFlight:
    """Reads in progress, by their key."""

    def __init__(self) -> None:
        self._reads: dict[Hashable, asyncio.Future[Any]] = {}

    async def read(self, key: Hashable, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a read in progress, or of a new one; it fails for all callers or none.

        The result may predate this call: a caller that needs later data must check its starting position.
        """
        task = self._reads.get(key)
        if task is None:
            # In a copy of the first caller's context, the read would run under that caller's identity for everyone.
            task = asyncio.create_task(read(), context=contextvars.Context())
            self._reads[key] = task
            task.add_done_callback(lambda _: self._reads.pop(key))
        result: T = await asyncio.shield(task)  # A canceled caller does not cancel the read of the others.
        return result

    async def close(self) -> None:
        """Cancel the reads in progress."""
        await cancel_all(*self._reads.values())
