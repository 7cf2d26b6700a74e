"""Read-only SQLite file for `ringi verify`: it creates, migrates and writes nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any, Self, TypeVar

from ringi.backends.migrations import backend_migrations, refuse_other_schema
from ringi.backends.rows import TABLES, Columns, find_wrong_columns
from ringi.backends.sqlite.database import (
    BUSY_SECONDS,
    SqliteDatabase,
    TaskThread,
    Work,
    file_identity,
    read_sqlite_schema,
)
from ringi.backends.sqlite.lists import sqlite_terms_of_text
from ringi.backends.sqlite.store import SqliteStore, sqlite_record_columns
from ringi.base.settings import SettingError
from ringi.contracts.store import Finding
from ringi.domain.journal import Journal
from ringi.domain.record import START, Event, Key, Position, Record, UnreadableError, parse_position_number
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import UnavailableError

T = TypeVar("T")
CHUNK = 500
LAST = 2**63 - 1
NO_FILE = "there is no file: give the store with --url or RINGI_URL"
UNREADABLE = "{}: copy it, with its -wal, to where you may write"
NO_DATABASE = "{}: this is no SQLite file, or its first page is damaged"
NOWHERE = Key("", "")
TermSums = Counter[type[Record]]
"""For each kind of records, one order-independent number for all their index terms."""
LISTS = "(SELECT value FROM json_each(r.audiences) UNION ALL SELECT 'tool:' || r.tool WHERE r.tool IS NOT NULL)"
UNLISTED = """
WITH listed AS (
  SELECT r.place, value FROM requests r, json_each(r.audiences)
  UNION ALL SELECT place, 'tool:' || tool FROM requests WHERE tool IS NOT NULL
)
SELECT r.tenant, r.id FROM listed a JOIN requests r USING (place) WHERE NOT EXISTS (
  SELECT 1 FROM shown s WHERE s.audience = a.value AND s.shelf = r.shelf AND s.tenant = r.tenant AND s.place = r.place
) OR (r.ended_at IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM ended e WHERE e.audience = a.value AND e.tenant = r.tenant AND e.at = r.ended_at AND e.place = r.place
)) OR (r.status = 'pending' AND NOT EXISTS (
  SELECT 1 FROM urgent u WHERE u.audience = a.value AND u.tenant = r.tenant AND u.rank = r.rank
    AND u.created_at = r.created_at AND u.id = r.id AND u.place = r.place
    AND u.deadline IS r.deadline AND u.agent IS r.agent
))
"""
MISLISTED = f"""
SELECT s.tenant, coalesce(r.id, ''), s.audience FROM shown s LEFT JOIN requests r ON r.place = s.place
WHERE r.place IS NULL OR r.shelf <> s.shelf OR r.tenant <> s.tenant
  OR s.audience NOT IN {LISTS}
UNION ALL
SELECT e.tenant, coalesce(r.id, ''), e.audience FROM ended e LEFT JOIN requests r ON r.place = e.place
WHERE r.place IS NULL OR r.ended_at IS NOT e.at OR r.tenant <> e.tenant
  OR e.audience NOT IN {LISTS}
UNION ALL
SELECT u.tenant, coalesce(r.id, ''), u.audience FROM urgent u LEFT JOIN requests r ON r.place = u.place
WHERE r.place IS NULL OR r.status <> 'pending' OR r.tenant <> u.tenant OR r.rank IS NOT u.rank OR r.id <> u.id
  OR r.deadline IS NOT u.deadline OR r.created_at <> u.created_at OR u.audience NOT IN {LISTS}
