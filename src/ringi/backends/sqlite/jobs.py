"""Jobs in one table of the SQLite file: no schedules, no fan-out."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Sequence
from typing import Any

from ringi.backends import claimed_jobs
from ringi.backends.claimed_jobs import ClaimedJobs, job_from_row, job_to_row
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.contracts.backend import ANNOUNCEMENT_KEPT_SECONDS, JOBS, MAX_CONCURRENT, Job, JobCounts, Notifier

SUBMIT = """
INSERT OR IGNORE INTO jobs (key, kind, lane, payload, tries, concurrency_key, run_at) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
SUBMIT_CLAIMED = """
INSERT OR IGNORE INTO jobs (key, kind, lane, payload, tries, concurrency_key, run_at, claimed_by, claimed_until)
SELECT new.*, ?, ? FROM (SELECT ? AS key, ?, ? AS lane, ?, ? + 1, ?, ?) AS new
WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = new.lane)
"""
"""Only in a free partition."""
# What waits for a worker of another kind, or behind many others of one concurrency key, is not read by each claim.
DUE = """j.run_at <= :now AND (j.claimed_until IS NULL OR j.claimed_until <= :now)
    AND NOT EXISTS (SELECT 1 FROM jobs b WHERE b.lane = j.lane AND b.key <> j.key AND (
      b.claimed_until > :now OR b.run_at <= :now AND (b.run_at, b.rowid) < (j.run_at, j.rowid)
      AND b.kind IN (SELECT value FROM json_each(:kinds))
    ))"""
FREE = f"""
WITH RECURSIVE keys (kind, name) AS (
  SELECT value, (SELECT min(concurrency_key) FROM jobs WHERE kind = value AND concurrency_key > '')
  FROM json_each(:kinds) WHERE EXISTS (
    SELECT 1 FROM jobs INDEXED BY jobs_due_with_key WHERE kind = value AND concurrency_key IS NOT NULL
    AND run_at <= :now AND (claimed_until IS NULL OR claimed_until <= :now)
  )
  UNION ALL SELECT kind, (
    SELECT min(concurrency_key) FROM jobs WHERE jobs.kind = keys.kind AND concurrency_key > name
  ) FROM keys WHERE name IS NOT NULL
), running AS (
  SELECT name, (SELECT count(*) FROM jobs WHERE concurrency_key = name AND claimed_until > :now) AS number
  FROM (SELECT name FROM keys WHERE name IS NOT NULL EXCEPT SELECT value FROM json_each(:barred))
), due AS (
  SELECT jobs.key, jobs.run_at, jobs.rowid AS n, 0 AS place FROM json_each(:kinds) AS each JOIN jobs ON jobs.rowid IN (
    SELECT j.rowid FROM jobs j INDEXED BY jobs_without_key
    WHERE j.kind = each.value AND j.concurrency_key IS NULL AND {DUE}
    ORDER BY j.run_at, j.rowid LIMIT :limit
  )
  UNION ALL
  SELECT jobs.key, jobs.run_at, jobs.rowid AS n, number + row_number() OVER (
    PARTITION BY name ORDER BY jobs.tries = 0, jobs.run_at, jobs.rowid
  ) AS place
  FROM running, (SELECT 0 AS is_first UNION ALL SELECT 1) AS turn
  JOIN jobs ON number < :same AND jobs.rowid IN (
    SELECT j.rowid FROM jobs j WHERE j.concurrency_key = name AND (j.tries = 0) = is_first
    AND j.kind IN (SELECT value FROM json_each(:kinds)) AND {DUE}
    ORDER BY j.run_at, j.rowid LIMIT CASE WHEN (SELECT count(*) FROM running) < :limit THEN :same ELSE 1 END
  )
)
SELECT key FROM due WHERE place <= :same ORDER BY place, run_at, n LIMIT :limit
"""
CLAIM = f"""
UPDATE jobs SET claimed_by = :me, claimed_until = :until, tries = tries + 1 WHERE key IN ({FREE})
RETURNING key, kind, lane, payload, tries, concurrency_key
"""

COUNTS = """
SELECT kind, concurrency_key, sum(NOT running AND tries = 0), sum(running), sum(NOT running AND tries > 0)
FROM (SELECT kind, concurrency_key, tries, coalesce(claimed_until > :now, 0) AS running FROM jobs)
WHERE concurrency_key IS NOT NULL GROUP BY kind, concurrency_key
"""
FINISH = "DELETE FROM jobs WHERE key = :key AND (:me IS NULL OR claimed_by = :me)"
OTHERS = """
SELECT 1 FROM jobs WHERE (lane = :lane OR concurrency_key = :shared) AND run_at <= :now
  AND (claimed_until IS NULL OR claimed_until <= :now) LIMIT 1
"""
FORGET = """
DELETE FROM workers WHERE until <= :now AND name <> :worker AND (until <= :oldest OR offers = :offers)
"""
ANNOUNCE = """
INSERT INTO workers (name, since, until, offers) VALUES (:worker, :now, :until, :offers)
ON CONFLICT (name) DO UPDATE SET until = excluded.until, offers = excluded.offers
"""


