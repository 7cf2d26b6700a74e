"""Outages of the store of a run, told apart from those of services that its agent uses."""

from __future__ import annotations

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
