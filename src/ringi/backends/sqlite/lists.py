"""Lists of requests, newest first, in a time independent of their number.

A request has a position: its creation time, and a number within the same microsecond. The table `shown` has a row for
each audience of a request, and `search` the terms of its text, both in the order of positions. A page is found by a
scan from the newest position down, only as far as the page needs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from heapq import merge
from itertools import cycle, groupby, islice
from typing import Any, TypeVar

from ringi.backends.audiences import (
    ENDED,
    EVERYTHING,
    LISTED,
    conditions_of,
    has_index,
    list_partitions,
    required_audiences,
    required_lists,
)
from ringi.contracts.backend import RESUME, RUN
from ringi.domain.record import Query, index_terms, lookup_terms, microseconds, parsed_cursor, query_terms
from ringi.domain.request import Request

T = TypeVar("T")
Row = tuple[int, str, str, str]
"""created_at, id, tenant, body: the greater is first in a list."""
ROW = "created_at, id, tenant, body"
NEWEST_FIRST = "created_at DESC, id DESC, tenant DESC"
SLOTS = 32
"""Positions per microsecond: 2**63 of them end in the year 11104."""
LAST = 2**63 - 1
CHUNK = 64
THREADS_JOBLESS = f"""NOT EXISTS (
  SELECT 1 FROM jobs WHERE jobs.lane = threads.tenant || '/' || threads.id AND jobs.kind IN ('{RUN}', '{RESUME}')
)"""
REQUESTS_JOBLESS = f"""NOT EXISTS (
  SELECT 1 FROM jobs WHERE jobs.key = '{RESUME}:' || requests.tenant || '/' || requests.id
)"""
MARKS = ("unacknowledged", "attention", "unexecuted")
"""The conditions of a query that have a column and an index of their own."""
EXPIRING = "status = 'pending' AND expires_at IS NOT NULL"
FIRST_OF = f"SELECT {{}} FROM requests WHERE {EXPIRING} AND tenant {{}} ORDER BY {{}} LIMIT 1"
SHARERS = f"""
WITH RECURSIVE each (tenant) AS (
  SELECT ({FIRST_OF.format("tenant", ">= ''", "tenant")})
  UNION ALL SELECT ({FIRST_OF.format("tenant", "> each.tenant", "tenant")}) FROM each WHERE each.tenant IS NOT NULL
)
SELECT tenant FROM (SELECT tenant, ({FIRST_OF.format("expires_at", "= each.tenant", "expires_at")}) AS due FROM each)
WHERE due <= ? ORDER BY due, tenant LIMIT ?
"""
"""The tenants with overdue records, found in one step per tenant, however many records each has."""


def free_place(connection: sqlite3.Connection, created_at: int) -> int:
    """Return a position for a new request; negative and unordered if its microsecond is full."""
    first = created_at * SLOTS
    sql = "SELECT max(place) FROM requests WHERE place BETWEEN ? AND ?"
    (last,) = connection.execute(sql, (first, first + SLOTS - 1)).fetchone()
    place = first if last is None else int(last) + 1
    if created_at >= 0 and place < first + SLOTS:
        return place
    (least,) = connection.execute("SELECT min(place) FROM requests").fetchone()
    return min(least or 0, 0) - 1


def terms_of(request: Request) -> str:
    """Return the index terms of a request, specific to its tenant."""
    return terms_in(request.tenant, request.search_text)


def terms_in(tenant: str, text: str) -> str:
    """Return the index terms of a tenant's searchable text."""
    mark = mark_of(tenant)
    return " ".join(f"{mark}{term}" for term in index_terms(text))


@cache
def mark_of(tenant: str) -> str:
    """Return the prefix of a tenant's terms: requests of other tenants are not even read."""
    return blake2b(tenant.encode(), digest_size=4).hexdigest()


