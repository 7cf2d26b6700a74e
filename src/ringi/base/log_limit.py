"""Loops that fail again and again: each line is logged once, and then at most once a minute."""

from __future__ import annotations

import logging
import time

EVERY_SECONDS = 60.0
MOST = 1_000
"""How many lines are remembered."""


def limited(name: str) -> logging.Logger:
    """Return the logger of a module; it repeats the same warning or error at most once a minute."""
    logger = logging.getLogger(name)
    logger.addFilter(RepeatFilter())
    return logger


class RepeatFilter(logging.Filter):
    """Drops the warnings and errors that it let through less than a minute ago."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is logged."""
        if record.levelno < logging.WARNING:
            return True
        line, now = (record.getMessage(), repr(record.exc_info and record.exc_info[1])), time.monotonic()
        if line in self._logged and now - self._logged[line] < EVERY_SECONDS:
            return False
        if len(self._logged) >= MOST:
            self._logged.clear()
        self._logged[line] = now
        return True
