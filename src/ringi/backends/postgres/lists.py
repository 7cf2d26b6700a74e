"""Lists, newest first: of requests in a time that does not grow with how many there are.

The table `shown` has a row for each audience of a request, in the order of lists; a page is the newest of the few
lists that a query looks at. A text is looked for in two ways at once: down those lists, where much has it, and in the
index of terms, where little has it. The one that ends first is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

from ringi.backends.audiences import ENDED, EVERYTHING, audiences_wanted, given, has_index, shelves
from ringi.record import Query, filed_under, looked_up, microseconds, parsed_cursor, pieces
from ringi.request import Request

NEWEST_FIRST = "created_at DESC, id DESC, tenant DESC"
EXPIRING = "status = 'pending' AND expires_at IS NOT NULL"
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
    return [number_of(request.tenant, term) for term in filed_under(request.search_text)]


def number_of(tenant: str, term: str) -> int:
    """Return the number that stands for a tenant's term; two may share one, and then a search looks at both."""
    hashed = blake2b(term.encode("utf-8", "replace"), digest_size=4, key=_key_of(tenant))
    return int.from_bytes(hashed.digest(), signed=True)


@cache
def _key_of(tenant: str) -> bytes:
    return blake2b(tenant.encode()).digest()


def find(table: str, query: Query) -> list[Statement]:
    """Return statements that each find the bodies of at most `query.limit` matching records, newest first."""
    if table == "requests" and query.expired_at:
        return [overdue(query)]
    key = "tenant, created_at, id"
    return [
        Statement(f"SELECT body FROM ({sql}) AS page JOIN {table} USING ({key}) ORDER BY {NEWEST_FIRST}", values)
        for sql, values in pages(table, query)
    ]


def count(table: str, query: Query) -> list[Statement]:
    """Return statements that each count how many records match, no further than `query.limit`."""
    is_ended = table == "requests" and given(query) <= ENDED and query.ended_since and query.tenant is not None
    found = [ended(query)] if is_ended and len(audiences_wanted(query)) < 2 else pages(table, query)
    return [Statement(f"SELECT count(*) FROM ({sql}) AS found", values) for sql, values in found]


def overdue(query: Query) -> Statement:
    """Return the way to what is overdue for longest."""
    where, tables = conditions(query), "requests"
    tables += mentioning(where, pieces(query.text or ""), "requests")
    limit = where.mark(query.limit)
    return Statement(f"SELECT body FROM {tables} WHERE {where} ORDER BY expires_at LIMIT {limit}", where.values)


def shares(query: Query) -> Statement:
    """Return the way to a page of what is overdue on which each tenant has a share."""
    assert query.expired_at
    where = conditions(query)
    due, limit = where.mark(microseconds(query.expired_at)), where.mark(query.limit)
    return Statement(SHARES.format(where=where, due=due, limit=limit), where.values)


def pages(table: str, query: Query) -> list[Statement]:
    """Return statements that each find tenant, time of creation and id of the records on a page."""
    if table == "threads":
        return [threads(query)]
    sought = pieces(query.text or "")
    if has_index(query) or query.tenant is None:
        return [chosen(query, sought)]
    terms = [number_of(query.tenant, term) for term in looked_up(sought)]
    return [listed(query, sought)] + ([chosen(query, sought, terms)] if terms else [])


