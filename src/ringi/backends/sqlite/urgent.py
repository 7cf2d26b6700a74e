"""Pages of pending requests in the order `urgent`, in a time independent of their number.

The table `urgent` has the pending requests of each audience and of each tool by rank, and by deadline. A page is a part
of the list by deadline, up to what is due soon, and then a part of the list by rank without what is due soon.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import groupby, islice, product
from typing import Any, NamedTuple

from ringi.backends.audiences import EVERYTHING, has_index
from ringi.backends.sqlite.lists import conditions, descending_scans, first_to_finish, number, snapshot, ways
from ringi.domain.record import Query, microseconds
from ringi.domain.urgency import UrgentPlace, UrgentQuery, rank_spans, urgent_query

Place = tuple[int, int, str, int]
"""Deadline or rank, created_at, id, and the position of the row: the least is first in its part."""
Row = tuple[UrgentPlace, str]
"""The place of a request, and its body."""
LEAST_CHUNK, MAX_CHUNK = 16, 4096
LEAST = -(2**63)
FIRST = (LEAST, LEAST, "")
OF_RANKS = "urgent WHERE audience = ? AND tenant = ? AND rank BETWEEN ? AND ?"
OF_AGENT = f"urgent INDEXED BY urgent_by_agent WHERE audience = '{EVERYTHING}' AND tenant = ? AND agent = ?"
FEW = 200
"""The most requests that are sorted for one page."""


class Walk(NamedTuple):
    """A part of one list."""

    key: str
    """The column that the list is ordered by: `deadline` or `rank`."""
    first: int
    last: int
    where: str
    values: list[Any]
    chunk: int
    """The number of places to read first."""

    def places(self, connection: sqlite3.Connection, after: tuple[int, int, str]) -> Iterator[Place]:
        """Yield the places in order, read in chunks, only as far as the caller iterates."""
        order = f"{self.key}, created_at, id"
        # Both bounds name the same columns: by another one, SQLite would begin at its bound and skip up to this one.
        span = f"({order}) > (?, ?, ?) AND ({order}) < (?, ?, ?)"
        sql = f"SELECT {order}, place FROM urgent WHERE {self.where} AND {span} ORDER BY {order} LIMIT ?"
        size, after = self.chunk, max(after, (self.first, *FIRST[1:]))
        while size:
            found = connection.execute(sql, (*self.values, *after, self.last + 1, *FIRST[1:], size)).fetchall()
            yield from found
            size = min(2 * size, MAX_CHUNK) if len(found) == size else 0
            after = found[-1][:3] if found else after


def find_urgent(connection: sqlite3.Connection, query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching pending requests, the most urgent first."""
    urgent = urgent_query(query)
    with snapshot(connection):
        if has_index(urgent.query):
            scans = [gathered(connection, urgent, None)]
        elif (few := sorted_few(connection, urgent)) is not None:
            scans = [chosen(connection, urgent, iter(few))]
        else:
            scans = [chosen(connection, urgent, ordered(connection, urgent, names)) for names in ways(urgent.query)]
            if urgent.query.text or urgent.query.kind:
                some = descending_scans(connection, urgent.query)
                scans += [gathered(connection, urgent, places) for places in some]
        return [body for _, body in first_to_finish(scans)]


def sorted_few(connection: sqlite3.Connection, urgent: UrgentQuery) -> list[int] | None:
    """Return the positions of all later requests with the agent, or the priority and the tier, in order, unless many.

    The list by deadline does not have them together, and would be read to its end.
    """
    query, found = urgent.query, None
    if query.agent is not None:
        found = few_in(connection, urgent, OF_AGENT, [(query.tenant, query.agent)])
    if found is None and (query.priority is not None or query.tier is not None):
        lists = [(name, query.tenant, *span) for name, span in product(ways(query)[0], rank_spans(query))]
        found = few_in(connection, urgent, OF_RANKS, lists)
    return found


