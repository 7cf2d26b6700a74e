"""What a worker knows of its newest checkpoint is what the store returns."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import psycopg
import pytest
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from tests.backends.postgres.test_postgres_checkpoints import checkpoints, config_of, held, other, writes_of

from ringi.backends.fenced_saver import CompactSerializer
from ringi.backends.newest_checkpoint import UnknownCheckpointError
from ringi.backends.postgres.checkpoints import FencedPostgresSaver, PostgresCheckpoints, call_async_saver
from ringi.backends.postgres.newest_checkpoint import CheckpointStatement, NewestPostgresCheckpoint
from ringi.domain.thread import Thread, checkpoint_thread

__all__ = ["checkpoints", "held", "other"]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads whose newest checkpoints are read from the store."""
    found = list[str]()
    read_newest = FencedPostgresSaver._read_newest

    async def counted(saver: FencedPostgresSaver, config: Any) -> Any:
        found.append(config["configurable"]["thread_id"])
        return await read_newest(saver, config)

    monkeypatch.setattr(FencedPostgresSaver, "_read_newest", counted)
    return found


async def newest(saver: FencedPostgresSaver) -> CheckpointTuple:
    """Return the newest checkpoint of the saver's thread, which must exist."""
    found = await same_read(saver, checkpoint_thread(saver._held.key))
    assert found
    return found


async def same_read(saver: FencedPostgresSaver, thread_id: str) -> CheckpointTuple | None:
    """Return the newest checkpoint that a saver reads; the store returns the same."""
    found = await saver.aget_tuple(config_of(thread_id))
    async with saver._checkpoints.connection() as connection:
        stored = await call_async_saver(connection, saver.serde, "get_tuple", config_of(thread_id))
    assert comparable(found) == comparable(stored)
    return found


def comparable(found: CheckpointTuple | None) -> str:
    """Return a checkpoint as text: some of its values equal only themselves."""
    return repr(found and [sorted_items(part) for part in found])


def sorted_items(value: Any) -> Any:
    """Return a value without the order of its keys, which PostgreSQL changes."""
    return sorted((name, sorted_items(each)) for name, each in value.items()) if isinstance(value, dict) else value


async def test_a_worker_knows_what_the_store_returns_after_each_of_its_writes(
    checkpoints: PostgresCheckpoints, held: Thread, reads: list[str]
) -> None:
    saver, own = FencedPostgresSaver(checkpoints, held), checkpoint_thread(held.key)
    assert await same_read(saver, own) is None
    for method, (place, *args) in writes_of(saver):
        # Twice: a graph changes the values that it loads.
        await getattr(saver, f"a{method}")(config_of(own, **place), *args)
        for _ in range(2):
            if found := await same_read(saver, own):
                found.checkpoint["channel_values"].clear()
                found.checkpoint["channel_versions"]["text"] = "changed"
                found.metadata["step"] = -5
    assert reads == [own, own], "at first, and for the value of a version that it did not write"


async def test_a_worker_knows_the_checkpoint_that_it_took_over_with_its_pending_writes(
    checkpoints: PostgresCheckpoints, held: Thread, reads: list[str]
) -> None:
    earlier, saver = (FencedPostgresSaver(checkpoints, held) for _ in range(2))
    own = checkpoint_thread(held.key)
    *before, (method, (place, *args)) = writes_of(saver)[:6]
    for name, (where, *values) in before:
        await getattr(earlier, f"a{name}")(config_of(own, **where), *values)
    await same_read(saver, own)
    await getattr(saver, f"a{method}")(config_of(own, **place), *args)
    found = await same_read(saver, own)
    await saver.aput_writes(found.config if found else {}, [("text", "new")], "other task")
    assert len((await newest(saver)).pending_writes or ()) == 1
    assert reads == [own]


async def test_writes_that_precede_their_checkpoint_belong_to_it(
    checkpoints: PostgresCheckpoints, held: Thread, reads: list[str]
) -> None:
    saver, own = FencedPostgresSaver(checkpoints, held), checkpoint_thread(held.key)
    for id, is_known in (("1", False), ("2", True)):
        if is_known:
            await same_read(saver, own)
        await saver.aput_writes(config_of(own, checkpoint_id=id), [("text", "x")], "task")
        await saver.aput(config_of(own), {**empty_checkpoint(), "id": id}, {}, {})
        assert len((await newest(saver)).pending_writes or ()) == 1
    assert reads == [own]


