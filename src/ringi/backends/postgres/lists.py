"""Lists of requests, in a time independent of their number.

The table `shown` has a row for each audience and for the tool of a request, with an index for each order. A page is the
first part of the few lists that a query reads. Lookups per row are separate subqueries: for a join, the planner would
read a whole table when its estimates are wrong. Limits are literal in the text, for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

from ringi.backends.orders import LEAST, IndexSpan, OrderedListing, ordered_listing
from ringi.backends.rows import (
    ENDED,
    EVERYTHING,
    LARGE,
    LISTED,
    LOW,
    TABLES,
    query_conditions,
    query_partitions,
    required_audiences,
    required_index_lists,
    tool_list_name,
)
from ringi.backends.sql import SqlWhere, order_and_limit_clause, query_urgency_ranks
from ringi.contracts.backend import RESUME, RUN
from ringi.domain.record import Query, Record, index_terms, lookup_terms, query_terms, unix_microseconds
from ringi.domain.request import Request

SAME = "{0}.tenant = shown.tenant AND {0}.id = shown.id"
TEXT = f"FROM texts WHERE {SAME.format('texts')} AND texts.created_at = shown.created_at"
OF_SHELF = """(requests.tenant, requests.id) IN (
  SELECT tenant, id FROM shown WHERE tenant = ? AND audience = ? AND shelf = ANY(?::text[])
)"""
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


class PostgresStatement(NamedTuple):
    """A statement and its values."""

    sql: str
    values: list[Any]


class PostgresWhere(SqlWhere):
    """Conditions of a statement of PostgreSQL, whose values have numbers."""

    is_marked = "{}"
    is_due = "expires_at <= ?"
    has_text = "strpos(texts.search, ?) > 0"
    # NOT IN scans the jobs once: the planner has no useful statistics for a table that changes so fast.
    is_jobless = {
        "threads": f"""threads.tenant || '/' || threads.id NOT IN (
          SELECT lane FROM jobs WHERE kind IN ('{RUN}', '{RESUME}')
        )""",
        "requests": f"""'{RESUME}:' || requests.tenant || '/' || requests.id NOT IN (
          SELECT key FROM jobs WHERE kind = '{RESUME}'
        )""",
    }

    def mark(self, value: Any) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def constant(self, number: int) -> str:
        return f"{self.mark(number)}::bigint"

    def add_audience(self, names: list[str]) -> None:
        self.add("audiences && ?::text[]", names)

    def add_lookup(self, source: str, more: SqlWhere) -> None:
        """Add conditions on the row of another table, whose values are among those of this statement."""
        if more.parts:
            self.parts.append(f"(SELECT {more} {source})")

    def part(self) -> PostgresWhere:
        """Return a place for further conditions of the same statement."""
        part = PostgresWhere()
        part.values = self.values
        return part


def postgres_index_terms(request: Request) -> list[int]:
    """Return the index terms of a request, specific to its tenant."""
    return [index_term_number(request.tenant, term) for term in index_terms(request.search_text)]


def index_term_number(tenant: str, term: str) -> int:
    """Return the number of a tenant's term; if two terms share one, a search reads both."""
    number = crc32(term.encode("utf-8", "replace"), crc32(tenant.encode("utf-8", "replace")))
    return number - 2**31


def postgres_matching_lists(listing: OrderedListing) -> list[list[str]]:
    """Return sets of lists that each have every match; any may be the shortest."""
    query, lists = listing.query, required_index_lists(listing.query) or [[EVERYTHING]]
    if listing.spans[0].key == "created_at":
        return lists[:1]
    if query.tool is not None:
        return lists[:2]
    # The list of everything has an index by agent.
    by_agent = listing.is_ascending and query.agent is not None and lists != [[EVERYTHING]]
    return [lists[0], [EVERYTHING]] if by_agent else lists[:1]


def index_scan_statement(listing: OrderedListing, spans: Sequence[IndexSpan], names: list[str]) -> PostgresStatement:
    """Return the statement for the bodies of a page in some spans of one index, from the lists with these names."""
    where = PostgresWhere()
    page, order = lists_scan_statement(where, listing, spans, names)
    body = body_of_shown(listing.query)
    return PostgresStatement(f"SELECT ({body}) FROM ({page}) AS shown ORDER BY {order}", where.values)


def body_of_shown(query: Query) -> str:
    """Return the statement for what a page has of a request in the lists."""
    return f"SELECT {postgres_body(query)} FROM requests WHERE {SAME.format('requests')}"


def postgres_body(query: Query) -> str:
    """Return what a page has of a record: its body, or a reference to a large one if the page is bounded.

    The size of a text is known without reading it.
    """
    if query.max_bytes is None:
        return "body"
    return f"CASE WHEN octet_length(body) <= {LARGE} THEN body ELSE '@' || json_build_array(tenant, id)::text END"


