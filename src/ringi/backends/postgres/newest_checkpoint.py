"""The newest checkpoint of a thread, and the statements that read and write checkpoints."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, NamedTuple, Self

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from pydantic_core import to_json

from ringi.backends.newest_checkpoint import NewestCheckpoint, UnknownCheckpointError
from ringi.domain.thread import Thread

MAX_PARAMETERS = 30_000
"""Parameters of one statement: PostgreSQL refuses more than 65,535."""
INSERT = re.compile(
    r"\s*(?P<head>INSERT INTO (?P<table>\w+) \((?P<columns>[^)]*)\)\s*VALUES)\s*(?P<row>\([^)]*\))"
    r"\s*(?P<tail>ON CONFLICT \((?P<key>[^)]*)\).*?);?\s*",
    re.DOTALL,
)
# A share lock: a takeover of the thread waits until this write is committed. The rows are written first: held during a
# long write, the lock would block this run from renewing its lease. Without the row, the division by zero rolls the
# statement back.
FENCED = """SELECT 1 / count(*) FROM (
    SELECT FROM threads
    WHERE tenant = %s AND id = %s AND fence = %s AND strpos(body, %s) > 0 AND {written}
    FOR SHARE
) AS held"""
WRITTEN = "(SELECT count(*) FROM part_{}) >= 0"
LostFence = psycopg.errors.DivisionByZero
"""Raised by a statement of `fenced_checkpoint_statements` if the thread is not held; then nothing is written."""
CheckpointRow = dict[str, Any]
Values = dict[tuple[str, Any], tuple[str, bytes] | None]
VALUES = "checkpoint_blobs"
WRITE = ("task_id", "channel", "type", "blob", "task_path", "idx")
"""The columns of a pending write in the order in which LangGraph reads them."""
SELECT_NEWEST = (
    PostgresSaver.SELECT_SQL + "WHERE thread_id = %s AND checkpoint_ns = %s ORDER BY checkpoint_id DESC LIMIT 1"
)
"""LangGraph's own statement for the newest checkpoint."""


class CheckpointStatement(NamedTuple):
    """A statement with its parameters."""

    sql: str
    parameters: Sequence[Any]
    insert: InsertStatementParts | None = None


