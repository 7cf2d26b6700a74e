"""Pages of pending requests in the order `urgent`, in a time independent of their number.

The indexes of the table `shown` have the pending requests of each audience and of each tool by rank, and by deadline. A
page is a part of the list by deadline, up to what is due soon, and then a part of the list by rank without what is due
soon. A request keeps its place for the time that the cursor carries, so the two parts may be read one after the other.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from ringi.backends.audiences import EVERYTHING, has_index, list_partitions, required_lists
from ringi.backends.postgres.database import Database
from ringi.backends.postgres.lists import (
    SAME,
    Statement,
    Where,
    add_listed_text,
    add_unlisted_conditions,
    number_of,
    searched,
)
from ringi.domain.record import Query, lookup_terms, microseconds, query_terms
from ringi.domain.urgency import UrgentPlace, UrgentQuery, rank_spans, urgent_query

FIRST = {"deadline": (-(2**63), -(2**63), ""), "rank": (-1, -(2**63), "")}
"""The key, the time and the id before the first place of each part."""


async def find_urgent(database: Database, query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching pending requests, the most urgent first."""
    urgent = urgent_query(query)
    if has_index(urgent.query):
        return await gather(database, urgent)
    ways: list[Coroutine[Any, Any, list[str]]] = [scan(database, urgent, names) for names in ways_of(urgent.query)]
    if terms := terms_in(query):
        ways.append(gather(database, urgent, terms))
    return await ways[0] if len(ways) == 1 else await database.first_result(*ways)


def terms_in(query: Query) -> list[int]:
    """Return the numbers of the terms of a query's text."""
    return [number_of(str(query.tenant), term) for term in lookup_terms(query_terms(query.text or ""))]


def ways_of(query: Query) -> list[list[str]]:
    """Return sets of lists that each have every match; any may be the shortest."""
    lists = required_lists(query) or [[EVERYTHING]]
    if query.tool is not None:
        return lists[:2]
    # The list of everything has an index by agent.
    return lists[:1] if query.agent is None or lists == [[EVERYTHING]] else [lists[0], [EVERYTHING]]


async def scan(database: Database, urgent: UrgentQuery, names: list[str]) -> list[str]:
    """Read a page from the lists with these names, in order."""
    found: list[str] = []
    if urgent.after is None or urgent.after.part == "due":
        found = await bodies(database, part_of(urgent, names, "deadline", urgent.query.limit))
    if left := urgent.query.limit - len(found):
        found += await bodies(database, part_of(urgent, names, "rank", left))
    return found


async def gather(database: Database, urgent: UrgentQuery, terms: list[int] | None = None) -> list[str]:
    """Read all matches from an index in another order, then a page of them: fast if few match."""
    where, tables = searched(urgent.query)
    if terms:
        where.add("texts.terms @> ?::integer[]", terms)
    last = where.mark(microseconds(urgent.due_soon_until))
    is_due = f"coalesce(requests.deadline <= {last}::bigint, false)"
    place = f"(NOT {is_due}, CASE WHEN {is_due} THEN requests.deadline ELSE rank END, requests.created_at, requests.id)"
    if urgent.after:
        part, *rest = urgent.after
        where.add(f"{place} > (?::boolean, ?::bigint, ?::bigint, ?::text)", part == "rank", *rest)
    order = place[1:-1]
    sql = f"SELECT body FROM {tables} WHERE {where} ORDER BY {order} LIMIT {urgent.query.limit:d}"
    return await bodies(database, Statement(sql, where.values))


def part_of(urgent: UrgentQuery, names: list[str], key: str, limit: int) -> Statement:
    """Return the statement for the bodies of one part of a page, from the lists by deadline or by rank."""
    query, where, last = urgent.query, Where(), microseconds(urgent.due_soon_until)
    where.add("shown.tenant = ? AND shown.audience = a.audience", query.tenant)
    where.add("shown.deadline <= ?" if key == "deadline" else "(shown.deadline IS NULL OR shown.deadline > ?)", last)
    start = start_of(urgent.after, key)
    if key == "rank":
        # Only one lower bound: by another one, PostgreSQL would begin at its bound and skip up to this one.
        where.parts.append("(shown.rank, shown.created_at, shown.id) > (s.first, s.at, s.id) AND shown.rank <= s.last")
    else:
        where.add("(shown.deadline, shown.created_at, shown.id) > (?, ?, ?)", *start)
        if query.priority or query.tier:
            ranks = [rank for first, last in rank_spans(query) for rank in range(first, last + 1)]
            where.add("shown.rank = ANY(?::smallint[])", ranks)
    if names == [EVERYTHING]:
        # As a constant, for the index by agent.
        where.parts.append(f"shown.audience = '{EVERYTHING}'")
    if query.agent is not None:
        where.add("shown.agent = ?", query.agent)
    if query.kind is not None:
        where.add("shown.shelf = ANY(?::text[])", list_partitions(query))
    # The ranks have the tier, and the lists have the agent.
    add_unlisted_conditions(where, query.model_copy(update={"tier": None, "agent": None}), names)
    add_listed_text(where, query)
    order = ", ".join(f"{{0}}.{name}" for name in (key, "created_at", "id"))
    each = f"SELECT shown.tenant, {order.format('shown')} FROM shown WHERE {where}"
    each += f" ORDER BY {order.format('shown')} LIMIT {limit:d}"
    lists = f"unnest({where.mark(names)}::text[]) AS a (audience)"
    if key == "rank":
        spans = [(*max(start, (first, *FIRST["rank"][1:])), last) for first, last in rank_spans(query)]
        firsts, ats, ids, lasts = (where.mark(list(parts)) for parts in zip(*spans, strict=True))
        lists += f", unnest({firsts}::smallint[], {ats}::bigint[], {ids}::text[], {lasts}::smallint[])"
        lists += " AS s (first, at, id, last)"
    page = (
        f"SELECT DISTINCT each.* FROM {lists}, LATERAL ({each}) AS each ORDER BY {order.format('each')} LIMIT {limit:d}"
    )
    body = f"SELECT body FROM requests WHERE {SAME.format('requests')}"
    return Statement(f"SELECT ({body}) FROM ({page}) AS shown ORDER BY {order.format('shown')}", where.values)


def start_of(after: UrgentPlace | None, key: str) -> tuple[Any, ...]:
    """Return the key, the time and the id after which a part is read."""
    is_there = after is not None and (after.part == "due") == (key == "deadline")
    return after[1:] if after and is_there else FIRST[key]


async def bodies(database: Database, statement: Statement) -> list[str]:
    """Return the bodies that a statement finds."""
    return [body for (body,) in await database.fetch(statement.sql, *statement.values)]
