"""The event loop of a thread."""

from __future__ import annotations

import asyncio


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the running loop of this thread; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
