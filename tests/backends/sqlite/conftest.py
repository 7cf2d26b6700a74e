from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ringi.backends.sqlite.database import SqliteDatabase


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ringi.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[SqliteDatabase]:
    async with SqliteDatabase(path) as database:
        yield database


@pytest.fixture
async def second_database(path: Path, database: SqliteDatabase) -> AsyncIterator[SqliteDatabase]:
    """The same file, opened once more, as another process would."""
    async with SqliteDatabase(path) as second:
        yield second
