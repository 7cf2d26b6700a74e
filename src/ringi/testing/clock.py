"""A clock that stands still until a test advances it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""The start time of a test clock."""


class Clock:
    """Returns the same time until it is advanced; pass it as any `clock` argument."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the current time of the clock."""
        return self.now

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> datetime:
        """Advance the clock and return its time."""
        self.now += timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        return self.now
