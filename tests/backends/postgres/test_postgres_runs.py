"""What holds a run on PostgreSQL, and its checkpoints, beside locks and silent networks."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from tests.proxy import Proxy

from ringi.backends.postgres.checkpoints import FencedPostgresSaver, PostgresCheckpoints
from ringi.backends.postgres.database import WAIT_SECONDS, PostgresDatabase
from ringi.backends.postgres.store import PostgresStore
from ringi.base.clock import utc_now
from ringi.contracts.backend import Wakeup
from ringi.domain.record import Key
from ringi.domain.thread import FenceError, Run, Thread
from ringi.errors import UnavailableError
from ringi.runs import lease as leases
from ringi.runs.lease import PendingReleases, hold_thread_lease

KEY = Key("default", "t1")
CONFIG: Any = {"configurable": {"thread_id": "x", "checkpoint_ns": ""}}


async def begun(database: PostgresDatabase) -> PostgresStore:
    """Return the store of a run that has begun."""
    store = PostgresStore(database)
    await store.put(*Thread.begun("t1", "a", Run(id="r1", input={}), by="bot", now=utc_now()))
    return store


async def test_the_work_stops_at_the_end_of_its_lease_when_the_network_falls_silent(
    behind: PostgresDatabase, database: PostgresDatabase, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 1.0)
    store = await begun(behind)
    debts = PendingReleases(PostgresStore(database), utc_now)

    async def work() -> None:
        async with hold_thread_lease(store, utc_now, KEY, "one", debts):
            proxy.is_blocked = True
            # The statement itself would be given up only then.
            await asyncio.wait_for(asyncio.Event().wait(), WAIT_SECONDS)

    with pytest.raises(FenceError):
        await work()
    await debts.settle()
    thread = await store_of(database)
    assert (thread.owner, thread.attempts) == (None, 0)
    proxy.cut()


async def store_of(database: PostgresDatabase) -> Thread:
    return await PostgresStore(database).get(Thread, *KEY)


async def test_a_checkpoint_that_takes_long_keeps_no_run_from_renewing_its_lease(database: PostgresDatabase) -> None:
    store = await begun(database)
    other = await asyncpg.connect(database.url, server_settings={"search_path": database.schema})
    async with (
        PostgresCheckpoints(database) as checkpoints,
        hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)) as lease,
    ):
        saver = FencedPostgresSaver(checkpoints, lease.thread)
        await saver.aput(CONFIG, empty_checkpoint(), {}, {})
        # The statement is not held up before it begins, but while it writes.
        body = "BEGIN PERFORM pg_advisory_xact_lock(1); RETURN new; END"
        await other.execute(f"CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
        await other.execute("CREATE TRIGGER long BEFORE INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION wait()")
        async with other.transaction():
            await other.execute("SELECT pg_advisory_xact_lock(1)")
            saving = asyncio.create_task(saver.aput(CONFIG, empty_checkpoint(), {}, {}))
            while not await other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                await Wakeup().wait(0.01)
            await lease.renew()
            assert not saving.done()
        await saving
    await other.close()


async def test_connections_that_are_looked_at_for_their_life_hold_up_nobody(
    behind: PostgresDatabase, database: PostgresDatabase, proxy: Proxy
) -> None:
    await begun(behind)
    checkpoints = PostgresCheckpoints(behind)
    async with checkpoints.connection(), checkpoints.connection() as first_back:
        pid = first_back.info.backend_pid
    await database.fetch("SELECT pg_terminate_backend($1, 5000)", pid)
    proxy.is_blocked = True

    async def turn() -> None:
        async with checkpoints.connection() as connection:
            await connection.execute("SELECT 1")

    turning = asyncio.create_task(turn())
    done, _ = await asyncio.wait([turning], timeout=WAIT_SECONDS)
    assert done
    with pytest.raises(UnavailableError):
        await turning
    proxy.cut()
    await checkpoints.__aexit__()
