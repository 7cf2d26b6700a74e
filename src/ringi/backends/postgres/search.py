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

FIRST, NEAR, MOST = 100, 4_000, 100_000
"""Requests scanned at first, the distance at which an end is near, and requests scanned at once."""
HEAD_START = 0.02
"""Seconds after which the term index is no longer assumed to be faster."""


def is_search(query: Query) -> bool:
    """Return whether a query searches lists for a text."""
    return not has_index(query) and query.tenant is not None and bool(query_terms(query.text or ""))


async def search(database: Database, query: Query) -> list[str]:
    """Return the bodies of at most `query.limit` matching requests, newest first."""
    walk = Walk(database, query)
    await walk.go(FIRST)
    while not walk.is_done and walk.far <= NEAR:
        await walk.go(walk.far)
    terms = [lists.number_of(str(query.tenant), term) for term in lookup_terms(query_terms(query.text or ""))]
    if walk.is_done or not terms:
        return await walk.to_its_end()
    return await database.soonest(by_terms(database, query, terms), walk.to_its_end(HEAD_START))


async def by_terms(database: Database, query: Query, terms: Sequence[int]) -> list[str]:
    """Search through the index of terms."""
    found = lists.bodies("requests", lists.chosen(query, terms))
    return [body for (body,) in await database.fetch(found.sql, *found.values)]


class Walk:
    """A scan of the lists. A request keeps its position, so it is visited once, even with changes between two steps."""

    def __init__(self, database: Database, query: Query) -> None:
        self._database, self._query, self._sought = database, query, query_terms(query.text or "")
        self._below = parsed_cursor(query.before) if query.before else None
        self.found: list[str] = []
        self.is_done, self._passed = False, 0

    @property
    def far(self) -> int:
        """Return an estimate of the remaining requests to scan: a generous one, at least a hundred."""
        missing = self._query.limit - len(self.found)
        return max(100, 3 * self._passed * missing // (2 * max(1, len(self.found))))

    async def go(self, size: int) -> None:
        """Scan the next `size` requests."""
        query = self._query.model_copy(update={"limit": self._query.limit - len(self.found)})
        looked = lists.looked_through(query, self._sought, self._below, size)
        rows = await self._database.fetch(looked.sql, *looked.values)
        self.found += [body for body, *_ in rows if body is not None]
        self.is_done = len(self.found) == self._query.limit or not rows or rows[-1][1] < size
        self._passed += size
        self._below = rows[-1][2:] if rows else None

    async def to_its_end(self, after: float = 0.0) -> list[str]:
        """Scan the rest, in increasingly long steps."""
        await asyncio.sleep(after)
        while not self.is_done:
            await self.go(min(max(self.far, self._passed), MOST))
        return self.found
