"""Jobs that an older version left in PGQueuer's tables are done, once nobody else does them."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from ringi.backends.postgres import jobs as postgres_jobs
from ringi.backends.postgres.database import Database
from ringi.backends.postgres.jobs import PostgresJobs
from ringi.backends.postgres.notifier import PostgresNotifier
from ringi.contracts.jobs import Job
from ringi.contracts.notifier import Wakeup

OLD_QUEUE = """
CREATE TABLE pgqueuer (
  id serial PRIMARY KEY, status text NOT NULL, heartbeat timestamptz NOT NULL DEFAULT now(),
  execute_after timestamptz NOT NULL, entrypoint text NOT NULL, dedupe_key text, payload bytea,
  attempts integer NOT NULL
)
"""
LEAVE = """
INSERT INTO pgqueuer (status, heartbeat, execute_after, entrypoint, dedupe_key, payload, attempts)
SELECT $1::text, now() - $2::interval, now() - $2::interval, 'test', $3::text, $4::bytea, 2
"""


async def test_what_older_workers_leave_is_done_and_what_they_may_still_do_is_not(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_jobs, "ADOPT_SECONDS", 0.05)
    handled, stop, rest = list[Job](), asyncio.Event(), Wakeup()

    async def handle(job: Job) -> None:
        handled.append(job)

    connection = await database.connect()
    await connection.execute(OLD_QUEUE)
    for status, age, key in (("queued", 31, "due"), ("picked", 61, "of-the-dead"), ("queued", 5, "young")):
        body = b'{"key":"%b","kind":"test","lane":"l","payload":{"of":"%b"}}' % (key.encode(), key.encode())
        await connection.execute(LEAVE, status, timedelta(seconds=age), key, body)
    async with PostgresNotifier(database, recheck_after=0.5) as notifier, asyncio.timeout(20):
        work = asyncio.create_task(
            PostgresJobs(database, notifier).work(handle, kinds=("test",), concurrency=4, stop=stop)
        )
        while len(handled) < 2:
            await rest.wait(0.01)
        stop.set()
        await work
    assert sorted((job.key, job.payload["of"], job.attempts) for job in handled) == [
        ("due", "due", 2),
        ("of-the-dead", "of-the-dead", 2),
    ]
    assert [row["dedupe_key"] for row in await connection.fetch("SELECT dedupe_key FROM pgqueuer")] == ["young"]
    await connection.close()
