"""What others do in the same database: transactions that stay open, locks, changes of tables that wait."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from statistics import median

import asyncpg
import pytest

from ringi.audit.verify import verify_store
from ringi.backends.postgres import database as databases
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.store import PostgresStore
from ringi.contracts.backend import Wakeup
from ringi.domain.record import START
from ringi.domain.request import Request
from ringi.errors import UnavailableError
from ringi.testing import store_request
from ringi.testing.clock import NOON
from ringi.testing.factories import answer_to

log = logging.getLogger(__name__)
LIMIT = 30.0
WRITERS = 4
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'ALTER%foreign_one%' AND wait_event_type = 'Lock'"


@pytest.fixture
async def foreign(database: PostgresDatabase) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A session of somebody else, for whom the tables of Ringi are tables as any."""
    connection = await asyncpg.connect(database.url, server_settings={"search_path": database.schema})
    yield connection
    await connection.close()


async def decide(store: PostgresStore, id: str) -> float:
    """Ask and answer, and return how long the answer took."""
    request = await store_request(store, id)
    done, event = request.completed(answer_to(request), by="ann", channel="page", now=NOON)
    began = time.monotonic()
    await store.put(done, event)
    return time.monotonic() - began


async def followed(store: PostgresStore, stop: asyncio.Event) -> list[str]:
    """Return the ids of all answers that the feed tells of, until there are no more after `stop`."""
    seen, after, rest = list[str](), START, Wakeup()
    while True:
        is_over = stop.is_set()
        events = await store.events(after, 500)
        seen += [event.record_id for event in events if event.type == "request.completed"]
        after = events[-1].position if events else after
        if is_over and not events:
            return seen
        await rest.wait(0.05)


@pytest.mark.timeout(300)
async def test_a_foreign_transaction_held_for_long_hides_and_delays_nothing(
    database: PostgresDatabase, foreign: asyncpg.Connection[asyncpg.Record], pytestconfig: pytest.Config
) -> None:
    store, stop, times = PostgresStore(database), asyncio.Event(), dict[str, float]()
    held = foreign.transaction(isolation="repeatable_read")
    await held.start()
    await foreign.execute("SELECT txid_current(), count(*) FROM events")
    until = time.monotonic() + pytestconfig.getoption("--hold-seconds")

    async def write(name: int) -> None:
        while time.monotonic() < until:
            id = f"request-{name}-{len(times)}"
            times[id] = await decide(store, id)

    following = asyncio.create_task(followed(store, stop))
    await asyncio.gather(*(write(name) for name in range(WRITERS)))
    stop.set()
    seen = await following
    await held.rollback()

    assert sorted(seen) == sorted(times)
    assert (await verify_store(store))[1] == []
    tenth = max(1, len(times) // 10)
    first, last = list(times.values())[:tenth], list(times.values())[-tenth:]
    log.info("%d answers; p50 of the first tenth %.4f s, of the last %.4f s", len(times), median(first), median(last))


@pytest.mark.parametrize("way", ["a lock", "a change of the table that waits"])
async def test_a_table_that_others_lock_refuses_in_time_and_serves_when_it_is_free(
    way: str, schema_url: str, foreign: asyncpg.Connection[asyncpg.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(databases.LOCKS, "lock_timeout", "300")
    async with PostgresDatabase(schema_url) as impatient, asyncio.timeout(LIMIT):
        store, rest = PostgresStore(impatient), Wakeup()
        await store_request(store, "before")
        held = foreign.transaction()
        await held.start()
        mode = "ACCESS EXCLUSIVE" if way == "a lock" else "ACCESS SHARE"
        await foreign.execute(f"LOCK TABLE requests IN {mode} MODE")
        other = await asyncpg.connect(impatient.url, server_settings={"search_path": impatient.schema})
        waiting = asyncio.create_task(other.execute("ALTER TABLE requests ADD COLUMN foreign_one text"))
        watcher = await asyncpg.connect(impatient.url)
        while not await watcher.fetchval(WAITS):
            await rest.wait(0.01)

        refused = await asyncio.gather(
            *(store_request(store, f"request-{n}") for n in range(30)),
            store.get(Request, "tenant-1", "before"),
            return_exceptions=True,
        )
        await held.rollback()
        await waiting

        assert [type(each) for each in refused] == [UnavailableError] * 31
        assert [event.record_id for event in await store.events()] == ["before"]
        for n in range(30):
            await store_request(store, f"request-{n}")
        assert len(await store.events()) == 31
        for connection in (other, watcher):
            await connection.close()
