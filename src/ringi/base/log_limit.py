"""Logging for loops that try again after a failure; the same line may be limited to once a minute."""

from __future__ import annotations

import logging
import time

from ringi.errors import RingiError

EVERY_SECONDS = 60.0
MOST = 1_000
"""The number of lines that the filter remembers."""


def rate_limited_logger(name: str) -> logging.Logger:
    """Return the logger of a module; it logs the same warning or error at most once a minute."""
    logger = logging.getLogger(name)
    logger.addFilter(RepeatFilter())
    return logger


class FailureLog:
    """Logs what its block raises, and goes on after it; an error that is not of Ringi is logged with its traceback.

    Args:
        logger: The logger.
        what: What has failed, with a place for each of `args`.
        *args: The values.
    """

    def __init__(self, logger: logging.Logger, what: str, *args: object) -> None:
        self._logger, self._what, self._args = logger, what, args

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        if isinstance(error, RingiError):
            self._logger.warning("%s: %s", self._what % self._args, error)
        elif isinstance(error, Exception):
            self._logger.error(self._what, *self._args, exc_info=error)
        return isinstance(error, Exception)


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
