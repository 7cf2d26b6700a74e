"""One time for all machines on a store: that of the store, reckoned between two looks at it."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LOOK_SECONDS = 5.0
"""How often the time of the store is looked at."""


def utc_now() -> datetime:
    """Return the time of this machine in UTC."""
    return datetime.now(UTC)


class SharedClock:
    """Tells the time of a store; what is done to this machine's clock changes nothing."""

    def __init__(self, look: Callable[[], Awaitable[datetime]]) -> None:
        self._look = look
        self._lead = -math.inf
        """By how much the store's seconds since 1970 are more than the seconds of this machine since some moment."""

    def __call__(self) -> datetime:
        """Return the time."""
        return EPOCH + timedelta(seconds=time.monotonic() + self._lead)

    async def look(self) -> None:
        """Compare with the store."""
        began = time.monotonic()
        seconds = (await self._look() - EPOCH).total_seconds()
        least, most = seconds - time.monotonic(), seconds - began
        # A look takes its time, and what it says may be that old: only what is certainly wrong is put right.
        self._lead = min(max(self._lead, least), most)
