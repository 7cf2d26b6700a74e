"""Files that are replaced, moved, deleted or cut short under a running process: nothing is acknowledged into them."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from tests.server.world import World, open_world

from ringi.backends.sqlite.database import SqliteDatabase, file_identity
from ringi.backends.sqlite.store import SqliteStore
from ringi.connect import open_backend
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import NotFoundError, RingiError, UnavailableError
from ringi.testing import store_request


def wal_of(path: Path) -> Path:
    return Path(f"{path}-wal")


def replace_by_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def replace_with_log(path: Path) -> None:
    for name in (path, wal_of(path)):
        shutil.copy(name, name.with_name("copy"))
        name.with_name("copy").replace(name)


def delete(path: Path) -> None:
    path.unlink()


def rename(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def delete_log(path: Path) -> None:
    wal_of(path).unlink()


def delete_log_and_index(path: Path) -> None:
    wal_of(path).unlink()
    Path(f"{path}-shm").unlink()


def replace_log(path: Path) -> None:
    shutil.copy(wal_of(path), path.with_name("copy-wal"))
    path.with_name("copy-wal").replace(wal_of(path))


def cut_off_the_end(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def link(path: Path, to: str) -> None:
    path.symlink_to(to)


ACCIDENTS: dict[Callable[[Path], None], str] = {
    replace_by_copy: "another file was put in the place of ringi.db",
    replace_with_log: "another file was put in the place of ringi.db",
    delete: "ringi.db was deleted or moved",
    rename: "ringi.db was deleted or moved",
    move_folder: "ringi.db was deleted or moved",
    delete_log: "ringi.db-wal was deleted or replaced",
    delete_log_and_index: "ringi.db-wal was deleted or replaced",
    replace_log: "ringi.db-wal was deleted or replaced",
    cut_off_the_end: "ringi.db was cut short",
    empty: "ringi.db was cut short",
}
accidents = pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda accident: accident.__name__)
deleted_logs = pytest.mark.parametrize("accident", [delete_log, delete_log_and_index])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder / "ringi.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteDatabase(path) as database:
        store = SqliteStore(database)
        await store_request(store, "before")
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await store_request(store, "in-the-log")
        yield store


@accidents
async def test_nothing_is_acknowledged_into_a_file_that_is_gone(
    store: SqliteStore, path: Path, accident: Callable[[Path], None]
) -> None:
    accident(path)

    for n in range(3):
        with pytest.raises(UnavailableError, match=ACCIDENTS[accident]):
            await store_request(store, f"after-{n}")
    with pytest.raises(UnavailableError, match=ACCIDENTS[accident]):
        await store.get(Request, "tenant-1", "before")
    with pytest.raises(UnavailableError, match=ACCIDENTS[accident]):
        await store.find(Request, Query())


@accidents
async def test_a_process_that_writes_nothing_says_it_too(
    store: SqliteStore, path: Path, accident: Callable[[Path], None]
) -> None:
    accident(path)

    with pytest.raises(UnavailableError, match=ACCIDENTS[accident]):
        await store.tail()


async def test_a_link_that_leads_to_another_file_is_noticed(path: Path) -> None:
    for name in ("one.db", "two.db"):
        async with SqliteDatabase(path.with_name(name)) as database:
            await store_request(SqliteStore(database))
    link(path, "one.db")
    async with SqliteDatabase(path) as database:
        store = SqliteStore(database)
        await store_request(store, "before")
        delete(path)
        link(path, "two.db")

        with pytest.raises(UnavailableError, match="another file was put in the place"):
            await store_request(store, "after")


async def test_the_log_is_looked_for_where_a_link_leads(path: Path, tmp_path: Path) -> None:
    link(path, str(tmp_path / "real.db"))
    empty(tmp_path / "real.db")
    async with SqliteDatabase(path) as database:
        store = SqliteStore(database)
        await store_request(store, "before")
        delete_log(tmp_path / "real.db")

        with pytest.raises(UnavailableError, match=r"real\.db-wal was deleted"):
            await store_request(store, "after")


@deleted_logs
async def test_what_was_acknowledged_outlives_the_deletion_of_its_log(
    store: SqliteStore, path: Path, tmp_path: Path, accident: Callable[[Path], None]
) -> None:
    accident(path)
    with pytest.raises(UnavailableError):
        await store_request(store, "after")

    copy = shutil.copy(path, tmp_path / "as-a-kill-would-leave-it.db")

    async with SqliteDatabase(copy) as database:
        found = SqliteStore(database)
        assert (await found.get(Request, "tenant-1", "in-the-log")).id == "in-the-log"


async def test_an_idle_process_saves_what_the_deleted_log_held(path: Path, tmp_path: Path) -> None:
    async with open_backend(f"sqlite:///{path}", poll_interval=0.05) as backend:
        await store_request(backend.store, "in-the-log")
        delete_log(path)
        await lost(backend.store)
        copy = shutil.copy(path, tmp_path / "as-a-kill-would-leave-it.db")

    async with SqliteDatabase(copy) as database:
        assert (await SqliteStore(database).get(Request, "tenant-1", "in-the-log")).id == "in-the-log"


async def lost(store: object) -> None:
    """Wait until the process has noticed and has written what it had; the look of the notifier does both."""
    with pytest.raises(UnavailableError):
        await look_on(store._database)  # type: ignore[attr-defined]


async def look_on(database: SqliteDatabase) -> None:
    async with asyncio.timeout(10):
        while True:
            await database.data_version()


THEIRS = """
import sqlite3, sys
theirs = sqlite3.connect(sys.argv[1], isolation_level=None)
theirs.execute("PRAGMA wal_autocheckpoint = 0")
theirs.execute("CREATE TABLE theirs (n)")
theirs.execute("INSERT INTO theirs VALUES (1)")
print("written", flush=True)
sys.stdin.readline()
print(theirs.execute("SELECT n FROM theirs").fetchall(), theirs.execute("PRAGMA integrity_check").fetchall())
"""


@contextmanager
def another_process(path: Path) -> Iterator[Callable[[], str]]:
    """Let another process write to the file; what is yielded ends it and returns what it found there."""
    command = [sys.executable, "-c", THEIRS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "written\n"
        yield lambda: other.communicate("\n", timeout=10)[0]


async def test_a_log_that_another_process_has_begun_is_left_alone(store: SqliteStore, path: Path) -> None:
    delete_log_and_index(path)
    with another_process(path) as found:
        with pytest.raises(UnavailableError, match="deleted or replaced"):
            await store_request(store, "after")

        assert found() == "[(1,)] [('ok',)]\n"


LEGITIMATE = {
    "checkpoint": "PRAGMA wal_checkpoint(TRUNCATE)",
    "vacuum": "VACUUM",
    "vacuum with checkpoint": "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)",
    "analyze": "ANALYZE",
    "optimize": "PRAGMA optimize",
}


@pytest.mark.parametrize("script", LEGITIMATE.values(), ids=LEGITIMATE)
async def test_maintenance_by_another_process_is_no_accident(store: SqliteStore, path: Path, script: str) -> None:
    for n in range(20):
        await store_request(store, f"big-{n}", context={"text": "x" * 20_000})
    for round in range(2):
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("UPDATE requests SET body = '{}' WHERE id LIKE 'big%'")
            other.executescript(script)

        await store_request(store, f"after-{round}")
        await store.tail()
        assert (await store.get(Request, "tenant-1", f"after-{round}")).status == "pending"


async def test_a_file_that_a_vacuum_made_smaller_may_grow_again_before_anybody_looks(
    store: SqliteStore, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE bulk AS SELECT zeroblob(1000000)")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await store.tail()
        other.executescript("DROP TABLE bulk; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        other.execute("CREATE TABLE theirs (text)")
        other.execute("INSERT INTO theirs VALUES (?)", ["y" * 100_000])

        await store_request(store, "after")


async def test_other_processes_that_come_and_go_are_no_accident(store: SqliteStore, path: Path) -> None:
    for n in range(3):
        async with SqliteDatabase(path) as other:
            await store_request(SqliteStore(other), f"theirs-{n}")
        await store_request(store, f"ours-{n}")

    assert len(await store.events()) == 8


async def test_a_process_that_opens_a_file_in_the_moment_of_its_replacement_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SqliteDatabase(path):
        pass
    connect = SqliteDatabase._connect

    def connect_late(database: SqliteDatabase) -> sqlite3.Connection:
        connection = connect(database)
        replace_by_copy(path)
        return connection

    monkeypatch.setattr(SqliteDatabase, "_connect", connect_late)
    with pytest.raises(UnavailableError, match="another file was put"):
        async with SqliteDatabase(path):
            pytest.fail("it was opened")


async def test_no_part_of_the_process_makes_a_new_file_in_the_place_of_the_old(store: SqliteStore, path: Path) -> None:
    delete(path)

    for _ in range(2):
        with pytest.raises((RingiError, NotFoundError)):
            await store._database.scrubber.scrub()

    assert not file_identity(path)


async def test_a_server_says_what_happened_to_those_who_answer_and_on_readyz(path: Path) -> None:
    async with open_world(f"sqlite:///{path}") as world:
        asked = await world.inbox.ask("Refund?", id="r1")
        assert (await readyz(world)).status_code == 200
        replace_by_copy(path)

        answer = {"decision": "respond", "message": "yes", "digest": asked.digest}
        refused = await world.client().post("/v1/requests/r1/respond", json=answer)
        ready = await readyz(world)

    for reply in (refused, ready):
        assert reply.status_code == 503
        assert "another file was put in the place of ringi.db under this process" in reply.json()["detail"]
        assert str(path.parent) not in reply.text


async def readyz(world: World) -> httpx.Response:
    return await world.client().get("/readyz")