class InsertStatementParts(NamedTuple):
    """The parts of one of LangGraph's `INSERT` statements."""

    head: str
    row: str
    tail: str
    table: str
    columns: tuple[str, ...]
    key: tuple[int, ...]
    """The positions of the columns of the primary key."""
    changes: tuple[str, ...]
    """The columns that are replaced in an existing row."""

    def statement(self, rows: Iterable[Sequence[Any]]) -> CheckpointStatement:
        """Return one statement for all rows; PostgreSQL refuses to write a row twice in a statement."""
        unique = dict[tuple[Any, ...], Sequence[Any]]()
        for row in rows:
            key = tuple(row[position] for position in self.key)
            unique[key] = row if self.changes else unique.get(key, row)
        sql = f"{self.head} {', '.join([self.row] * len(unique))} {self.tail}"
        return CheckpointStatement(sql, [value for row in unique.values() for value in row], self)

    def rows_of(self, parameters: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """Yield the rows of a statement."""
        for start in range(0, len(parameters), len(self.columns)):
            yield parameters[start : start + len(self.columns)]


class StatementRecorder(psycopg.Connection[DictRow]):
    """A connection without a server that records the statements of LangGraph's saver."""

    def __init__(self) -> None:
        self.statements: list[CheckpointStatement] = []

    def cursor(self, *_: Any, **__: Any) -> AbstractContextManager[Self]:  # type: ignore[override]
        """Return this object itself."""
        return nullcontext(self)

    def pipeline(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Do nothing."""
        return nullcontext()

    transaction = pipeline  # type: ignore[assignment]

    def execute(self, sql: str, parameters: Sequence[Any] = (), **_: Any) -> None:  # type: ignore[override]
        """Record a statement."""
        self.executemany(sql, [parameters])

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Record a statement for several rows."""
        insert = parse_insert(sql)
        converted = [[json.dumps(each.obj) if isinstance(each, Jsonb) else each for each in row] for row in rows]
        if insert is None:
            self.statements += [CheckpointStatement(sql.strip().rstrip(";"), row) for row in converted]
        elif converted:
            size = max(1, MAX_PARAMETERS // len(insert.columns))
            batches = [converted[start : start + size] for start in range(0, len(converted), size)]
            self.statements += map(insert.statement, batches)


@cache
def parse_insert(sql: str) -> InsertStatementParts | None:
    """Return the parts of an `INSERT` of rows that may be there already; None for any other statement."""
    found = INSERT.fullmatch(sql)
    if not found:
        return None
    columns, key = (tuple(name.strip() for name in found[part].split(",")) for part in ("columns", "key"))
    positions, changes = tuple(map(columns.index, key)), tuple(re.findall(r"(\w+) = EXCLUDED\.\1", found["tail"]))
    return InsertStatementParts(found["head"], found["row"], found["tail"], found["table"], columns, positions, changes)


def record_checkpoint_write(
    serde: SerializerProtocol, method: str, *args: Any
) -> tuple[Any, list[CheckpointStatement]]:
    """Return the result of a write of LangGraph's own saver, and the statements that it needs."""
    recorder = StatementRecorder()
    result = getattr(PostgresSaver(recorder, serde=serde), method)(*args)
    return result, recorder.statements


def fenced_checkpoint_statements(statements: Sequence[CheckpointStatement], held: Thread) -> list[CheckpointStatement]:
    """Return the statements of one transaction; nearly always it is one, which commits itself.

    The last one raises `LostFence` if another worker holds the thread.
    """
    earlier, last = list[list[CheckpointStatement]](), list[CheckpointStatement]()
    for statement in statements:
        if last and sum(len(each.parameters) for each in (*last, statement)) > MAX_PARAMETERS:
            earlier.append(last)
            last = []
        last.append(statement)
    written = " AND ".join(WRITTEN.format(number) for number in range(len(last))) or "true"
    sql, parameters, _ = combine_statements(last, FENCED.format(written=written))
    # Compared as text: as JSON, PostgreSQL would refuse a body with a NUL anywhere. In a string, quotes are escaped.
    fenced = CheckpointStatement(sql, [*parameters, *held.key, held.fence, f'"owner":{to_json(held.owner).decode()}'])
    return [*(combine_statements(batch, "SELECT") for batch in earlier), fenced]


def combine_statements(statements: Sequence[CheckpointStatement], main: str) -> CheckpointStatement:
    """Return one statement for all, ended by a query without parameters of its own."""
    parts = ", ".join(f"part_{number} AS ({each.sql} RETURNING 1)" for number, each in enumerate(statements))
    sql = f"WITH {parts} {main}" if statements else main
    return CheckpointStatement(sql, [value for each in statements for value in each.parameters])


class NewestPostgresCheckpoint(NewestCheckpoint[DictRow, CheckpointStatement]):
    """The newest checkpoint with its values, which have rows of their own."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(thread_id)
        self._head: CheckpointRow | None = None
        """The row of the checkpoint, with JSON as text."""
        self._values: Values = {}
        """The serialized values by channel and version; None for those outside of the table of values."""
        self._writes = defaultdict[str, dict[tuple[str, int], CheckpointRow]](dict)
        """The rows of pending writes by checkpoint: those of the next one may be written before it."""
        self._incomplete = set[str]()
        """The checkpoints of which some writes are not in `_writes`."""

    def _load(self, config: RunnableConfig, serde: SerializerProtocol) -> CheckpointTuple | None:
        return load_checkpoint_row(self._head and self._stored_row(self._head), config, serde)

    def _apply(self, args: Sequence[Any], written: Sequence[CheckpointStatement]) -> None:
        if not all(statement.insert for statement in written):
            return self.stop()
        records = defaultdict[str, list[tuple[CheckpointRow, Sequence[str]]]](list)
        for statement in written:
            if insert := statement.insert:
                for row in insert.rows_of(statement.parameters):
                    records[insert.table].append((dict(zip(insert.columns, row, strict=True)), insert.changes))
        for record, changes in records["checkpoint_writes"]:
            if self._is_known:
                writes = self._writes[record["checkpoint_id"]]
                known = writes.setdefault((record["task_id"], record["idx"]), record)
                known.update((name, record[name]) for name in changes)
            else:
                self._incomplete.add(record["checkpoint_id"])
        for record, changes in records["checkpoints"]:
            _, checkpoint, _, new_versions = args
            new: Values = dict.fromkeys(new_versions.items())
            new |= {(each["channel"], each["version"]): (each["type"], each["blob"]) for each, _ in records[VALUES]}
            self._put(record, changes, checkpoint["channel_versions"], new)

    def _put(self, record: CheckpointRow, changes: Sequence[str], versions: ChannelVersions, new: Values) -> None:
        id, head = record["checkpoint_id"], self._head
        if not self._is_known or (head and id < head["checkpoint_id"]):
            return
        if head and id == head["checkpoint_id"]:
            self._head = {**head, **{name: record[name] for name in changes}}
        else:
            self._head = record
        stored = {place: value for place, value in self._values.items() if value}
        known = {**self._values, **new, **stored}
        self._values = {place: known[place] for place in versions.items() if place in known}
        self._writes = defaultdict(dict, {each: rows for each, rows in self._writes.items() if each >= id})
        # A graph that returns to an earlier checkpoint has values that were not read.
        self._is_known = len(self._values) == len(versions) and id not in self._incomplete

    def _replace(self, found: DictRow | None) -> None:
        self._head, self._values = None, {}
        self._writes.clear()
        if not (row := found):
            return
        versions = row["checkpoint"]["channel_versions"]
        self._head = {**row, **{name: json.dumps(row[name]) for name in ("checkpoint", "metadata")}}
        self._values = dict.fromkeys(versions.items())
        for channel, kind, value in row["channel_values"] or ():
            name = channel.decode()
            self._values[name, versions[name]] = kind.decode(), value
        for values in row["pending_writes"] or ():
            pairs = zip(WRITE, values, strict=True)
            write: CheckpointRow = {name: value if name == "blob" else value.decode() for name, value in pairs}
            write["idx"] = int(write["idx"])
            self._writes[row["checkpoint_id"]][write["task_id"], write["idx"]] = write

    def _stored_row(self, head: CheckpointRow) -> DictRow:
        checkpoint = EXACT.decode(head["checkpoint"])
        values = ((place[0], self._values[place]) for place in checkpoint["channel_versions"].items())
        return {
            **head,
            "checkpoint": checkpoint,
            "metadata": EXACT.decode(head["metadata"]),
            "channel_values": [(channel.encode(), value[0].encode(), value[1]) for channel, value in values if value],
            "pending_writes": [
                tuple(write[name] if name == "blob" else str(write[name]).encode() for name in WRITE)
                for write in self._writes[head["checkpoint_id"]].values()
            ],
        }


class StoredCheckpointRow(StatementRecorder):
    """A connection without a server that returns the row of the newest checkpoint."""

    def __init__(self, row: DictRow | None) -> None:
        super().__init__()
        self._row = row

    def execute(self, sql: str, parameters: Sequence[Any] = (), **_: Any) -> None:  # type: ignore[override]
        """Raise `UnknownCheckpointError` for a statement that needs more than the row."""
        if sql != SELECT_NEWEST:
            raise UnknownCheckpointError

    def fetchone(self) -> DictRow | None:
        """Return the row."""
        return self._row


def load_checkpoint_row(
    row: DictRow | None, config: RunnableConfig, serde: SerializerProtocol
) -> CheckpointTuple | None:
    """Return what LangGraph makes of a row; raise `UnknownCheckpointError` if it reads more than the row."""
    return PostgresSaver(StoredCheckpointRow(row), serde=serde).get_tuple(config)


def float_kept_by_postgres(text: str) -> float:
    """Return a number of JSON text; raise `UnknownCheckpointError` if PostgreSQL returns another number."""
    # PostgreSQL writes 1e+22 with all its digits, which is an int, and has no negative zero.
    if "e+" in text or (text[0] == "-" and not float(text)):
        raise UnknownCheckpointError
    return float(text)


EXACT = json.JSONDecoder(parse_float=float_kept_by_postgres)
