"""Lists of requests in a time independent of their number.

A request has a position: its creation time, and a number within the same microsecond. The tables `shown`, `ended` and
`urgent` have a row for each audience and for the tool of a request, in the orders of lists, and `search` the terms of
its text in the order of positions. A page is found by a scan from its first place on, only as far as the page needs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache, cached_property
from hashlib import blake2b
from heapq import merge
from itertools import chain, cycle, groupby, islice, repeat
from operator import itemgetter
from typing import Any

from ringi.backends.orders import LEAST, MOST, IndexSpan, OrderedListing, ordered_listing
from ringi.backends.rows import (
    ENDED,
    EVERYTHING,
    LISTED,
    LOW,
    TABLES,
    query_conditions,
    query_has_own_index,
    query_partitions,
    required_index_lists,
    size_of_text,
)
from ringi.backends.sql import SqlWhere, order_and_limit_clause, query_urgency_ranks
from ringi.contracts.backend import RESUME, RUN
from ringi.domain.record import Query, Record, index_terms, lookup_terms, query_terms, unix_microseconds
from ringi.domain.request import Request

IndexRow = tuple[Any, ...]
"""The place of a request, and its body."""
IndexKey = tuple[Any, ...]
"""What an index compares; the last is the position of the request."""
SLOTS = 32
"""Positions per microsecond: 2**63 of them end in the year 11104."""
LEAST_CHUNK, FIRST_CHUNK, MAX_CHUNK = 16, 64, 4096
FEW = 200
"""The most requests that are sorted for one page."""
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
ORDERS = {
    "created_at": ("place",),
    "ended_at": ("at", "place"),
    "deadline": ("deadline", "created_at", "id", "place"),
    "rank": ("rank", "created_at", "id", "place"),
}
"""The columns of each index; the last is the position of the request."""
SHELF = "audience = {} AND shelf = {} AND tenant = ?"
AMONG = "(SELECT value FROM json_each(?))"
STARTED = f"""
SELECT a.value, s.value FROM json_each(?) a, json_each(?) s
WHERE EXISTS (SELECT 1 FROM shown WHERE {SHELF.format("a.value", "s.value")} AND place BETWEEN 0 AND ?)
"""
"""The partitions of some lists that have a request before a position."""


class SqliteWhere(SqlWhere):
    """Conditions of a statement of SQLite, whose placeholders have no numbers."""

    is_marked = "{} = 1"
    is_due = f"{EXPIRING} AND expires_at <= ?"
    has_text = "instr(search, ?) > 0"
    is_jobless = {
        "threads": f"""NOT EXISTS (
          SELECT 1 FROM jobs WHERE lane = threads.tenant || '/' || threads.id AND jobs.kind IN ('{RUN}', '{RESUME}')
        )""",
        "requests": f"""NOT EXISTS (
          SELECT 1 FROM jobs WHERE key = '{RESUME}:' || requests.tenant || '/' || requests.id
        )""",
    }

    def mark(self, value: Any) -> str:
        self.values.append(value)
        return "?"

    def add_audience(self, names: list[str]) -> None:
        self.add(f"EXISTS (SELECT 1 FROM json_each(audiences) WHERE value IN {AMONG})", json.dumps(names))


def free_list_position(connection: sqlite3.Connection, created_at: int) -> int:
    """Return a position for a new request; negative and unordered if its microsecond is full."""
    first = created_at * SLOTS
    sql = "SELECT max(place) FROM requests WHERE place BETWEEN ? AND ?"
    (last,) = connection.execute(sql, (first, first + SLOTS - 1)).fetchone()
    place = first if last is None else int(last) + 1
    if created_at >= 0 and place < first + SLOTS:
        return place
    (least,) = connection.execute("SELECT min(place) FROM requests").fetchone()
    return min(least or 0, 0) - 1


def sqlite_index_terms(request: Request) -> str:
    """Return the index terms of a request, specific to its tenant."""
    return sqlite_terms_of_text(request.tenant, request.search_text)


def sqlite_terms_of_text(tenant: str, text: str) -> str:
    """Return the index terms of a tenant's searchable text."""
    mark = tenant_term_prefix(tenant)
    return " ".join(f"{mark}{term}" for term in index_terms(text))


@cache
def tenant_term_prefix(tenant: str) -> str:
    """Return the prefix of a tenant's terms: requests of other tenants are not even read."""
    return blake2b(tenant.encode(), digest_size=4).hexdigest()