async def test_a_checkpoint_that_is_written_again_has_its_new_metadata(
    checkpoints: PostgresCheckpoints, held: Thread, reads: list[str]
) -> None:
    saver, own = FencedPostgresSaver(checkpoints, held), checkpoint_thread(held.key)
    await same_read(saver, own)
    for step in (1, 2):
        await saver.aput(config_of(own), {**empty_checkpoint(), "id": "1"}, {"source": "loop", "step": step}, {})
        assert (await newest(saver)).metadata["step"] == step
    assert reads == [own]


def test_after_a_write_that_is_no_insert_the_store_is_asked() -> None:
    newest = NewestPostgresCheckpoint("t1")
    newest.expect_none()
    with newest.writing("put", [config_of("t1")]) as written:
        written.append(CheckpointStatement("UPDATE checkpoints SET metadata = '{}'", []))
    with pytest.raises(UnknownCheckpointError):
        newest.load(config_of("t1"), CompactSerializer())


@pytest.mark.parametrize("value", [1e22, -0.0])
async def test_a_number_that_postgresql_changes_is_read_from_the_store(
    checkpoints: PostgresCheckpoints, held: Thread, reads: list[str], value: float
) -> None:
    saver, own = FencedPostgresSaver(checkpoints, held), checkpoint_thread(held.key)
    await same_read(saver, own)
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"x": value}, "channel_versions": {"x": "1.0"}}
    await saver.aput(config_of(own), checkpoint, {}, {"x": "1.0"})
    await same_read(saver, own)
    assert reads == [own, own]


async def test_a_return_to_an_earlier_checkpoint_is_read_from_the_store(
    checkpoints: PostgresCheckpoints, held: Thread, reads: list[str]
) -> None:
    earlier, saver = (FencedPostgresSaver(checkpoints, held) for _ in range(2))
    own = checkpoint_thread(held.key)
    for id in "12":
        values, versions = {"list": [id]}, dict[str, Any](list=f"{id}.0")
        checkpoint: Any = {**empty_checkpoint(), "id": id, "channel_values": values, "channel_versions": versions}
        await earlier.aput(config_of(own), checkpoint, {}, versions)
    await same_read(saver, own)
    first = await saver.aget_tuple(config_of(own, checkpoint_id="1"))
    assert first
    await saver.aput(first.config, {**first.checkpoint, "id": "3"}, {}, {})
    found = await newest(saver)
    assert found.checkpoint["channel_values"] == {"list": ["1"]}
    assert reads == [own, own]


async def test_after_a_failed_write_the_store_is_read(
    checkpoints: PostgresCheckpoints, held: Thread, other: asyncpg.Connection, reads: list[str]
) -> None:
    saver, own = FencedPostgresSaver(checkpoints, held), checkpoint_thread(held.key)
    await same_read(saver, own)
    await other.execute("ALTER TABLE checkpoints RENAME TO elsewhere")
    with pytest.raises(psycopg.errors.UndefinedTable):
        await saver.aput(config_of(own), empty_checkpoint(), {}, {})
    await other.execute("ALTER TABLE elsewhere RENAME TO checkpoints")
    await saver.aput(config_of(own), empty_checkpoint(), {}, {})
    assert await same_read(saver, own)
    assert await same_read(saver, own)
    assert reads == [own] * 3


async def test_a_write_of_another_thread_of_the_process_is_read_from_the_store(
    checkpoints: PostgresCheckpoints, held: Thread, reads: list[str]
) -> None:
    saver, own = FencedPostgresSaver(checkpoints, held), checkpoint_thread(held.key)
    await same_read(saver, own)
    await asyncio.to_thread(saver.put, config_of(own, checkpoint_ns="inner:1"), empty_checkpoint(), {}, {})
    assert await same_read(saver, own) is None
    assert reads == [own]
    await asyncio.to_thread(saver.put, config_of(own), empty_checkpoint(), {}, {})
    assert await same_read(saver, own)
    assert reads == [own] * 2
