"""A database that cannot be looked into for a moment is not lost; one with an unreadable disk is."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ringi.backends.sqlite.database import FileGuard
from ringi.errors import UnavailableError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ringi.db"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE t (n)")
    return path


def shrunk(path: Path, connect: Callable[[], sqlite3.Connection]) -> FileGuard:
    """Return the guard of a file that was larger when it was looked at last."""
    guard = FileGuard(path, connect)
    guard._size = path.stat().st_size + 1
    return guard


def test_a_lock_on_a_file_that_became_smaller_is_no_loss(path: Path) -> None:
    guard = shrunk(path, lambda: sqlite3.connect(path, timeout=0))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnavailableError, match="locked"):
            guard.check()
        other.execute("ROLLBACK")
    guard.check()
    guard.refuse_if_lost()


def test_a_file_that_cannot_be_opened_for_a_moment_is_no_loss(path: Path) -> None:
    names = [str(path.parent), str(path)]
    guard = shrunk(path, lambda: sqlite3.connect(names.pop(0)))
    with pytest.raises(UnavailableError, match="unable to open"):
        guard.check()
    guard.check()


def test_a_file_that_is_no_database_any_more_is_lost(path: Path) -> None:
    guard = shrunk(path, lambda: sqlite3.connect(path))
    path.write_bytes(b"x" * (path.stat().st_size))
    for _ in range(2):
        with pytest.raises(UnavailableError, match=r"ringi\.db was cut short"):
            guard.check()


def test_two_threads_that_find_the_same_loss_at_once_log_it_once(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    guard = FileGuard(path, lambda: sqlite3.connect(path))
    path.unlink()
    both_look, stat = threading.Barrier(2, timeout=10), Path.stat

    def together(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if self == path:
            both_look.wait()
        return stat(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", together)
    with ThreadPoolExecutor(2) as threads:
        looks = [threads.submit(guard.check) for _ in range(2)]
    monkeypatch.undo()

    assert [type(look.exception()) for look in looks] == [UnavailableError] * 2
    assert len(caplog.messages) == 1
