"""Writes of checkpoints: one statement each, with the rows of LangGraph's own saver, under the fence of the thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Interrupt, Send
from psycopg.rows import dict_row
from tests.backends.postgres.test_postgres_runs import KEY, begun

from ringi.backends.fenced_saver import CompactSerializer
from ringi.backends.postgres import newest_checkpoint
from ringi.backends.postgres.checkpoints import FencedPostgresSaver, PostgresCheckpoints
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.newest_checkpoint import fenced_checkpoint_statements, record_checkpoint_write
from ringi.base.clock import utc_now
from ringi.contracts.backend import Wakeup
from ringi.domain.thread import FenceError, Run, Thread
from ringi.runs.lease import PendingReleases, hold_thread_lease

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
ERROR, INTERRUPT, RESUME = "__error__", "__interrupt__", "__resume__"


@pytest.fixture
async def held(database: PostgresDatabase) -> AsyncIterator[Thread]:
    store = await begun(database)
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)) as lease:
        yield lease.thread


@pytest.fixture
async def checkpoints(database: PostgresDatabase) -> AsyncIterator[PostgresCheckpoints]:
    async with PostgresCheckpoints(database) as checkpoints:
        yield checkpoints


@pytest.fixture
async def other(database: PostgresDatabase) -> AsyncIterator[asyncpg.Connection]:
    """A connection of an operator."""
    connection = await asyncpg.connect(database.url, server_settings={"search_path": database.schema})
    yield connection
    await connection.close()


def config_of(thread_id: str, **place: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **place}, "metadata": {"user": "ann"}}


def writes_of(saver: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the writes of a run with all that LangGraph stores in a way of its own."""
    values = {
        "text": "é\ud83d\ude00",
        "none": None,
        "flag": True,
        "number": 1.5,
        "messages": [HumanMessage("hi", id="1"), AIMessage("a word " * 1_000, id="2")],
        "untouched": {"of": "an earlier version"},
        "snapshot": _DeltaSnapshot([1, 2]),
    }
    versions = {channel: f"{n:032}.0" for n, channel in enumerate(values)}
    first = {**empty_checkpoint(), "v": 4, "id": "1", "channel_values": values, "channel_versions": versions}
    new = {channel: version for channel, version in versions.items() if channel != "untouched"}
    place = {"checkpoint_id": "1"}
    changed = {**first, "channel_values": {**values, "text": "two"}}
    several: list[list[tuple[str, Any]]] = [
        [("text", "x"), ("messages", [AIMessage("y", id="3")]), ("none", None)],
        [("text", "of a repeated step"), (INTERRUPT, [Interrupt("mixed", id="1")])],
        [(INTERRUPT, [Interrupt("a", id="1")]), (INTERRUPT, [Interrupt("b", id="1")]), (RESUME, ["c"])],
        [(INTERRUPT, [Interrupt("later", id="1")])],
        [(ERROR, "e")],  # With results beside it, Ringi stores the error alone: see `FencedCheckpointSaver`.
        [("__pregel_tasks", Send("node", n)) for n in range(50)],
        [],
    ]
    return [
        ("put", ({}, first, {"source": "loop", "step": 1}, new)),
        ("put", (place, {**changed, "id": "2"}, {"source": "loop", "step": 2}, {"text": "2.0"})),
        ("put", (place, changed, {"source": "update", "step": 3}, new)),
        *(("put_writes", (place, each, f"task {n // 2}", f"path {n}")) for n, each in enumerate(several)),
    ]


