"""The newest checkpoint of a thread in SQLite, as the rows of LangGraph's own saver."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from ringi.backends.newest_checkpoint import NewestCheckpoint

SELECT_CHECKPOINT = (
    "SELECT thread_id, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints "
    "WHERE thread_id = ? AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1"
)
SELECT_WRITES = (
    "SELECT task_id, channel, type, value, task_path, idx FROM writes "
    "WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
)
INSERT = re.compile(r"INSERT OR (REPLACE|IGNORE) INTO (checkpoints|writes) \(([^)]*)\) VALUES \([?, ]+\)")
HEAD = ("thread_id", "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata")
WRITE = ("task_id", "channel", "type", "value", "task_path", "idx")
Row = tuple[Any, ...]


class WrittenRows(NamedTuple):
    """A statement of LangGraph's saver with the parameters of each of its rows."""

    sql: str
    rows: list[Sequence[Any]]


class NewestRows(NamedTuple):
    """The row of a checkpoint, and those of its pending writes."""

    head: Row
    writes: list[Row]


class NotingCursor(sqlite3.Cursor):
    """A cursor that notes the statements that write.

    Args:
        connection: The connection.
        written: The list to which they are added.
    """

    def __init__(self, connection: sqlite3.Connection, written: list[WrittenRows]) -> None:
        super().__init__(connection)
        self._written = written

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Self:
        """Execute a statement for each row, and note it."""
        rows = list(parameters)
        self._written.append(WrittenRows(sql, rows))
        return super().executemany(sql, rows)

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        """Execute a statement, and note it if it writes."""
        if not sql.startswith("SELECT"):
            self._written.append(WrittenRows(sql, [parameters]))
        return super().execute(sql, parameters)


class NewestSqliteCheckpoint(NewestCheckpoint[NewestRows, WrittenRows]):
    """The newest checkpoint as rows."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(thread_id)
        self._head: Row | None = None
        self._writes = defaultdict[str, dict[tuple[str, int], Row]](dict)
        """The rows of pending writes by checkpoint: those of the next one may be written before it."""
        self._incomplete = set[str]()
        """The checkpoints of which some writes are not in `_writes`."""

    def _load(self, config: RunnableConfig, serde: SerializerProtocol) -> CheckpointTuple | None:
        head = self._head
        found = NewestRows(head, [*self._writes[head[1]].values()]) if head else None
        return load_newest_rows(found, config, serde)

    def _replace(self, found: NewestRows | None) -> None:
        self._head = found and found.head
        self._writes.clear()
        if found:
            self._writes[found.head[1]] = {(row[0], row[5]): row for row in found.writes}

    def _apply(self, args: Sequence[Any], written: Sequence[WrittenRows]) -> None:
        for sql, rows in written:
            if not (insert := INSERT.fullmatch(sql)):
                return self.stop()
            how, table, columns = insert.groups()
            for row in rows:
                named = dict(zip(columns.split(", "), row, strict=True))
                if table == "checkpoints":
                    self._put(tuple(named[name] for name in HEAD))
                else:
                    self._put_write(named["checkpoint_id"], tuple(named[name] for name in WRITE), how == "REPLACE")
        return None

    def _put(self, row: Row) -> None:
        id = row[1]
        if not self._is_known or (self._head and id < self._head[1]):
            return
        self._head = row
        self._writes = defaultdict(dict, {each: rows for each, rows in self._writes.items() if each >= id})
        self._is_known = id not in self._incomplete

    def _put_write(self, checkpoint_id: str, row: Row, replaces: bool) -> None:
        if not self._is_known:
            self._incomplete.add(checkpoint_id)
        elif replaces:
            self._writes[checkpoint_id][row[0], row[5]] = row
        else:
            self._writes[checkpoint_id].setdefault((row[0], row[5]), row)


class KnownRows(SqliteSaver):
    """LangGraph's own saver on rows that were read before; it is its own cursor."""

    def __init__(self, found: NewestRows | None, serde: SerializerProtocol) -> None:
        super().__init__(None, serde=serde)  # type: ignore[arg-type]
        self._found = found

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[Any]:
        """Yield this object."""
        yield self

    def execute(self, *_: object) -> None:
        """Do nothing: LangGraph reads the checkpoint first, then its writes."""

    def fetchone(self) -> Row | None:
        """Return the row of the checkpoint."""
        return self._found and self._found.head

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows of the writes."""
        return iter(self._found.writes if self._found else ())


def read_newest_rows(connection: sqlite3.Connection, thread_id: str) -> NewestRows | None:
    """Return the rows of the newest checkpoint of the outermost graph of a thread."""
    if (head := connection.execute(SELECT_CHECKPOINT, (thread_id,)).fetchone()) is None:
        return None
    return NewestRows(head, connection.execute(SELECT_WRITES, (thread_id, head[1])).fetchall())


def load_newest_rows(
    found: NewestRows | None, config: RunnableConfig, serde: SerializerProtocol
) -> CheckpointTuple | None:
    """Return what LangGraph makes of rows."""
    return KnownRows(found, serde).get_tuple(config)
