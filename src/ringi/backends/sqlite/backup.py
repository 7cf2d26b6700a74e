"""Copies of a SQLite store: made while others write, put back while nobody does."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from ringi.backends.sqlite.inspection import NO_FILE, ReadOnlyDatabase
from ringi.errors import ConflictError, SettingError

PAGES = 2_000
"""How many pages are copied between two reports of progress."""
BUSY_SECONDS = 1.0
IN_USE = "a process has it open: stop all servers, workers and programs that use it"
Progress = Callable[[int, int], None]
"""Told how many pages are copied, of how many."""


@contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Give the name of a new file beside the target; what is left of it at the end is deleted."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.partial")
    draft.unlink(missing_ok=True)
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def copy(source: Path, draft: Path, progress: Progress) -> None:
    """Copy a store as of one moment into an empty file, and flush it to the disk."""
    if not source.exists():
        raise SettingError("url", f"sqlite:///{source}", NO_FILE)
    with closing(ReadOnlyDatabase(source).connect()) as reading, closing(sqlite3.connect(draft)) as writing:
        # Inside of a transaction the copy does not begin again with each change that others make.
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        reading.backup(writing, pages=PAGES, progress=lambda _, left, total: progress(total - left, total))
        writing.execute("PRAGMA journal_mode = DELETE")
    flush(draft)


def refusal(what: object, why: str) -> ConflictError:
    """Return the error of a backup or a restore that changed nothing."""
    return ConflictError(f"{what}: {why}; nothing was changed")


def put(draft: Path, target: Path) -> None:
    """Give a finished copy its name, and flush that to the disk."""
    draft.replace(target)
    flush(target.parent)


def flush(path: Path) -> None:
    """Write a file or a folder to the disk."""
    if path.is_dir() and os.name == "nt":  # Windows flushes no folders.
        return
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def set_aside(target: Path, now: datetime) -> Iterator[Path | None]:
    """Keep everybody from the store that is to be replaced; give the name under which it is kept, if it is there.

    Raises `ConflictError` while a process has it open.
    """
    kept = target.with_name(f"{target.name}.before-restore-{now:%Y%m%dT%H%M%S}")
    log = Path(f"{target}-wal")
    if not target.exists():
        if log.exists():  # SQLite would add it to whatever stands beside it.
            log.rename(f"{kept}-wal")
        yield None
        return
    with closing(sqlite3.connect(target, isolation_level=None)) as held:
        held.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
        try:
            # It moves the log into the file, which needs that nobody else has it open.
            held.execute("PRAGMA journal_mode = DELETE")
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise refusal(target, IN_USE) from error
        except sqlite3.DatabaseError:  # What is no database is nobody's.
            pass
        os.link(target, kept)
        if log.exists():  # The log of a file that is no database stays; SQLite would add it to the copy.
            log.rename(f"{kept}-wal")
        flush(target.parent)
        yield kept


def is_empty(path: Path) -> bool:
    """Whether a store is not there, or holds nothing."""
    if not path.exists() or not path.stat().st_size:
        return not Path(f"{path}-wal").exists()
    with closing(ReadOnlyDatabase(path).connect()) as connection:
        try:
            return not connection.execute("SELECT 1 FROM events LIMIT 1").fetchall()
        except sqlite3.DatabaseError:
            return False
