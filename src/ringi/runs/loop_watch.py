"""A watchdog thread for a blocked event loop: it renews the leases and logs the blocking code."""

from __future__ import annotations

import asyncio
import logging
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Self

from ringi.base.log_limit import FailureLog
from ringi.contracts.store import Store
from ringi.domain.thread import FenceError
from ringi.errors import NotFoundError
from ringi.runs import lease as leases
from ringi.runs.agent import Agent
from ringi.runs.lease import Lease

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


class LoopWatch:
    """Watches the event loop of the block in which it is entered.

    It counts ticks, not seconds: a process that was suspended as a whole has blocked nothing. Code that never releases
    the interpreter, such as some C extensions, also stops this thread.
    """

    def __init__(self, open_store: Callable[[], AbstractAsyncContextManager[Store]], held_leases: set[Lease]) -> None:
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
        self._resetting.cancel()
        await asyncio.gather(self._resetting, return_exceptions=True)
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
                    await self._renew(lease, store)
                await asyncio.sleep(TICK)
                self._missed_ticks += 1

    async def _renew(self, lease: Lease, store: Store) -> None:
        if lease.valid_until - time.monotonic() < leases.LEASE_SECONDS * 2 / 3:
            # Its own task detects the lost lease once it runs again.
            with suppress(FenceError, NotFoundError):
                await lease.renew(store)

    def _log_blocking_code(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        if frame is None:
            return
        location, agent = location_of(frame), agent_of_frame(frame)
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


def location_of(frame: FrameType) -> str:
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
