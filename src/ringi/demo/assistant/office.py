"""The database of a small company, in English and Japanese: what the assistants look up, and write to."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from ringi.connect import home

T = TypeVar("T")
Row = dict[str, Any]
SCRIPTS = ("schema.sql", "data.sql")
LANGUAGES = ("en", "ja")
BUSY_SECONDS = 10.0


class Office:
    """A SQLite file, made with its data when it is first used: `office.db` in the home folder unless a path is given.

    Any number of processes may use it at once.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    async def read(self, sql: str, params: Row | None = None) -> list[Row]:
        """Return the rows of a query, each with its texts by language."""
        return await self.do(lambda connection: rows(connection, sql, params))

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what work on the database yields; all that it writes counts, or nothing."""
        return await asyncio.to_thread(self._do, work)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        path = self._path or home() / "office.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            if is_empty(connection):
                transact(connection, fill)
            return transact(connection, work)


def transact(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """Return what work yields in a transaction of its own."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        return work(connection)


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nobody has filled the file yet."""
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] == 0)


def fill(connection: sqlite3.Connection) -> None:
    """Make the tables and their data, unless another process was quicker."""
    if not is_empty(connection):
        return
    for name in SCRIPTS:
        script = resources.files(__package__).joinpath(name).read_text("utf-8")
        # Not executescript: it commits first, and two processes would both make the tables.
        for statement in script.split(";\n"):
            connection.execute(statement)
    connection.execute("PRAGMA user_version = 1")


def rows(connection: sqlite3.Connection, sql: str, params: Row | None = None) -> list[Row]:
    """Return the rows of a query."""
    return [folded(row) for row in connection.execute(sql, params or {})]


def folded(row: sqlite3.Row) -> Row:
    """Return a row whose columns of one text are one value: `name_en` and `name_ja` are `name`, by language."""
    found: Row = {}
    for column, value in zip(row.keys(), row, strict=True):
        name, _, language = column.rpartition("_")
        if name and language in LANGUAGES:
            found.setdefault(name, {})[language] = value
        else:
            found[column] = value
    return found
