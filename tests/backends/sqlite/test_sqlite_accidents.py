"""What no contract can see: full disks, locks held by others, files opened by many at once."""

import asyncio
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ringi.audit.verify import verify_store
from ringi.backends.sqlite import database as databases
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.backends.sqlite.stream import NOT_OF_FILES, SqliteNotifier
from ringi.base.settings import SettingError
from ringi.contracts.store import ClosedError
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import ConflictError, NotFoundError, UnavailableError
from ringi.testing import store_request
from ringi.testing.factories import a_request

BIG = {"text": "x" * 200_000}
"""Some of these are more than SQLite keeps in memory until the commit."""


@contextmanager
def little_room(database: SqliteDatabase) -> Iterator[None]:
    """Let files grow by a few pages only; the write that needs more fails when it is flushed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    wal = Path(f"{database.path}-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (wal.stat().st_size + 1_000_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def limit_pages(database: SqliteDatabase, pages: int) -> None:
    await database.write(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone())


async def attempts(store: SqliteStore, count: int) -> list[bool]:
    """Put many big requests at once; return which of them were acknowledged."""
    puts = (store_request(store, f"request-{n}", context=BIG) for n in range(count))
    outcomes = await asyncio.gather(*puts, return_exceptions=True)
    refusals = [outcome for outcome in outcomes if not isinstance(outcome, Request)]
    assert all(isinstance(refusal, UnavailableError) for refusal in refusals)
    assert not any("savepoint" in str(refusal) for refusal in refusals)
    return [isinstance(outcome, Request) for outcome in outcomes]


async def exist(store: SqliteStore, count: int) -> list[bool]:
    async def exists(n: int) -> bool:
        try:
            await store.get(Request, "tenant-1", f"request-{n}")
        except NotFoundError:
            return False
        return True

    return [await exists(n) for n in range(count)]


async def test_a_full_database_refuses_what_it_cannot_keep_and_recovers(database: SqliteDatabase) -> None:
    store = SqliteStore(database)
    await limit_pages(database, 400)

    acknowledged = await attempts(store, 30)

    assert not all(acknowledged)
    assert await exist(store, 30) == acknowledged
    await limit_pages(database, 100_000)
    await store_request(store, "afterwards")
    assert (await verify_store(store))[1] == []


async def test_a_disk_that_is_full_at_the_flush_acknowledges_nothing_and_recovers(database: SqliteDatabase) -> None:
    store = SqliteStore(database)
    await store_request(store, "before")

    with little_room(database):
        acknowledged = await attempts(store, 30)

    assert not all(acknowledged)
    assert await exist(store, 30) == acknowledged
    await store_request(store, "afterwards")
    assert (await verify_store(store))[1] == []


HOLD_LOCK = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
"""
HOLD_TURN = """
import fcntl, os, sys
held = os.open(sys.argv[1] + "-turn", os.O_RDWR)
fcntl.flock(held, fcntl.LOCK_EX)
"""


