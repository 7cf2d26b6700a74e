"""Lists of requests, newest first, in a time independent of their number.

The table `shown` has a row for each audience of a request, in list order. A page is the newest part of the few lists
that a query reads. Lookups per row are separate subqueries: for a join, the planner would read a whole table when its
estimates are wrong. Limits are literal in the text, for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

from ringi.backends.audiences import (
    ENDED,
    EVERYTHING,
    LISTED,
    conditions_of,
    has_index,
    list_partitions,
    required_audiences,
    required_lists,
    tool_list,
)
from ringi.contracts.backend import RESUME, RUN
from ringi.domain.record import Query, index_terms, microseconds, parsed_cursor, query_terms
from ringi.domain.request import Request

NEWEST_FIRST = "created_at DESC, id DESC, tenant DESC"
SAME = "{0}.tenant = shown.tenant AND {0}.id = shown.id"
ListPosition = tuple[int, str, str]
"""The list position of a request: its created_at, id and tenant."""
# NOT IN scans the jobs once: the planner has no useful statistics for a table that changes so fast.
THREADS_JOBLESS = f"""threads.tenant || '/' || threads.id NOT IN (
  SELECT lane FROM jobs WHERE kind IN ('{RUN}', '{RESUME}')
)"""
REQUESTS_JOBLESS = f"""'{RESUME}:' || requests.tenant || '/' || requests.id NOT IN (
  SELECT key FROM jobs WHERE kind = '{RESUME}'
)"""
UNLISTED = ("tool", "agent", "tier")
"""The conditions of a query with a column on requests that the lists of audiences do not answer."""
MARKS = ("unacknowledged", "attention", "unexecuted")
"""The conditions of a query that have a column and an index of their own."""
UNSETTLED = "(status = 'pending' OR unacknowledged OR attention)"
UNSETTLED_OF_THREADS = f"""
SELECT wanted.n, found.body
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (tenant, thread_id, n), LATERAL (
  SELECT body, created_at, id FROM requests
  WHERE tenant = wanted.tenant AND thread_id = wanted.thread_id AND {UNSETTLED}
  ORDER BY created_at DESC, id DESC LIMIT {{limit:d}}
) AS found ORDER BY wanted.n, found.created_at DESC, found.id DESC
"""
"""Finds the first page of each thread."""
EXPIRING = "expires_at IS NOT NULL"
SHARES = f"""
WITH RECURSIVE each (tenant) AS (
  (SELECT tenant FROM requests WHERE {EXPIRING} ORDER BY tenant LIMIT 1)
  UNION ALL
  SELECT (SELECT tenant FROM requests WHERE {EXPIRING} AND tenant > each.tenant ORDER BY tenant LIMIT 1)
  FROM each WHERE each.tenant IS NOT NULL
), sharers AS MATERIALIZED (
  SELECT each.tenant FROM each, LATERAL (
    SELECT expires_at FROM requests WHERE {EXPIRING} AND tenant = each.tenant ORDER BY expires_at LIMIT 1
  ) AS first WHERE expires_at <= {{due}} ORDER BY expires_at, each.tenant LIMIT {{limit}}
)
SELECT body FROM sharers, LATERAL (
  SELECT body FROM requests WHERE {{where}} AND tenant = sharers.tenant ORDER BY expires_at
  LIMIT greatest(1, {{limit}} / (SELECT count(*) FROM sharers))
) AS mine
"""
"""Finds the tenants with overdue records in one step per tenant, however many records each has."""


class Statement(NamedTuple):
    """A statement and its values."""

    sql: str
    values: list[Any]


class Where:
    """Conditions of one statement and their values, numbered as they come."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, sql: str, *values: Any) -> None:
        """Add a condition; each `?` in it is replaced by the placeholder of the next value."""
        for value in values:
            sql = sql.replace("?", self.mark(value), 1)
        self.parts.append(sql)

    def mark(self, value: Any) -> str:
        """Return the placeholder of a value."""
        self.values.append(value)
        return f"${len(self.values)}"

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "true"


def terms_of(request: Request) -> list[int]:
    """Return the index terms of a request, specific to its tenant."""
    return [number_of(request.tenant, term) for term in index_terms(request.search_text)]


def number_of(tenant: str, term: str) -> int:
    """Return the number of a tenant's term; if two terms share one, a search reads both."""
    number = crc32(term.encode("utf-8", "replace"), crc32(tenant.encode("utf-8", "replace")))
    return number - 2**31


def find(table: str, query: Query) -> Statement:
    """Return the statement for the bodies of at most `query.limit` matching records, newest first."""
    if table == "requests" and query.expired_at:
        return overdue(query)
    return bodies(table, page(table, query))


