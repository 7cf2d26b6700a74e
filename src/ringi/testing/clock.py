"""A clock that stands still until a test advances it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""The start time of a test clock."""


class ManualClock:
    """A clock that stands still until a test advances it; pass it as any `clock` argument.

    Args:
        now: The start time, with a time zone.
    """

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the current time of the clock."""
        return self.now

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> datetime:
        """Advance the clock and return its time; nothing else happens.

        Args:
            seconds: Added to the other units.
            minutes: Added to the other units.
            hours: Added to the other units.
            days: Added to the other units.
        """
        self.now += timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        return self.now
