"""A copy of a store in another cluster: what holds there, and what is told to those who knew more."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from langchain_core.runnables import RunnableConfig
from tests import servers
from tests.backends.postgres.test_postgres_accidents import until
from tests.faults.chaos.agents import EFFECTS, agents, several
from tests.proxy import Proxy
from tests.runs.world import World, at_work

from ringi.audit.seals import Sealer, compare_events_with_seals, read_seals
from ringi.audit.verify import verify_store
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.store import PostgresStore
from ringi.connect import open_backend
from ringi.contracts.backend import Job
from ringi.contracts.store import Store
from ringi.errors import InvalidError, UnavailableError
from ringi.server.sse.event_hub import EventHub
from ringi.testing import ManualClock, store_request
from ringi.testing.factories import a_thread

KEY = "a key that is not in the store"
LIMIT = 30.0


async def ordered(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(sql)
    await connection.close()


async def made(url: str) -> str:
    """Make a database for one test, and return its URL."""
    name = f"d{uuid.uuid4().hex}"
    await ordered(url, f"CREATE DATABASE {name}")
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@pytest.fixture
async def source(postgres_16_url: str) -> str:
    return await made(postgres_16_url)


@pytest.fixture(scope="module")
def fresh() -> Iterator[str]:
    """A cluster that has never seen the store, of a newer PostgreSQL."""
    with servers.postgres() as url:
        yield url


@pytest.fixture
async def target(fresh: str) -> str:
    return await made(fresh)


@pytest.fixture
def effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the agents write what they did, each with its key."""
    monkeypatch.setenv(EFFECTS, str(tmp_path / "effects"))
    return tmp_path / "effects"


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


async def pay(world: World, id: str) -> None:
    """Answer what a run waits for, and return when it is done."""
    assert (await world.answer(await world.one(id), "approve")).status == "done"


async def test_what_is_done_again_after_a_restore_is_done_under_the_same_key(
    source: str, target: str, effects: Path, tmp_path: Path
) -> None:
    async with at_work(source, agents) as world:
        for id in ("paid", "parked"):
            await world.run("payer", {"order": id}, id)
        await pay(world, "paid")
        await asyncio.to_thread(servers.dumped, source, tmp_path / "copy")
        await pay(world, "parked")
        await world.run("payer", {"order": "later"}, "later")
    assert len(lines_of(effects)) == 2

    await asyncio.to_thread(servers.restored, target, tmp_path / "copy")
    async with at_work(target, agents) as world:
        assert ((await world.thread("paid")).status, len(await world.pending("parked"))) == ("done", 1)
        await world.verified()
        await pay(world, "parked")
        await world.run("payer", {"order": "more"}, "more")
        await world.verified()

    first, second, again = lines_of(effects)
    assert again == second != first


async def test_effects_of_later_questions_and_rules_have_the_same_keys_after_a_restore(
    source: str, target: str, effects: Path, tmp_path: Path
) -> None:
    async with at_work(source, [several]) as world:
        await world.run("several", {"order": "one"})
        await asyncio.to_thread(servers.dumped, source, tmp_path / "copy")
        await world.answer(await world.one(), "approve")
        await pay(world, "t1")
    keys = lines_of(effects)
    assert len(set(keys)) == len(keys) == 4

    await asyncio.to_thread(servers.restored, target, tmp_path / "copy")
    async with at_work(target, [several]) as world:
        await world.answer(await world.one(), "approve")
        await pay(world, "t1")
        await world.verified()

    assert lines_of(effects) == [*keys, *keys]


async def seal(store: Store, path: Path) -> None:
    await Sealer(store, path, KEY, ManualClock()).seal()


async def test_seals_that_were_kept_name_what_is_missing_and_readers_that_know_more_are_told(
    source: str, target: str, tmp_path: Path
) -> None:
    async with open_backend(source) as backend:
        await store_request(backend.store, "before")
        await asyncio.to_thread(servers.dumped, source, tmp_path / "copy")
        await store_request(backend.store, "after")
        await seal(backend.store, tmp_path / "seals")
        last = await backend.store.tail()

    await asyncio.to_thread(servers.restored, target, tmp_path / "copy")
    async with open_backend(target) as backend:
        assert await verify_store(backend.store) == (1, [])
        report = await compare_events_with_seals(backend.store, read_seals(tmp_path / "seals"), KEY)
        hub = EventHub(backend.store, backend.notifier, None)  # type: ignore[arg-type]
        with pytest.raises(InvalidError, match="past the end of the events"):
            await hub.check("tenant-1", last)

    assert "over 2 events finds only 1: the others are missing" in report.findings[0]


