"""The statements of one write of LangGraph's own saver, as one statement under the fence of a thread."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, NamedTuple, Self

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from pydantic_core import to_json

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
"""Raised by a statement of `under_fence` if the thread is not held; then nothing is written."""


class Statement(NamedTuple):
    """A statement with its parameters."""

    sql: str
    parameters: Sequence[Any]
    insert: Insert | None = None


class Insert(NamedTuple):
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

    def statement(self, rows: Iterable[Sequence[Any]]) -> Statement:
        """Return one statement for all rows; PostgreSQL refuses to write a row twice in a statement."""
        unique = dict[tuple[Any, ...], Sequence[Any]]()
        for row in rows:
            key = self.key_of(row)
            unique[key] = row if self.changes else unique.get(key, row)
        sql = f"{self.head} {', '.join([self.row] * len(unique))} {self.tail}"
        return Statement(sql, [value for row in unique.values() for value in row], self)

    def key_of(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """Return the primary key of a row."""
        return tuple(row[position] for position in self.key)

    def rows_of(self, parameters: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """Yield the rows of a statement."""
        for start in range(0, len(parameters), len(self.columns)):
            yield parameters[start : start + len(self.columns)]


class Recorder(psycopg.Connection[DictRow]):
    """A connection without a server that records the statements of LangGraph's saver."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []

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
        insert, converted = parse_insert(sql), [[json_text(value) for value in row] for row in rows]
        if insert is None:
            self.statements += [Statement(sql.strip().rstrip(";"), row) for row in converted]
        elif converted:
            size = max(1, MAX_PARAMETERS // len(insert.columns))
            batches = [converted[start : start + size] for start in range(0, len(converted), size)]
            self.statements += map(insert.statement, batches)


@cache
def parse_insert(sql: str) -> Insert | None:
    """Return the parts of an `INSERT` of rows that may be there already; None for any other statement."""
    found = INSERT.fullmatch(sql)
    if not found:
        return None
    columns, key = (tuple(name.strip() for name in found[part].split(",")) for part in ("columns", "key"))
    positions, changes = tuple(map(columns.index, key)), tuple(re.findall(r"(\w+) = EXCLUDED\.\1", found["tail"]))
    return Insert(found["head"], found["row"], found["tail"], found["table"], columns, positions, changes)


def json_text(value: Any) -> Any:
    """Return a JSON parameter as text, and any other parameter unchanged."""
    return json.dumps(value.obj) if isinstance(value, Jsonb) else value


def recorded(serde: SerializerProtocol, method: str, *args: Any) -> tuple[Any, list[Statement]]:
    """Return the result of a write of LangGraph's own saver, and the statements that it needs."""
    recorder = Recorder()
    result = getattr(PostgresSaver(recorder, serde=serde), method)(*args)
    return result, recorder.statements


def under_fence(statements: Sequence[Statement], held: Thread) -> list[Statement]:
    """Return the statements of one transaction; nearly always it is one, which commits itself.

    The last one raises `LostFence` if another worker holds the thread.
    """
    batches, size = [list[Statement]()], 0
    for statement in statements:
        size += len(statement.parameters)
        if size > MAX_PARAMETERS and batches[-1]:
            batches.append([])
            size = len(statement.parameters)
        batches[-1].append(statement)
    *earlier, last = batches
    return [*(combined(batch, "SELECT") for batch in earlier), fenced(last, held)]


def fenced(statements: Sequence[Statement], held: Thread) -> Statement:
    """Return one statement for all, which raises `LostFence` if another worker holds the thread."""
    written = " AND ".join(WRITTEN.format(number) for number in range(len(statements))) or "true"
    sql, parameters, _ = combined(statements, FENCED.format(written=written))
    # Compared as text: as JSON, PostgreSQL would refuse a body with a NUL anywhere. In a string, quotes are escaped.
    return Statement(sql, [*parameters, *held.key, held.fence, f'"owner":{to_json(held.owner).decode()}'])


def combined(statements: Sequence[Statement], main: str) -> Statement:
    """Return one statement for all, ended by a query without parameters of its own."""
    parts = ", ".join(f"part_{number} AS ({each.sql} RETURNING 1)" for number, each in enumerate(statements))
    sql = f"WITH {parts} {main}" if statements else main
    return Statement(sql, [value for each in statements for value in each.parameters])
