"""Numbered output in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ringi.backends.batcher import Rows, StatementBatcher, split_batch_pages
from ringi.backends.postgres.database import PostgresDatabase
from ringi.base.canonical_json import COMPACT
from ringi.contracts.backend import Stream, StreamItem
from ringi.domain.record import Key
from ringi.domain.thread import FenceError
from ringi.errors import ConflictError, RingiError

# The values: tenant, id, fence, events, origins, and a condition on other parts of the statement.
RAISED_HEAD = """head AS (
  INSERT INTO stream_heads AS h SELECT {0}, {1}, cardinality({3}::text[]), {2} {5}
  ON CONFLICT (tenant, id) DO UPDATE SET last = h.last + cardinality({3}::text[]), fence = {2} WHERE h.fence <= {2}
  RETURNING last
)"""
ADDED_ITEMS = """added AS (
  INSERT INTO stream_items
  SELECT {0}, {1}, head.last - cardinality({3}::text[]) + item.n, item.event, item.origin
  FROM head, unnest({3}::text[], {4}::text[]) WITH ORDINALITY AS item (event, origin, n)
)"""
ADDED = f"{RAISED_HEAD}, {ADDED_ITEMS}"
APPEND = f"WITH {ADDED.format('$1::text', '$2::text', '$3::integer', '$4', '$5', '')} SELECT last FROM head"
# The head of the stream that `given` names, locked for the statement: another session's lock is not waited for.
LOCKED_HEAD = """LEFT JOIN LATERAL (
    SELECT true AS is_free FROM stream_heads WHERE tenant = given.tenant AND id = given.id FOR UPDATE SKIP LOCKED
  ) AS locked ON true"""
HAS_FREE_HEAD = """(
    locked.is_free OR NOT EXISTS (SELECT FROM stream_heads WHERE tenant = given.tenant AND id = given.id)
  )"""
# Several streams in one statement. A locked one is skipped, to be appended to alone: it would delay the others.
APPEND_MANY = f"""
WITH given AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[])
  WITH ORDINALITY AS given (tenant, id, fence, size, n)
), free AS MATERIALIZED (
  SELECT given.* FROM given {LOCKED_HEAD} WHERE {HAS_FREE_HEAD}
), head AS (
  INSERT INTO stream_heads AS h SELECT tenant, id, size, fence FROM free ORDER BY tenant, id
  ON CONFLICT (tenant, id) DO UPDATE SET last = h.last + excluded.last, fence = excluded.fence
  WHERE h.fence <= excluded.fence
  RETURNING tenant, id, last
), appended AS (SELECT n, tenant, id, last, last - size AS first FROM free JOIN head USING (tenant, id)
), added AS (
  INSERT INTO stream_items
  SELECT appended.tenant, appended.id, appended.first + item.place, item.event, item.origin
  FROM appended JOIN unnest($5::integer[], $6::integer[], $7::text[], $8::text[]) AS item (n, place, event, origin)
  USING (n)
)
SELECT n, last FROM appended
"""
DELETE = """
WITH head AS (
  INSERT INTO stream_heads AS h VALUES ($1, $2, 0, $3)
  ON CONFLICT (tenant, id) DO UPDATE SET fence = $3 WHERE h.fence <= $3
  RETURNING last
), gone AS (DELETE FROM stream_items WHERE tenant = $1 AND id = $2 AND EXISTS (SELECT FROM head))
SELECT last FROM head
"""
# An unknown stream has no head, whose last number would be compared.
REPLACE = f"""
WITH head AS (
  INSERT INTO stream_heads AS h
  SELECT $1, $2, cardinality($4::text[]), 0
  WHERE $3 = 0 OR EXISTS (SELECT FROM stream_heads WHERE tenant = $1 AND id = $2)
  ON CONFLICT (tenant, id) DO UPDATE SET last = h.last + excluded.last WHERE h.last = $3
  RETURNING last
), gone AS (DELETE FROM stream_items WHERE tenant = $1 AND id = $2 AND EXISTS (SELECT FROM head)
), {ADDED_ITEMS.format("$1", "$2", "", "$4", "$5")}
SELECT last FROM head
"""
READ = """
SELECT wanted.n, item.*
FROM unnest($1::text[], $2::text[], $3::integer[]) WITH ORDINALITY AS wanted (tenant, id, mark, n), LATERAL (
  SELECT event, origin, number FROM stream_items
  WHERE tenant = wanted.tenant AND id = wanted.id AND {part} LIMIT {limit:d}
) AS item
ORDER BY wanted.n, item.number
"""
AFTER, BEFORE = "number > wanted.mark ORDER BY number", "number < wanted.mark ORDER BY number DESC"
NO_NUMBER = 2**31 - 1
"""Above the number of any item."""


class StreamAddition(NamedTuple):
    """New items of one stream."""

    key: Key
    fence: int
    events: list[str]
    origins: list[str | None]


class PostgresStreamPage(NamedTuple):
    """A page of one stream."""

    key: Key
    mark: int
    """The number after or before which to read."""
    limit: int


class PostgresStream(Stream):
    """Items in a table, their last number and fence in another; an append is one statement."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._additions = StatementBatcher(partial(append_to_all_streams, database))
        self._pages = StatementBatcher(partial(read_stream_pages, database, AFTER))
        self._last_pages = StatementBatcher(partial(read_stream_pages, database, BEFORE))

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        events, origins = stream_item_columns(items)
        alone = partial(self._database.write, APPEND, *key, fence, events, origins)
        rows = await self._additions.result(StreamAddition(key, fence, events, origins), alone)
        return last_stream_number(rows, FenceError(key.id, fence))

    async def delete(self, key: Key, *, fence: int) -> int:
        return last_stream_number(await self._database.write(DELETE, *key, fence), FenceError(key.id, fence))

    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        rows = await self._database.write(REPLACE, *key, last, *stream_item_columns(items))
        return last_stream_number(rows, ConflictError())

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        return stream_items_of_rows(await self._pages.result(PostgresStreamPage(key, after, limit)))

    async def read_last(self, key: Key, limit: int, before: int | None = None) -> list[StreamItem]:
        page = PostgresStreamPage(key, NO_NUMBER if before is None else before, limit)
        return stream_items_of_rows(await self._last_pages.result(page))


