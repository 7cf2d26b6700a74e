"""One statement per interval finds whatever no notification announces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from ringi.backends.memory.stream import MemoryNotifier
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.notifier import WakeupPoller
from ringi.backends.postgres.store import PostgresStore
from ringi.backends.postgres.stream import PostgresStream
from ringi.contracts.backend import EVENTS, EXPIRY, JOBS, REVOCATIONS, STRANDED, Notifier, StreamItem
from ringi.domain.record import Key
from ringi.errors import UnavailableError
from ringi.testing.factories import a_request, a_thread

TOPICS = (EVENTS, JOBS, EXPIRY, REVOCATIONS, STRANDED)
JOB = "INSERT INTO jobs (key, kind, lane, payload) VALUES ('k', 'test', 'l', '{}')"
FOUND_WITHIN = 20


@pytest.fixture
async def notifier(database: PostgresDatabase) -> AsyncIterator[Notifier]:
    """A notifier that receives nothing from others, with a pulse."""
    async with MemoryNotifier(0.02) as notifier, WakeupPoller(database, notifier):
        yield notifier


async def nothing() -> None:
    """Do nothing."""


async def woken(notifier: Notifier, act: Callable[[], Awaitable[object]]) -> set[str]:
    """Return the topics that wake after an act: the first, and those of a few looks more."""
    async with AsyncExitStack() as stack:
        wakeups = {topic: await stack.enter_async_context(notifier.subscribe(topic)) for topic in TOPICS}
        await act()
        waiting = {asyncio.create_task(wakeup.wait(FOUND_WITHIN)): topic for topic, wakeup in wakeups.items()}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(waiting, timeout=0.2)
        found = {topic for task, topic in waiting.items() if task.done() and task.result()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return found


async def test_a_new_event_is_found(notifier: Notifier, second: PostgresDatabase) -> None:
    assert await woken(notifier, lambda: PostgresStore(second).put(*a_request("r1"))) == {EVENTS}


async def test_a_due_job_is_found_until_somebody_claims_it(notifier: Notifier, second: PostgresDatabase) -> None:
    connection = await second.connect()
    assert await woken(notifier, lambda: connection.execute(JOB)) == {JOBS}
    assert await woken(notifier, nothing) == {JOBS}
    await connection.execute("UPDATE jobs SET claimed_until = clock_timestamp() + interval '1 minute'")
    await connection.close()
    assert await woken(notifier, lambda: PostgresStore(second).put(*a_request("r1"))) == {EVENTS}


async def test_an_overdue_request_is_found(notifier: Notifier, second: PostgresDatabase) -> None:
    request, event = a_request("r1")
    overdue = request.model_copy(update={"expires_at": datetime.now(UTC) - timedelta(seconds=1)})
    assert await woken(notifier, lambda: PostgresStore(second).put(overdue, event)) == {EVENTS, EXPIRY}


async def test_a_revocation_is_found(notifier: Notifier, second: PostgresDatabase) -> None:
    item = StreamItem({"any": "thing"})
    revoke = lambda: PostgresStream(second).append(Key("", "revoked"), [item], fence=0)  # noqa: E731
    assert await woken(notifier, revoke) == {REVOCATIONS}


async def test_only_the_leader_looks_for_a_run_without_a_worker(notifier: Notifier, second: PostgresDatabase) -> None:
    store = PostgresStore(second)
    assert await woken(notifier, lambda: store.put(*a_thread("t1"))) == {EVENTS}
    notifier.is_leader = True
    assert STRANDED in await woken(notifier, nothing)


async def test_a_run_with_a_job_is_not_stranded(notifier: Notifier, second: PostgresDatabase) -> None:
    connection, store = await second.connect(), PostgresStore(second)
    thread, event = a_thread("t1")
    await connection.execute(
        "INSERT INTO jobs (key, kind, lane, payload, run_at) VALUES ('k', 'run', $1, '{}', 'infinity')",
        f"{thread.tenant}/{thread.id}",
    )
    await connection.close()
    notifier.is_leader = True
    assert await woken(notifier, lambda: store.put(thread, event)) == {EVENTS}


async def test_an_outage_of_the_database_does_not_end_the_pulse(
    database: PostgresDatabase, second: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, failures = database.fetch, list[str]()

    async def fail(sql: str, *values: object) -> list[asyncpg.Record]:
        if "pulse" in sql and len(failures) < 3:
            failures.append(sql)
            raise UnavailableError("cut")
        return await fetch(sql, *values)

    monkeypatch.setattr(database, "fetch", fail)
    async with MemoryNotifier(0.02) as notifier, WakeupPoller(database, notifier), notifier.subscribe(EVENTS) as events:
        await PostgresStore(second).put(*a_request("r1"))
        assert await events.wait(FOUND_WITHIN)
    assert len(failures) == 3
