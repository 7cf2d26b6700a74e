"""A fair lock for the writers among the processes on one file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

if sys.platform == "win32":  # SQLite's own busy handler decides, less fairly.

    def lock(fd: int) -> None:
        """Do nothing."""

    unlock = lock
else:
    from fcntl import LOCK_EX, LOCK_UN, flock

    def lock(fd: int) -> None:
        """Lock the file, waiting until no other process has it locked."""
        flock(fd, LOCK_EX)

    def unlock(fd: int) -> None:
        """Unlock the file for the next process."""
        flock(fd, LOCK_UN)


class FairLock:
    """A queue of two locks: the holder of the first is the next to get the second.

    Without it a process that has just committed begins again before the others wake from
    SQLite's busy handler, and they starve.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._next = os.open(f"{path}-next", flags, 0o600)
        self._turn = os.open(f"{path}-turn", flags, 0o600)

    def __enter__(self) -> None:
        lock(self._next)
        lock(self._turn)
        unlock(self._next)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        unlock(self._turn)

    def close(self) -> None:
        """Close the files."""
        os.close(self._next)
        os.close(self._turn)