def stream_items_of_rows(rows: Rows) -> list[StreamItem]:
    """Return the items in the rows of a page."""
    return [StreamItem(json.loads(event), origin, number) for event, origin, number in rows]


def last_stream_number(rows: Rows, refusal: RingiError) -> int:
    """Return the last number that a statement returned; raise the error if the statement wrote nothing."""
    if not rows:
        raise refusal
    return int(rows[0]["last"])


async def append_to_all_streams(database: PostgresDatabase, additions: Sequence[StreamAddition]) -> list[Rows | None]:
    """Return the last number of each stream as a row; None for an addition that is to be made alone.

    None does not state the reason: a higher fence, two additions to one stream, or values that cannot be stored.
    """
    items = [
        (n, place, *item)
        for n, addition in enumerate(additions, 1)
        for place, item in enumerate(zip(addition.events, addition.origins, strict=True), 1)
    ]
    heads = [(*addition.key, addition.fence, len(addition.events)) for addition in additions]
    columns = [list(column) for column in zip(*items, strict=True)] or [[]] * 4
    return await database.write_each(APPEND_MANY, [*map(list, zip(*heads, strict=True)), *columns])


async def read_stream_pages(
    database: PostgresDatabase, part: str, pages: Sequence[PostgresStreamPage]
) -> list[Rows | None]:
    """Return the rows of each page; None for a page with another limit than the first."""
    columns = [page.key.tenant for page in pages], [page.key.id for page in pages], [page.mark for page in pages]
    rows = await database.fetch(READ.format(part=part, limit=pages[0].limit), *columns)
    return split_batch_pages(rows, [page.limit for page in pages])


def stream_item_columns(items: Sequence[StreamItem]) -> tuple[list[str], list[str | None]]:
    """Return the events and origins of items as two columns."""
    # PostgreSQL's text cannot contain NUL; as a JSON escape it can.
    return [COMPACT.encode(item.event) for item in items], [item.origin for item in items]
