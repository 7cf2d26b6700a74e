"""SQLite keeps every contract: within one instance, and between two on one file."""

from collections.abc import AsyncIterator

import pytest
from tests.tiers import WIDE

from ringi.backends.sqlite import lists
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.jobs import SqliteJobs
from ringi.backends.sqlite.store import SqliteStore
from ringi.backends.sqlite.stream import SqliteNotifier, SqliteStream
from ringi.testing.conformance import JobsConformance, NotifierConformance, StoreConformance, StreamConformance
from ringi.testing.conformance.lists import ListsConformance
from ringi.testing.conformance.searches import SearchesConformance
from ringi.testing.conformance.urgency import UrgencyConformance

POLL = 0.2


@pytest.fixture
async def notifier(database: SqliteDatabase) -> AsyncIterator[SqliteNotifier]:
    async with SqliteNotifier(database, POLL) as notifier:
        yield notifier


@pytest.fixture
async def second_notifier(second_database: SqliteDatabase) -> AsyncIterator[SqliteNotifier]:
    async with SqliteNotifier(second_database, POLL) as notifier:
        yield notifier


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def store(self, database: SqliteDatabase) -> SqliteStore:
        return SqliteStore(database)


@WIDE
class TestTwoSqliteStores(TestSqliteStore):
    @pytest.fixture
    def other(self, second_database: SqliteDatabase) -> SqliteStore:
        return SqliteStore(second_database)


class TestSqliteListsInSmallSteps(ListsConformance, SearchesConformance):
    """Each list is longer than what SQLite reads of it at once."""

    @pytest.fixture
    def store(self, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
        for name in ("FIRST_CHUNK", "MAX_CHUNK"):
            monkeypatch.setattr(lists, name, 1)
        return SqliteStore(database)

    @pytest.fixture
    def other(self, store: SqliteStore) -> SqliteStore:
        return store


class TestSqliteUrgentInSmallSteps(UrgencyConformance):
    """The requests with a priority or a tier are too many to be sorted, and more than SQLite reads at once."""

    @pytest.fixture
    def store(self, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
        for name, number in (("FEW", 2), ("LEAST_CHUNK", 1), ("FIRST_CHUNK", 1), ("MAX_CHUNK", 2)):
            monkeypatch.setattr(lists, name, number)
        return SqliteStore(database)

    @pytest.fixture
    def other(self, store: SqliteStore) -> SqliteStore:
        return store


class TestSqliteNotifier(NotifierConformance):
    @pytest.fixture
    def notifier(self, notifier: SqliteNotifier) -> SqliteNotifier:
        return notifier


class TestSqliteStream(StreamConformance):
    @pytest.fixture
    def stream(self, database: SqliteDatabase) -> SqliteStream:
        return SqliteStream(database)


@WIDE
class TestTwoSqliteStreams(TestSqliteStream):
    @pytest.fixture
    def other(self, second_database: SqliteDatabase) -> SqliteStream:
        return SqliteStream(second_database)


class TestSqliteJobs(JobsConformance):
    @pytest.fixture
    def jobs(self, database: SqliteDatabase, notifier: SqliteNotifier) -> SqliteJobs:
        return SqliteJobs(database, notifier)


@WIDE
class TestTwoSqliteJobs(TestSqliteJobs):
    @pytest.fixture
    def other(self, second_database: SqliteDatabase, second_notifier: SqliteNotifier) -> SqliteJobs:
        return SqliteJobs(second_database, second_notifier)
