"""Pages of lists, each in one statement if possible.

A full-text search looks first among the newest requests, then in two ways at once. A scan of the lists is fast for
frequent text, and the index of terms for rare text. The planner's estimates are wrong by orders of magnitude for one of
the two, so the first to finish is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from ringi.backends.orders import OrderedListing, ordered_listing
from ringi.backends.postgres import lists
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.rows import query_has_own_index
from ringi.domain.record import Query, Record, query_terms
from ringi.domain.request import Request

T = TypeVar("T")
FIRST, NEAR, MAX_STEP = 100, 4_000, 100_000
"""Requests scanned at first, the distance at which an end is near, and requests scanned at once."""
HEAD_START = 0.02
"""Seconds after which the likely fastest way is no longer assumed to be."""


async def find_postgres_bodies(database: PostgresDatabase, kind: type[Record], query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching records, in order."""
    listing = ordered_listing(kind, query)
    if kind is not Request or query_has_own_index(query) or query.tenant is None:
        return await read_postgres_bodies(database, lists.gather_bodies_statement(kind, listing))
    if listing.spans[0].key == "created_at" and query_terms(query.text or ""):
        return await search_postgres_text(database, listing)
    ways = [scan_postgres_lists(database, listing, names) for names in lists.postgres_matching_lists(listing)]
    if terms := lists.term_condition(query):
        ways.append(read_postgres_bodies(database, lists.gather_bodies_statement(kind, listing, terms)))
    if rare := lists.rare_condition(listing):
        ways.append(later(read_postgres_bodies, database, lists.gather_bodies_statement(kind, listing, rare)))
    return await first_of(database, ways)


async def first_of(database: PostgresDatabase, ways: Sequence[Coroutine[Any, Any, T]]) -> T:
    """Return the result of the only way, or the first result of several."""
    return await ways[0] if len(ways) == 1 else await database.first_result(*ways)


async def later(way: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    """Return the result of a way that is not needed if another one is fast."""
    await asyncio.sleep(HEAD_START)
    return await way(*arguments)


async def count_postgres_matches(database: PostgresDatabase, kind: type[Record], query: Query) -> int:
    """Return the number of matching records, up to `query.limit`."""
    listing = ordered_listing(kind, query)
    is_listed = kind is Request and not query_has_own_index(query) and query.tenant is not None
    if is_listed and query_terms(query.text or ""):
        return len(await search_postgres_text(database, listing))
    if not is_listed:
        return await count_found(database, lists.gather_bodies_statement(kind, listing))
    if statement := lists.count_in_lists_statement(query):
        ((number,),) = await database.fetch(statement.sql, *statement.values)
        return int(number)
    names = lists.postgres_matching_lists(listing)[0]
    ways = [count_found(database, lists.index_scan_statement(listing, listing.spans, names))]
    if rare := lists.rare_condition(listing):
        ways.append(later(count_found, database, lists.gather_bodies_statement(kind, listing, rare)))
    return await first_of(database, ways)


async def count_found(database: PostgresDatabase, page: lists.PostgresStatement) -> int:
    """Return the number of rows of a page."""
    ((number,),) = await database.fetch(f"SELECT count(*) FROM ({page.sql}) AS found", *page.values)
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
    scan, rare = PostgresListScan(database, listing), lists.rare_condition(listing)
    terms = lists.term_condition(listing.query)
    if rare is None:
        await scan.scan_next(FIRST)
        while not scan.is_done and scan.remaining_estimate <= NEAR:
            await scan.scan_next(scan.remaining_estimate)
        if scan.is_done or terms is None:
            return await scan.finish()
        by_terms = lists.gather_bodies_statement(Request, listing, terms)
        return await database.first_result(read_postgres_bodies(database, by_terms), later(scan.finish))
    # Even the first hundred with the rare condition may be far apart.
    pages = [lists.gather_bodies_statement(Request, listing, each) for each in (terms, rare) if each]
    ways = [later(read_postgres_bodies, database, page) for page in pages]
    return await database.first_result(scan.finish(), *ways)


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

    async def finish(self) -> list[str]:
        """Scan the rest, in increasingly long steps."""
        while not self.is_done:
            await self.scan_next(min(max(self.remaining_estimate, self._scanned), MAX_STEP))
        return self.bodies
