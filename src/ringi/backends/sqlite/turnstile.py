"""Whose turn it is to write, among the processes on one file."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

try:
    from fcntl import LOCK_EX, LOCK_UN, flock
except ImportError:  # Windows: SQLite's own busy handler decides, less fairly.
    LOCK_EX = LOCK_UN = 0

    def flock(fd: int, operation: int) -> None:
        """Do nothing where the system has no flock."""


class Turnstile:
    """A queue of two locks: holding the first makes you the next to get the second.

    Without it a process that has just committed begins again before the others wake from
    SQLite's busy handler, and they starve.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._next = os.open(f"{path}-next", flags, 0o600)
        self._turn = os.open(f"{path}-turn", flags, 0o600)

    def __enter__(self) -> None:
        flock(self._next, LOCK_EX)
        flock(self._turn, LOCK_EX)
        flock(self._next, LOCK_UN)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        flock(self._turn, LOCK_UN)

    def close(self) -> None:
        """Give the files back."""
        os.close(self._next)
        os.close(self._turn)
