"""Pages of ended requests in the order `ended`.

The table `ended` has the ended requests of each audience and of each tool by end, and then by position. Positions are
in the order of creation, so a page is found by a scan from the latest end down, only as far as the page needs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from heapq import merge
from itertools import groupby, islice

from ringi.backends.audiences import has_index
from ringi.backends.sqlite.lists import (
    CHUNK,
    LAST,
    SLOTS,
    conditions,
    descending_scans,
    first_to_finish,
    snapshot,
    ways,
)
from ringi.domain.endings import EndedPlace, EndedQuery, ended_query
from ringi.domain.record import Query

Row = tuple[EndedPlace, str]
"""The place of a request, and its body."""
MAX_CHUNK = 4096


def find_ended(connection: sqlite3.Connection, query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching ended requests, the latest end first."""
    ended = ended_query(query)
    with snapshot(connection):
        if has_index(ended.query):
            found = rows_where(connection, ended, "1")
        else:
            scans = [chosen(connection, ended, listed(connection, ended, names)) for names in ways(ended.query)]
            # The scan of a search, if there is one, follows those of the lists.
            some = descending_scans(connection, ended.query)[len(scans) :]
            scans += [gathered(connection, ended, places) for places in some]
            # Those without a position in the order of creation are few.
            found = first_to_finish(scans) + rows_where(connection, ended, "place < 0")
    return [body for _, body in sorted(found, reverse=True)[: ended.query.limit]]


def listed(connection: sqlite3.Connection, ended: EndedQuery, names: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the ends and the positions of the requests on some lists, the latest first, each once."""
    below = (LAST, LAST)
    if ended.after:
        below = (ended.after.ended_at, min(max((ended.after.created_at + 1) * SLOTS, 0), LAST))
    walks = [walk(connection, str(ended.query.tenant), name, below) for name in names]
    return (place for place, _ in groupby(merge(*walks, reverse=True)))


def walk(connection: sqlite3.Connection, tenant: str, name: str, below: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the ends and the positions on one list, read in chunks, only as far as the caller iterates."""
    sql = "SELECT at, place FROM ended WHERE audience = ? AND tenant = ? AND (at, place) < (?, ?) AND place >= 0"
    size = CHUNK
    while size:
        found = connection.execute(f"{sql} ORDER BY at DESC, place DESC LIMIT ?", (name, tenant, *below, size))
        places = found.fetchall()
        yield from places
        below, size = (places[-1], min(2 * size, MAX_CHUNK)) if len(places) == size else (below, 0)


def chosen(connection: sqlite3.Connection, ended: EndedQuery, places: Iterator[tuple[int, int]]) -> Iterator[list[Row]]:
    """Yield the matching rows at these positions in chunks, until no later position can be on the page."""
    found: list[Row] = []
    while some := list(islice(places, CHUNK + min(len(found), MAX_CHUNK))):
        rows = sorted(rows_at(connection, ended, [place for _, place in some]), reverse=True)
        found += rows
        yield rows
        at, place = some[-1]
        if len(found) >= ended.query.limit and found[ended.query.limit - 1][0][:2] > (at, place // SLOTS):
            return


def gathered(connection: sqlite3.Connection, ended: EndedQuery, places: Iterator[int]) -> Iterator[list[Row]]:
    """Yield nothing until all matching rows are found: fast if few match."""
    found: list[Row] = []
    while some := list(islice(places, MAX_CHUNK)):
        found += rows_at(connection, ended, some)
        yield []
    yield found


def rows_at(connection: sqlite3.Connection, ended: EndedQuery, places: list[int]) -> list[Row]:
    """Return the matching rows at these positions."""
    return rows_where(connection, ended, "place IN (SELECT value FROM json_each(?))", json.dumps(places))


def rows_where(connection: sqlite3.Connection, ended: EndedQuery, where: str, *values: str) -> list[Row]:
    """Return the matching rows that meet one more condition."""
    its, more = conditions(ended.query)
    hint = "" if where == "1" else "NOT INDEXED"
    sql = f"SELECT body, ended_at, created_at, id FROM requests {hint} WHERE {where} AND {its}"
    rows = connection.execute(sql, [*values, *more])
    return [(place, body) for body, *parts in rows if ended.is_later(place := EndedPlace(*parts))]