"""


class ReadOnlySqlite(SqliteDatabase):
    """A read-only file, even without write permission; it must exist, and have the version of this program."""

    async def __aenter__(self) -> Self:
        if not file_identity(self.path):
            raise SettingError("url", self.url, NO_FILE)
        with ExitStack() as opened:
            connection = opened.enter_context(closing(self.connect()))
            self._refuse_foreign(connection)
            opened.pop_all()
        self._reader = TaskThread("inspector", connection)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._reader.close()

    async def write(self, work: Work[T]) -> T:
        raise UnavailableError("it is open to be read only")

    async def read(self, work: Work[T]) -> T:
        return await self._reader.do(work)

    look = read

    async def check(self) -> None:
        """Do nothing: nothing is acknowledged."""

    def connect(self) -> sqlite3.Connection:
        """Return a read-only connection, concurrent with writers if there are any."""
        log = Path(f"{self.path.resolve()}-wal")
        # Without a log no process has the file open, and SQLite needs no files next to it.
        mode = "mode=ro" if log.exists() else "mode=ro&immutable=1"
        address = f"{self.path.as_uri()}?{mode}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        return connection

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("BEGIN")
            schema = read_sqlite_schema(connection)
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise SettingError("url", self.url, UNREADABLE.format(error)) from error
        except sqlite3.DatabaseError as error:
            raise SettingError("url", self.url, NO_DATABASE.format(error)) from error
        refuse_other_schema(self.url, schema, backend_migrations("sqlite"))


class DamagedSqliteStore(SqliteStore):
    """Reads the readable parts of a file with damaged pages or rows, and checks redundant data."""

    uninspected = ""

    async def events(self, after: Position = START, limit: int = 100, **conditions: Any) -> list[Event]:
        try:
            return await super().events(after, limit, **conditions)
        except UnreadableError:
            raise
        except UnavailableError as error:
            if limit > 1:
                return await self.events(after, max(1, limit // 8), **conditions)
            if conditions.get("record_id") is not None:
                raise
            number = parse_position_number(after)
            next = await self._database.read(lambda c: next_readable_position(c, "events", "position", number))
            raise UnreadableError("event", str(next - 1), str(error)) from error

    async def inspect(self) -> AsyncGenerator[Finding, None]:
        for what in await self._database.read(check_sqlite_integrity):
            yield Finding("store", NOWHERE, "", what)
        filed = TermSums()
        for kind in (Request, Thread, Journal):
            place = -LAST
            while place < LAST:
                findings, place = await self._database.read(partial(compare_rows_with_records, kind, place, filed))
                for finding in findings:
                    yield finding
        for look in (find_wrong_sqlite_lists, lambda c: [] if filed[Request] == read_index_term_sum(c) else [SEARCH]):
            try:
                for finding in await self._database.read(look):
                    yield finding
            except UnavailableError as error:
                yield Finding("store", NOWHERE, "", f"its lists cannot be read ({error})")


SEARCH = Finding("store", NOWHERE, "", "the index of the search is not what the requests say")


def check_sqlite_integrity(connection: sqlite3.Connection) -> list[str]:
    """Return the findings of SQLite's own check."""
    try:
        rows = [text for (text,) in connection.execute("PRAGMA integrity_check")]
    except sqlite3.DatabaseError as error:
        rows = [str(error)]
    return [f"SQLite's integrity check: {text}" for text in rows if text != "ok"]


def next_readable_position(connection: sqlite3.Connection, table: str, column: str, after: int) -> int:
    """Return the first readable position after an unreadable one; `LAST` if there is none."""
    sql = f"SELECT * FROM {table} WHERE {column} >= ? ORDER BY {column} LIMIT 1"

    def is_readable(place: int) -> bool:
        try:
            connection.execute(sql, [place]).fetchall()
        except sqlite3.DatabaseError:
            return False
        return True

    low, step = after + 1, 1
    while not is_readable(min(low + step, LAST)):
        if low + step >= LAST:
            return LAST
        step *= 2
    high = min(low + step, LAST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_readable(middle) else (middle, high)
    return high


def compare_rows_with_records(
    kind: type[Record], after: int, filed: TermSums, connection: sqlite3.Connection
) -> tuple[list[Finding], int]:
    """Compare the columns of some rows with their records; return the differences, and the next position."""
    table = TABLES[kind.record]
    sql = f"SELECT rowid AS row, * FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?"
    for limit in (CHUNK, 1):
        try:
            with closing(connection.execute(sql, (after, limit))) as cursor:
                names = [column[0] for column in cursor.description]
                rows = [dict(zip(names, row, strict=True)) for row in cursor]
        except sqlite3.DatabaseError as error:
            why = error
            continue
        findings = [finding for row in rows for finding in columns_unlike_record(kind, row, filed)]
        return findings, rows[-1]["row"] if rows else LAST
    next = next_readable_position(connection, table, "rowid", after)
    return [Finding(kind.record, NOWHERE, "", f"rows cannot be read up to row {next} ({why})")], next - 1


def columns_unlike_record(kind: type[Record], row: dict[str, Any], filed: TermSums) -> list[Finding]:
    """Return the columns of a row that differ from its record, whose terms are added to those of the search."""

    def expected(record: Record) -> Columns:
        columns = sqlite_record_columns(record)
        if isinstance(record, Request):
            terms = sqlite_terms_of_text(record.tenant, columns["search"])
            filed[kind] += sum(hash((term, row["row"])) for term in set(terms.split()))
        return columns

    return find_wrong_columns(kind, row, expected, ne)


def read_index_term_sum(connection: sqlite3.Connection) -> int:
    """Return one number for all terms in the search index, in the form of `TermSums`."""
    connection.execute("CREATE VIRTUAL TABLE temp.filed USING fts5vocab(main, search, instance)")
    try:
        return sum(map(hash, connection.execute("SELECT term, doc FROM temp.filed")))
    finally:
        connection.execute("DROP TABLE temp.filed")


def find_wrong_sqlite_lists(connection: sqlite3.Connection) -> list[Finding]:
    """Return the requests that are in a wrong list, or missing in a right one."""
    found = [(Key(tenant, id), "it is missing in a list") for tenant, id in connection.execute(UNLISTED)]
    wrong: Sequence[Any] = connection.execute(MISLISTED).fetchall()
    found += [(Key(tenant, id), f"it stands in a list that is not its own ({name})") for tenant, id, name in wrong]
    return [Finding("request", key, "", what) for key, what in dict.fromkeys(found)]
