"""The notes on woodworking: a SQLite file that is created from the SQL files in this folder."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import zlib
from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path

from ringi.connect import home_folder
from ringi_apps.engrammer import NOTES_SCHEMA, Note, SearchResult, SqliteNotes

NAME, TITLE = "woodworking_db", "Woodworking: joints, glue, clamps, wood movement, finishes, safety"
SCRIPTS = ("woodworking_en.sql", "woodworking_ja.sql", "woodworking_zh.sql")
COLUMNS = """
ALTER TABLE notes ADD COLUMN language TEXT;
ALTER TABLE notes ADD COLUMN topic TEXT;
"""


class WoodworkingNotes:
    """The notes on woodworking; the file is created on first use.

    Args:
        path: The file; by default `woodworking.db` in the home folder.
    """

    name, title = NAME, TITLE

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    async def get(self, id: str) -> Note:
        """Return a note by its id; raise `NoteNotFoundError` if there is none."""
        return await (await self._made()).get(id)

    async def search(self, query: str, limit: int) -> list[SearchResult]:
        """Return the best matches."""
        return await (await self._made()).search(query, limit)

    async def _made(self) -> SqliteNotes:
        path = self._path or home_folder() / "woodworking.db"
        await asyncio.to_thread(make, path)
        return SqliteNotes(self.name, path, self.title)


def make(path: Path) -> None:
    """Create the file unless it has this version; readers see either the old or the complete new one."""
    script, version = script_and_version()
    # A file of an older version has other notes, and is replaced.
    if version_of(path) == version:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    os.close(handle)
    try:
        with closing(sqlite3.connect(name)) as connection:
            connection.executescript(f"BEGIN; {script} PRAGMA user_version = {version}; COMMIT;")
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


@cache
def script_and_version() -> tuple[str, int]:
    """Return the SQL script of the file and its version."""
    files = [resources.files(__package__).joinpath(name).read_text("utf-8") for name in SCRIPTS]
    script = "".join([NOTES_SCHEMA, COLUMNS, *files])
    return script, zlib.crc32(script.encode()) & 0x7FFFFFFF


def version_of(path: Path) -> int | None:
    """Return the version of a file; None if it is missing or unreadable."""
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(path)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return None
