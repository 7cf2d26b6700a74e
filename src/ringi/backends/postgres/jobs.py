"""Jobs in one table of the database, claimed by a function that one worker calls at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from ringi.backends import claimed_jobs
from ringi.backends.batcher import Rows, StatementBatcher
from ringi.backends.claimed_jobs import ClaimedJobs, job_from_row, job_to_row
from ringi.backends.postgres.database import PostgresDatabase
from ringi.contracts.backend import ANNOUNCEMENT_KEPT_SECONDS, JOBS, MAX_CONCURRENT, Job, JobCounts, Notifier

JOB_COLUMNS = ("key", "kind", "lane", "payload", "tries", "concurrency_key")
# Its rows: the columns, a worker that takes the job if its partition is free, or null, and the seconds of its claim.
SUBMIT = """
INSERT INTO jobs (key, kind, lane, payload, tries, concurrency_key, claimed_by, claimed_until)
SELECT key, kind, lane, payload, tries + is_claimed::integer, concurrency_key, CASE WHEN is_claimed THEN worker END,
  CASE WHEN is_claimed THEN clock_timestamp() + make_interval(secs => seconds) END
FROM {} AS new (key, kind, lane, payload, tries, concurrency_key, worker, seconds), LATERAL (
  SELECT worker IS NOT NULL AND NOT EXISTS (SELECT FROM jobs WHERE jobs.lane = new.lane) AS is_claimed
) AS place
ORDER BY 1 ON CONFLICT DO NOTHING RETURNING *
"""
# Another part of the statement that must have a row, or nothing, and an array for each column.
NEW = """(
  SELECT new.*, {}::text, {}::double precision
  FROM {}unnest({}::text[], {}::text[], {}::text[], {}::text[], {}::integer[], {}::text[]) AS new
)"""
CLAIMED = "ARRAY(SELECT key FROM queued WHERE claimed_by IS NOT NULL) AS claimed"
SUBMIT_ALONE = SUBMIT.format(NEW.format("NULL", "0", "", *(f"${n}" for n, _ in enumerate(JOB_COLUMNS, 1))))
CLAIM = f"SELECT {', '.join(JOB_COLUMNS)} FROM claim_jobs($1, $2, $3, $4, $5, $6)"
OWN = "SELECT key FROM jobs WHERE key = ANY ($1::text[]) AND claimed_by = $2 ORDER BY key FOR UPDATE"
"""In the order of keys, as all statements that lock several jobs: otherwise two of them could wait for each other."""
RENEW = f"UPDATE jobs SET claimed_until = clock_timestamp() + $3::interval WHERE key IN ({OWN})"
FINISH = f"""
DELETE FROM jobs WHERE key IN ({OWN}) RETURNING key, EXISTS (
  SELECT FROM jobs AS other WHERE other.lane = jobs.lane AND other.key <> jobs.key AND other.run_at <= clock_timestamp()
) OR EXISTS (
  SELECT FROM jobs AS other WHERE other.concurrency_key = jobs.concurrency_key AND other.run_at <= clock_timestamp()
  AND (other.claimed_until IS NULL OR other.claimed_until <= clock_timestamp())
)
"""
# A part of the statement that saves the work of the job, and its result; both see the job as it was before.
FINISH_SAVED = "DELETE FROM jobs WHERE key = {} AND EXISTS (SELECT FROM saved) RETURNING key, lane, concurrency_key"
HAS_MORE = """EXISTS (
  SELECT FROM finished JOIN jobs AS other ON other.lane = finished.lane
  WHERE other.key <> {0} AND other.run_at <= clock_timestamp()
)"""
FREE = """
UPDATE jobs SET claimed_by = NULL, claimed_until = CASE WHEN $4 THEN clock_timestamp() + $3::interval END,
  run_at = CASE WHEN $4 THEN run_at ELSE clock_timestamp() + $3::interval END
WHERE key = $1 AND claimed_by = $2
"""
COUNTS = """
SELECT kind, concurrency_key, count(*) FILTER (WHERE NOT running AND tries = 0), count(*) FILTER (WHERE running),
  count(*) FILTER (WHERE NOT running AND tries > 0)
