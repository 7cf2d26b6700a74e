"""Full-text search: first among the newest requests, then in two ways at once.

A scan of the lists is fast for frequent text, and the index of terms for rare text. The planner's estimates are wrong
by orders of magnitude for one of the two, so the first to finish is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ringi.backends.audiences import has_index
from ringi.backends.postgres import lists
from ringi.backends.postgres.database import Database
from ringi.domain.record import Query, lookup_terms, parsed_cursor, query_terms

FIRST, NEAR, MAX_STEP = 100, 4_000, 100_000
"""Requests scanned at first, the distance at which an end is near, and requests scanned at once."""
HEAD_START = 0.02
"""Seconds after which the term index is no longer assumed to be faster."""


def is_search(query: Query) -> bool:
    """Return whether a query searches lists for a text."""
    return not has_index(query) and query.tenant is not None and bool(query_terms(query.text or ""))


async def search(database: Database, query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching requests, newest first."""
    scan = ListScan(database, query)
    await scan.scan_next(FIRST)
    while not scan.is_done and scan.remaining_estimate <= NEAR:
        await scan.scan_next(scan.remaining_estimate)
    terms = [lists.number_of(str(query.tenant), term) for term in lookup_terms(query_terms(query.text or ""))]
    if scan.is_done or not terms:
        return await scan.finish()
    return await database.first_result(search_by_terms(database, query, terms), scan.finish(HEAD_START))


async def search_by_terms(database: Database, query: Query, terms: Sequence[int]) -> list[str]:
    """Search through the index of terms."""
    statement = lists.bodies("requests", lists.chosen(query, terms))
    return [body for (body,) in await database.fetch(statement.sql, *statement.values)]


class ListScan:
    """A scan of the lists. A request keeps its position, so it is visited once, even with changes between two steps."""

    def __init__(self, database: Database, query: Query) -> None:
        self._database, self._query, self._query_terms = database, query, query_terms(query.text or "")
        self._below = parsed_cursor(query.before) if query.before else None
        self.bodies: list[str] = []
        self.is_done, self._scanned = False, 0

    @property
    def remaining_estimate(self) -> int:
        """Return an estimate of the remaining requests to scan: a generous one, at least a hundred."""
        missing = self._query.limit - len(self.bodies)
        return max(100, 3 * self._scanned * missing // (2 * max(1, len(self.bodies))))

    async def scan_next(self, size: int) -> None:
        """Scan the next `size` requests."""
        query = self._query.model_copy(update={"limit": self._query.limit - len(self.bodies)})
        statement = lists.scan_for_text(query, self._query_terms, self._below, size)
        rows = await self._database.fetch(statement.sql, *statement.values)
        self.bodies += [body for body, *_ in rows if body is not None]
        self.is_done = len(self.bodies) == self._query.limit or not rows or rows[-1][1] < size
        self._scanned += size
        self._below = rows[-1][2:] if rows else None

    async def finish(self, after: float = 0.0) -> list[str]:
        """Scan the rest, in increasingly long steps."""
        await asyncio.sleep(after)
        while not self.is_done:
            await self.scan_next(min(max(self.remaining_estimate, self._scanned), MAX_STEP))
        return self.bodies
