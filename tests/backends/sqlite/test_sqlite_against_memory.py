import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hypothesis import HealthCheck, settings
from tests.tiers import examples

from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.testing.machine import InboxMachine


class SqliteMachine(InboxMachine):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[SqliteStore]:
        with tempfile.TemporaryDirectory() as folder:
            async with SqliteDatabase(Path(folder) / "ringi.db") as database:
                yield SqliteStore(database)


TestSqliteDoesAsMemoryDoes = SqliteMachine.TestCase
TestSqliteDoesAsMemoryDoes.settings = settings(
    max_examples=examples(30), stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
