"""Detects that files of a database were replaced, moved, deleted or truncated during operation."""

from __future__ import annotations

import logging
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from ringi.errors import UnavailableError

log = logging.getLogger(__name__)
Identity = tuple[int, int]
"""Device and inode of a file."""


class FileGuard:
    """Compares the files of a database with those that this process opened.

    SQLite continues to write to an unlinked file: data acknowledged then is lost with the process.
    Once a file is lost, the database refuses all operations until the process is restarted.
    """

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path, self._connect = path, connect
        self._opened = identity_of(path)
        self._wal_path, self._wal, self._size = path, self._opened, 0
        self._why: str | None = None
        self._losing = threading.Lock()
        self._is_rescued = False

    def begin(self, writing: sqlite3.Connection) -> None:
        """Record the files that a connection has opened; raise `UnavailableError` if they changed meanwhile."""
        # SQLite names the log after the target of a link.
        (_, _, name), *_ = writing.execute("PRAGMA database_list").fetchall()
        self._wal_path = Path(f"{name}-wal")
        self._wal = identity_of(self._wal_path)
        self.check()

    def refuse_if_lost(self) -> None:
        """Raise `UnavailableError` once a file was found to be lost."""
        if self._why:
            raise UnavailableError(f"{self._why}: restore the database and restart the process")

    def check(self) -> None:
        """Check the files with two system calls; raise `UnavailableError` if they are not those opened."""
        self.refuse_if_lost()
        try:
            found = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._lose(f"{self._path.name} was deleted or moved")
        if (found.st_dev, found.st_ino) != self._opened:
            return self._lose(f"another file was put in the place of {self._path.name}")
        if found.st_size < self._size and self._is_cut_short(found.st_size):
            return self._lose(f"{self._path.name} was cut short")
        self._size = found.st_size
        if identity_of(self._wal_path) != self._wal:
            self._lose(f"{self._wal_path.name} was deleted or replaced")

    def connect(self) -> sqlite3.Connection:
        """Return a new connection to the opened files; raise `UnavailableError` if they were replaced."""
        # Before it connects: SQLite would create a new log in place of a deleted one, and prevent a rescue.
        self.check()
        with ExitStack() as opened:
            connection = opened.enter_context(closing(self._connect()))
            self.check()
            opened.pop_all()
        return connection

    def explained(self, error: Exception) -> Exception:
        """Return the lost-file error behind an error of SQLite, else the error itself."""
        try:
            self.check()
        except UnavailableError as reason:
            return reason
        return error

    def rescue(self, connections: Sequence[sqlite3.Connection]) -> None:
        """Write acknowledged data into the database file, once, if the log next to it was deleted.

        No other process may write meanwhile. If another process has started a log in its place, nothing is written, and
        the
        end of this process deletes nothing.
        """
        if not self._why or self._is_rescued:
            return
        self._is_rescued = True
        for connection in connections:
            keep_log(connection)
        is_log_deleted = identity_of(self._path) == self._opened and identity_of(self._wal_path) is None
        if not is_log_deleted:
            return
        try:
            connections[0].execute("PRAGMA wal_checkpoint(FULL)")
        except sqlite3.Error:
            log.exception("what %s held could not be written to %s", self._wal_path, self._path)
        else:
            log.error("all that was acknowledged was written to %s", self._path)

    def _lose(self, why: str) -> None:
        with self._losing:  # Several threads check at once.
            if not self._why:
                self._why = f"{why} under this process"
                log.error("%s (%s): nothing is acknowledged any more; put it in order and restart", why, self._path)
        self.refuse_if_lost()

    def _is_cut_short(self, size: int) -> bool:
        """Return whether a file that became smaller lost pages; a vacuum by any process also shrinks it."""
        if size == 0:  # SQLite deletes the log of an empty file when it opens it.
            return True
        try:
            with closing(self._connect()) as other:
                pages = other.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
                is_short: bool = size < pages.fetchone()[0]
                return is_short and other.execute("PRAGMA quick_check(1)").fetchone() != ("ok",)
        except sqlite3.OperationalError as error:
            # Too many open files, or a lock, do not prove a damaged file: the next check decides.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_IOERR:
                raise UnavailableError(str(error)) from error
            return True
        except sqlite3.DatabaseError:
            return True


def identity_of(path: Path) -> Identity | None:
    """Return the device and inode of a file; None if there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def keep_log(connection: sqlite3.Connection) -> None:
    """Prevent a closing connection from writing to the file and from deleting its log."""
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
