"""No connection is opened to a file that is not the one this process found, and logs say so once."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from langgraph.store.base import PutOp
from tests.backends.sqlite.test_lost_files import delete, delete_log, replace_by_copy
from tests.runs.world import at_work, until

from ringi.backends.sqlite.checkpoints import create_checkpoint_tables
from ringi.backends.sqlite.database import SqliteDatabase, file_identity, sqlite_read_connection, sqlite_transaction
from ringi.connect import Backend, open_backend
from ringi.errors import UnavailableError
from ringi.runs.lease import EventLoopWatch, Lease
from ringi.testing import store_request
from ringi.testing.factories import a_thread


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ringi.db"


@pytest.fixture
async def backend(path: Path) -> AsyncIterator[Backend]:
    async with open_backend(f"sqlite:///{path}", poll_interval=60) as backend:
        await store_request(backend.store, "before")
        yield backend


def database_of(backend: Backend) -> SqliteDatabase:
    database = backend.store._database  # type: ignore[attr-defined]
    assert isinstance(database, SqliteDatabase)
    return database


async def scrub(backend: Backend) -> None:
    await asyncio.to_thread(database_of(backend).scrubber._is_log_kept)


async def make_tables(backend: Backend) -> None:
    await create_checkpoint_tables(database_of(backend))


async def open_another(backend: Backend) -> None:
    assert backend.another_store
    async with backend.another_store():
        pytest.fail("it was opened")


async def read_directly(backend: Backend) -> None:
    with sqlite_read_connection(database_of(backend)):
        pytest.fail("it was opened")


async def write_directly(backend: Backend) -> None:
    with sqlite_transaction(database_of(backend)):
        pytest.fail("it was opened")


async def keep_for_an_agent(backend: Backend) -> None:
    assert backend.agent_stores
    await backend.agent_stores("default", "agent").abatch([PutOp(("a",), "k", {"v": 1})])


ACCIDENTS: list[Callable[[Path], None]] = [replace_by_copy, delete, delete_log]
PARTS: list[Callable[[Backend], Awaitable[None]]] = [
    scrub, make_tables, open_another, read_directly, write_directly, keep_for_an_agent,
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
@pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda accident: accident.__name__)
async def test_no_part_connects_to_other_files(
    backend: Backend, path: Path, accident: Callable[[Path], None], part: Callable[[Backend], Awaitable[None]]
) -> None:
    accident(path)
    log = path.with_name("ringi.db-wal")
    there = file_identity(path), file_identity(log)

    with pytest.raises(UnavailableError, match="under this process"):
        await part(backend)

    assert (file_identity(path), file_identity(log)) == there


async def test_agents_stores_that_are_open_write_nothing_into_a_lost_file(backend: Backend, path: Path) -> None:
    await keep_for_an_agent(backend)
    replace_by_copy(path)
    with pytest.raises(UnavailableError, match="another file was put"):
        await keep_for_an_agent(backend)


async def test_what_is_committed_while_the_file_goes_is_not_acknowledged(backend: Backend, path: Path) -> None:
    database = database_of(backend)

    def write() -> None:
        with sqlite_transaction(database) as connection:
            connection.execute("INSERT INTO cursors VALUES ('direct', '1')")
            replace_by_copy(path)

    with pytest.raises(UnavailableError, match="another file was put"):
        write()


async def test_a_lease_is_not_renewed_in_another_file(
    backend: Backend, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringi.runs.lease.TICK", 0.02)
    thread, event = a_thread()
    await backend.store.put(thread, event)
    lease = Lease(backend.store, backend.clock, thread)
    looked = threading.Event()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "while the event loop is blocked" in record.getMessage():
                looked.set()

    handler = Handler()
    logging.getLogger("ringi.runs.lease").addHandler(handler)
    delete(path)
    try:
        async with EventLoopWatch(backend.another_store, {lease}):  # type: ignore[arg-type]
            assert looked.wait(10)
    finally:
        logging.getLogger("ringi.runs.lease").removeHandler(handler)
    assert not file_identity(path)


async def test_a_lost_file_is_logged_once_by_each_part(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    offered: list[str] = []

    def note(record: logging.LogRecord) -> bool:
        offered.append(record.getMessage())
        return True

    logger = logging.getLogger("ringi.backends.claimed_jobs")
    async with at_work(f"sqlite:///{path}", poll=0.02):
        logger.filters.insert(0, note)
        try:
            delete(path)

            async def has_looked_often() -> bool:
                return len(offered) > 10

            await until(has_looked_often, "jobs are looked for again and again")
        finally:
            logger.filters.remove(note)

    repeated = [line for line in caplog.messages if caplog.messages.count(line) > 1]
    assert not repeated
    assert len([line for line in caplog.messages if line.startswith("cannot look for jobs")]) == 1
