"""Pages of ended requests in the order `ended`, from the index of each list by end."""

from __future__ import annotations

from ringi.backends.audiences import has_index, list_partitions
from ringi.backends.postgres.database import Database
from ringi.backends.postgres.lists import SAME, Statement, Where, add_listed_text, add_unlisted_conditions, searched
from ringi.backends.postgres.urgent import bodies, terms_in, ways_of
from ringi.domain.endings import EndedQuery, ended_query
from ringi.domain.record import Query, microseconds

ORDER = "{0}.ended_at DESC, {0}.created_at DESC, {0}.id DESC"
PLACE = "({0}.ended_at, {0}.created_at, {0}.id) < (?::bigint, ?::bigint, ?::text)"


async def find_ended(database: Database, query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching ended requests, the latest end first."""
    ended = ended_query(query)
    if has_index(ended.query):
        return await bodies(database, gathering(ended, []))
    ways = [bodies(database, scan(ended, names)) for names in ways_of(ended.query.model_copy(update={"agent": None}))]
    if terms := terms_in(ended.query):
        ways.append(bodies(database, gathering(ended, terms)))
    return await ways[0] if len(ways) == 1 else await database.first_result(*ways)


def scan(ended: EndedQuery, names: list[str]) -> Statement:
    """Return the statement for a page from the lists with these names, in order."""
    query, where = ended.query, Where()
    where.add("shown.tenant = ? AND shown.audience = a.audience AND shown.ended_at IS NOT NULL", query.tenant)
    # Not as a column: the index by partition is in another order.
    where.add("shown.shelf || '' = ANY(?::text[])", list_partitions(query))
    if ended.after:
        where.add(PLACE.format("shown"), *ended.after)
    if query.ended_since:
        where.add("shown.ended_at >= ?", microseconds(query.ended_since))
    add_unlisted_conditions(where, query, names)
    add_listed_text(where, query)
    order, limit = ORDER.format("shown"), f"LIMIT {query.limit:d}"
    each = f"SELECT shown.tenant, shown.ended_at, shown.created_at, shown.id FROM shown WHERE {where}"
    lists = f"unnest({where.mark(names)}::text[]) AS a (audience), LATERAL ({each} ORDER BY {order} {limit}) AS each"
    page = f"SELECT DISTINCT each.* FROM {lists} ORDER BY {ORDER.format('each')} {limit}"
    body = f"SELECT body FROM requests WHERE {SAME.format('requests')}"
    return Statement(f"SELECT ({body}) FROM ({page}) AS shown ORDER BY {order}", where.values)


def gathering(ended: EndedQuery, terms: list[int]) -> Statement:
    """Return the statement for a page of all matches in an index in another order: fast if few match."""
    where, tables = searched(ended.query)
    if terms:
        where.add("texts.terms @> ?::integer[]", terms)
    if ended.after:
        where.add(PLACE.format("requests"), *ended.after)
    limit = f"LIMIT {ended.query.limit:d}"
    sql = f"SELECT body FROM {tables} WHERE {where} ORDER BY {ORDER.format('requests')} {limit}"
    return Statement(sql, where.values)