FROM (SELECT *, coalesce(claimed_until > clock_timestamp(), false) AS running FROM jobs) AS job
WHERE concurrency_key IS NOT NULL GROUP BY kind, concurrency_key
"""

LEAD = """
WITH mine AS (
  INSERT INTO duties AS duty VALUES ($1, $2, clock_timestamp() + $3::interval)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
  WHERE duty.owner = excluded.owner OR duty.until <= clock_timestamp() OR duty.until > excluded.until RETURNING 1
)
SELECT CASE WHEN EXISTS (SELECT FROM mine) THEN 0.0 ELSE coalesce(
  (SELECT greatest(extract(epoch FROM until - clock_timestamp()), 0) FROM duties WHERE name = $1), 0
) + 0.001 END
"""

ANNOUNCE = """
WITH gone AS (
  DELETE FROM workers WHERE name <> $1 AND until <= clock_timestamp()
  AND (until <= clock_timestamp() - $4::interval OR offers = $2)
)
INSERT INTO workers VALUES ($1, clock_timestamp(), clock_timestamp() + $3::interval, $2)
ON CONFLICT (name) DO UPDATE SET until = excluded.until, offers = excluded.offers
"""


def submit_values(jobs: Sequence[Job], worker: str | None) -> list[Any]:
    """Return the values of `NEW` for jobs, of which a worker takes those it may; None for nobody."""
    return [worker, claimed_jobs.CLAIM_SECONDS, *map(list, zip(*map(job_to_row, jobs), strict=True))]


class PostgresJobs(ClaimedJobs):
    """Workers of all processes on the database take jobs from one table, under a claim that they renew."""

    def __init__(self, database: PostgresDatabase, notifier: Notifier) -> None:
        super().__init__(notifier)
        self._database = database
        self._submitting = StatementBatcher(self._submit)
        self._finishing = StatementBatcher(self._finish_all)

    async def submit(self, job: Job) -> None:
        await self._submitting.result(job)
        await self._notifier.publish(JOBS)

    async def submit_all(self, jobs: Sequence[Job]) -> None:
        if jobs:
            await self._submit(jobs)
            await self._notifier.publish(JOBS)

    async def _submit(self, jobs: Sequence[Job]) -> Sequence[Rows]:
        await self._database.write(SUBMIT_ALONE, *map(list, zip(*map(job_to_row, jobs), strict=True)))
        return [()] * len(jobs)

    async def lead(self, duty: str, owner: str, seconds: float) -> float:
        ((wait,),) = await self._database.write(LEAD, duty, owner, timedelta(seconds=seconds))
        return float(wait)

    async def announce(self, worker: str, offers: str, seconds: float) -> None:
        retention = timedelta(seconds=ANNOUNCEMENT_KEPT_SECONDS)
        await self._database.write(ANNOUNCE, worker, offers, timedelta(seconds=seconds), retention)

    async def announced(self, ended_within: float = 0.0) -> list[str]:
        sql = "SELECT offers FROM workers WHERE until > clock_timestamp() - $1::interval ORDER BY since DESC, name"
        return [offers for (offers,) in await self._database.fetch(sql, timedelta(seconds=ended_within))]

    async def counts(self) -> list[JobCounts]:
        return [JobCounts(*row) for row in await self._database.fetch(COUNTS)]

    async def _claim(
        self, kinds: Collection[str], limit: int, same: int = MAX_CONCURRENT, barred: Collection[str] = ()
    ) -> list[Job]:
        limits = limit, claimed_jobs.CLAIM_SECONDS, same, list(barred)
        rows = await self._database.write(CLAIM, self._me, list(kinds), *limits)
        return [job_from_row(row) for row in rows]

    async def _renew(self, jobs: Sequence[Job]) -> None:
        seconds = timedelta(seconds=claimed_jobs.CLAIM_SECONDS)
        await self._database.write(RENEW, [job.key for job in jobs], self._me, seconds)

    async def _finish(self, job: Job) -> bool:
        (has_more,) = await self._finishing.result(job)
        return bool(has_more)

    async def _finish_all(self, jobs: Sequence[Job]) -> Sequence[Rows]:
        rows = await self._database.write(FINISH, [job.key for job in jobs], self._me)
        has_more = {row[0]: row[1] for row in rows}
        return [(has_more.get(job.key, True),) for job in jobs]

    async def _free(self, job: Job, seconds: float, *, keeps_turn: bool = False) -> None:
        await self._database.write(FREE, job.key, self._me, timedelta(seconds=seconds), keeps_turn)