def few_in(
    connection: sqlite3.Connection, urgent: UrgentQuery, rows: str, lists: Sequence[tuple[Any, ...]]
) -> list[int] | None:
    """Return the positions of all later requests in parts of the table, in order, unless many."""
    total = 0
    for values in lists:
        total += number(connection, f"SELECT 1 FROM {rows} LIMIT ?", (*values, FEW + 1))
        if total > FEW:
            return None
    sql = f"SELECT deadline, rank, created_at, id, place FROM {rows}"
    places = {(urgent.place(*order), place) for values in lists for *order, place in connection.execute(sql, values)}
    return [place for at, place in sorted(places) if urgent.is_later(at)]


def ordered(connection: sqlite3.Connection, urgent: UrgentQuery, names: list[str]) -> Iterator[int]:
    """Yield the positions of the requests on some lists in order, each once."""
    query, last, after = urgent.query, microseconds(urgent.due_soon_until), urgent.after
    chunk = first_chunk(query)
    where, values = "audience = ? AND tenant = ?", [query.tenant]
    if query.agent is not None:
        where, values = f"{where} AND agent = ?", [*values, query.agent]
    spans, start = rank_spans(query), after[1:] if after else FIRST
    if after is None or after.part == "due":
        ranks = " OR ".join(f"rank BETWEEN {first:d} AND {last:d}" for first, last in spans)
        # For the index, which has no others.
        due = f"{where} AND deadline IS NOT NULL AND ({ranks})"
        walks = [Walk("deadline", FIRST[0], last, due, [name, *values], chunk) for name in names]
        yield from merged(connection, walks, start)
        start = FIRST
    rest = f"{where} AND (deadline IS NULL OR deadline > ?)"
    for span in spans:
        walks = [Walk("rank", *span, rest, [name, *values, last], chunk) for name in names]
        yield from merged(connection, walks, start)


def merged(connection: sqlite3.Connection, walks: list[Walk], after: tuple[int, int, str]) -> Iterator[int]:
    """Yield the positions on several lists in order, each once."""
    places = merge(*(walk.places(connection, after) for walk in walks))
    return (place[-1] for place, _ in groupby(places))


def chosen(connection: sqlite3.Connection, urgent: UrgentQuery, places: Iterator[int]) -> Iterator[list[Row]]:
    """Yield the matching rows at these positions in chunks, until the page is full."""
    left, size = urgent.query.limit, first_chunk(urgent.query)
    while left > 0 and (some := list(islice(places, size))):
        rows = dict(rows_at(connection, urgent, some))
        found = [rows[place] for place in some if place in rows][:left]
        left, size = left - len(found), min(2 * size, MAX_CHUNK)
        yield found


def first_chunk(query: Query) -> int:
    """Return how many to read first: the page if all match, because each row of a large file is read from the disk."""
    return min(max(query.limit, LEAST_CHUNK), MAX_CHUNK)


def gathered(connection: sqlite3.Connection, urgent: UrgentQuery, places: Iterator[int] | None) -> Iterator[list[Row]]:
    """Yield nothing until all matching rows are found, then the page: fast if few match."""
    found = [row for _, row in rows_where(connection, urgent, "place < 0" if places else "1", [])]
    while places and (some := list(islice(places, MAX_CHUNK))):
        found += [row for _, row in rows_at(connection, urgent, some)]
        yield []
    yield sorted(row for row in found if urgent.is_later(row[0]))[: urgent.query.limit]


def rows_at(connection: sqlite3.Connection, urgent: UrgentQuery, places: list[int]) -> Iterator[tuple[int, Row]]:
    """Yield the matching rows at these positions, each with its position."""
    return rows_where(connection, urgent, "place IN (SELECT value FROM json_each(?))", [json.dumps(places)])


def rows_where(
    connection: sqlite3.Connection, urgent: UrgentQuery, where: str, values: list[Any]
) -> Iterator[tuple[int, Row]]:
    """Yield the matching rows that meet one more condition, each with its position."""
    its, more = conditions(urgent.query)
    hint = "" if where == "1" else "NOT INDEXED"
    sql = f"SELECT place, body, deadline, rank, created_at, id FROM requests {hint} WHERE {where} AND {its}"
    for place, body, *order in connection.execute(sql, [*values, *more]):
        yield place, (urgent.place(*order), body)
