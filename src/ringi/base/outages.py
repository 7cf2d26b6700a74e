"""Outages of the store of a run, told apart from those of services that its agent uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ringi.errors import OutageError, UnavailableError


@contextmanager
def report_outages() -> Iterator[None]:
    """Raise an outage of the run's own store as `OutageError`: its agent may raise the same error for another store."""
    try:
        yield
    except UnavailableError as error:
        raise OutageError(error) from error
