"""Whatever is stored and whatever is asked for, SQLite lists, counts and searches as memory does."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.backends import listing
from tests.tiers import examples

from ringi.backends.sqlite import lists
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.testing.clock import NOON

assert listing.CROWD > lists.SLOTS


@asynccontextmanager
async def fresh() -> AsyncIterator[SqliteStore]:
    """Give a store on a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteDatabase(Path(folder) / "ringi.db") as database:
            yield SqliteStore(database)


# Before 1970, a time counts down: such a request, due a moment after the last that is due soon, was on both parts.
LATER = NOON + timedelta(hours=1, microseconds=1)
OLD = {"tenant": "ours", "at": datetime(1960, 1, 5, tzinfo=UTC), "title": "?", "expires_at": LATER}
NEW = {"tenant": "ours", "at": NOON, "title": "?"}


@example(case=listing.Case([(NEW, []), (NEW, []), (OLD, [])], 0, [{"tenant": "ours"}]), chunk=1)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=listing.CASES, chunk=st.sampled_from([1, 2, 64]))
def test_sqlite_lists_as_memory_does(case: listing.Case, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST_CHUNK", "MAX_CHUNK"):
            patch.setattr(lists, name, chunk)
        asyncio.run(listing.compare(fresh(), case))
