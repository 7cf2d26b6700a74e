"""Pages of lists, each in one statement if possible.

A full-text search looks first among the newest requests, then in two ways at once. A scan of the lists is fast for
frequent text, and the index of terms for rare text. The planner's estimates are wrong by orders of magnitude for one of
the two, so the first to finish is used.
"""

from __future__ import annotations

import asyncio
from itertools import groupby
from operator import itemgetter

from ringi.backends.orders import OrderedListing, ordered_listing
from ringi.backends.postgres import lists
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.rows import query_has_own_index
from ringi.domain.record import Query, Record, query_terms
from ringi.domain.request import Request

FIRST, NEAR, MAX_STEP = 100, 4_000, 100_000
"""Requests scanned at first, the distance at which an end is near, and requests scanned at once."""
HEAD_START = 0.02
"""Seconds after which the term index is no longer assumed to be faster."""


async def find_postgres_bodies(database: PostgresDatabase, kind: type[Record], query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching records, in order."""
    listing = ordered_listing(kind, query)
    if kind is not Request or query_has_own_index(query) or query.tenant is None:
        return await read_postgres_bodies(database, lists.gather_bodies_statement(kind, listing))
    if listing.spans[0].key == "created_at" and query_terms(query.text or ""):
        return await search_postgres_text(database, listing)
    ways = [scan_postgres_lists(database, listing, names) for names in lists.postgres_matching_lists(listing)]
    if query.text and (terms := lists.query_term_numbers(query)):
        ways.append(read_postgres_bodies(database, lists.gather_bodies_statement(kind, listing, terms)))
    return await ways[0] if len(ways) == 1 else await database.first_result(*ways)


async def count_postgres_matches(database: PostgresDatabase, kind: type[Record], query: Query) -> int:
    """Return the number of matching records, up to `query.limit`."""
    listing = ordered_listing(kind, query)
    is_listed = kind is Request and not query_has_own_index(query) and query.tenant is not None
    if is_listed and query_terms(query.text or ""):
        return len(await search_postgres_text(database, listing))
    statement = lists.count_in_lists_statement(query) if is_listed else None
    if statement is None:
        if is_listed:
            page = lists.index_scan_statement(listing, listing.spans, lists.postgres_matching_lists(listing)[0])
        else:
            page = lists.gather_bodies_statement(kind, listing)
        statement = lists.PostgresStatement(f"SELECT count(*) FROM ({page.sql}) AS found", page.values)
    ((number,),) = await database.fetch(statement.sql, *statement.values)
    return int(number)


async def read_postgres_bodies(database: PostgresDatabase, statement: lists.PostgresStatement) -> list[str]:
    """Return the bodies that a statement finds."""
    return [body for (body,) in await database.fetch(statement.sql, *statement.values)]


async def scan_postgres_lists(database: PostgresDatabase, listing: OrderedListing, names: list[str]) -> list[str]:
    """Read a page from the lists with these names, a statement for each index.

    A request keeps its place for the time that the cursor carries, so the indexes may be read one after the other.
    """
    found = list[str]()
    for _, spans in groupby(listing.spans, itemgetter(0)):
        if left := listing.query.limit - len(found):
            if found:
                listing = listing._replace(query=listing.query.model_copy(update={"limit": left}))
            found += await read_postgres_bodies(database, lists.index_scan_statement(listing, [*spans], names))
    return found


async def search_postgres_text(database: PostgresDatabase, listing: OrderedListing) -> list[str]:
    """Return the bodies of at most `query.limit` requests with a text, newest first."""
    scan = PostgresListScan(database, listing)
    await scan.scan_next(FIRST)
    while not scan.is_done and scan.remaining_estimate <= NEAR:
        await scan.scan_next(scan.remaining_estimate)
    terms = lists.query_term_numbers(listing.query)
    if scan.is_done or not terms:
        return await scan.finish()
    by_terms = lists.gather_bodies_statement(Request, listing, terms)
    return await database.first_result(read_postgres_bodies(database, by_terms), scan.finish(HEAD_START))


class PostgresListScan:
    """A scan of the lists. A request keeps its position, so it is visited once, even with changes between two steps."""

    def __init__(self, database: PostgresDatabase, listing: OrderedListing) -> None:
        self._database, self._listing = database, listing
        self.bodies: list[str] = []
        self.is_done, self._scanned = False, 0

    @property
    def remaining_estimate(self) -> int:
        """Return an estimate of the remaining requests to scan: a generous one, at least a hundred."""
        missing = self._listing.query.limit - len(self.bodies)
        return max(100, 3 * self._scanned * missing // (2 * max(1, len(self.bodies))))

    async def scan_next(self, size: int) -> None:
        """Scan the next `size` requests."""
        query = self._listing.query
        left = query.model_copy(update={"limit": query.limit - len(self.bodies)})
        statement = lists.text_scan_statement(self._listing._replace(query=left), size)
        rows = await self._database.fetch(statement.sql, *statement.values)
        self.bodies += [body for body, *_ in rows if body is not None]
        self.is_done = len(self.bodies) == query.limit or not rows or rows[-1][1] < size
        self._scanned += size
        if rows:
            self._listing = self._listing._replace(after=tuple(rows[-1][2:]))

    async def finish(self, after: float = 0.0) -> list[str]:
        """Scan the rest, in increasingly long steps."""
        await asyncio.sleep(after)
        while not self.is_done:
            await self.scan_next(min(max(self.remaining_estimate, self._scanned), MAX_STEP))
        return self.bodies
