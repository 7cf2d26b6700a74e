"""Numbered output in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ringi.backends.postgres.database import Database
from ringi.base.canonical_json import COMPACT
from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Key
from ringi.errors import FenceError

# Its values: tenant, id, fence, events, origins, and a condition on other parts of the statement.
ADDED = """
head AS (
  INSERT INTO stream_heads AS h SELECT {0}, {1}, cardinality({3}::text[]), {2} {5}
  ON CONFLICT (tenant, id) DO UPDATE SET last = h.last + cardinality({3}::text[]), fence = {2} WHERE h.fence <= {2}
  RETURNING last
), added AS (
  INSERT INTO stream_items
  SELECT {0}, {1}, head.last - cardinality({3}::text[]) + item.n, item.event, item.origin
  FROM head, unnest({3}::text[], {4}::text[]) WITH ORDINALITY AS item (event, origin, n)
)
"""
APPEND = f"WITH {ADDED.format('$1::text', '$2::text', '$3::integer', '$4', '$5', '')} SELECT last FROM head"
DELETE = """
WITH head AS (
  INSERT INTO stream_heads AS h VALUES ($1, $2, 0, $3)
  ON CONFLICT (tenant, id) DO UPDATE SET fence = $3 WHERE h.fence <= $3
  RETURNING last
), gone AS (DELETE FROM stream_items WHERE tenant = $1 AND id = $2 AND EXISTS (SELECT FROM head))
SELECT last FROM head
"""
READ = """
SELECT event, origin, number FROM stream_items WHERE tenant = $1 AND id = $2 AND number > $3 ORDER BY number LIMIT $4
"""


class PostgresStream(Stream):
    """Items in a table, their last number and fence in another; an append is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        rows = await self._database.write(APPEND, *key, fence, *values_of(items))
        if not rows:
            raise FenceError(key.id, fence)
        return int(rows[0][0])

    async def delete(self, key: Key, *, fence: int) -> int:
        rows = await self._database.write(DELETE, *key, fence)
        if not rows:
            raise FenceError(key.id, fence)
        return int(rows[0][0])

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        rows = await self._database.fetch(READ, *key, after, limit)
        return [StreamItem(json.loads(event), origin, number) for event, origin, number in rows]


def values_of(items: Sequence[StreamItem]) -> tuple[list[str], list[str | None]]:
    """Return the events and origins of items as two columns."""
    # PostgreSQL's text cannot contain NUL; as a JSON escape it can.
    events = [COMPACT.encode(item.event) for item in items]
    return events, [item.origin for item in items]