def lists_scan_statement(
    where: PostgresWhere, listing: OrderedListing, spans: Sequence[IndexSpan], names: list[str]
) -> tuple[str, str]:
    """Return the scan of some lists, each only as far as the page needs, and its order."""
    query, key, is_up = listing.query, spans[0].key, listing.is_ascending
    sources = [f"unnest({where.mark(names)}::text[]) AS a (audience)"]
    where.add("shown.tenant = ? AND shown.audience = a.audience", query.tenant)
    if key == "created_at":
        place = where.place("shown", listing)
        sources.append(f"unnest({where.mark(query_partitions(query))}::text[]) AS s (shelf)")
        where.add("shown.shelf = s.shelf")
    elif key == "ended_at":
        place = where.place("shown", listing)
        # Not as a column: the index by partition is in another order.
        where.add("shown.ended_at IS NOT NULL AND shown.shelf || '' = ANY(?::text[])", query_partitions(query))
    else:
        place = [f"shown.{name}" for name in (key, "created_at", "id")]
        sources += add_urgent_conditions(where, listing, spans, names, ", ".join(place))
    if not is_up:
        where.add_later("shown", listing)
    if query.ended_since:
        where.add("shown.ended_at >= ?", unix_microseconds(query.ended_since))
    add_unlisted_conditions(where, listing, names)
    order = ", ".join(place if is_up else [f"{each} DESC" for each in place])
    end = f"ORDER BY {order} LIMIT {query.limit:d}"
    each = f"SELECT {', '.join(dict.fromkeys(['shown.tenant', *place]))} FROM shown WHERE {where} {end}"
    return f"SELECT DISTINCT shown.* FROM {', '.join(sources)}, LATERAL ({each}) AS shown {end}", order


def add_urgent_conditions(
    where: PostgresWhere, listing: OrderedListing, spans: Sequence[IndexSpan], names: list[str], place: str
) -> list[str]:
    """Add the conditions of a part of the order `urgent`, and return its further sources."""
    query = listing.query
    if names == [EVERYTHING]:
        # As a constant, for the index by agent.
        where.add(f"shown.audience = '{EVERYTHING}'")
    if query.agent is not None:
        where.add("shown.agent = ?", query.agent)
    if query.kind is not None:
        where.add("shown.shelf = ANY(?::text[])", query_partitions(query))
    if spans[0].key == "deadline":
        where.add(f"shown.deadline <= ? AND ({place}) > (?, ?, ?)", spans[0].last, *index_span_start(spans[0]))
        if query.priority or query.tier:
            where.add("shown.rank = ANY(?::smallint[])", query_urgency_ranks(query))
        return []
    where.add("(shown.deadline IS NULL OR shown.deadline > ?)", listing.soon)
    # Only one lower bound: by another one, PostgreSQL would begin at its bound and skip up to this one.
    where.add(f"({place}) > (s.first, s.at, s.id) AND shown.rank <= s.last")
    bounds = zip(*((*index_span_start(span), span.last) for span in spans), strict=True)
    firsts, ats, ids, lasts = (where.mark(list(parts)) for parts in bounds)
    starts = f"unnest({firsts}::smallint[], {ats}::bigint[], {ids}::text[], {lasts}::smallint[])"
    return [f"{starts} AS s (first, at, id, last)"]


def index_span_start(span: IndexSpan) -> tuple[Any, ...]:
    """Return the key, the time and the id after which a span is read."""
    return span.after or (span.first, LEAST, "")


def add_unlisted_conditions(where: PostgresWhere, listing: OrderedListing, names: list[str]) -> None:
    """Add the conditions of a query that the index of the lists with these names does not answer."""
    query, key, more = listing.query, listing.spans[0].key, where.part()
    for others in required_audiences(query):
        if others != names:
            more.add_audience(others)
    # In the order `urgent`, the ranks have the tier, and the lists have the agent.
    equal = ("tool",) if listing.is_ascending else ("tool", "agent", "tier")
    is_by_tool = query.tool is not None and names == [tool_list_name(query.tool)]
    more.add_equal("requests", query, equal[1:] if is_by_tool else equal)
    where.add_lookup(f"FROM requests WHERE {SAME.format('requests')}", more)
    if key != "created_at" and query.text:
        texts = where.part()
        texts.add_text(query)
        where.add_lookup(TEXT, texts)


def text_scan_statement(listing: OrderedListing, size: int) -> PostgresStatement:
    """Return the scan of `size` list entries for a text: position, and body of each match.

    The last scanned entry is included without its body, unless the page fills up earlier or the lists end.
    """
    where = PostgresWhere()
    more = listing._replace(query=listing.query.model_copy(update={"limit": size}))
    some, _ = lists_scan_statement(where, more, listing.spans, postgres_matching_lists(listing)[0])
    texts = where.part()
    texts.add_text(listing.query)
    body = body_of_shown(listing.query)
    numbered = f"SELECT *, row_number() OVER (ORDER BY created_at DESC, id DESC) AS n FROM ({some}) AS shown"
    return PostgresStatement(
        f"SELECT CASE WHEN has THEN ({body}) END, n, created_at, id, tenant FROM ({numbered}) AS shown,"
        f" LATERAL (SELECT {texts} AS has {TEXT} OFFSET 0) AS texts"
        f" WHERE has OR n = {size:d} ORDER BY created_at DESC, id DESC LIMIT {listing.query.limit:d}",
        where.values,
    )