def bodies(table: str, page: Statement) -> Statement:
    """Return the statement for the bodies of a page."""
    body = f"SELECT body FROM {table} WHERE {SAME.format(table)}"
    return Statement(f"SELECT ({body}) FROM ({page.sql}) AS shown ORDER BY {NEWEST_FIRST}", page.values)


def count(table: str, query: Query) -> Statement:
    """Return the statement that counts matching records, up to `query.limit`."""
    is_on_lists = table == "requests" and query.tenant is not None and len(required_lists(query)) < 2
    way = page(table, query)
    if is_on_lists and conditions_of(query) <= LISTED:
        way = numbers(query)
    elif is_on_lists and conditions_of(query) <= ENDED:
        way = ends(query)
    return Statement(f"SELECT count(*) FROM ({way.sql}) AS found", way.values)


def overdue(query: Query) -> Statement:
    """Return the statement for the longest overdue records."""
    where, tables = searched(query)
    sql = f"SELECT body FROM {tables} WHERE {where} ORDER BY expires_at LIMIT {query.limit:d}"
    return Statement(sql, where.values)


def shares(query: Query) -> Statement:
    """Return the statement for a page of overdue records with a share for each tenant."""
    assert query.expired_at
    where = conditions(query)
    due = where.mark(microseconds(query.expired_at))
    return Statement(SHARES.format(where=where, due=due, limit=f"{query.limit:d}"), where.values)


def page(table: str, query: Query) -> Statement:
    """Return the statement for tenant, creation time and id of the records on a page."""
    if table != "requests":
        return others(table, query)
    if has_index(query) or query.tenant is None:
        return chosen(query)
    where = Where()
    return Statement(scan_lists(where, query, parsed_cursor(query.before) if query.before else None), where.values)


def scan_lists(where: Where, query: Query, below: ListPosition | None) -> str:
    """Return the scan of an audience's lists from a position, each only as far as the page needs."""
    names = (required_lists(query) or [[EVERYTHING]])[0]
    where.add("shown.tenant = ? AND shown.audience = a.audience AND shown.shelf = s.shelf", query.tenant)
    add_unlisted_conditions(where, query, names)
    if query.ended_since:
        where.add("shown.ended_at >= ?", microseconds(query.ended_since))
    if below:
        at, id, tenant = below
        is_before = "<=" if str(query.tenant) < tenant else "<"
        where.add(f"(shown.created_at, shown.id) {is_before} (?, ?)", at, id)
    newest = f"ORDER BY shown.created_at DESC, shown.id DESC LIMIT {query.limit:d}"
    each = f"SELECT shown.tenant, shown.created_at, shown.id FROM shown WHERE {where} {newest}"
    lists = f"unnest({where.mark(names)}::text[]) AS a (audience)"
    lists += f", unnest({where.mark(list_partitions(query))}::text[]) AS s (shelf)"
    most = f"ORDER BY {NEWEST_FIRST} LIMIT {query.limit:d}"
    return f"SELECT DISTINCT each.* FROM {lists}, LATERAL ({each}) AS each {most}"


def add_unlisted_conditions(where: Where, query: Query, names: list[str]) -> None:
    """Add the conditions of a query that the lists with these names do not answer."""
    more = Where()
    more.values = where.values
    for others in required_audiences(query):
        if others != names:
            more.add("audiences && ?::text[]", others)
    for name in UNLISTED:
        if (value := getattr(query, name)) is not None and names != [tool_list(value)]:
            more.add(f"{name} = ?", value)
    if more.parts:
        where.parts.append(f"(SELECT {more} FROM requests WHERE {SAME.format('requests')})")


def scan_for_text(query: Query, pieces: Sequence[str], below: ListPosition | None, size: int) -> Statement:
    """Return the scan of `size` list entries for a text: position, and body of each match.

    The last scanned entry is included without its body, unless the page fills up earlier or the lists end.
    """
    where, texts = Where(), Where()
    some = scan_lists(where, query.model_copy(update={"limit": size}), below)
    texts.values = where.values
    add_text_conditions(texts, pieces)
    numbered = f"SELECT *, row_number() OVER (ORDER BY created_at DESC, id DESC) AS n FROM ({some}) AS shown"
    its = f"{SAME.format('texts')} AND texts.created_at = shown.created_at"
    has = f"SELECT {texts} AS has FROM texts WHERE {its} OFFSET 0"
    body = f"CASE WHEN has THEN (SELECT body FROM requests WHERE {SAME.format('requests')}) END"
    return Statement(
        f"SELECT {body}, n, created_at, id, tenant FROM ({numbered}) AS shown, LATERAL ({has}) AS texts"
        f" WHERE has OR n = {size:d} ORDER BY created_at DESC, id DESC LIMIT {query.limit:d}",
        where.values,
    )


