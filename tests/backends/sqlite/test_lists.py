"""How SQLite finds a page: as of one moment, and with no more work where there is more to choose from."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from ringi.backends.sqlite import lists
from ringi.backends.sqlite.database import SqliteDatabase, migrate_sqlite
from ringi.backends.sqlite.store import SqliteStore, save_sqlite_record, sqlite_record_change
from ringi.domain.ask import Action
from ringi.domain.record import Query, Viewer, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.urgency import urgent_query
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request, store_request

FEW, MANY = 300, 3_000
PAGE = 3


@pytest.fixture
def connection(database: SqliteDatabase) -> Iterator[sqlite3.Connection]:
    """A connection that shows what is done on it."""
    with closing(database.connect()) as connection:
        yield connection


async def test_a_request_that_ends_while_a_list_is_read_is_not_missed(
    database: SqliteDatabase, connection: sqlite3.Connection
) -> None:
    asked = await store_request(SqliteStore(database))
    ended = sqlite_record_change(*asked.cancelled("ann", NOON, None))
    seen: list[str] = []

    def end(statement: str) -> None:
        if "FROM shown" in statement and "ORDER BY" in statement and not seen:
            seen.append(statement)
            with closing(database.connect()) as other:
                save_sqlite_record(other, ended)

    connection.set_trace_callback(end)
    found = lists.find_sqlite_bodies(connection, Request, Query(tenant="tenant-1"))

    assert seen
    assert [Request.model_validate_json(body) for body in found] == [asked]


def fill(connection: sqlite3.Connection, count: int) -> list[Request]:
    """Put so many requests, each offered to a group, a page of them rare; a quarter has ended."""
    every, made = count // PAGE, []
    connection.execute("BEGIN IMMEDIATE")
    for n in range(count):
        what = "交換 perfume" if n % every == 7 else "返金 refund"
        request, event = a_request(
            f"request-{n}",
            at=NOON + timedelta(milliseconds=n),
            title=f"注文{n}の{what}",
            action=Action("pay", {"order": f"A-{n}"}),
            groups=["few" if n % every == 5 else "most"],
            kind="finish" if n % every == 9 else None,
            priority="high" if n % every == 7 else None,
            due_at=NOON + timedelta(seconds=n) if n % 3 == 0 else None,
            by="rare" if n % every == 11 else "common",
            tier="high" if n % every == 13 else None,
        )
        save_sqlite_record(connection, sqlite_record_change(request, event))
        if n % 4 == 0:
            save_sqlite_record(connection, sqlite_record_change(*request.cancelled("ann", NOON, None)))
        made.append(request)
    connection.execute("COMMIT")
    return made


class Filled(NamedTuple):
    """A file with requests."""

    connection: sqlite3.Connection
    requests: list[Request]

    def steps(self, query: Query, look: Callable[[sqlite3.Connection, type[Request], Query], Any]) -> int:
        """Return how many steps SQLite takes."""
        taken = 0

        def step() -> int:
            nonlocal taken
            taken += 1
            return 0

        self.connection.set_progress_handler(step, 1)
        look(self.connection, Request, query)
        self.connection.set_progress_handler(None, 0)
        return taken


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Filled]]:
    """A file with few requests, and one with many."""
    with ExitStack() as opened:
        files = []
        for count in (FEW, MANY):
            path = tmp_path_factory.mktemp("lists") / "ringi.db"
            connection = opened.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
            migrate_sqlite(connection, "sqlite:///ringi.db")
            files.append(Filled(connection, fill(connection, count)))
        yield files


EVE = Viewer(name="eve", groups=("few",))
ADA = Viewer(name="ada", groups=("few", "most"))
PENDING = Query(tenant="tenant-1", statuses=("pending",), limit=PAGE)
RARELY: list[dict[str, Any]] = [
    *({"agent": "rare"}, {"agent": "nobody"}, {"tier": "high"}, {"kind": "finish"}, {"priority": "high"})
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"statuses": ()},
    {"statuses": ("completed", "cancelled")},
    {"statuses": ("completed", "expired")},
    {"viewer": ADA},
    {"viewer": EVE},
    {"viewer": EVE, "kind": "finish"},
    {"viewer": ADA, "assigned_or_claimed_by": "ada"},
    {"assignee": "ada"},
    {"asked_by": "bot"},
    {"tenant": None},
    {"text": "refund"},
    {"text": "返金"},
    {"text": "perfume"},
    {"text": "交換"},
    {"text": "nowhere"},
    {"text": "返金", "viewer": EVE},
    {"text": "返金", "statuses": ("completed",)},
    *({**some, **more} for some in RARELY for more in ({}, {"statuses": ()}, {"order": "ended", "statuses": ()})),
    {"agent": "common"},
    {"agent": "rare", "text": "返金"},
]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_a_page_takes_no_more_steps_among_many_than_among_few(files: list[Filled], filters: dict[str, Any]) -> None:
    query = PENDING.model_copy(update=filters)
    for look in (lists.find_sqlite_bodies, lists.count_sqlite_matches):
        few, many = (file.steps(query, look) for file in files)
        assert many <= few * 1.25


@pytest.mark.parametrize("filters", [{}, {"viewer": ADA}, {"text": "返金"}], ids=str)
def test_a_page_from_the_middle_takes_no_more_steps_among_many(files: list[Filled], filters: dict[str, Any]) -> None:
    middles = [cursor_after_record(file.requests[len(file.requests) // 2]) for file in files]
    queries = [PENDING.model_copy(update={**filters, "before": middle}) for middle in middles]
    few, many = (file.steps(query, lists.find_sqlite_bodies) for file, query in zip(files, queries, strict=True))
    assert many <= few * 1.25


@pytest.mark.parametrize("filters", [{}, {"viewer": ADA}, {"assigned_or_claimed_by": "ada"}], ids=str)
def test_what_ended_is_counted_in_no_more_steps_among_many(files: list[Filled], filters: dict[str, Any]) -> None:
    query = Query(tenant="tenant-1", ended_since=NOON, limit=PAGE, **filters)
    few, many = (file.steps(query, lists.count_sqlite_matches) for file in files)
    assert many <= few * 1.25


@pytest.mark.parametrize("hours", [-2, 0], ids=["by rank", "by deadline"])
@pytest.mark.parametrize("filters", [{}, {"viewer": ADA}, {"viewer": EVE}, {"tool": "pay"}, {"agent": "rare"}], ids=str)
def test_an_urgent_page_takes_no_more_steps_among_many(
    files: list[Filled], filters: dict[str, Any], hours: int
) -> None:
    query = PENDING.model_copy(update={**filters, "order": "urgent", "now": NOON + timedelta(hours=hours)})
    few, many = (file.steps(query, lists.find_sqlite_bodies) for file in files)
    assert many <= few * 1.25


def test_an_urgent_page_from_the_middle_takes_no_more_steps_among_many(files: list[Filled]) -> None:
    taken = []
    for file in files:
        query = PENDING.model_copy(update={"order": "urgent", "now": NOON - timedelta(hours=2)})
        middle = next(each for each in file.requests[len(file.requests) // 2 :] if each.priority is None)
        after = query.model_copy(update={"before": urgent_query(query).cursor_of(middle)})
        taken.append(file.steps(after, lists.find_sqlite_bodies))
    assert taken[1] <= taken[0] * 1.25
