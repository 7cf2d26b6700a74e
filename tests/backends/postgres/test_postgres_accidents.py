"""What no contract can see: lost connections and replies, a killed server, foreign transactions, many writers."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import asyncpg
import pytest
from tests import servers
from tests.proxy import Proxy

import ringi
from ringi.audit.verify import verify_store
from ringi.backends.memory.stream import MemoryNotifier
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.notifier import PostgresNotifier
from ringi.backends.postgres.store import PostgresStore
from ringi.base.settings import SettingError
from ringi.connect import Notify
from ringi.contracts.backend import Wakeup
from ringi.domain.record import START, Key
from ringi.domain.request import Request
from ringi.errors import RingiError, UnavailableError
from ringi.inbox.inbox import StoreInbox
from ringi.testing import store_request
from ringi.testing.factories import a_request

LIMIT = 20.0


@pytest.fixture
def store(database: PostgresDatabase) -> PostgresStore:
    return PostgresStore(database)


@pytest.fixture(scope="module")
def mortal() -> Iterator[servers.MortalPostgres]:
    with servers.mortal_postgres() as server:
        yield server


async def until(check: Callable[[], Awaitable[Any]]) -> Any:
    """Return what the check returns once it is true and raises nothing of ours."""
    rest = Wakeup()
    async with asyncio.timeout(LIMIT):
        while True:
            with suppress(RingiError):
                if found := await check():
                    return found
            await rest.wait(0.02)


async def terminate(database: PostgresDatabase, where: str = "true") -> None:
    sql = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ringi' AND {where}"
    admin = await asyncpg.connect(database.url)
    await admin.execute(sql)
    await admin.close()


async def test_a_reply_lost_after_the_commit_is_an_acknowledged_change(behind: PostgresDatabase, proxy: Proxy) -> None:
    store = PostgresStore(behind)
    await store_request(store, "before")  # The statement is prepared now: the next time one message does it.
    proxy.drops_replies = True
    saving = asyncio.create_task(store_request(store))
    watcher = await asyncpg.connect(behind.url.replace(f":{proxy.port}/", f":{proxy._target[1]}/"))
    count = f'SELECT count(*) FROM "{behind.schema}".requests'

    async def is_there() -> bool:
        return bool(await watcher.fetchval(count) == 2)

    await until(is_there)
    proxy.drops_replies = False
    proxy.cut()

    request = await saving

    assert (await store.get(Request, *request.key)) == request
    assert len(await store.events()) == 2
    await watcher.close()


async def test_a_database_that_cannot_be_reached_refuses_and_serves_again_when_it_can(
    behind: PostgresDatabase, proxy: Proxy
) -> None:
    store = PostgresStore(behind)
    await store_request(store, "before")
    proxy.is_blocked = True
    proxy.cut()

    with pytest.raises(UnavailableError):
        await store_request(store, "meanwhile")

    proxy.is_blocked = False
    assert await until(lambda: store_request(store, "after"))
    assert (await store.get(Request, "tenant-1", "before")).id == "before"


async def test_sessions_that_an_operator_ends_cost_no_read_and_no_change(
    store: PostgresStore, database: PostgresDatabase
) -> None:
    for n in range(20):
        await terminate(database)
        try:
            await store_request(store, f"request-{n}")
        except UnavailableError:
            await store_request(store, f"request-{n}")
        assert (await store.get(Request, "tenant-1", f"request-{n}")).id == f"request-{n}"
    assert len(await store.events()) == 20
    assert (await verify_store(store))[1] == []


async def test_what_was_acknowledged_survives_a_killed_server_and_the_pool_recovers(
    mortal: servers.MortalPostgres,
) -> None:
    async with PostgresDatabase(f"{mortal.url}?schema=killed") as database:
        store, stored_ids = PostgresStore(database), list[str]()
        stop = asyncio.Event()

        async def writer(name: int) -> None:
            n, rest = 0, Wakeup()
            while not stop.is_set():
                n += 1
                await rest.wait(0.01)
                try:
                    stored_ids.append((await store_request(store, f"request-{name}-{n}")).id)
                except UnavailableError:
                    await rest.wait(0.01)

        async def has_kept(wanted: int) -> None:
            async def is_enough() -> bool:
                for task in writers:
                    if task.done():
                        task.result()
                return len(stored_ids) >= wanted

            await until(is_enough)

        writers = [asyncio.create_task(writer(name)) for name in range(8)]
        for wanted in (50, 100):
            await has_kept(wanted)
            await asyncio.to_thread(mortal.kill)
            await asyncio.to_thread(mortal.start)
            await has_kept(len(stored_ids) + 10)
        stop.set()
        await asyncio.gather(*writers)

        found = await store.get_many(Request, [Key("tenant-1", id) for id in stored_ids])
        assert {request.id for request in found} == set(stored_ids)
        assert (await verify_store(store))[1] == []


async def test_readers_of_the_feed_miss_nothing_while_many_write_through_many_connections(
    store: PostgresStore, second: PostgresDatabase
) -> None:
    total, readers = 200, 3

    async def follow(store: PostgresStore) -> list[str]:
        seen, after = list[str](), START
        while len(seen) < total:
            for event in await store.events(after, 17):
                after = event.position
                seen.append(event.record_id)
        return seen

    async with asyncio.timeout(LIMIT):
        followers = [asyncio.create_task(follow(PostgresStore(second))) for _ in range(readers)]
        await asyncio.gather(*(store_request(store, f"request-{n}") for n in range(total)))
        feeds = [await follower for follower in followers]

    assert all(feed == feeds[0] for feed in feeds)
    assert sorted(feeds[0]) == sorted(f"request-{n}" for n in range(total))
    assert [int(event.position) for event in await store.events(limit=total)] == list(range(1, total + 1))


async def test_a_foreign_transaction_that_is_held_open_stops_nobody(
    store: PostgresStore, database: PostgresDatabase
) -> None:
    foreign = await asyncpg.connect(database.url)
    held = foreign.transaction(isolation="repeatable_read")
    await held.start()
    await foreign.execute(f'SELECT count(*) FROM "{database.schema}".events')

    await asyncio.gather(*(store_request(store, f"request-{n}") for n in range(20)))

    assert len(await store.events()) == 20
    await held.rollback()
    await foreign.close()


async def test_an_event_that_commits_late_comes_after_those_that_were_read(
    store: PostgresStore, database: PostgresDatabase
) -> None:
    slow = await database.connect()
    transaction = slow.transaction()
    await transaction.start()
    _, event = a_request("slow")
    columns = "tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash"
    values = (event.tenant, "request", "slow", 1, event.type, 0, "{}", event.payload_digest, "", event.hash)
    await slow.execute(f"INSERT INTO unsealed ({columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", *values)
    await store_request(store, "quick")
    first = await store.events()

    await transaction.commit()

    assert [event.record_id for event in first] == ["quick"]
    assert [event.record_id for event in await store.events(first[-1].position)] == ["slow"]
    await slow.close()


async def test_a_listener_whose_session_was_ended_listens_again_and_wakes_everybody_once(
    database: PostgresDatabase,
) -> None:
    async with (
        PostgresNotifier(database, 3600.0) as notifier,
        PostgresNotifier(database, 3600.0) as other,
        notifier.subscribe("a") as wakeup,
    ):
        await terminate(database, "query LIKE 'LISTEN%'")
        async with asyncio.timeout(LIMIT):
            await wakeup.wait(None)

        async def is_heard() -> bool:
            await other.publish("a")
            return await wakeup.wait(0.1)

        assert await until(is_heard)


async def test_a_wait_ends_by_the_recheck_when_nothing_is_heard_and_by_the_ring_when_nothing_is_rechecked(
    schema_url: str,
) -> None:
    modes: list[tuple[Notify, float]] = [("polling", 0.05), ("auto", 3600.0)]
    for notify, poll in modes:
        opened = [ringi.open(schema_url, notify=notify, poll_interval=poll) for _ in range(2)]
        async with opened[0] as here, opened[1] as there, asyncio.timeout(LIMIT):
            asked = await here.ask(f"By {notify}?", allowed=["approve", "reject"])
            waiting = asyncio.create_task(here.wait(asked.id, timeout=LIMIT))
            await there.respond(asked, "approve", by="ann")
            assert (await waiting).status == "completed"


async def test_a_dead_listener_leaves_the_recheck(behind: PostgresDatabase, proxy: Proxy, store: PostgresStore) -> None:
    async with PostgresNotifier(behind, 0.1) as notifier:
        inbox = StoreInbox(store, notifier)
        proxy.is_blocked = True
        proxy.cut()
        async with inbox.feed, asyncio.timeout(LIMIT):
            asked = await inbox.ask("Still there?", allowed=["approve", "reject"])
            waiting = asyncio.create_task(inbox.wait(asked.id, timeout=LIMIT))
            other = StoreInbox(store, MemoryNotifier(3600.0))
            await other.respond(asked, "approve", by="ann")
            assert (await waiting).status == "completed"


async def test_a_message_that_cannot_be_sent_is_counted_and_raises_at_nobody(
    behind: PostgresDatabase, proxy: Proxy
) -> None:
    async with PostgresNotifier(behind, 30.0) as notifier:
        proxy.is_blocked = True
        proxy.cut()

        await notifier.publish("a")

        async def is_lost() -> bool:
            return notifier.lost > 0

        assert await until(is_lost)


async def test_a_read_that_took_too_long_is_not_begun_again(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.write("CREATE SEQUENCE tried")
    with monkeypatch.context() as patch:
        patch.setattr("ringi.backends.postgres.database.WAIT_SECONDS", 0.5)
        with pytest.raises(UnavailableError):
            await database.fetch("SELECT nextval('tried'), pg_sleep(60)")
    ((tries,),) = await database.fetch("SELECT last_value FROM tried")
    assert tries == 1


async def test_a_slower_query_that_is_canceled_while_it_connects_leaves_no_error(schema_url: str) -> None:
    left = list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: left.append(context))
    for steps in range(10):

        async def fast(steps: int = steps) -> int:
            for _ in range(steps):
                await asyncio.sleep(0)  # noqa: TID251
            return steps

        async with PostgresDatabase(schema_url) as database:
            assert await database.first_result(fast(), database.fetch("SELECT pg_sleep(1)")) == steps
        gc.collect()
    assert left == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("?pool=0", "pool="),
        ("?pool=many", "pool="),
        ("?schema=Robert'); --", "schema="),
        ("x?schema=a", "does not exist"),
    ],
)
async def test_a_url_without_meaning_is_refused_with_the_remedy(postgres_url: str, change: str, named: str) -> None:
    with pytest.raises(SettingError, match=named):
        async with PostgresDatabase(postgres_url + change):
            pass


async def test_servers_that_start_at_once_make_the_tables_once(schema_url: str) -> None:
    async def start() -> None:
        async with PostgresDatabase(schema_url) as database:
            await PostgresStore(database).tail()

    await asyncio.gather(*(start() for _ in range(8)))


async def test_a_user_who_may_make_no_tables_is_told_so(postgres_url: str) -> None:
    admin = await asyncpg.connect(postgres_url)
    await admin.execute("DROP ROLE IF EXISTS humble; CREATE ROLE humble LOGIN")
    await admin.close()
    with pytest.raises(SettingError, match="permission denied"):
        async with PostgresDatabase(f"{postgres_url.replace('postgres@', 'humble@')}?schema=of_others"):
            pass
