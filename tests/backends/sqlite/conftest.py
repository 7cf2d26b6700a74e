from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ringi.backends.sqlite.database import Database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ringi.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    async with Database(path) as database:
        yield database


@pytest.fixture
async def second_database(path: Path, database: Database) -> AsyncIterator[Database]:
    """The same file, opened once more, as another process would."""
    async with Database(path) as second:
        yield second
