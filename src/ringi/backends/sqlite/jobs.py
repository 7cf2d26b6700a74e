"""Jobs in one table of the SQLite file: no schedules, no fan-out."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
import uuid
from collections.abc import Collection, Sequence
from typing import Any

from ringi.backends.sqlite.database import Database
from ringi.errors import LaterError, UnavailableError
from ringi.failpoint import failpoint
from ringi.jobs import Handler, Job, Jobs
from ringi.notifier import Notifier

log = logging.getLogger(__name__)
TOPIC = "jobs"
CLAIM_SECONDS = 6.0
"""How long a dead worker's job stays with it."""
LATER = (0.1, 0.5, 2.0, 10.0, 30.0)
"""Seconds until a failed job is tried again."""

FREE = """
SELECT key FROM jobs j WHERE run_at <= :now AND kind IN (SELECT value FROM json_each(:kinds))
AND (claimed_until IS NULL OR claimed_until <= :now)
AND NOT EXISTS (SELECT 1 FROM jobs b WHERE b.lane = j.lane AND b.key <> j.key AND b.claimed_until > :now)
ORDER BY run_at, rowid LIMIT 1
"""
CLAIM = f"""
UPDATE jobs SET claimed_by = :me, claimed_until = :until, tries = tries + 1 WHERE key IN ({FREE})
RETURNING key, kind, lane, payload, tries
"""

ANNOUNCE = """
INSERT INTO workers VALUES (:worker, :now, :until, :offers)
ON CONFLICT (name) DO UPDATE SET until = excluded.until, offers = excluded.offers
"""


class SqliteJobs(Jobs):
    """Workers of all processes on the file take from one table, under a claim that they renew."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._database, self._notifier = database, notifier
        self._me = uuid.uuid4().hex

    async def submit(self, job: Job) -> None:
        await self.submit_all([job])

    async def submit_all(self, jobs: Sequence[Job]) -> None:
        rows = [(job.key, job.kind, job.lane, json.dumps(job.payload), job.tries, now_us()) for job in jobs]
        sql = "INSERT OR IGNORE INTO jobs (key, kind, lane, payload, tries, run_at) VALUES (?, ?, ?, ?, ?, ?)"
        if await self._database.write(lambda connection: connection.executemany(sql, rows).rowcount):
            self._notifier.ring(TOPIC)

    async def announce(self, worker: str, offers: str, seconds: float) -> None:
        now = now_us()
        values = {"worker": worker, "offers": offers, "now": now, "until": now + int(seconds * 1e6)}

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM workers WHERE until <= :now AND name <> :worker", values)
            connection.execute(ANNOUNCE, values)

        await self._database.write(change)

    async def announced(self) -> list[str]:
        sql = "SELECT offers FROM workers WHERE until > ? ORDER BY since DESC, name"
        return [offers for (offers,) in await self._database.read(lambda c: c.execute(sql, [now_us()]).fetchall())]

    async def work(self, handle: Handler, *, kinds: Collection[str], concurrency: int, stop: asyncio.Event) -> None:
        begun, wanted = set[asyncio.Task[None]](), json.dumps(list(kinds))
        stopping = asyncio.create_task(stop.wait())
        try:
            async with self._notifier.subscribe(TOPIC) as wakeup:
                stopping.add_done_callback(lambda _: wakeup.ring())
                while not stop.is_set():
                    while len(begun) < concurrency and (job := await self._claim(wanted)):
                        task = asyncio.create_task(self._do(job, handle))
                        begun.add(task)
                        task.add_done_callback(begun.discard)
                        task.add_done_callback(lambda _: wakeup.ring())
                    await wakeup.wait(self._notifier.recheck_after)
            await asyncio.gather(*begun, return_exceptions=True)
        finally:
            for left in (stopping, *begun):
                left.cancel()
            await asyncio.gather(stopping, *begun, return_exceptions=True)

    async def _claim(self, kinds: str) -> Job | None:
        try:
            row = await self._claimed_row(kinds)
        except UnavailableError as error:  # A worker that ends here would leave its jobs to nobody.
            log.warning("cannot look for jobs, trying again: %s", error)
            return None
        if not row:
            return None
        failpoint("job.after_claim")
        key, kind, lane, payload, tries = row
        return Job(key=key, kind=kind, lane=lane, payload=json.loads(payload), tries=tries - 1)

    async def _claimed_row(self, kinds: str) -> Any:
        now = now_us()
        if not await self._database.read(lambda c: c.execute(FREE, {"now": now, "kinds": kinds}).fetchone()):
            return None
        values = {"me": self._me, "kinds": kinds, "now": now, "until": now + int(CLAIM_SECONDS * 1e6)}
        return await self._database.write(lambda c: c.execute(CLAIM, values).fetchone())

    async def _do(self, job: Job, handle: Handler) -> None:
        renewing = asyncio.create_task(self._renew(job))
        try:
            await handle(job)
        except LaterError as error:
            await self._put_off(job, error.seconds)
        except Exception:
            log.exception("job %s failed on try %s", job.key, job.tries + 1)
            await self._put_off(job, LATER[min(job.tries, len(LATER) - 1)])
        except asyncio.CancelledError:
            await self._put_off(job, 0)
            raise
        else:
            await self._mine("DELETE FROM jobs WHERE key = ? AND claimed_by = ?", job.key, self._me)
        finally:
            renewing.cancel()

    async def _renew(self, job: Job) -> None:
        sql = "UPDATE jobs SET claimed_until = ? WHERE key = ? AND claimed_by = ?"
        while True:
            await asyncio.sleep(CLAIM_SECONDS / 3)
            await self._mine(sql, now_us() + int(CLAIM_SECONDS * 1e6), job.key, self._me)

    async def _put_off(self, job: Job, wait: float) -> None:
        sql = "UPDATE jobs SET claimed_by = NULL, claimed_until = NULL, run_at = ? WHERE key = ? AND claimed_by = ?"
        await self._mine(sql, now_us() + int(wait * 1e6), job.key, self._me)

    async def _mine(self, sql: str, *values: object) -> None:
        try:
            await self._execute(sql, values)
        except UnavailableError as error:
            log.warning("a job keeps its claim until that ends: %s", error)

    async def _execute(self, sql: str, values: Sequence[object]) -> None:
        def change(connection: sqlite3.Connection) -> None:
            connection.execute(sql, values)

        await self._database.write(change)


def now_us() -> int:
    """Return the time in microseconds since 1970: one machine, one clock."""
    return int(time.time() * 1e6)