def find_sqlite_bodies(connection: sqlite3.Connection, kind: type[Record], query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching records, in order."""
    if kind is Request and query.expired_at:
        return find_overdue_bodies(connection, query)
    found = [row[-1] for row in find_sqlite_rows(connection, kind, query)]
    return found if query.max_bytes is None else list(read_sqlite_bodies(connection, kind, found, query.max_bytes))


def read_sqlite_bodies(
    connection: sqlite3.Connection, kind: type[Record], rows: Iterable[int], max_bytes: int
) -> Iterator[str]:
    """Yield the bodies of rows; beyond so many bytes only references."""
    total = 0
    for row in rows:
        body = f"@{row}" if total >= max_bytes else read_sqlite_body(connection, kind, row)
        total += size_of_text(body or "")
        yield body or ""


def read_sqlite_body(connection: sqlite3.Connection, kind: type[Record], row: int) -> str | None:
    """Return the body of a row; None if the row is gone."""
    found = connection.execute(f"SELECT body FROM {TABLES[kind.record]} WHERE rowid = ?", (row,)).fetchone()
    return found and str(found[0])


def find_sqlite_rows(connection: sqlite3.Connection, kind: type[Record], query: Query) -> list[IndexRow]:
    """Return the rows of at most `query.limit` matching records, in order."""
    scan = SqliteIndexScan(connection, kind, ordered_listing(kind, query))
    if kind is not Request or query_has_own_index(query):
        return scan.in_order()
    with connection:
        # As of one moment: otherwise a request could move between lists and be missed between two statements.
        connection.execute("BEGIN")
        few = scan.few()
        return scan.in_order(*few) if few else first_search_to_finish(scan.ways())


def find_overdue_bodies(connection: sqlite3.Connection, query: Query) -> list[str]:
    """Return the bodies of the longest overdue records; if they exceed a page, a share for each tenant."""
    found = find_longest_overdue(connection, query)
    if query.tenant is not None or len(found) < query.limit:
        return found
    assert query.expired_at
    tenants = connection.execute(SHARERS, [unix_microseconds(query.expired_at), query.limit]).fetchall()
    share = max(1, query.limit // max(1, len(tenants)))
    of_each = (query.model_copy(update={"tenant": tenant, "limit": share}) for (tenant,) in tenants)
    return [body for mine in of_each for body in find_longest_overdue(connection, mine)] or found


def find_longest_overdue(connection: sqlite3.Connection, query: Query) -> list[str]:
    """Return the bodies of the longest overdue records."""
    where = sqlite_query_conditions(Request, ordered_listing(Request, query))
    sql = f"SELECT body FROM requests WHERE {where} ORDER BY expires_at LIMIT {query.limit:d}"
    return [body for (body,) in connection.execute(sql, where.values)]


def sqlite_query_conditions(kind: type[Record], listing: OrderedListing) -> SqliteWhere:
    """Return all conditions of a query, and that records are behind the previous page."""
    where = SqliteWhere()
    where.add_query(TABLES[kind.record], listing.query)
    where.add_later(TABLES[kind.record], listing)
    return where


def count_sqlite_matches(connection: sqlite3.Connection, kind: type[Record], query: Query) -> int:
    """Return the number of matching records, up to `query.limit`."""
    if kind is not Request or query_has_own_index(query):
        where = sqlite_query_conditions(kind, ordered_listing(kind, query))
        sql = f"SELECT 1 FROM {TABLES[kind.record]} WHERE {where}"
        return count_statement_rows(connection, sql, where.values, query.limit)
    audience, *more = required_index_lists(query) or [[EVERYTHING]]
    where, asked = SqliteWhere(), query_conditions(query)
    where.add(f"audience IN {AMONG}", json.dumps(audience))
    if query.tenant is not None:
        where.add("tenant = ?", query.tenant)
    if not more and asked <= LISTED:
        where.add(f"shelf IN {AMONG}", json.dumps(query_partitions(query)))
        sql = f"SELECT DISTINCT place FROM shown WHERE {where}"
    elif not more and asked <= ENDED and query.ended_since:
        where.add("at >= ?", unix_microseconds(query.ended_since))
        sql = f"SELECT DISTINCT place FROM ended WHERE {where}"
    else:
        return len(find_sqlite_rows(connection, kind, query))
    return count_statement_rows(connection, sql, where.values, query.limit)


def count_statement_rows(connection: sqlite3.Connection, sql: str, values: Sequence[object], limit: int) -> int:
    """Return the number of rows of a statement, up to a limit."""
    return int(connection.execute(f"SELECT count(*) FROM ({sql} LIMIT ?)", [*values, limit]).fetchone()[0])


def first_search_to_finish(scans: Sequence[Generator[None, None, list[IndexRow]]]) -> list[IndexRow]:
    """Return the result of the first way to finish: all find the same, but one may take a million steps."""
    for scan in cycle(scans):
        try:
            next(scan)
        except StopIteration as end:
            rows: list[IndexRow] = end.value
            return rows
    return []


class SqliteIndexScan:
    """Finds a page of one listing on one connection."""

    def __init__(self, connection: sqlite3.Connection, kind: type[Record], listing: OrderedListing) -> None:
        self._connection, self._listing, table = connection, listing, TABLES[kind.record]
        self._is_up = listing.is_ascending
        head, where = SqliteWhere(), sqlite_query_conditions(kind, listing)
        place = head.place(table, listing)
        body = "body" if listing.query.max_bytes is None else "rowid"
        self._sql = f"SELECT {', '.join(place)}, {body} FROM {table} {{}} WHERE {where} {{}}"
        self._values = head.values + where.values
        self._end = order_and_limit_clause([str(n) for n, _ in enumerate(place, 1)], listing)
        # An ascending index has the order of the page: what it takes if all match is the page.
        self._chunk = min(max(listing.query.limit, LEAST_CHUNK), MAX_CHUNK) if self._is_up else FIRST_CHUNK

    def in_order(self, places: str = "", *values: Any) -> list[IndexRow]:
        """Return the page by an index of its own, or of those at the positions that a statement finds."""
        if places:
            return self._rows(f"AND place IN ({places}) {self._end}", *values)
        return self._connection.execute(self._sql.format("", self._end), self._values).fetchall()

    def few(self) -> Sequence[Any]:
        """Return the statement for the positions of all with the agent, or the priority and the tier, unless many.

        The list by deadline does not have them together, and would be read to its end.
        """
        query, ways = self._listing.query, list[tuple[str, list[Any]]]()
        if self._is_up and query.agent is not None:
            agent = f"INDEXED BY urgent_by_agent WHERE audience = '{EVERYTHING}' AND tenant = ? AND agent = ?"
            ways.append((agent, [query.tenant, query.agent]))
        if self._is_up and (query.priority is not None or query.tier is not None):
            ranked = f"WHERE audience IN {AMONG} AND tenant = ? AND rank IN ({str(query_urgency_ranks(query))[1:-1]})"
            ways.append((ranked, [json.dumps(sqlite_matching_lists(query)[0]), query.tenant]))
        for where, values in ways:
            sql = f"SELECT place FROM urgent {where}"
            if count_statement_rows(self._connection, sql, values, FEW + 1) <= FEW:
                return sql, *values
        return ()

    def ways(self) -> list[Generator[None, None, list[IndexRow]]]:
        """Return scans that each find the page."""
        query, spans = self._listing.query, self._listing.spans
        lists = sqlite_matching_lists(query)
        ways = [self._chosen(spans, names) for names in lists]
        is_newest = spans[0].key == "created_at"
        newest = spans if is_newest else [IndexSpan("created_at", LEAST, MOST, None)]
        if not is_newest and (query.kind or (query.text if self._is_up else query.priority)):
            ways += [self._chosen(newest, names) for names in lists]
        if query.tenant is not None:
            is_rare = not self._is_up and query.tier not in (None, LOW)
            others = {"terms": query.text and self._terms, "agent": not self._is_up and query.agent, "tier": is_rare}
            ways += [self._chosen(newest, name) for name, is_asked in others.items() if is_asked]
        return ways

    def _chosen(self, spans: list[IndexSpan], names: list[str] | str) -> Generator[None, None, list[IndexRow]]:
        """Find the page among the requests in spans of some lists, or of another index, as far as needed.

        In spans of another order all are read: fast if few match.
        """
        size, is_own = self._chunk, spans == self._listing.spans
        keys = chain.from_iterable(map(self._keys, spans, repeat(names)))
        found = [*self._crowd] if spans[0].is_descending else []
        while some := list(islice(keys, size)):
            found += self._rows(f"AND place IN {AMONG}", json.dumps([key[-1] for key in some]))
            is_full = is_own and len(found) >= self._listing.query.limit
            is_last = len(some) < size
            if is_last or (is_full and (self._is_up or is_row_before_key(self._first(found)[-1], some[-1]))):
                break
            size = min(size + size // 2, MAX_CHUNK)
            yield
        return self._first(found)

    @cached_property
    def _terms(self) -> list[str]:
        return lookup_terms(query_terms(self._listing.query.text or ""))

    @cached_property
    def _crowd(self) -> list[IndexRow]:
        """The few that match without a position in the order of creation."""
        return self._rows("AND place < 0")

    def _first(self, found: list[IndexRow]) -> list[IndexRow]:
        return sorted(found, reverse=not self._is_up)[: self._listing.query.limit]

    def _rows(self, more: str, *values: Any) -> list[IndexRow]:
        return self._connection.execute(self._sql.format("NOT INDEXED", more), [*self._values, *values]).fetchall()

    def _keys(self, span: IndexSpan, names: list[str] | str) -> Iterator[IndexKey]:
        """Yield the keys of a span of some lists in order, each once, or those of another index."""
        is_down, (low, high) = span.is_descending, index_span_bounds(span)
        rows, sources = self._sources(span, names, high)
        sql = index_walk_statement(("rowid",) if isinstance(names, str) else ORDERS[span.key], is_down).format(rows)
        walks = [self._walk(sql, values, low, high, is_down) for values in sources]
        return walks[0] if len(walks) == 1 else map(itemgetter(0), groupby(merge(*walks, reverse=is_down)))

    def _sources(self, span: IndexSpan, names: list[str] | str, high: IndexKey) -> tuple[str, Sequence[Sequence[Any]]]:
        """Return the table and the conditions of the parts of an index to walk, and the values of each part."""
        query, where = self._listing.query, SqliteWhere()
        if names == "terms":
            mark = tenant_term_prefix(str(query.tenant))
            return "search WHERE search MATCH ?", [[" AND ".join([f'"{mark}{term}"' for term in self._terms])]]
        if isinstance(names, str):
            has = f"{names} = ?" if names == "agent" else f"{names} = ? AND {names} <> '{LOW}'"
            index = f"requests INDEXED BY requests_by_{names}"
            return f"{index} WHERE tenant = ? AND {has}", [[query.tenant, getattr(query, names)]]
        if query.tenant is None:
            return "requests WHERE true", [[]]
        if span.key == "created_at":
            lists = json.dumps(names), json.dumps(query_partitions(query))
            pairs = self._connection.execute(STARTED, (*lists, query.tenant, high[0])).fetchall()
            return f"shown WHERE {SHELF.format('?', '?')}", [(*pair, query.tenant) for pair in pairs]
        where.add("audience = ? AND tenant = ?", None, query.tenant)
        if span.key == "ended_at":
            where.add("place >= 0")
        elif query.agent is not None:
            where.add("agent = ?", query.agent)
        if span.key == "deadline":
            # For the index, which has no others.
            where.add("deadline IS NOT NULL")
            if query.priority is not None or query.tier is not None:
                # The plus keeps the index by rank from being used.
                where.add(f"+rank IN ({str(query_urgency_ranks(query))[1:-1]})")
        elif span.key == "rank":
            where.add("(deadline IS NULL OR deadline > ?)", self._listing.soon)
        table = "ended" if span.key == "ended_at" else "urgent"
        return f"{table} WHERE {where}", [(name, *where.values[1:]) for name in names]

    def _walk(
        self, sql: str, values: Sequence[Any], low: IndexKey, high: IndexKey, is_down: bool
    ) -> Iterator[IndexKey]:
        """Yield the keys in order, read in chunks, only as far as the caller iterates."""
        size, found = self._chunk, [()]
        while found:
            found = self._connection.execute(sql, (*values, *low, *high, size)).fetchall()
            yield from found
            if len(found) < size:
                return
            low, high = (low, found[-1]) if is_down else (found[-1], high)
            size = min(2 * size, MAX_CHUNK)


@cache
def index_walk_statement(order: tuple[str, ...], is_down: bool) -> str:
    """Return the statement for the keys between two bounds in a part of an index with these columns."""
    names, marks = ", ".join(order), ", ".join("?" for _ in order)
    end = ", ".join(f"{name} DESC" for name in order) if is_down else names
    # Both bounds name the same columns: by another one, SQLite would begin at its bound and skip up to this one.
    return f"SELECT {names} FROM {{}} AND ({names}) > ({marks}) AND ({names}) < ({marks}) ORDER BY {end} LIMIT ?"


def index_span_bounds(span: IndexSpan) -> tuple[IndexKey, IndexKey]:
    """Return the keys between which a span is."""
    if not span.is_descending:
        low = (*span.after, MOST) if span.after else (span.first, LEAST, "", LEAST)
        return low, (span.last + 1, LEAST, "", LEAST)
    *key, at = span.after[: len(ORDERS[span.key])] if span.after else (*[MOST][: len(ORDERS[span.key]) - 1], None)
    place = MOST if at is None else min(max((at + 1) * SLOTS, 0), MOST)
    return (*[span.first][: len(key)], -1), (*key, place)


def is_row_before_key(row: IndexRow, key: IndexKey) -> bool:
    """Return whether a row is before all that follow a key in a descending index."""
    last = (*key[:-1], key[-1] // SLOTS + 1)
    return row[: len(last)] >= last


def sqlite_matching_lists(query: Query) -> list[list[str]]:
    """Return sets of lists that each have every match; any may be the shortest."""
    lists = required_index_lists(query) or [[EVERYTHING]]
    return lists[: 1 if query.tool is None else 2]
