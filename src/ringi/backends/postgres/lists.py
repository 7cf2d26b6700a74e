"""Lists, newest first: of requests in a time that does not grow with how many there are.

The table `shown` has a row for each audience of a request, in the order of lists; a page is the newest of the few
lists that a query looks at. What is looked up row by row is written as a subquery of its own: joined, the planner would
read a whole table for it as soon as its guesses are wrong. Limits stand in the text, for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

from ringi.backends.audiences import ENDED, EVERYTHING, LISTED, audiences_wanted, given, has_index, list_partitions
from ringi.contracts.jobs import RESUME, RUN
from ringi.domain.record import Query, index_terms, microseconds, parsed_cursor, query_terms
from ringi.domain.request import Request

NEWEST_FIRST = "created_at DESC, id DESC, tenant DESC"
SAME = "{0}.tenant = shown.tenant AND {0}.id = shown.id"
Place = tuple[int, str, str]
"""created_at, id and tenant of a request: where it stands in a list."""
# By NOT IN, which looks the jobs through once: of a table that grows and shrinks so fast the planner knows nothing.
THREADS_JOBLESS = f"""threads.tenant || '/' || threads.id NOT IN (
  SELECT headers ->> 'lane' FROM pgqueuer WHERE entrypoint IN ('{RUN}', '{RESUME}') AND headers ->> 'lane' IS NOT NULL
)"""
REQUESTS_JOBLESS = f"""'{RESUME}:' || requests.tenant || '/' || requests.id NOT IN (
  SELECT dedupe_key FROM pgqueuer WHERE entrypoint = '{RESUME}' AND dedupe_key IS NOT NULL
)"""
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
"""Finds the tenants that have something overdue by as many steps as there are tenants, however much they have."""


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
        """Add a condition; each `?` in it stands for the next value."""
        for value in values:
            sql = sql.replace("?", self.mark(value), 1)
        self.parts.append(sql)

    def mark(self, value: Any) -> str:
        """Return what stands for a value."""
        self.values.append(value)
        return f"${len(self.values)}"

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "true"


def terms_of(request: Request) -> list[int]:
    """Return the terms under which a request is filed, its tenant's own."""
    return [number_of(request.tenant, term) for term in index_terms(request.search_text)]


def number_of(tenant: str, term: str) -> int:
    """Return the number that stands for a tenant's term; two may share one, and then a search looks at both."""
    number = crc32(term.encode("utf-8", "replace"), crc32(tenant.encode("utf-8", "replace")))
    return number - 2**31


def find(table: str, query: Query) -> Statement:
    """Return the statement that finds the bodies of at most `query.limit` matching records, newest first."""
    if table == "requests" and query.expired_at:
        return overdue(query)
    return bodies(table, page(table, query))


def bodies(table: str, page: Statement) -> Statement:
    """Return the statement that finds the bodies of a page."""
    body = f"SELECT body FROM {table} WHERE {SAME.format(table)}"
    return Statement(f"SELECT ({body}) FROM ({page.sql}) AS shown ORDER BY {NEWEST_FIRST}", page.values)


def count(table: str, query: Query) -> Statement:
    """Return the statement that counts how many records match, no further than `query.limit`."""
    is_on_lists = table == "requests" and query.tenant is not None and len(audiences_wanted(query)) < 2
    way = page(table, query)
    if is_on_lists and given(query) <= LISTED:
        way = numbers(query)
    elif is_on_lists and given(query) <= ENDED:
        way = ends(query)
    return Statement(f"SELECT count(*) FROM ({way.sql}) AS found", way.values)


def overdue(query: Query) -> Statement:
    """Return the way to what is overdue for longest."""
    where, tables = searched(query)
    sql = f"SELECT body FROM {tables} WHERE {where} ORDER BY expires_at LIMIT {query.limit:d}"
    return Statement(sql, where.values)


def shares(query: Query) -> Statement:
    """Return the way to a page of what is overdue on which each tenant has a share."""
    assert query.expired_at
    where = conditions(query)
    due = where.mark(microseconds(query.expired_at))
    return Statement(SHARES.format(where=where, due=due, limit=f"{query.limit:d}"), where.values)


def page(table: str, query: Query) -> Statement:
    """Return the statement that finds tenant, time of creation and id of the records on a page."""
    if table != "requests":
        return others(table, query)
    if has_index(query) or query.tenant is None:
        return chosen(query)
    where = Where()
    return Statement(listed(where, query, parsed_cursor(query.before) if query.before else None), where.values)