def gather_bodies_statement(
    kind: type[Record], listing: OrderedListing, condition: PostgresStatement | None = None
) -> PostgresStatement:
    """Return the statement for the bodies of a page from another index, such as that of terms: fast if few match.

    Args:
        kind: The class of the records.
        listing: The page.
        condition: A further condition, for which there is an index, with `?` for its values.
    """
    where, tables = all_query_conditions(kind, listing)
    if condition:
        where.add(condition.sql, *condition.values)
    end = order_and_limit_clause(where.place(TABLES[kind.record], listing), listing)
    return PostgresStatement(f"SELECT {postgres_body(listing.query)} FROM {tables} WHERE {where} {end}", where.values)


def term_condition(query: Query) -> PostgresStatement | None:
    """Return the condition that a request has the terms of a query's text; None without such terms."""
    numbers = [index_term_number(str(query.tenant), term) for term in lookup_terms(query_terms(query.text or ""))]
    return PostgresStatement("texts.terms @> ?::integer[]", [numbers]) if numbers else None


def rare_condition(listing: OrderedListing) -> PostgresStatement | None:
    """Return the condition that the lists do not answer and few may match, for its index; None without one."""
    query = listing.query
    if listing.is_ascending:
        return None
    if query.tier not in (None, LOW):
        return PostgresStatement(f"requests.tier <> '{LOW}'", [])
    if query.agent is not None:
        return PostgresStatement("requests.agent IS NOT NULL", [])
    if listing.spans[0].key == "ended_at" and (query.kind is not None or query.priority is not None):
        return PostgresStatement(OF_SHELF, [query.tenant, EVERYTHING, query_partitions(query)])
    return None


def all_query_conditions(kind: type[Record], listing: OrderedListing) -> tuple[PostgresWhere, str]:
    """Return all conditions of a query and its cursor, and the tables to read."""
    where, table = PostgresWhere(), TABLES[kind.record]
    where.add_query(table, listing.query)
    where.add_later(table, listing)
    has_text = kind is Request and query_terms(listing.query.text or "")
    return where, "requests JOIN texts USING (tenant, created_at, id)" if has_text else table


def overdue_records_statement(query: Query) -> PostgresStatement:
    """Return the statement for the longest overdue records."""
    where, tables = all_query_conditions(Request, ordered_listing(Request, query))
    sql = f"SELECT body FROM {tables} WHERE {where} ORDER BY expires_at LIMIT {query.limit:d}"
    return PostgresStatement(sql, where.values)


def tenant_shares_statement(query: Query) -> PostgresStatement:
    """Return the statement for a page of overdue records with a share for each tenant."""
    assert query.expired_at
    where, _ = all_query_conditions(Request, ordered_listing(Request, query.model_copy(update={"text": None})))
    due = where.mark(unix_microseconds(query.expired_at))
    return PostgresStatement(SHARES.format(where=where, due=due, limit=f"{query.limit:d}"), where.values)


def count_in_lists_statement(query: Query) -> PostgresStatement | None:
    """Return the statement that counts matching requests in the lists alone, if these answer all conditions."""
    names, *more = required_index_lists(query) or [[EVERYTHING]]
    asked, where = query_conditions(query), PostgresWhere()
    if query.tenant is None or more or not (asked <= LISTED or asked <= ENDED):
        return None
    limit, sources = f"LIMIT {query.limit:d}", f"unnest({where.mark(names)}::text[]) AS a (audience)"
    where.add("tenant = ? AND shown.audience = a.audience", query.tenant)
    if asked <= LISTED:
        # Without an order it would read the whole table for a person without requests.
        where.add("shown.shelf = s.shelf")
        shelves = f"unnest({where.mark(query_partitions(query))}::text[]) AS s (shelf)"
        each = f"SELECT id FROM shown WHERE {where} ORDER BY created_at DESC, id DESC {limit}"
        each = f"SELECT each.id FROM {shelves}, LATERAL ({each}) AS each {limit}"
    else:
        where.add("ended_at >= ?", unix_microseconds(query.ended_since) if query.ended_since else 0)
        each = f"SELECT id FROM shown WHERE {where} ORDER BY ended_at DESC {limit}"
    found = f"SELECT DISTINCT its.id FROM {sources}, LATERAL ({each}) AS its {limit}"
    return PostgresStatement(f"SELECT count(*) FROM ({found}) AS found", where.values)