@contextmanager
def holding(script: str, path: Path) -> Iterator[None]:
    """Let another process hold a lock during the block."""
    command = [sys.executable, "-c", script + "\nprint('held', flush=True)\nsys.stdin.readline()", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        try:
            yield
        finally:
            holder.communicate("\n", timeout=10)


@pytest.mark.parametrize("script", [HOLD_LOCK, HOLD_TURN], ids=["the lock", "the turn"])
async def test_a_write_that_cannot_get_in_is_refused_and_never_happens_later(
    path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "BUSY_SECONDS", 0.3)
    async with SqliteDatabase(path) as database:
        store = SqliteStore(database)
        await store_request(store, "before")
        with holding(script, path):
            assert await attempts(store, 3) == [False] * 3
            assert (await store.get(Request, "tenant-1", "before")).status == "pending"

        monkeypatch.setattr(databases, "BUSY_SECONDS", 10)
        await store_request(store, "afterwards")
        assert await exist(store, 3) == [False] * 3
        assert len(await store.events()) == 2


async def test_the_write_of_a_caller_who_was_cancelled_does_not_happen_later(path: Path) -> None:
    async with SqliteDatabase(path) as database:
        store = SqliteStore(database)
        with holding(HOLD_TURN, path):
            writing = asyncio.create_task(store_request(store, "request-0"))
            blocked = asyncio.create_task(store_request(store, "request-1"))
            await asyncio.wait([writing, blocked], timeout=0.1)
            blocked.cancel()
            await asyncio.gather(blocked, return_exceptions=True)
        await writing

        assert await exist(store, 2) == [True, False]


async def test_who_comes_after_the_end_is_told_so_and_does_not_wait(path: Path) -> None:
    async with SqliteDatabase(path) as database:
        await database.write(lambda c: c.execute("PRAGMA user_version").fetchone())
    for work in (database.write, database.read):
        async with asyncio.timeout(5):
            with pytest.raises(ClosedError, match="the store is closed"):
                await work(lambda c: c.execute("SELECT 1").fetchone())


async def test_an_event_that_cannot_be_kept_takes_its_record_with_it(database: SqliteDatabase) -> None:
    store = SqliteStore(database)
    when, then = "WHEN new.record_id = 'request-1'", "BEGIN SELECT raise(ABORT, 'no'); END"
    await database.write(lambda c: c.execute(f"CREATE TRIGGER no BEFORE INSERT ON events {when} {then}").fetchone())

    assert await attempts(store, 3) == [True, False, True]

    assert await exist(store, 3) == [True, False, True]
    assert [event.record_id for event in await store.events()] == ["request-0", "request-2"]
    for query in (Query(tenant="tenant-1"), Query(tenant="tenant-1", text="refund")):
        assert [request.id for request in await store.find(Request, query)] == ["request-2", "request-0"]
    await store.put(*a_request("request-3"))
    assert await store.count(Request, Query(tenant="tenant-1", text="refund")) == 3


async def test_one_refused_change_does_not_harm_the_others_of_its_batch(database: SqliteDatabase) -> None:
    store = SqliteStore(database)
    asked = await store_request(store)

    puts: list[Awaitable[None]] = [store.put(*a_request(f"request-{n}")) for n in range(1, 6)]
    outcomes = await asyncio.gather(*puts, return_exceptions=True)

    assert [isinstance(outcome, ConflictError) for outcome in outcomes] == [True, False, False, False, False]
    assert await store.get(Request, "tenant-1", "request-1") == asked
    assert len(await store.events()) == 5


async def test_many_may_open_a_new_file_at_once(path: Path) -> None:
    async def use(n: int) -> None:
        async with SqliteDatabase(path) as database:
            await store_request(SqliteStore(database), f"request-{n}")

    await asyncio.gather(*(use(n) for n in range(8)))

    async with SqliteDatabase(path) as database:
        assert len(await SqliteStore(database).events()) == 8


@pytest.fixture
def no_database(path: Path) -> Path:
    path.write_text("These are not the bytes you are looking for. " * 100)
    return path


async def test_a_file_that_is_no_database_is_named(no_database: Path) -> None:
    with pytest.raises(SettingError, match=r"ringi\.db"):
        async with SqliteDatabase(no_database):
            pass


async def test_a_file_that_a_newer_version_has_changed_is_left_alone(path: Path) -> None:
    async with SqliteDatabase(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO migrations (number, oldest) VALUES (999, 999)")
        connection.commit()
    with pytest.raises(SettingError, match="newer Ringi"):
        async with SqliteDatabase(path):
            pytest.fail("it was opened")


async def test_a_build_of_sqlite_that_cannot_search_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "SEARCH", "fts99")
    with pytest.raises(SettingError, match="fts99"):
        async with SqliteDatabase(path):
            pytest.fail("it was opened")


async def test_every_commit_is_flushed(database: SqliteDatabase) -> None:
    def settings(connection: sqlite3.Connection) -> list[object]:
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]

    assert await database.write(settings) == ["wal", 2]


async def test_only_other_processes_change_the_counter(
    database: SqliteDatabase, second_database: SqliteDatabase
) -> None:
    before = await database.data_version()
    await store_request(SqliteStore(database), "ours")
    assert await database.data_version() == before

    await store_request(SqliteStore(second_database), "theirs")

    assert await database.data_version() != before


async def test_what_another_instance_wrote_wakes_all_but_the_waiters_of_one_record(
    database: SqliteDatabase, second_database: SqliteDatabase
) -> None:
    async with (
        SqliteNotifier(database, 0.2) as notifier,
        notifier.subscribe("events") as feed,
        notifier.subscribe(f"{NOT_OF_FILES[0]}tenant-1/request-1") as one,
    ):
        await store_request(SqliteStore(second_database))

        assert await feed.wait(5)
        assert not await one.wait(0)


async def test_looking_for_changes_takes_no_turn(path: Path, database: SqliteDatabase) -> None:
    look: Callable[[], Awaitable[int]] = database.data_version
    with holding(HOLD_LOCK, path):
        async with asyncio.timeout(2):
            await look()