def listed(query: Query, sought: Sequence[str]) -> Statement:
    """Return the way down the lists of an audience, each no further than the page needs."""
    audience, *more = audiences_wanted(query) or [[EVERYTHING]]
    where, tables = Where(), "shown"
    where.add("shown.tenant = ? AND shown.audience = a.audience AND shown.shelf = s.shelf", query.tenant)
    if more:
        tables += " JOIN requests USING (tenant, id)"
        for names in more:
            where.add("requests.audiences && ?::text[]", names)
    if query.ended_since:
        where.add("shown.ended_at >= ?", microseconds(query.ended_since))
    if query.before:
        at, id, tenant = parsed_cursor(query.before)
        where.add("(shown.created_at, shown.id) <= (?, ?)", at, id)
        where.add("(shown.created_at, shown.id, shown.tenant) < (?, ?, ?)", at, id, tenant)
    tables += mentioning(where, sought)
    limit = where.mark(query.limit)
    newest = "ORDER BY shown.created_at DESC, shown.id DESC"
    lists = f"unnest({where.mark(audience)}::text[]) AS a (audience)"
    lists += f", unnest({where.mark(shelves(query))}::text[]) AS s (shelf)"
    each = f"SELECT shown.tenant, shown.created_at, shown.id FROM {tables} WHERE {where} {newest} LIMIT {limit}"
    sql = f"SELECT DISTINCT each.* FROM {lists}, LATERAL ({each}) AS each ORDER BY {NEWEST_FIRST} LIMIT {limit}"
    return Statement(sql, where.values)


def ended(query: Query) -> Statement:
    """Return the way along the ends of an audience's requests: to count."""
    where = Where()
    where.add("tenant = ? AND shown.audience = a.audience", query.tenant)
    where.add("ended_at >= ?", microseconds(query.ended_since) if query.ended_since else 0)
    (audience,) = audiences_wanted(query) or [[EVERYTHING]]
    limit, names = where.mark(query.limit), where.mark(audience)
    # Without an order it would read the whole table for somebody who has nothing.
    each = f"SELECT id FROM shown WHERE {where} ORDER BY ended_at DESC LIMIT {limit}"
    sql = (
        f"SELECT DISTINCT each.id FROM unnest({names}::text[]) AS a (audience), LATERAL ({each}) AS each LIMIT {limit}"
    )
    return Statement(sql, where.values)


def chosen(query: Query, sought: Sequence[str], terms: Sequence[int] = ()) -> Statement:
    """Return the way by an index: of what is rare, or of terms."""
    where, tables = conditions(query), "requests"
    tables += mentioning(where, sought, "requests")
    if terms:
        where.add("texts.terms @> ?::integer[]", list(terms))
    return _newest(tables, where, query, "requests")


def threads(query: Query) -> Statement:
    """Return the way to threads: whatever asks for a request's properties says nothing about them."""
    where = Where()
    if query.tenant is not None:
        where.add("tenant = ?", query.tenant)
    if query.statuses:
        where.add("status = ANY(?::text[])", list(query.statuses))
    if query.unleased_at:
        where.add("status = 'running' AND (lease_until IS NULL OR lease_until <= ?)", microseconds(query.unleased_at))
    if query.before:
        where.add("(created_at, id, tenant) < (?, ?, ?)", *parsed_cursor(query.before))
    return _newest("threads", where, query, "threads")


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
        where.add(f"{EXPIRING} AND expires_at <= ?", microseconds(query.expired_at))
    where.parts += [name for name in ("unacknowledged", "attention") if getattr(query, name)]
    if query.before:
        at, id, tenant = parsed_cursor(query.before)
        where.add("(requests.created_at, requests.id, requests.tenant) < (?, ?, ?)", at, id, tenant)
    return where


def mentioning(where: Where, sought: Sequence[str], table: str = "shown") -> str:
    """Add that each piece stands in a request's text, and return the table to join for that."""
    for piece in sought:
        where.add("strpos(texts.search, ?) > 0", piece)
    return f" JOIN texts ON texts.tenant = {table}.tenant AND texts.id = {table}.id" if sought else ""


def _newest(tables: str, where: Where, query: Query, table: str) -> Statement:
    order = f"{table}.created_at DESC, {table}.id DESC, {table}.tenant DESC"
    sql = f"SELECT {table}.tenant, {table}.created_at, {table}.id FROM {tables} WHERE {where} ORDER BY {order}"
    limit = where.mark(query.limit)
    return Statement(f"{sql} LIMIT {limit}", where.values)
