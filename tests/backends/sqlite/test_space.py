"""What is erased gives its space back to the disk."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import ringi
from ringi.backends.sqlite.database import SqliteDatabase

COUNT, TEXT = 40, "x" * 60_000


async def ask_and_end(path: Path) -> list[str]:
    async with ringi.open(f"sqlite:///{path}") as inbox:
        ids = [(await inbox.ask("Refund?", context={"text": TEXT})).id for _ in range(COUNT)]
        for id in ids:
            await inbox.cancel(id, by="ann")
    return ids


async def erase(path: Path, ids: list[str]) -> None:
    async with ringi.open(f"sqlite:///{path}") as inbox:
        for id in ids:
            await inbox.erase(id, by="root")


def size_of(path: Path) -> int:
    return path.stat().st_size


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ringi.db"


async def test_a_file_becomes_smaller_by_what_was_erased(path: Path) -> None:
    ids = await ask_and_end(path)
    before = size_of(path)

    await erase(path, ids)

    assert before > COUNT * len(TEXT)
    assert size_of(path) < before / 4
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_process_beside_it_takes_the_smaller_file_for_no_accident(path: Path) -> None:
    ids = await ask_and_end(path)
    async with ringi.open(f"sqlite:///{path}") as beside:
        await beside.ask("Before?")
        await erase(path, ids)

        await beside.ask("After?")


async def test_a_file_of_an_older_version_gives_space_back_after_one_vacuum(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("CREATE TABLE older (n)")
    ids = await ask_and_end(path)
    before = size_of(path)
    await erase(path, ids[: COUNT // 2])
    assert size_of(path) > before / 2

    async with SqliteDatabase(path):
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
    await erase(path, ids[COUNT // 2 :])

    assert size_of(path) < before / 4
