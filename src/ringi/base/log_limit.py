"""Rate-limited logging for retry loops: the same line is logged at most once a minute."""

from __future__ import annotations

import logging
import time

EVERY_SECONDS = 60.0
MOST = 1_000
"""The number of lines that the filter remembers."""


def limited(name: str) -> logging.Logger:
    """Return the logger of a module; it logs the same warning or error at most once a minute."""
    logger = logging.getLogger(name)
    logger.addFilter(RepeatFilter())
    return logger


class RepeatFilter(logging.Filter):
    """Drops a warning or error if the same one passed less than a minute ago."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged."""
        if record.levelno < logging.WARNING:
            return True
        line, now = (record.getMessage(), repr(record.exc_info and record.exc_info[1])), time.monotonic()
        if line in self._logged and now - self._logged[line] < EVERY_SECONDS:
            return False
        if len(self._logged) >= MOST:
            self._logged.clear()
        self._logged[line] = now
        return True
