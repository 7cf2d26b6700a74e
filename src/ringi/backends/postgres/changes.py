"""Changes of several records in one statement: none waits for another's row lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from ringi.backends import claimed_jobs
from ringi.backends.batcher import Rows
from ringi.backends.claimed_jobs import job_to_row
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.jobs import SUBMIT
from ringi.backends.postgres.stream import HAS_FREE_HEAD, LOCKED_HEAD
from ringi.backends.rows import TABLES
from ringi.contracts.backend import RESUME, Job

KEY = ("tenant", "id")
VERSION_TYPES = {**dict.fromkeys(KEY, "text"), "version": "integer", "body": "text", "status": "text"}
EVENT_TYPES = dict.fromkeys(("type", "at", "payload", "payload_digest", "previous", "hash"), "text") | {"at": "bigint"}
STATE_TYPES = dict.fromkeys(("unacknowledged", "attention", "unexecuted"), "boolean")
JOB_TYPES = dict.fromkeys(("job", "lane", "job_payload", "worker"), "text") | {"seconds": "double precision"}
TYPES = (
    VERSION_TYPES
    | {"audiences": "text", "expires_at": "bigint", "ended_at": "bigint"}
    | STATE_TYPES
    | EVENT_TYPES
    | JOB_TYPES
)
"""The column types of a request's next version, its event, and the job of the run that goes on after it, if any."""
FENCED_TYPES = {**VERSION_TYPES, "fence": "integer", "lease_until": "bigint", **EVENT_TYPES}
"""The column types of a thread's next version and its event."""
LASTING = "created_at, kind, priority, tier, rank"
"""The columns of a request that a change must name and leaves as they are."""


def changes_statement(
    record: str, types: Mapping[str, str], lasting: str, *, free: str = "", head: str = "", check: str = ""
) -> str:
    """Return the statement that applies changes and returns the place of each applied one; locked rows are skipped.

    Args:
        record: The kind of the records.
        types: The column types of the next version and its event.
        lasting: The columns that the change leaves as they are.
        free: Further conditions on a change, with the tables that they need.
        head: Another part of the statement.
        check: A further result, which may undo the statement.
    """
    table, names = TABLES[record], [name for name in types if name not in (*KEY, *EVENT_TYPES, *JOB_TYPES)]
    changed, noted = ", ".join(names), ", ".join(("version", *EVENT_TYPES))
    values = changed.replace("audiences", "ARRAY(SELECT json_array_elements_text(audiences::json))")
    # An insert that always finds its row. For an update of joined rows, the planner may read the whole table while it
    # is small. It would keep that plan after the table has grown.
    return f"""
WITH given AS (
  SELECT * FROM unnest({", ".join(f"${n}::{type}[]" for n, type in enumerate(types.values(), 1))})
  WITH ORDINALITY AS given ({", ".join(types)}, n)
), free AS MATERIALIZED (
  SELECT given.*, stored.* FROM given, LATERAL (
    SELECT {lasting} FROM {table}
    WHERE tenant = given.tenant AND id = given.id AND version = given.version - 1 FOR UPDATE SKIP LOCKED
  ) AS stored {free}
), saved AS (
  INSERT INTO {table} (tenant, id, {lasting}, {changed}) SELECT tenant, id, {lasting}, {values} FROM free
  ON CONFLICT (tenant, id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in names)}
  WHERE {table}.version = excluded.version - 1
  RETURNING tenant, id
), {head} noted AS (
  INSERT INTO unsealed (tenant, record, record_id, {noted})
  SELECT tenant, '{record}', id, {noted} FROM free JOIN saved USING (tenant, id)
)
SELECT n{check} FROM free JOIN saved USING (tenant, id)
"""


WOKEN = f"""(
  SELECT job, '{RESUME}', lane, job_payload, 0, NULL, worker, seconds FROM free JOIN saved USING (tenant, id)
  WHERE job IS NOT NULL
)"""
CHANGE = changes_statement(
    "request",
    TYPES,
    LASTING,
    head=f"queued AS ({SUBMIT.format(WOKEN)}),",
    check=", ARRAY(SELECT key FROM queued WHERE key = job AND claimed_by IS NOT NULL) AS claimed",
)
# If another writer raises the fence of a stream meanwhile, the division undoes the statement.
FENCE = changes_statement(
    "thread",
    FENCED_TYPES,
    "created_at",
    free=f"""{LOCKED_HEAD}
  WHERE {HAS_FREE_HEAD} AND NOT EXISTS (
    SELECT FROM stream_heads AS h WHERE h.tenant = given.tenant AND h.id = given.id AND h.fence > given.fence
  )""",
    head="""head AS (
  INSERT INTO stream_heads AS h
  SELECT tenant, id, 0, fence FROM free JOIN saved USING (tenant, id) ORDER BY tenant, id
  ON CONFLICT (tenant, id) DO UPDATE SET fence = excluded.fence WHERE h.fence <= excluded.fence
  RETURNING 1
),""",
    check=", 1 / ((SELECT count(*) FROM head) = (SELECT count(*) FROM saved))::integer",
)
ChangeRow = dict[str, Any]


def wake_up_columns(jobs: Sequence[Job], worker: str | None) -> ChangeRow:
    """Return the columns of a change for the job of the run that goes on after it, if there is one.

    Args:
        jobs: At most one job.
        worker: The name of a worker that takes it if it may; None for nobody.
    """
    row: ChangeRow = dict.fromkeys(JOB_TYPES)
    for job in jobs:
        key, _, lane, payload, *_ = job_to_row(job)
        row |= {
            "job": key,
            "lane": lane,
            "job_payload": payload,
            "worker": worker,
            "seconds": claimed_jobs.CLAIM_SECONDS,
        }
    return row


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
