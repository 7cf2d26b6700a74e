"""Changes of several records in one statement: none waits for another's row lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from ringi.backends.batcher import Rows
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.stream import HAS_FREE_HEAD, LOCKED_HEAD

TYPES = {
    **{"tenant": "text", "id": "text", "version": "integer", "body": "text", "status": "text", "audiences": "text"},
    **{"expires_at": "bigint", "ended_at": "bigint", "unacknowledged": "boolean", "attention": "boolean"},
    "unexecuted": "boolean",
    **{"type": "text", "at": "bigint", "payload": "text", "payload_digest": "text", "previous": "text", "hash": "text"},
}
"""The column types of a request's next version and its event."""
CHANGED = (
    *("version", "body", "status", "audiences", "expires_at", "ended_at"),
    *("unacknowledged", "attention", "unexecuted"),
)
NOTED = ("version", "type", "at", "payload", "payload_digest", "previous", "hash")
# An insert that always finds its row. For an update of joined rows, the planner may read the whole table while it is
# small. It would keep that plan after the table has grown.
CHANGE = f"""
WITH given AS (
  SELECT * FROM unnest({", ".join(f"${n}::{type}[]" for n, type in enumerate(TYPES.values(), 1))})
  WITH ORDINALITY AS given ({", ".join(TYPES)}, n)
), free AS MATERIALIZED (
  SELECT given.*, stored.created_at, stored.kind, stored.priority, stored.tier, stored.rank FROM given, LATERAL (
    SELECT created_at, kind, priority, tier, rank FROM requests
    WHERE tenant = given.tenant AND id = given.id AND version = given.version - 1 FOR UPDATE SKIP LOCKED
  ) AS stored
), saved AS (
  INSERT INTO requests (tenant, id, created_at, kind, priority, tier, rank, {", ".join(CHANGED)})
  SELECT tenant, id, created_at, kind, priority, tier, rank,
    {", ".join(CHANGED).replace("audiences", "ARRAY(SELECT json_array_elements_text(audiences::json))")} FROM free
  ON CONFLICT (tenant, id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in CHANGED)}
  WHERE requests.version = excluded.version - 1
  RETURNING tenant, id
), noted AS (
  INSERT INTO unsealed (tenant, record, record_id, {", ".join(NOTED)})
  SELECT tenant, 'request', id, {", ".join(NOTED)} FROM free JOIN saved USING (tenant, id)
)
SELECT n FROM free JOIN saved USING (tenant, id)
"""
FENCED_TYPES = {
    **{"tenant": "text", "id": "text", "version": "integer", "body": "text", "status": "text", "fence": "integer"},
    **{"lease_until": "bigint", "type": "text", "at": "bigint", "payload": "text", "payload_digest": "text"},
    **{"previous": "text", "hash": "text"},
}
"""The column types of a thread's next version and its event."""
HELD = ("version", "body", "status", "fence", "lease_until")
# If another writer raises the fence of a stream meanwhile, the division undoes the statement.
FENCE = f"""
WITH given AS (
  SELECT * FROM unnest({", ".join(f"${n}::{type}[]" for n, type in enumerate(FENCED_TYPES.values(), 1))})
  WITH ORDINALITY AS given ({", ".join(FENCED_TYPES)}, n)
), free AS MATERIALIZED (
  SELECT given.*, stored.created_at FROM given, LATERAL (
    SELECT created_at FROM threads
    WHERE tenant = given.tenant AND id = given.id AND version = given.version - 1 FOR UPDATE SKIP LOCKED
  ) AS stored {LOCKED_HEAD}
  WHERE {HAS_FREE_HEAD} AND NOT EXISTS (
    SELECT FROM stream_heads AS h WHERE h.tenant = given.tenant AND h.id = given.id AND h.fence > given.fence
  )
), saved AS (
  INSERT INTO threads (tenant, id, created_at, {", ".join(HELD)})
  SELECT tenant, id, created_at, {", ".join(HELD)} FROM free
  ON CONFLICT (tenant, id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in HELD)}
  WHERE threads.version = excluded.version - 1
  RETURNING tenant, id, fence
), head AS (
  INSERT INTO stream_heads AS h SELECT tenant, id, 0, fence FROM saved ORDER BY tenant, id
  ON CONFLICT (tenant, id) DO UPDATE SET fence = excluded.fence WHERE h.fence <= excluded.fence
  RETURNING 1
), noted AS (
  INSERT INTO unsealed (tenant, record, record_id, {", ".join(NOTED)})
  SELECT tenant, 'thread', id, {", ".join(NOTED)} FROM free JOIN saved USING (tenant, id)
)
SELECT n, 1 / ((SELECT count(*) FROM head) = (SELECT count(*) FROM saved))::integer
FROM free JOIN saved USING (tenant, id)
"""
ChangeRow = dict[str, Any]


async def change_all_requests(database: PostgresDatabase, changes: Sequence[ChangeRow]) -> list[Rows | None]:
    """Apply each change of a request with its event, and return a row for each applied change.

    None does not state the reason: the row is locked or has another version, or a change cannot be stored.
    At most one of several changes to the same request is applied.
    """
    audiences = [to_json(change["audiences"]).decode() for change in changes]
    columns = [audiences if name == "audiences" else [change[name] for change in changes] for name in TYPES]
    return await database.write_each(CHANGE, columns)


async def change_all_fenced(database: PostgresDatabase, changes: Sequence[ChangeRow]) -> list[Rows | None]:
    """Apply each change of a thread with its event, and set the fence of its stream; see `change_all_requests`."""
    return await database.write_each(FENCE, [[change[name] for change in changes] for name in FENCED_TYPES])
