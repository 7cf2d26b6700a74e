"""Time that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""When the clock of a test begins."""


class Clock:
    """Returns the same time until it is advanced; pass it wherever a clock is asked for."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the time at which it stands."""
        return self.now

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> datetime:
        """Move the time on and return it."""
        self.now += timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        return self.now
