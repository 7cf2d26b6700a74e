"""What a worker knows of its newest checkpoint in SQLite is what the store returns."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from tests.backends.postgres.test_newest_checkpoint import comparable
from tests.backends.postgres.test_postgres_checkpoints import config_of, writes_of
from tests.backends.postgres.test_postgres_runs import KEY

from ringi.backends.sqlite.checkpoints import BatchedSaver, FencedSqliteSaver
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.base.clock import utc_now
from ringi.domain.thread import FenceError, Run, Thread, checkpoint_thread
from ringi.runs.lease import PendingReleases, hold_thread_lease

OWN = checkpoint_thread(KEY)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads whose newest checkpoints are read from the store."""
    found = list[str]()
    read_newest = FencedSqliteSaver._read_newest

    async def counted(saver: FencedSqliteSaver, config: Any) -> Any:
        found.append(config["configurable"]["thread_id"])
        return await read_newest(saver, config)

    monkeypatch.setattr(FencedSqliteSaver, "_read_newest", counted)
    return found


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    async with SqliteDatabase(tmp_path / "ringi.db") as database:
        yield database


@pytest.fixture
async def held(database: SqliteDatabase) -> AsyncIterator[Thread]:
    """A thread with a lease."""
    store = SqliteStore(database)
    await store.put(*Thread.begun("t1", "a", Run(id="r1", input={}), by="bot", now=utc_now()))
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)) as lease:
        yield lease.thread


async def same_read(saver: FencedSqliteSaver) -> CheckpointTuple | None:
    """Return the newest checkpoint that a saver reads; the store returns the same."""
    found = await saver.aget_tuple(config_of(OWN))

    def read(connection: sqlite3.Connection) -> CheckpointTuple | None:
        return BatchedSaver(connection, saver.serde).get_tuple(config_of(OWN))

    assert comparable(found) == comparable(await saver._database.read(read))
    return found


async def test_a_worker_knows_what_the_store_returns_after_each_of_its_writes(
    database: SqliteDatabase, held: Thread, reads: list[str]
) -> None:
    saver = FencedSqliteSaver(database, held)
    assert await same_read(saver) is None
    for method, (place, *args) in writes_of(saver):
        await getattr(saver, f"a{method}")(config_of(OWN, **place), *args)
        for _ in range(2):  # Twice: a graph changes the values that it loads.
            if found := await same_read(saver):
                found.checkpoint["channel_values"].clear()
                found.metadata["step"] = -5
    assert reads == [OWN]


async def test_a_worker_knows_the_checkpoint_that_it_took_over_with_its_pending_writes(
    database: SqliteDatabase, held: Thread, reads: list[str]
) -> None:
    earlier, saver = (FencedSqliteSaver(database, held) for _ in range(2))
    await earlier.aput(config_of(OWN), {**empty_checkpoint(), "id": "1"}, {}, {})
    await earlier.aput_writes(config_of(OWN, checkpoint_id="1"), [("text", "old"), ("number", 2)], "task")
    found = await same_read(saver)
    assert found
    assert found.pending_writes
    await saver.aput_writes(found.config, [("text", "new")], "other task")
    again = await same_read(saver)
    assert again
    assert len(again.pending_writes or ()) == len(found.pending_writes) + 1
    assert reads == [OWN]


async def test_writes_that_precede_their_checkpoint_belong_to_it(
    database: SqliteDatabase, held: Thread, reads: list[str]
) -> None:
    saver = FencedSqliteSaver(database, held)
    await saver.aput_writes(config_of(OWN, checkpoint_id="2"), [("text", "x")], "task")
    await same_read(saver)  # It knows that there is none, and nothing of the writes.
    await saver.aput(config_of(OWN), {**empty_checkpoint(), "id": "2"}, {}, {})
    for id in ("2", "3"):
        await saver.aput_writes(config_of(OWN, checkpoint_id=id), [("text", "y")], f"task {id}")
    found = await same_read(saver)
    assert found
    assert len(found.pending_writes or ()) == 2
    await saver.aput(config_of(OWN, checkpoint_id="2"), {**empty_checkpoint(), "id": "3"}, {}, {})
    found = await same_read(saver)
    assert found
    assert len(found.pending_writes or ()) == 1


async def test_what_others_write_or_a_failed_write_is_read_from_the_store(
    database: SqliteDatabase, held: Thread, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = FencedSqliteSaver(database, held)
    await same_read(saver)
    await saver.aput(config_of(OWN, checkpoint_ns="inner:1"), empty_checkpoint(), {}, {})
    assert await same_read(saver) is None
    assert reads == [OWN]
    await asyncio.to_thread(saver.put, config_of(OWN), empty_checkpoint(), {}, {})
    assert await same_read(saver)
    assert reads == [OWN] * 2

    other = FencedSqliteSaver(database, held)
    await same_read(other)

    def fail(*_: object) -> None:
        raise FenceError("t1", 1)

    with monkeypatch.context() as patch:
        patch.setattr(FencedSqliteSaver, "_fenced", fail)
        with pytest.raises(FenceError):
            await other.aput(config_of(OWN), empty_checkpoint(), {}, {})
    await same_read(other)
    assert reads == [OWN] * 4
