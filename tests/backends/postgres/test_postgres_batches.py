"""Claims, output and reads of one moment share statements, and none has an effect on another's result."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.store import PostgresStore
from ringi.backends.postgres.stream import PostgresStream
from ringi.contracts.backend import Moment, StreamItem
from ringi.domain.record import Event, Key, Query
from ringi.domain.request import Request
from ringi.domain.thread import FenceError, Thread
from ringi.errors import ConflictError
from ringi.testing import store_request
from ringi.testing.factories import a_thread

MANY = 40


def item(text: str) -> StreamItem:
    return StreamItem({"type": "CUSTOM", "name": text, "value": "\0"}, text or None)


def held(thread: Thread) -> tuple[Thread, Event]:
    """Return a thread as its next worker holds it."""
    return thread.changed("acquired", "worker", thread.updated_at, fence=thread.fence + 1)


async def threads_on(store: PostgresStore) -> list[Thread]:
    """Store threads of two tenants; some ids exist in both."""
    begun = [a_thread(f"thread-{n // 2}", tenant=f"tenant-{n % 2}") for n in range(MANY)]
    for each in begun:
        await store.put(*each)
    await store.tail()
    return [thread for thread, _ in begun]


async def claim(store: PostgresStore, thread: Thread) -> None:
    await store.put_together(Moment(*held(thread), items=()))


async def test_claims_of_one_moment_share_transactions(database: PostgresDatabase) -> None:
    store, stream = PostgresStore(database), PostgresStream(database)
    threads = await threads_on(store)
    await asyncio.gather(*(claim(store, thread) for thread in threads))
    ((number,),) = await database.fetch("SELECT count(DISTINCT xmin::text) FROM unsealed")
    assert number < MANY / 4
    for thread in threads:
        assert await store.get(Thread, *thread.key) == held(thread)[0]
        with pytest.raises(FenceError):
            await stream.append(thread.key, [item("late")], fence=thread.fence)
    assert len(await store.events()) == 2 * MANY


async def test_a_refused_claim_does_not_refuse_the_others(database: PostgresDatabase) -> None:
    store, stream = PostgresStore(database), PostgresStream(database)
    threads = await threads_on(store)
    await stream.append(threads[3].key, (), fence=9)
    await claim(store, threads[5])
    results = await asyncio.gather(*(claim(store, thread) for thread in threads), return_exceptions=True)
    assert {n: type(result) for n, result in enumerate(results) if result} == {3: FenceError, 5: ConflictError}
    assert await store.get(Thread, *threads[3].key) == threads[3]
    assert len(await store.events()) == 2 * MANY - 1


async def test_of_two_claims_of_a_thread_one_succeeds(database: PostgresDatabase) -> None:
    store = PostgresStore(database)
    threads = await threads_on(store)
    results = await asyncio.gather(*(claim(store, thread) for thread in threads * 2), return_exceptions=True)
    assert [type(result) for result in results if result] == [ConflictError] * MANY
    assert len(await store.events()) == 2 * MANY


async def test_output_of_one_moment_is_numbered_by_thread(database: PostgresDatabase) -> None:
    stream = PostgresStream(database)
    keys = [Key(f"tenant-{n % 2}", f"thread-{n // 2}") for n in range(MANY)]
    for number in (0, 2):
        added = [stream.append(key, [item("first"), item("")] if n % 2 else (), fence=1) for n, key in enumerate(keys)]
        assert await asyncio.gather(*added) == [number + 2 if n % 2 else 0 for n in range(MANY)]
    pages = await asyncio.gather(*(stream.read(key, 1, limit=2 if n % 3 else 9) for n, key in enumerate(keys)))
    for n, page in enumerate(pages):
        names = [(item.number, item.event["name"], item.origin) for item in page]
        assert names == [(2, "", None), (3, "first", "first"), (4, "", None)][: (2 if n % 3 else 9) if n % 2 else 0]


async def test_output_under_an_old_fence_is_refused_alone(database: PostgresDatabase) -> None:
    stream = PostgresStream(database)
    keys = [Key("tenant", f"thread-{n}") for n in range(MANY)]
    await stream.append(keys[7], (), fence=2)
    # Two appends to one thread, in the order of their calls.
    added = [stream.append(key, [item("first")], fence=1) for key in (*keys, keys[0])]
    results = await asyncio.gather(*added, return_exceptions=True)
    assert [type(result) for result in results if not isinstance(result, int)] == [FenceError]
    assert {results[0], results[-1]} == {1, 2}
    assert await stream.read(keys[7]) == []


async def test_unsettled_requests_of_one_moment_are_read_by_thread(database: PostgresDatabase) -> None:
    store = PostgresStore(database)
    for n in range(MANY):
        for place in range(n % 4):
            await store_request(store, f"request-{n}-{place}", thread_id=f"thread-{n}", tenant=f"tenant-{n % 3}")
    queries = [
        Query(tenant=f"tenant-{n % 3}", thread_id=f"thread-{n}", unsettled=True, limit=2 if n % 5 else 50)
        for n in range(MANY)
    ]
    found = await asyncio.gather(*(store.find(Request, query) for query in queries))
    for n, requests in enumerate(found):
        newest = [f"request-{n}-{place}" for place in reversed(range(n % 4))]
        assert [request.id for request in requests] == newest[: queries[n].limit]


async def test_a_locked_stream_delays_no_other(database: PostgresDatabase) -> None:
    store, stream = PostgresStore(database), PostgresStream(database)
    threads = await threads_on(store)
    await asyncio.gather(*(stream.append(thread.key, [item("first")], fence=0) for thread in threads))
    other = await asyncpg.connect(database.url, server_settings={"search_path": database.schema})
    async with asyncio.timeout(4):  # A wait for a lock ends after 5 s.
        async with other.transaction():
            locked, *rest = threads
            await other.execute("SELECT FROM stream_heads WHERE tenant = $1 AND id = $2 FOR UPDATE", *locked.key)
            waiting = asyncio.gather(
                stream.append(locked.key, [item("second")], fence=0), claim(store, locked), return_exceptions=True
            )
            added = [stream.append(thread.key, [item("second")], fence=0) for thread in rest]
            assert await asyncio.gather(*added) == [2] * len(rest)
            await asyncio.gather(*(claim(store, thread) for thread in rest))
        last, held = await waiting
    await other.close()
    # Whichever gets the lock first: the claim raises the fence.
    assert last == 2 or isinstance(last, FenceError)
    assert not isinstance(held, BaseException)
