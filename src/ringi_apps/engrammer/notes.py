"""Notes that an Engrammer can search and read; each has a source and an id."""

from __future__ import annotations

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from pydantic import Field, field_validator

from ringi.base import SettingError, StrictModel
from ringi.errors import InvalidError, NotFoundError
from ringi.server import RefusalError
from ringi_apps.engrammer.note_search import NoteText, SearchResult, rank, search_terms

T = TypeVar("T")
PLAYBOOK = "playbook"
"""Reserved source name for the bullets of the playbook."""
MAX_RESULTS = 20
MAX_CANDIDATES = 200
BUSY_SECONDS = 5.0
MIN_INDEXED_LENGTH = 3
NOTES_SCHEMA = """
CREATE TABLE notes (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL DEFAULT '',
  content TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE VIRTUAL TABLE notes_index USING fts5(title, content, content = 'notes', tokenize = 'trigram');
CREATE TRIGGER notes_added AFTER INSERT ON notes BEGIN
  INSERT INTO notes_index (rowid, title, content) VALUES (new.rowid, new.title, new.content);
END;
CREATE TRIGGER notes_removed AFTER DELETE ON notes BEGIN
  INSERT INTO notes_index (notes_index, rowid, title, content) VALUES ('delete', old.rowid, old.title, old.content);
END;
CREATE TRIGGER notes_changed AFTER UPDATE ON notes BEGIN
  INSERT INTO notes_index (notes_index, rowid, title, content) VALUES ('delete', old.rowid, old.title, old.content);
  INSERT INTO notes_index (rowid, title, content) VALUES (new.rowid, new.title, new.content);
END;
"""
"""SQL script that creates the tables for `SqliteNotes`; further columns of `notes` become `Note.more`."""
SELECT_BY_ID = "SELECT * FROM notes WHERE id = ?"
SEARCH_INDEX = """
SELECT notes.id, notes.title, notes.content FROM notes_index JOIN notes ON notes.rowid = notes_index.rowid
WHERE notes_index MATCH ? ORDER BY bm25(notes_index, 2.0, 1.0), notes.id LIMIT ?
"""
SEARCH_TEXT = """
SELECT id, title, content FROM (SELECT id, title, content, {hits} AS hits FROM notes)
WHERE hits > 0 ORDER BY hits DESC, id
"""
TERM_HITS = "(title LIKE '%' || ? || '%') * 2 + (content LIKE '%' || ? || '%')"


class NoteNotFoundError(NotFoundError):
    """A source has no note with this id."""

    def __init__(self, source: str, id: str) -> None:
        why = f"{source!r} has no note {id!r}: search it for the notes that it has"
        super().__init__("note", f"{source}/{id}", why)


class NotesUnreadableError(RefusalError):
    """A note source cannot be read."""

    def __init__(self, source: str, why: object) -> None:
        what = f"the notes of {source!r} cannot be read ({why}): ask the administrator to check the file"
        super().__init__(503, "notes_unreadable", what)


NOTE_ERRORS = (NotFoundError, NotesUnreadableError)
"""Errors of a note lookup; the model gets the message and continues."""


def source_not_found(source: str, names: Iterable[str]) -> NotFoundError:
    """Return the error for a name that no note source has."""
    known = ", ".join(names) or "none, as there are none"
    return NotFoundError("source", source, f"no source of notes {source!r}: choose one of {known}")


class Note(StrictModel):
    """A note and its source.

    Attributes:
        id: Id within its source.
        type: Kind of content, by default `text`.
        title: Title shown to people.
        content: Text in Markdown.
        created_at: Time of creation; UTC if it has no zone.
        source: Name of its source.
        more: Further fields of the source, shown with the note.
    """

    id: str
    type: str = "text"
    title: str = ""
    content: str
    """Markdown."""
    created_at: datetime = Field(alias="createdAt")
    source: str
    more: dict[str, Any] = {}

    @field_validator("created_at")
    @classmethod
    def _in_utc(cls, at: datetime) -> datetime:
        """Return a time without a zone, such as SQLite's own, as UTC."""
        return at if at.tzinfo else at.replace(tzinfo=UTC)


