"""Leaves nothing of what was erased in a SQLite file, nor in the log beside it."""

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
"""Free pages that are given back to the disk in one transaction."""
MERGED = 500
"""Pages of the index of terms that are merged in one transaction; more and the others wait."""
MARK_PENDING = "INSERT OR REPLACE INTO cursors (name, position) SELECT 'scrub', max(position) FROM events"
CLEAR_PENDING = "DELETE FROM cursors WHERE name = 'scrub' AND position = ?"


class File(Protocol):
    """What of a database has to be scrubbed."""

    path: Path

    def write(self, work: Callable[[sqlite3.Connection], T]) -> Awaitable[T]: ...
    def read(self, work: Callable[[sqlite3.Connection], T]) -> Awaitable[T]: ...
    def connect(self) -> sqlite3.Connection: ...


class Scrubber:
    """Scrubs once for all who erase at the same time."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._scrubbing: asyncio.Task[None] | None = None
        self._has_begun = False

    async def close(self) -> None:
        """End what was begun."""
        if self._scrubbing:
            await asyncio.gather(self._scrubbing, return_exceptions=True)

    async def scrub(self) -> None:
        """Leave nothing of what was deleted before: not in the index of terms, and not in the log beside the file."""
        if self._scrubbing is None or self._has_begun:
            self._scrubbing, self._has_begun = asyncio.create_task(self._scrub(self._scrubbing)), False
        await asyncio.shield(self._scrubbing)

    async def scrub_if_owed(self) -> None:
        """Scrub if somebody who erased was killed before they did."""
        if await self._file.read(owed):
            await self.scrub()

    async def begin(self) -> None:
        """Do what was owed when the last process ended; what cannot be done now is left to the next who erases."""
        try:
            await self.scrub_if_owed()
        except UnavailableError as error:
            log.warning("%s still holds what was erased: %s", self._file.path, error)

    async def _scrub(self, before: asyncio.Task[None] | None) -> None:
        if before:
            await asyncio.gather(before, return_exceptions=True)
        self._has_begun = True
        upto = await self._file.read(owed)
        for step in (merge_terms, give_back_pages):
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


def owe_scrub(connection: sqlite3.Connection) -> None:
    """Keep, together with an erasure, that the file must be scrubbed: who is killed in between cannot."""
    connection.execute(MARK_PENDING)


def owed(connection: sqlite3.Connection) -> str | None:
    """Return the position of the newest erasure after which nobody has scrubbed."""
    row = connection.execute("SELECT position FROM cursors WHERE name = 'scrub'").fetchone()
    return str(row[0]) if row else None


def give_back_pages(connection: sqlite3.Connection) -> bool:
    """Give some free pages back to the disk, and return whether more are left; an older file keeps them."""
    before = free_pages(connection)
    connection.execute(f"PRAGMA incremental_vacuum({GIVEN_BACK})").fetchall()
    return 0 < free_pages(connection) < before


def free_pages(connection: sqlite3.Connection) -> int:
    """Return how many pages of the file hold nothing."""
    return int(connection.execute("PRAGMA freelist_count").fetchone()[0])


def merge_terms(connection: sqlite3.Connection) -> bool:
    """Merge a part of the index of terms, which forgets deleted terms by it, and return whether more is left."""
    before = connection.total_changes
    connection.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", [-MERGED])
    return connection.total_changes - before >= 2