def find(connection: sqlite3.Connection, table: str, query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching records, newest first."""
    if table == "requests" and query.expired_at:
        return overdue(connection, query)
    if table == "requests" and not has_index(query):
        return [body for *_, body in newest(connection, query)]
    where, values = conditions(query)
    sql = f"SELECT body FROM {table} WHERE {where} ORDER BY {NEWEST_FIRST} LIMIT ?"
    return [body for (body,) in connection.execute(sql, [*values, query.limit])]


def overdue(connection: sqlite3.Connection, query: Query) -> list[str]:
    """Return the bodies of the longest overdue records; if they exceed a page, a share for each tenant."""
    found = longest_overdue(connection, query)
    if query.tenant is not None or len(found) < query.limit:
        return found
    tenants = connection.execute(SHARERS, [*_us(query.expired_at), query.limit]).fetchall()
    share = max(1, query.limit // max(1, len(tenants)))
    of_each = (query.model_copy(update={"tenant": tenant, "limit": share}) for (tenant,) in tenants)
    return [body for mine in of_each for body in longest_overdue(connection, mine)] or found


def longest_overdue(connection: sqlite3.Connection, query: Query) -> list[str]:
    """Return the bodies of the longest overdue records."""
    where, values = conditions(query)
    sql = f"SELECT body FROM requests WHERE {where} ORDER BY expires_at LIMIT ?"
    return [body for (body,) in connection.execute(sql, [*values, query.limit])]


def count(connection: sqlite3.Connection, table: str, query: Query) -> int:
    """Return the number of matching records, up to `query.limit`."""
    if table == "requests" and not has_index(query):
        return count_listed(connection, query)
    where, values = conditions(query)
    sql = f"SELECT 1 FROM {table} WHERE {where} LIMIT ?"
    return number(connection, sql, [*values, query.limit])


def count_listed(connection: sqlite3.Connection, query: Query) -> int:
    """Return the number of matching requests, from the lists alone if they cover all conditions."""
    audience, *more = required_lists(query) or [[EVERYTHING]]
    tenant = ("AND tenant = ?", [query.tenant]) if query.tenant is not None else ("", [])
    among = f"audience IN (SELECT value FROM json_each(?)) {tenant[0]}"
    values = [json.dumps(audience), *tenant[1]]
    if not more and conditions_of(query) <= LISTED:
        there = f"{among} AND shelf IN (SELECT value FROM json_each(?))"
        sql = f"SELECT DISTINCT place FROM shown WHERE {there} LIMIT ?"
        return number(connection, sql, [*values, json.dumps(list_partitions(query)), query.limit])
    if not more and conditions_of(query) <= ENDED and query.ended_since:
        sql = f"SELECT DISTINCT place FROM ended WHERE {among} AND at >= ? LIMIT ?"
        return number(connection, sql, [*values, microseconds(query.ended_since), query.limit])
    return len(newest(connection, query))


def number(connection: sqlite3.Connection, sql: str, values: Sequence[object]) -> int:
    """Return the number of rows of a statement."""
    return int(connection.execute(f"SELECT count(*) FROM ({sql})", values).fetchone()[0])


def newest(connection: sqlite3.Connection, query: Query) -> list[Row]:
    """Return the rows of at most `query.limit` matching requests, newest first."""
    where, values = conditions(query)
    with snapshot(connection):
        scans = [chosen(connection, scan, where, values, query.limit) for scan in descending_scans(connection, query)]
        rows = first_to_finish(scans)
        crowd = f"SELECT {ROW} FROM requests NOT INDEXED WHERE place < 0 AND {where} ORDER BY {NEWEST_FIRST} LIMIT ?"
        rows += connection.execute(crowd, [*values, query.limit]).fetchall()
    return sorted(rows, reverse=True)[: query.limit]


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Read as of one moment: otherwise a request could move between lists and be missed between two statements."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def first_to_finish(scans: Sequence[Iterator[list[T]]]) -> list[T]:
    """Return the result of the first way to finish: all find the same, but one may take a million steps."""
    found: list[list[T]] = [[] for _ in scans]
    for n in cycle(range(len(scans))):
        rows = next(scans[n], None)
        if rows is None:
            break
        found[n] += rows
    return found[n]


def chosen(
    connection: sqlite3.Connection, places: Iterator[int], where: str, values: Sequence[object], limit: int
) -> Iterator[list[Row]]:
    """Yield the matching rows at these positions in chunks, until no later position can be on the page."""
    here = "place IN (SELECT value FROM json_each(?))"
    sql = f"SELECT {ROW} FROM requests NOT INDEXED WHERE {here} AND {where} ORDER BY place DESC"
    found: list[Row] = []
    while some := list(islice(places, CHUNK + len(found))):
        rows = connection.execute(sql, (json.dumps(some), *values)).fetchall()
        found += rows
        yield rows
        if len(found) >= limit and found[limit - 1][0] > some[-1] // SLOTS:
            return


def descending_scans(connection: sqlite3.Connection, query: Query) -> list[Iterator[int]]:
    """Return scans from the cursor down that each visit every matching request."""
    below = min((parsed_cursor(query.before)[0] + 1) * SLOTS, LAST) if query.before else LAST
    if query.tenant is None:
        return [walk(connection, "SELECT place FROM requests WHERE {}", "place", [], below)]
    sought = lookup_terms(query_terms(query.text or ""))
    scans = [listed(connection, query, below, names) for names in ways(query)]
    if sought:
        match = " AND ".join(f'"{mark_of(query.tenant)}{term}"' for term in sought)
        scans.append(walk(connection, "SELECT rowid FROM search WHERE search MATCH ? AND {}", "rowid", [match], below))
    return scans


def ways(query: Query) -> list[list[str]]:
    """Return sets of lists that each have every match; any may be the shortest."""
    first, *others = required_lists(query) or [[EVERYTHING]]
    return [first, *others[:1]] if query.tool is not None else [first]


def listed(connection: sqlite3.Connection, query: Query, below: int, audiences: list[str]) -> Iterator[int]:
    """Yield the positions in the partitions of some lists, each once."""
    here = "audience = {} AND shelf = {} AND tenant = ?"
    some = f"SELECT 1 FROM shown WHERE {here.format('a.value', 's.value')} AND place BETWEEN 0 AND ?"
    sql = f"SELECT a.value, s.value FROM json_each(?) a, json_each(?) s WHERE EXISTS ({some})"
    values = (json.dumps(audiences), json.dumps(list_partitions(query)), query.tenant, below)
    rows = connection.execute(sql, values).fetchall()
    sql = f"SELECT place FROM shown WHERE {here.format('?', '?')} AND {{}}"
    walks = [walk(connection, sql, "place", [*row, query.tenant], below) for row in rows]
    return (place for place, _ in groupby(merge(*walks, reverse=True)))


def walk(connection: sqlite3.Connection, sql: str, place: str, values: list[Any], below: int) -> Iterator[int]:
    """Yield positions in descending order, read in chunks, only as far as the caller iterates."""
    sql = f"{sql.format(f'{place} >= 0 AND {place} < ?')} ORDER BY {place} DESC LIMIT ?"
    size = CHUNK
    while size:
        places = [each for (each,) in connection.execute(sql, (*values, below, size))]
        yield from places
        below, size = (places[-1], 2 * size) if len(places) == size else (0, 0)


def conditions(query: Query) -> tuple[str, list[Any]]:
    """Return the WHERE clause of a query and its values."""
    parts = [(sql, values) for sql, values in possible_conditions(query) if values]
    parts += [(f"{name} = 1", []) for name in MARKS if getattr(query, name)]
    if query.unsettled:
        parts.append(("(status = 'pending' OR unacknowledged = 1 OR attention = 1)", []))
    if query.jobless:
        parts.append((THREADS_JOBLESS if query.unleased_at else REQUESTS_JOBLESS, []))
    return " AND ".join(sql for sql, _ in parts) or "1", [value for _, values in parts for value in values]


def possible_conditions(query: Query) -> list[tuple[str, list[Any]]]:
    """Return every condition that a query can set; those without values do not count."""
    names = ("tenant", "kind", "priority", "thread_id", "tool", "agent", "tier")
    equal = {name: getattr(query, name) for name in names}
    expired, unleased, ended = _us(query.expired_at), _us(query.unleased_at), _us(query.ended_since)
    return [
        *((f"{name} = ?", [value] if value is not None else []) for name, value in equal.items()),
        (f"status IN ({marks(query.statuses)})", list(query.statuses)),
        *(("instr(search, ?) > 0", [piece]) for piece in query_terms(query.text or "")),
        (f"{EXPIRING} AND expires_at <= ?", expired),
        ("status = 'running' AND (lease_until IS NULL OR lease_until <= ?)", unleased),
        ("ended_at >= ?", ended),
        ("(created_at, id, tenant) < (?, ?, ?)", list(parsed_cursor(query.before)) if query.before else []),
        *((f"EXISTS (SELECT 1 FROM json_each(audiences) WHERE value IN ({marks(names)}))", names)
          for names in required_audiences(query)),
    ]  # fmt: skip


def marks(values: Sequence[object]) -> str:
    """Return a placeholder for each value."""
    return ", ".join("?" for _ in values)


def _us(at: Any) -> list[Any]:
    return [microseconds(at)] if at else []