class NoteSource(Protocol):
    """Interface of a note source; implement it for a source of your own."""

    @property
    def name(self) -> str:
        """Unique name of the source in references and tools."""

    @property
    def title(self) -> str:
        """Title of the source for people and the model."""

    async def get(self, id: str) -> Note:
        """Return the note with an id, or raise `NoteNotFoundError`."""

    async def search(self, query: str, limit: int) -> list[SearchResult]:
        """Return at most `limit` results, best first."""


class Notes:
    """The note sources of an Engrammer, by name.

    Args:
        sources: The sources, each with a unique name. The name `playbook` is reserved.

    Raises:
        SettingError: If a name is empty, reserved or used twice.
    """

    def __init__(self, *sources: NoteSource) -> None:
        self._sources: dict[str, NoteSource] = {}
        for source in sources:
            if source.name == PLAYBOOK:
                raise SettingError("notes", source.name, "the playbook has this name: choose another")
            if source.name in self._sources or not source.name:
                raise SettingError("notes", source.name, "give each source its own name")
            self._sources[source.name] = source

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sources, in order."""
        return tuple(self._sources)

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the sources by name, in order."""
        return {name: source.title for name, source in self._sources.items()}

    async def get(self, source: str, id: str) -> Note:
        """Return a note.

        Args:
            source: Name of the source.
            id: The note's id within its source.

        Returns:
            The note.

        Raises:
            NotFoundError: If there is no source with this name.
            NoteNotFoundError: If the source has no note with this id.
            NotesUnreadableError: If the source cannot be read.
        """
        return await self._source(source).get(id)

    async def search(self, source: str, query: str, limit: int = 5) -> list[SearchResult]:
        """Search the notes of a source.

        Args:
            source: Name of the source.
            query: Text to search for.
            limit: Maximum number of results, from 1 to 20.

        Returns:
            The results, best first.

        Raises:
            NotFoundError: If there is no source with this name.
            NotesUnreadableError: If the source cannot be read.
        """
        return await self._source(source).search(query, max(1, min(limit, MAX_RESULTS)))

    def _source(self, source: str) -> NoteSource:
        match = self._sources.get(source)
        if match is None:
            raise source_not_found(source, self.names)
        return match


class FileNotes(ABC):
    """The base of note sources whose notes are read from files."""

    def __init__(self, name: str, path: Path, title: str = "") -> None:
        self.name, self.title, self._path = name, title or name, path

    async def get(self, id: str) -> Note:
        """Return the note with an id.

        Args:
            id: The note's id within this source.

        Returns:
            The note.

        Raises:
            NoteNotFoundError: If there is no note with this id.
            NotesUnreadableError: If a file cannot be read.
        """
        return await asyncio.to_thread(self._load, id)

    async def search(self, query: str, limit: int) -> list[SearchResult]:
        """Search the notes.

        Args:
            query: Text to search for; only its first 1,000 characters count.
            limit: Maximum number of results.

        Returns:
            The results, best first; empty if nothing matches.

        Raises:
            NotesUnreadableError: If a file cannot be read.
        """
        terms = search_terms(query)
        return rank(terms, await asyncio.to_thread(self._candidates, terms), limit) if terms else []

    @abstractmethod
    def _load(self, id: str) -> Note: ...

    @abstractmethod
    def _candidates(self, terms: Sequence[str]) -> Iterable[NoteText]: ...