@pytest.fixture
async def switch(target: str) -> AsyncIterator[Proxy]:
    """An address behind which the database can be exchanged."""
    async with Proxy(urlsplit(target).port or 0) as proxy:
        yield proxy


@pytest.mark.parametrize("where", ["elsewhere", "in place"])
async def test_a_process_that_outlives_its_database_is_refused_until_it_starts_again(
    where: str, target: str, postgres_url: str, switch: Proxy, tmp_path: Path
) -> None:
    url = urlsplit(target)._replace(netloc=f"postgres@127.0.0.1:{switch.port}").geturl()
    async with PostgresDatabase(url) as database, asyncio.timeout(LIMIT):
        store = PostgresStore(database)
        await store_request(store, "before")
        await asyncio.to_thread(servers.dumped, target, tmp_path / "copy")
        await store_request(store, "after")

        if where == "elsewhere":
            await ordered(postgres_url, f"CREATE DATABASE {urlsplit(target).path[1:]}")
            place = urlsplit(postgres_url)._replace(path=urlsplit(target).path).geturl()
        else:
            await ordered(target, "DROP SCHEMA ringi CASCADE")
            place = target
        await asyncio.to_thread(servers.restored, place, tmp_path / "copy")
        switch.leads_to(urlsplit(place).port or 0)

        with pytest.raises(UnavailableError, match="restart the process"):
            await store_request(store, "later")
        with pytest.raises(UnavailableError, match="restart the process"):
            await database.connect()
        async with PostgresDatabase(url) as again:
            await store_request(PostgresStore(again), "later")
            assert [event.record_id for event in await PostgresStore(again).events()] == ["before", "later"]


async def refused(check: Callable[[], Awaitable[object]]) -> bool:
    """Whether a process that has outlived its database is told so."""
    try:
        await check()
    except UnavailableError as error:
        return "restart the process" in str(error)
    return False


async def test_a_process_whose_connections_outlive_its_tables_is_refused_once_it_looked_at_the_time(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringi.connect.LOOK_SECONDS", 0.2)
    async with open_backend(target) as backend, asyncio.timeout(LIMIT):
        await store_request(backend.store, "before")
        await asyncio.to_thread(servers.dumped, target, tmp_path / "copy")
        await ordered(target, "DROP SCHEMA ringi CASCADE")
        await asyncio.to_thread(servers.restored, target, tmp_path / "copy")

        await until(lambda: refused(backend.store.tail))

        held, _ = a_thread()
        config: RunnableConfig = {"configurable": {"thread_id": "x", "checkpoint_ns": ""}}
        assert await refused(lambda: store_request(backend.store, "later"))
        assert await refused(lambda: backend.savers(held).aget_tuple(config))
        assert await refused(lambda: backend.jobs.submit(Job(key="k", kind="start", partition_key="l")))


@pytest.fixture(scope="module")
def mortal() -> Iterator[servers.MortalPostgres]:
    with servers.mortal_postgres() as server:
        yield server


def set_back(server: servers.MortalPostgres) -> None:
    server.kill()
    server.put_back()
    server.start()


@pytest.mark.timeout(180)  # A cluster is made, killed twice and started again.
async def test_a_process_that_knows_more_than_its_cluster_set_back_in_time_is_refused_also_when_that_has_gone_on(
    mortal: servers.MortalPostgres,
) -> None:
    url = f"{mortal.url}?schema=t{uuid.uuid4().hex}"
    async with PostgresDatabase(url) as database, PostgresDatabase(url) as unaware, asyncio.timeout(4 * LIMIT):
        store = PostgresStore(database)
        await store_request(store, "before")
        for each in (store, PostgresStore(unaware)):
            assert await each.tail() == "1"
        await asyncio.to_thread(mortal.kill)
        await asyncio.to_thread(mortal.keep)
        await asyncio.to_thread(mortal.start)
        await until(lambda: store_request(store, "after"))
        assert await store.tail() == "2"
        await asyncio.to_thread(set_back, mortal)
        async with PostgresDatabase(url) as another:
            for n in range(3):
                await store_request(PostgresStore(another), f"later-{n}")
            assert await PostgresStore(another).tail() == "4"

        await until(lambda: refused(store.tail))

        assert await refused(lambda: store_request(store, "again"))
        await until(PostgresStore(unaware).tail)
        await store_request(PostgresStore(unaware), "other")