def listed(where: Where, query: Query, below: Place | None) -> str:
    """Return the way down the lists of an audience from a place, each no further than the page needs."""
    audience, *more = audiences_wanted(query) or [[EVERYTHING]]
    where.add("shown.tenant = ? AND shown.audience = a.audience AND shown.shelf = s.shelf", query.tenant)
    for names in more:
        where.add(f"(SELECT audiences FROM requests WHERE {SAME.format('requests')}) && ?::text[]", names)
    if query.ended_since:
        where.add("shown.ended_at >= ?", microseconds(query.ended_since))
    if below:
        at, id, tenant = below
        is_before = "<=" if str(query.tenant) < tenant else "<"
        where.add(f"(shown.created_at, shown.id) {is_before} (?, ?)", at, id)
    newest = f"ORDER BY shown.created_at DESC, shown.id DESC LIMIT {query.limit:d}"
    each = f"SELECT shown.tenant, shown.created_at, shown.id FROM shown WHERE {where} {newest}"
    lists = f"unnest({where.mark(audience)}::text[]) AS a (audience)"
    lists += f", unnest({where.mark(list_partitions(query))}::text[]) AS s (shelf)"
    most = f"ORDER BY {NEWEST_FIRST} LIMIT {query.limit:d}"
    return f"SELECT DISTINCT each.* FROM {lists}, LATERAL ({each}) AS each {most}"


def looked_through(query: Query, sought: Sequence[str], below: Place | None, size: int) -> Statement:
    """Return the way through so many of the lists' requests for those with a text: place, and body of what has it.

    The last that was looked at comes too, without its body, unless the page is full before or the lists end.
    """
    where, texts = Where(), Where()
    some = listed(where, query.model_copy(update={"limit": size}), below)
    texts.values = where.values
    mention(texts, sought)
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
    """Return the way along an audience's lists, no further than is counted: a request is on one shelf at a time."""
    where, limit = Where(), f"LIMIT {query.limit:d}"
    (audience,) = audiences_wanted(query) or [[EVERYTHING]]
    where.add("tenant = ? AND shown.audience = a.audience AND shown.shelf = s.shelf", query.tenant)
    # Without an order it would read the whole table for somebody who has nothing.
    each = f"SELECT id FROM shown WHERE {where} ORDER BY created_at DESC, id DESC {limit}"
    partitions = f"unnest({where.mark(list_partitions(query))}::text[]) AS s (shelf)"
    some = f"SELECT each.id FROM {partitions}, LATERAL ({each}) AS each"
    names = f"unnest({where.mark(audience)}::text[]) AS a (audience)"
    return Statement(f"SELECT DISTINCT its.id FROM {names}, LATERAL ({some} {limit}) AS its {limit}", where.values)


def ends(query: Query) -> Statement:
    """Return the way along the ends of an audience's requests: to count."""
    where, limit = Where(), f"LIMIT {query.limit:d}"
    where.add("tenant = ? AND shown.audience = a.audience", query.tenant)
    where.add("ended_at >= ?", microseconds(query.ended_since) if query.ended_since else 0)
    (audience,) = audiences_wanted(query) or [[EVERYTHING]]
    names = f"unnest({where.mark(audience)}::text[]) AS a (audience)"
    each = f"SELECT id FROM shown WHERE {where} ORDER BY ended_at DESC {limit}"
    return Statement(f"SELECT DISTINCT each.id FROM {names}, LATERAL ({each}) AS each {limit}", where.values)


def chosen(query: Query, terms: Sequence[int] = ()) -> Statement:
    """Return the way by an index: of what is rare, or of terms."""
    where, tables = searched(query)
    if terms:
        where.add("texts.terms @> ?::integer[]", list(terms))
    return _newest(tables, where, query, "requests")


def searched(query: Query) -> tuple[Where, str]:
    """Return all that a query asks of requests, and the tables to look into."""
    where, sought = conditions(query), query_terms(query.text or "")
    mention(where, sought)
    return where, "requests JOIN texts USING (tenant, created_at, id)" if sought else "requests"


def others(table: str, query: Query) -> Statement:
    """Return the way to threads or journals: whatever asks for a request's properties says nothing about them."""
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
    """Return all that a query asks of requests, its text aside."""
    where = Where()
    for name in ("tenant", "kind", "priority", "thread_id"):
        if (value := getattr(query, name)) is not None:
            where.add(f"requests.{name} = ?", value)
    if query.statuses:
        where.add("status = ANY(?::text[])", list(query.statuses))
    for names in audiences_wanted(query):
        where.add("audiences && ?::text[]", names)
    if query.ended_since:
        where.add("ended_at >= ?", microseconds(query.ended_since))
    if query.expired_at:
        where.add("expires_at <= ?", microseconds(query.expired_at))
    where.parts += [name for name in ("unacknowledged", "attention") if getattr(query, name)]
    if query.jobless:
        where.parts.append(REQUESTS_JOBLESS)
    if query.before:
        at, id, tenant = parsed_cursor(query.before)
        where.add("(requests.created_at, requests.id, requests.tenant) < (?, ?, ?)", at, id, tenant)
    return where


def mention(where: Where, sought: Sequence[str]) -> None:
    """Add that each piece stands in a request's text."""
    for piece in sought:
        where.add("strpos(texts.search, ?) > 0", piece)


def _newest(tables: str, where: Where, query: Query, table: str) -> Statement:
    order = f"{table}.created_at DESC, {table}.id DESC, {table}.tenant DESC"
    sql = f"SELECT {table}.tenant, {table}.created_at, {table}.id FROM {tables} WHERE {where} ORDER BY {order}"
    return Statement(f"{sql} LIMIT {query.limit:d}", where.values)