class SqliteJobs(ClaimedJobs):
    """Workers of all processes on the file take jobs from one table, under a claim that they renew."""

    def __init__(self, database: SqliteDatabase, notifier: Notifier) -> None:
        super().__init__(notifier)
        self._database = database

    async def submit(self, job: Job) -> None:
        await self.submit_all([job])

    async def submit_all(self, jobs: Sequence[Job]) -> None:
        rows = submitted_job_rows(jobs)
        if await self._database.write(lambda connection: connection.executemany(SUBMIT, rows).rowcount):
            self._notifier.wake(JOBS)

    async def announce(self, worker: str, offers: str, seconds: float) -> None:
        now = now_in_microseconds()
        values = {"worker": worker, "offers": offers, "now": now, "until": now + int(seconds * 1e6)}
        values["oldest"] = now - int(ANNOUNCEMENT_KEPT_SECONDS * 1e6)

        def change(connection: sqlite3.Connection) -> None:
            connection.execute(FORGET, values)
            connection.execute(ANNOUNCE, values)

        await self._database.write(change)

    async def announced(self, ended_within: float = 0.0) -> list[str]:
        sql = "SELECT offers FROM workers WHERE until > ? ORDER BY since DESC, name"
        since = now_in_microseconds() - int(ended_within * 1e6)
        return [offers for (offers,) in await self._database.read(lambda c: c.execute(sql, [since]).fetchall())]

    async def counts(self) -> list[JobCounts]:
        values = {"now": now_in_microseconds()}
        rows = await self._database.read(lambda connection: connection.execute(COUNTS, values).fetchall())
        return [JobCounts(*row) for row in rows]

    async def _claim(
        self, kinds: Collection[str], limit: int, same: int = MAX_CONCURRENT, barred: Collection[str] = ()
    ) -> list[Job]:
        now = now_in_microseconds()
        values = {"me": self._me, "kinds": json.dumps(list(kinds)), "now": now, "limit": limit, "same": same}
        values["barred"] = json.dumps(list(barred))
        if not await self._database.read(lambda c: c.execute(FREE, {**values, "limit": 1}).fetchone()):
            return []
        values["until"] = now + int(claimed_jobs.CLAIM_SECONDS * 1e6)
        rows = await self._database.write(lambda c: c.execute(CLAIM, values).fetchall())
        return [job_from_row(row) for row in rows]

    async def _renew(self, jobs: Sequence[Job]) -> None:
        sql = "UPDATE jobs SET claimed_until = ? WHERE key IN (SELECT value FROM json_each(?)) AND claimed_by = ?"
        keys = json.dumps([job.key for job in jobs])
        until = now_in_microseconds() + int(claimed_jobs.CLAIM_SECONDS * 1e6)
        await self._database.write(lambda connection: connection.execute(sql, (until, keys, self._me)))

    async def _finish(self, job: Job) -> bool:
        return await self._database.write(lambda connection: finish_sqlite_job(connection, job, self._me))

    async def _free(self, job: Job, seconds: float, *, keeps_turn: bool = False) -> None:
        times = "claimed_until = ?" if keeps_turn else "claimed_until = NULL, run_at = ?"
        sql = f"UPDATE jobs SET claimed_by = NULL, {times} WHERE key = ? AND claimed_by = ?"
        at = now_in_microseconds() + int(seconds * 1e6)
        await self._database.write(lambda connection: connection.execute(sql, (at, job.key, self._me)))


def now_in_microseconds() -> int:
    """Return the time in microseconds since 1970: one machine, one clock."""
    return int(time.time() * 1e6)


def finish_sqlite_job(connection: sqlite3.Connection, job: Job, worker: str | None = None) -> bool:
    """Delete a finished job, and return whether another one of its partition or concurrency key may be due.

    Args:
        connection: The connection, in a transaction.
        job: The job.
        worker: The worker that must hold the claim; None for whoever holds it, because the work was saved just now.
    """
    connection.execute(FINISH, {"key": job.key, "me": worker})
    about = {"lane": job.partition_key, "shared": job.concurrency_key, "now": now_in_microseconds()}
    return connection.execute(OTHERS, about).fetchone() is not None


def submit_sqlite_jobs(connection: sqlite3.Connection, jobs: Sequence[Job], worker: str | None) -> set[str]:
    """Save new jobs, and return the keys of those that the worker has claimed.

    Args:
        connection: The connection, in a transaction.
        jobs: The jobs.
        worker: The name of a worker that takes those whose partition is free; None for nobody.
    """
    claimed = set[str]()
    for job, row in zip(jobs, submitted_job_rows(jobs), strict=True):
        until = now_in_microseconds() + int(claimed_jobs.CLAIM_SECONDS * 1e6)
        if worker and connection.execute(SUBMIT_CLAIMED, (worker, until, *row)).rowcount == 1:
            claimed.add(job.key)
        else:
            connection.execute(SUBMIT, row)
    return claimed


def submitted_job_rows(jobs: Sequence[Job]) -> list[tuple[Any, ...]]:
    """Return the values of `SUBMIT` for jobs that are due now."""
    return [(*job_to_row(job), now_in_microseconds()) for job in jobs]
