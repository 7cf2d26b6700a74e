"""Removes all traces of erased data from a SQLite file and its log."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol, TypeVar

from ringi.errors import UnavailableError

log = logging.getLogger(__name__)
T = TypeVar("T")
GIVEN_BACK = 200
"""Free pages returned to the disk in one transaction."""
MERGED = 500
"""Pages of the term index merged in one transaction; more would delay other writers."""
MARK_PENDING = "INSERT OR REPLACE INTO cursors (name, position) SELECT 'scrub', max(position) FROM events"
CLEAR_PENDING = "DELETE FROM cursors WHERE name = 'scrub' AND position = ?"


class ScrubbedFile(Protocol):
    """The database operations that scrubbing needs."""

    path: Path

    def write(self, work: Callable[[sqlite3.Connection], T]) -> Awaitable[T]: ...
    def read(self, work: Callable[[sqlite3.Connection], T]) -> Awaitable[T]: ...
    def connect(self) -> sqlite3.Connection: ...


class ErasureScrubber:
    """Scrubs once for all concurrent erasures."""

    def __init__(self, file: ScrubbedFile) -> None:
        self._file = file
        self._scrubbing: asyncio.Task[None] | None = None
        self._has_begun = False

    async def close(self) -> None:
        """Stop a scrub in progress."""
        if self._scrubbing:
            await asyncio.gather(self._scrubbing, return_exceptions=True)

    async def scrub(self) -> None:
        """Remove all traces of deleted data from the term index and from the log."""
        if self._scrubbing is None or self._has_begun:
            self._scrubbing, self._has_begun = asyncio.create_task(self._scrub(self._scrubbing)), False
        await asyncio.shield(self._scrubbing)

    async def scrub_if_owed(self) -> None:
        """Scrub if a process was killed between an erasure and its scrub."""
        if await self._file.read(newest_unscrubbed_erasure):
            await self.scrub()

    async def begin(self) -> None:
        """Complete the pending scrub of the last process; the next erasure retries a failed one."""
        try:
            await self.scrub_if_owed()
        except UnavailableError as error:
            log.warning("%s still holds what was erased: %s", self._file.path, error)

    async def _scrub(self, before: asyncio.Task[None] | None) -> None:
        if before:
            await asyncio.gather(before, return_exceptions=True)
        self._has_begun = True
        upto = await self._file.read(newest_unscrubbed_erasure)
        for step in (merge_term_index, return_pages_to_disk):
            while await self._file.write(step):
                pass
        if await self._empty_log():
            await self._file.write(lambda connection: connection.execute(CLEAR_PENDING, [upto]))

    async def _empty_log(self) -> bool:
        try:
            is_busy = await asyncio.to_thread(self._is_log_kept)
        except sqlite3.Error as error:
            raise UnavailableError(str(error)) from error
        if is_busy:
            log.warning("others read %s-wal, which holds what was erased until all of them close it", self._file.path)
        return not is_busy

    def _is_log_kept(self) -> bool:
        with closing(self._file.connect()) as connection:
            return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])


def newest_unscrubbed_erasure(connection: sqlite3.Connection) -> str | None:
    """Return the position of the newest erasure that has not been scrubbed."""
    row = connection.execute("SELECT position FROM cursors WHERE name = 'scrub'").fetchone()
    return str(row[0]) if row else None


def return_pages_to_disk(connection: sqlite3.Connection) -> bool:
    """Return some free pages to the disk; return whether more are left. An older file keeps them."""
    before = count_free_pages(connection)
    connection.execute(f"PRAGMA incremental_vacuum({GIVEN_BACK})").fetchall()
    return 0 < count_free_pages(connection) < before


def count_free_pages(connection: sqlite3.Connection) -> int:
    """Return the number of free pages."""
    return int(connection.execute("PRAGMA freelist_count").fetchone()[0])


def merge_term_index(connection: sqlite3.Connection) -> bool:
    """Merge a part of the term index, which removes deleted terms; return whether more is left."""
    before = connection.total_changes
    connection.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", [-MERGED])
    return connection.total_changes - before >= 2
