"""Copies of a SQLite store: created during writes, restored while the store is not in use."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from ringi.backends.sqlite.inspection import NO_FILE, ReadOnlySqlite
from ringi.base.settings import SettingError
from ringi.errors import ConflictError

PAGES = 2_000
"""Pages copied between two reports of progress."""
BUSY_SECONDS = 1.0
IN_USE = "a process has it open: stop all servers, workers and programs that use it"
Progress = Callable[[int, int], None]
"""Receives the number of copied pages and the total."""


@contextmanager
def backup_draft_file(target: Path) -> Iterator[Path]:
    """Yield the name of a new file next to the target; a remaining file is deleted at the end."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.partial")
    draft.unlink(missing_ok=True)
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def copy_sqlite_store(source: Path, draft: Path, progress: Progress) -> None:
    """Copy a store as of one moment into an empty file, and flush it to disk."""
    if not source.exists():
        raise SettingError("url", f"sqlite:///{source}", NO_FILE)
    with closing(ReadOnlySqlite(source).connect()) as reading, closing(sqlite3.connect(draft)) as writing:
        # Inside a transaction the copy does not restart with each concurrent change.
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        reading.backup(writing, pages=PAGES, progress=lambda _, left, total: progress(total - left, total))
        writing.execute("PRAGMA journal_mode = DELETE")
    flush_file_to_disk(draft)


def backup_refusal_error(what: object, why: str) -> ConflictError:
    """Return the error of a backup or a restore that changed nothing."""
    return ConflictError(f"{what}: {why}; nothing was changed")


def put_finished_backup(draft: Path, target: Path) -> None:
    """Give a finished copy its name, and flush the name to disk."""
    draft.replace(target)
    flush_file_to_disk(target.parent)


def flush_file_to_disk(path: Path) -> None:
    """Flush a file or a folder to disk."""
    if path.is_dir() and os.name == "nt":  # Windows does not flush folders.
        return
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def set_replaced_store_aside(target: Path, now: datetime) -> Iterator[Path | None]:
    """Lock the store to be replaced; yield the name of its backup, if the store exists.

    Raises `ConflictError` while a process has it open.
    """
    backup = target.with_name(f"{target.name}.before-restore-{now:%Y%m%dT%H%M%S}")
    log = Path(f"{target}-wal")
    if not target.exists():
        if log.exists():  # SQLite would apply it to any file next to it.
            log.rename(f"{backup}-wal")
        yield None
        return
    with closing(sqlite3.connect(target, isolation_level=None)) as held:
        held.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
        try:
            # It moves the log into the file, which requires that no other process has it open.
            held.execute("PRAGMA journal_mode = DELETE")
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise backup_refusal_error(target, IN_USE) from error
        except sqlite3.DatabaseError:  # A file that is not a database is not in use.
            pass
        os.link(target, backup)
        if log.exists():  # The log of a non-database file stays; SQLite would apply it to the copy.
            log.rename(f"{backup}-wal")
        flush_file_to_disk(target.parent)
        yield backup


def is_store_file_empty(path: Path) -> bool:
    """Return whether a store is missing or empty."""
    if not path.exists() or not path.stat().st_size:
        return not Path(f"{path}-wal").exists()
    with closing(ReadOnlySqlite(path).connect()) as connection:
        try:
            return not connection.execute("SELECT 1 FROM events LIMIT 1").fetchall()
        except sqlite3.DatabaseError:
            return False
