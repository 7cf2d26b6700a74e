"""A clock that all machines on a store share: the store's time, interpolated between two reads of it."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

Clock = Callable[[], datetime]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LOOK_SECONDS = 5.0
"""Seconds between two reads of the store's time."""


def utc_now() -> datetime:
    """Return the time of this machine in UTC."""
    return datetime.now(UTC)


def retry_delay_after(delays: Sequence[float], attempts: int) -> float:
    """Return the seconds to wait after this number of earlier attempts; the last delay repeats.

    Args:
        delays: Seconds, one for each attempt.
        attempts: The number of earlier attempts.
    """
    return delays[min(attempts, len(delays) - 1)]


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header, which contains a number or a date; None without a valid value.

    Args:
        header: The header, if the reply has one.
        now: The present time.
    """
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
        # A date without a zone is in UTC (RFC 9110, 5.6.7).
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


class SharedClock:
    """Returns the time of the store; changes of this machine's clock have no effect."""

    def __init__(self, look: Callable[[], Awaitable[datetime]]) -> None:
        self._look = look
        self._lead = -math.inf
        """The offset in seconds from this machine's monotonic clock to the store's seconds since 1970."""

    def __call__(self) -> datetime:
        """Return the time."""
        return EPOCH + timedelta(seconds=time.monotonic() + self._lead)

    async def look(self) -> None:
        """Read the store's time and correct the offset."""
        began = time.monotonic()
        seconds = (await self._look() - EPOCH).total_seconds()
        least, most = seconds - time.monotonic(), seconds - began
        # A read takes time, and its result may be that old: correct only an offset that is certainly wrong.
        self._lead = min(max(self._lead, least), most)