async def test_the_rows_are_those_of_langgraphs_own_saver(
    database: PostgresDatabase, checkpoints: PostgresCheckpoints, held: Thread
) -> None:
    saver = FencedPostgresSaver(checkpoints, held)
    await saver.aget_tuple(config_of("opens the tables"))
    options: Any = {"autocommit": True, "row_factory": dict_row, "options": f"-csearch_path={database.schema}"}
    with psycopg.connect(database.url, **options) as connection:
        own = PostgresSaver(connection, serde=CompactSerializer())
        for method, (place, *args) in writes_of(own):
            expected = getattr(own, method)(config_of("own", **place), *args)
            ours = await getattr(saver, f"a{method}")(config_of("ours", **place), *args)
            getattr(saver, method)(config_of("sync", **place), *args)
            if expected:
                assert ours == {"configurable": {**expected["configurable"], "thread_id": "ours"}}
        for table in TABLES:
            sql = f"SELECT * FROM {table} WHERE thread_id = %s ORDER BY {table}"
            by_thread = [connection.execute(sql, [id]).fetchall() for id in ("own", "ours", "sync")]
            rows, *others = [[comparable(row) for row in each] for each in by_thread]
            assert rows
            assert all(each == rows for each in others), table


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without its thread, and without the value of an interrupt: Ringi stores its place with it."""
    without = {"thread_id", "blob"} if row.get("channel") == INTERRUPT else {"thread_id"}
    return {name: value for name, value in row.items() if name not in without}


async def test_the_thread_is_deleted(checkpoints: PostgresCheckpoints, held: Thread, other: asyncpg.Connection) -> None:
    saver = FencedPostgresSaver(checkpoints, held)
    for thread_id in ("gone", "stays"):
        for method, (place, *args) in writes_of(saver)[:4]:
            await getattr(saver, f"a{method}")(config_of(thread_id, **place), *args)
    await saver.adelete_thread("gone")
    for table in TABLES:
        rows = await other.fetch(f"SELECT DISTINCT thread_id FROM {table}")
        assert [row["thread_id"] for row in rows] == ["stays"]


def test_a_write_is_one_statement() -> None:
    held, _ = Thread.begun("t1", "a", Run(id="r1", input={}), by="bot", now=utc_now())
    for method, (place, *args) in writes_of(None):
        _, statements = record_checkpoint_write(CompactSerializer(), method, config_of("x", **place), *args)
        assert len(fenced_checkpoint_statements(statements, held)) == 1


async def test_a_write_with_too_many_rows_for_one_statement_is_one_transaction(
    checkpoints: PostgresCheckpoints, held: Thread, other: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest_checkpoint, "MAX_PARAMETERS", 20)
    saver, late = (FencedPostgresSaver(checkpoints, held.model_copy(update={"fence": f})) for f in (held.fence, 0))
    writes = [("channel", n) for n in range(25)]
    with pytest.raises(FenceError):
        await late.aput_writes(config_of("x", checkpoint_id="1"), writes, "task")
    assert not await other.fetchval("SELECT count(*) FROM checkpoint_writes")
    await saver.aput_writes(config_of("x", checkpoint_id="1"), writes, "task")
    assert await other.fetchval("SELECT count(*) FROM checkpoint_writes") == 25


@pytest.mark.parametrize("update", [{}, {"fence": 9}, {"owner": "two"}], ids=["renewed", "taken", "same fence"])
async def test_a_change_of_the_thread_that_commits_first_decides(
    checkpoints: PostgresCheckpoints, held: Thread, other: asyncpg.Connection, update: dict[str, Any]
) -> None:
    saver = FencedPostgresSaver(checkpoints, held)
    await saver.aget_tuple(config_of("opens the tables"))
    changed = held.model_copy(update={"version": held.version + 1, **update})
    transaction = other.transaction()
    await transaction.start()
    await other.execute(
        "UPDATE threads SET body = $3, fence = $4 WHERE tenant = $1 AND id = $2",
        *held.key,
        changed.model_dump_json(),
        changed.fence,
    )
    saving = asyncio.create_task(saver.aput(config_of("x"), empty_checkpoint(), {}, {}))
    await blocked(other)
    await transaction.commit()
    if update:
        with pytest.raises(FenceError):
            await saving
    else:
        await saving
    assert bool(await saver.aget_tuple(config_of("x"))) != bool(update)


async def test_a_thread_whose_values_contain_nul_can_be_saved(
    checkpoints: PostgresCheckpoints, held: Thread, other: asyncpg.Connection
) -> None:
    body = held.model_copy(update={"values": {"text": "a\0b", "owner": "two"}}).model_dump_json()
    await other.execute("UPDATE threads SET body = $3 WHERE tenant = $1 AND id = $2", *held.key, body)
    await FencedPostgresSaver(checkpoints, held).aput(config_of("x"), empty_checkpoint(), {}, {})
    assert await other.fetchval("SELECT count(*) FROM checkpoints") == 1


async def blocked(connection: asyncpg.Connection) -> None:
    """Return once a statement waits for a lock."""
    async with asyncio.timeout(10):
        while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            await Wakeup().wait(0.01)