def numbers(query: Query) -> Statement:
    """Return the count scan of an audience's lists up to the limit; a request is in one partition at a time."""
    where, limit = Where(), f"LIMIT {query.limit:d}"
    (audience,) = required_lists(query) or [[EVERYTHING]]
    where.add("tenant = ? AND shown.audience = a.audience AND shown.shelf = s.shelf", query.tenant)
    # Without an order it would read the whole table for a person without requests.
    each = f"SELECT id FROM shown WHERE {where} ORDER BY created_at DESC, id DESC {limit}"
    partitions = f"unnest({where.mark(list_partitions(query))}::text[]) AS s (shelf)"
    some = f"SELECT each.id FROM {partitions}, LATERAL ({each}) AS each"
    names = f"unnest({where.mark(audience)}::text[]) AS a (audience)"
    return Statement(f"SELECT DISTINCT its.id FROM {names}, LATERAL ({some} {limit}) AS its {limit}", where.values)


def ends(query: Query) -> Statement:
    """Return the count scan of an audience's requests by end time."""
    where, limit = Where(), f"LIMIT {query.limit:d}"
    where.add("tenant = ? AND shown.audience = a.audience", query.tenant)
    where.add("ended_at >= ?", microseconds(query.ended_since) if query.ended_since else 0)
    (audience,) = required_lists(query) or [[EVERYTHING]]
    names = f"unnest({where.mark(audience)}::text[]) AS a (audience)"
    each = f"SELECT id FROM shown WHERE {where} ORDER BY ended_at DESC {limit}"
    return Statement(f"SELECT DISTINCT each.id FROM {names}, LATERAL ({each}) AS each {limit}", where.values)


def chosen(query: Query, terms: Sequence[int] = ()) -> Statement:
    """Return the index scan for rare records or for terms."""
    where, tables = searched(query)
    if terms:
        where.add("texts.terms @> ?::integer[]", list(terms))
    return _newest(tables, where, query, "requests")


def searched(query: Query) -> tuple[Where, str]:
    """Return all conditions of a query on requests, and the tables to read."""
    where, pieces = conditions(query), query_terms(query.text or "")
    add_text_conditions(where, pieces)
    return where, "requests JOIN texts USING (tenant, created_at, id)" if pieces else "requests"


def others(table: str, query: Query) -> Statement:
    """Return the scan of threads or journals; conditions on requests do not apply to them."""
    where = Where()
    if query.tenant is not None:
        where.add("tenant = ?", query.tenant)
    if query.statuses:
        where.add("status = ANY(?::text[])", list(query.statuses))
    if query.unleased_at:
        where.add("status = 'running' AND (lease_until IS NULL OR lease_until <= ?)", microseconds(query.unleased_at))
    if query.jobless:
        where.parts.append(THREADS_JOBLESS)
    if query.before:
        where.add("(created_at, id, tenant) < (?, ?, ?)", *parsed_cursor(query.before))
    return _newest(table, where, query, table)


def conditions(query: Query) -> Where:
    """Return all conditions of a query on requests, except its text."""
    where = Where()
    for name in ("tenant", "kind", "priority", "thread_id", *UNLISTED):
        if (value := getattr(query, name)) is not None:
            where.add(f"requests.{name} = ?", value)
    if query.statuses:
        where.add("status = ANY(?::text[])", list(query.statuses))
    for names in required_audiences(query):
        where.add("audiences && ?::text[]", names)
    if query.ended_since:
        where.add("ended_at >= ?", microseconds(query.ended_since))
    if query.expired_at:
        where.add("expires_at <= ?", microseconds(query.expired_at))
    where.parts += [name for name in MARKS if getattr(query, name)]
    if query.unsettled:
        where.parts.append(UNSETTLED)
    if query.jobless:
        where.parts.append(REQUESTS_JOBLESS)
    if query.before:
        at, id, tenant = parsed_cursor(query.before)
        where.add("(requests.created_at, requests.id, requests.tenant) < (?, ?, ?)", at, id, tenant)
    return where


def add_listed_text(where: Where, query: Query) -> None:
    """Add the condition that the text of a listed request contains each piece."""
    if pieces := query_terms(query.text or ""):
        texts = Where()
        texts.values = where.values
        add_text_conditions(texts, pieces)
        its = f"{SAME.format('texts')} AND texts.created_at = shown.created_at"
        where.parts.append(f"(SELECT {texts} FROM texts WHERE {its})")


def add_text_conditions(where: Where, pieces: Sequence[str]) -> None:
    """Add the condition that a request's text contains each piece."""
    for piece in pieces:
        where.add("strpos(texts.search, ?) > 0", piece)


def _newest(tables: str, where: Where, query: Query, table: str) -> Statement:
    order = f"{table}.created_at DESC, {table}.id DESC, {table}.tenant DESC"
    sql = f"SELECT {table}.tenant, {table}.created_at, {table}.id FROM {tables} WHERE {where} ORDER BY {order}"
    return Statement(f"{sql} LIMIT {query.limit:d}", where.values)
