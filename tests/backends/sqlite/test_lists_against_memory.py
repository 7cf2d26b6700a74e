"""Whatever is stored and whatever is asked for, SQLite lists, counts and searches as memory does."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.backends import listing
from tests.tiers import examples

from ringi.backends.sqlite import lists
from ringi.backends.sqlite.database import Database
from ringi.backends.sqlite.store import SqliteStore

assert listing.CROWD > lists.SLOTS


@asynccontextmanager
async def fresh() -> AsyncIterator[SqliteStore]:
    """Give a store on a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        async with Database(Path(folder) / "ringi.db") as database:
            yield SqliteStore(database)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=listing.CASES, chunk=st.sampled_from([1, 2, 64]))
def test_sqlite_lists_as_memory_does(case: listing.Case, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "CHUNK", chunk)
        asyncio.run(listing.compare(fresh(), case))
