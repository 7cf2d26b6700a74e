"""Outages of the store of a run, told apart from those of an agent's services; and the log of what tries again."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ringi.errors import RingiError, UnavailableError


class OutageError(UnavailableError):
    """The store of a run was unavailable while its agent worked; the agent is not at fault."""

    def __init__(self, error: UnavailableError) -> None:
        self.retry_after = error.retry_after
        RingiError.__init__(self, str(error))


class PausedError(OutageError):
    """An administrator has paused the agent: its call did not run. Callers see the code `paused`."""

    code = "paused"

    def __init__(self, why: str, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        RingiError.__init__(self, f"{why}: the call did not run; repeat it after the pause")


@contextmanager
def report_outages() -> Iterator[None]:
    """Raise an outage of the run's own store as `OutageError`: its agent may raise the same error for another store."""
    try:
        yield
    except UnavailableError as error:
        raise OutageError(error) from error


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
