"""The database of the assistants: a small company, in English and Japanese."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from ringi.connect import home_folder

T = TypeVar("T")
TableRow = dict[str, Any]
SCRIPTS = ("schema.sql", "data.sql")
LANGUAGES = ("en", "ja")
BUSY_SECONDS = 10.0


class Office:
    """A SQLite file that is created with sample data on first use; several processes may use it at once.

    Args:
        path: The file; by default `office.db` in the home folder.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    async def read(self, sql: str, params: TableRow | None = None) -> list[TableRow]:
        """Return the rows of a query; texts are dicts by language."""
        return await self.do(lambda connection: rows(connection, sql, params))

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work in a transaction and return its result."""
        return await asyncio.to_thread(self._do, work)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        path = self._path or home_folder() / "office.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            if is_empty(connection):
                transact(connection, fill)
            return transact(connection, work)


def transact(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run work in a transaction and return its result."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        return work(connection)


def is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether the file has no tables yet."""
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] == 0)


def fill(connection: sqlite3.Connection) -> None:
    """Create the tables and their data, unless another process has."""
    if not is_empty(connection):
        return
    for name in SCRIPTS:
        script = resources.files(__package__).joinpath(name).read_text("utf-8")
        # Not executescript: it commits first, so two processes could both create the tables.
        for statement in script.split(";\n"):
            connection.execute(statement)
    connection.execute("PRAGMA user_version = 1")


def rows(connection: sqlite3.Connection, sql: str, params: TableRow | None = None) -> list[TableRow]:
    """Return the rows of a query."""
    return [merge_languages(row) for row in connection.execute(sql, params or {})]


def merge_languages(row: sqlite3.Row) -> TableRow:
    """Return a row with the columns `name_en` and `name_ja` merged into `name`, a dict by language."""
    merged: TableRow = {}
    for column, value in zip(row.keys(), row, strict=True):
        name, _, language = column.rpartition("_")
        if name and language in LANGUAGES:
            merged.setdefault(name, {})[language] = value
        else:
            merged[column] = value
    return merged