class FolderNotes(FileNotes):
    """Note source for the Markdown files of a folder.

    The id of a note is the file name without `.md`; its title is the first heading. Subfolders are not read.

    Args:
        name: Unique name of the source.
        folder: The folder with the files.
        title: Title of the source for people and the model; by default `name`.
    """

    def __init__(self, name: str, folder: Path, title: str = "") -> None:
        super().__init__(name, folder, title)

    def _load(self, id: str) -> Note:
        # The id is looked up among the files that are there: none leads out of the folder.
        file = self._files().get(id)
        if file is None:
            raise NoteNotFoundError(self.name, id)
        content = self._read(file)
        at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        return Note(id=id, title=title_of(content) or id, content=content, created_at=at, source=self.name)

    def _candidates(self, terms: Sequence[str]) -> list[NoteText]:
        read = ((id, self._read(file)) for id, file in sorted(self._files().items()))
        return [NoteText(id, title_of(content) or id, content) for id, content in read]

    def _files(self) -> dict[str, Path]:
        try:
            folder = self._path.resolve(strict=True)
            # A link is followed only to a file that stands here as well.
            return {file.stem: file for file in folder.glob("*.md") if file.resolve().parent == folder}
        except OSError as error:
            raise NotesUnreadableError(self.name, error.strerror) from error

    def _read(self, file: Path) -> str:
        try:
            return file.read_text("utf-8")
        except OSError as error:
            raise NotesUnreadableError(self.name, f"{file.name}: {error.strerror}") from error
        except UnicodeError as error:
            raise NotesUnreadableError(self.name, f"{file.name} is not UTF-8") from error


def title_of(content: str) -> str:
    """Return the first heading of a Markdown text, or an empty string."""
    heading = next((line for line in content.splitlines() if line.startswith("#")), "")
    return heading.lstrip("#").strip()


class SqliteNotes(FileNotes):
    """Note source for a SQLite file with the tables of `NOTES_SCHEMA`.

    The file is only read and may be replaced at any time. Words of three or more characters are found by an index.
    Shorter words, common in Japanese and Chinese, need a scan of all notes: milliseconds for a few thousand.

    Args:
        name: Unique name of the source.
        path: The SQLite file.
        title: Title of the source for people and the model; by default `name`.
    """

    def _load(self, id: str) -> Note:
        row = self._query(lambda connection: connection.execute(SELECT_BY_ID, (id,)).fetchone())
        if row is None:
            raise NoteNotFoundError(self.name, id)
        return self._note(dict(row))

    def _candidates(self, terms: Sequence[str]) -> Iterable[NoteText]:
        rows = self._query(lambda connection: find_candidates(connection, terms))
        return {row["id"]: NoteText(*row) for row in rows}.values()

    def _note(self, row: dict[str, Any]) -> Note:
        known = {name: row.pop(name) for name in ("id", "type", "title", "content", "created_at") if name in row}
        try:
            return Note(**known, source=self.name, more=row)
        except InvalidError as error:
            fields = ", ".join(each.field.removeprefix("Note.").partition(".")[0] for each in error.errors)
            raise NotesUnreadableError(self.name, f"note {known.get('id')!r} has no usable {fields}") from error

    def _query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        url = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        try:
            with closing(sqlite3.connect(url, uri=True, timeout=BUSY_SECONDS)) as connection:
                connection.row_factory = sqlite3.Row
                return work(connection)
        except sqlite3.Error as error:
            raise NotesUnreadableError(self.name, f"{self._path.name}: {error}") from error


def find_candidates(connection: sqlite3.Connection, terms: Sequence[str]) -> list[sqlite3.Row]:
    """Return the candidates for ranking: the best by the index, and the best for terms too short for it."""
    indexed = [f'"{term}"' for term in terms if len(term) >= MIN_INDEXED_LENGTH]
    short = [term for term in terms if len(term) < MIN_INDEXED_LENGTH]
    matches = connection.execute(SEARCH_INDEX, (" OR ".join(indexed), MAX_CANDIDATES)).fetchall() if indexed else []
    return matches + (find_containing(connection, short) if short else [])


def find_containing(connection: sqlite3.Connection, terms: Sequence[str]) -> list[sqlite3.Row]:
    """Return the notes that contain most of the terms."""
    hits = " + ".join([TERM_HITS] * len(terms))
    sql = f"{SEARCH_TEXT.format(hits=hits)} LIMIT ?"
    return connection.execute(sql, (*(each for term in terms for each in (term, term)), MAX_CANDIDATES)).fetchall()
