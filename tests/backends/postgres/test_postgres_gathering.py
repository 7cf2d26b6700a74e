"""Answers of one moment travel together, and nobody notices it of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.proxy import Proxy

from ringi.audit.verify import verify_store
from ringi.backends.batcher import StatementBatcher
from ringi.backends.postgres.changes import change_all_requests, wake_up_columns
from ringi.backends.postgres.database import PostgresDatabase
from ringi.backends.postgres.store import PostgresStore, postgres_record_columns
from ringi.backends.rows import EVENT_COLUMNS, event_to_row
from ringi.contracts.backend import Wakeup
from ringi.contracts.store import Store
from ringi.domain.record import Event, Key
from ringi.domain.request import Request
from ringi.domain.voting import Decider
from ringi.errors import ConflictError, NotFoundError
from ringi.testing import store_request
from ringi.testing.clock import NOON
from ringi.testing.conformance import StoreConformance
from ringi.testing.factories import a_request, answer_to

LIMIT = 20.0
MANY = 40
ODD = 'Ann "the {wise}, \\ one" 田中'
QUERIES = (
    "SELECT * FROM requests ORDER BY id",
    "SELECT * FROM shown ORDER BY id, audience",
    f"SELECT {', '.join(EVENT_COLUMNS)} FROM unsealed ORDER BY record_id, version",
)
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
def store(database: PostgresDatabase) -> PostgresStore:
    return PostgresStore(database)


@pytest.fixture
async def foreign(database: PostgresDatabase) -> AsyncIterator[Connection]:
    """A session of somebody else."""
    connection = await asyncpg.connect(database.url, server_settings={"search_path": database.schema})
    yield connection
    await connection.close()


async def asked(store: Store, count: int, **made: Any) -> list[Request]:
    return [await store_request(store, f"request-{n:03}", **made) for n in range(count)]


def answered(request: Request, by: Decider | str = "ann") -> tuple[Request, Event | None]:
    return request.completed(answer_to(request), by=by, channel="page", now=NOON)


async def version(store: Store, request: Request) -> int:
    return (await store.get(Request, *request.key)).version


async def commits(database: PostgresDatabase) -> int:
    """Return how many transactions have written the events that nobody has read yet."""
    ((number,),) = await database.fetch("SELECT count(DISTINCT xmin::text) FROM unsealed")
    return int(number)


async def test_answers_of_one_moment_take_few_transactions(store: PostgresStore, database: PostgresDatabase) -> None:
    requests = await asked(store, MANY)
    await store.tail()

    await asyncio.gather(*(store.put(*answered(request)) for request in requests))

    assert await commits(database) < MANY / 4
    assert len(await store.events()) == 2 * MANY
    assert (await verify_store(store))[1] == []


async def test_reads_of_one_moment_give_each_what_it_asked_for(store: PostgresStore) -> None:
    requests = await asked(store, MANY)
    keys = [*(request.key for request in requests), Key("tenant-2", "request-000"), Key("tenant-1", "nobody's\0")]

    found = await asyncio.gather(*(store.get(Request, *key) for key in keys), return_exceptions=True)

    assert found[:-2] == requests
    assert [type(each) for each in found[-2:]] == [NotFoundError, NotFoundError]


def steps(request: Request) -> list[tuple[Request, Event | None]]:
    """Return all that can be done with a request."""
    admin = Decider(ODD, is_admin=True)
    return [
        answered(request, admin),
        request.claimed(admin, NOON, timedelta(minutes=1)),
        request.reassigned(admin, NOON, ODD, ["x", ODD]),
        request.cancelled("ann", NOON, 'no "need"\0'),
        request.expired(NOON),
        request.needing_attention("why", NOON),
    ]


async def test_changes_made_together_leave_what_they_leave_one_by_one(
    database: PostgresDatabase, schema_url: str
) -> None:
    asks: list[dict[str, Any]] = [
        {"expires_at": NOON + timedelta(hours=1)},
        {"assignee": ODD},
        {"groups": ("a", "b,c", "NULL")},
        {"by": ODD, "parked": True},
        {"title": "nul \0 and\nlines"},
    ]
    made = [a_request(f"request-{n}-{m}", **ask) for n, ask in enumerate(asks) for m in range(6)]
    changed = [steps(request)[n % 6] for n, (request, _) in enumerate(made)]
    store = PostgresStore(database)
    async with PostgresDatabase(f"{schema_url}b") as other:
        for request, event in made:
            await store.put(request, event)
            await PostgresStore(other).put(request, event)

        for after, why in changed:
            await store.put(after, why)
        assert all(await change_all_requests(other, [change(after, why) for after, why in changed if why]))

        for sql in QUERIES:
            assert await database.fetch(sql) == await other.fetch(sql)


def change(after: Request, why: Event) -> dict[str, Any]:
    return (
        dict(zip(EVENT_COLUMNS, event_to_row(why), strict=True))
        | postgres_record_columns(after)
        | wake_up_columns((), None)
    )


@pytest.mark.parametrize("place", [0, 7])
async def test_a_row_that_somebody_else_has_locked_delays_only_its_own_answer(
    store: PostgresStore, foreign: Connection, place: int
) -> None:
    requests = await asked(store, 20)
    held = foreign.transaction()
    await held.start()
    await foreign.execute("SELECT FROM requests WHERE id = $1 FOR UPDATE", requests[place].id)

    answers = [asyncio.create_task(store.put(*answered(request))) for request in requests]
    late = answers.pop(place)
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*answers)
        assert not late.done()
        await held.rollback()
        await late

    assert len(await store.events()) == 40


async def test_of_answers_to_one_request_in_one_moment_one_wins(
    store: PostgresStore, database: PostgresDatabase
) -> None:
    requests = await asked(store, 12)
    await store.tail()
    names = ("ann", "ben", "cho")

    outcomes = await asyncio.gather(
        *(store.put(*answered(request, by)) for by in names for request in requests), return_exceptions=True
    )

    assert sum(outcome is None for outcome in outcomes) == len(requests)
    assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == len(requests) * 2
    assert await commits(database) < len(requests) / 2
    assert [event.version for event in await store.events()].count(2) == len(requests)
    assert (await verify_store(store))[1] == []


async def test_an_answer_that_cannot_be_stored_fails_no_other(store: PostgresStore, database: PostgresDatabase) -> None:
    requests = await asked(store, 12)
    await database.write("ALTER TABLE requests ADD CHECK (version = 1 OR id <> 'request-005')")

    outcomes = await asyncio.gather(*(store.put(*answered(each)) for each in requests), return_exceptions=True)

    assert [n for n, outcome in enumerate(outcomes) if outcome is not None] == [5]
    assert isinstance(outcomes[5], asyncpg.CheckViolationError)
    assert [await version(store, each) for each in requests] == [2] * 5 + [1] + [2] * 6


async def test_who_gives_up_takes_no_other_along(store: PostgresStore) -> None:
    requests = await asked(store, 12)
    answers = [asyncio.create_task(store.put(*answered(request))) for request in requests]
    await asyncio.wait(answers, timeout=0)

    for given_up in (answers[0], answers[5]):
        given_up.cancel()
    async with asyncio.timeout(LIMIT):
        outcomes = await asyncio.gather(*answers, return_exceptions=True)

    assert [n for n, outcome in enumerate(outcomes) if outcome is not None] == [0, 5]
    assert all([await version(store, each) == 2 for n, each in enumerate(requests) if n not in (0, 5)])


async def test_a_reply_lost_after_a_common_commit_is_an_acknowledged_change_for_each(
    store: PostgresStore, foreign: Connection, schema_url: str
) -> None:
    requests = await asked(store, 12)
    port, rest = urlsplit(schema_url).port, Wakeup()
    async with (
        Proxy(port or 0) as proxy,
        PostgresDatabase(schema_url.replace(f":{port}/", f":{proxy.port}/") + "&pool=2") as behind,
        asyncio.timeout(LIMIT),
    ):
        # The statement is prepared now, on both connections: the next time one message does it.
        await asyncio.gather(change_all_requests(behind, []), change_all_requests(behind, []))
        proxy.drops_replies = True
        store_behind = PostgresStore(behind)
        first, *others = (asyncio.create_task(store_behind.put(*answered(request))) for request in requests)
        while await foreign.fetchval("SELECT count(*) FROM requests WHERE version = 2") < len(others):
            await rest.wait(0.02)
        proxy.drops_replies = False
        proxy.cut()

        await asyncio.gather(*others)
        await asyncio.gather(first, return_exceptions=True)

    assert [await version(store, each) for each in requests[1:]] == [2] * 11
    assert (await verify_store(store))[1] == []


async def test_one_that_cannot_be_read_fails_no_other_and_is_told_nothing_of_them(store: PostgresStore) -> None:
    requests = await asked(store, 3)
    keys = [*(request.key for request in requests), Key("tenant-2", "odd \ud800")]

    found = await asyncio.gather(*(store.get(Request, *key) for key in keys), return_exceptions=True)

    assert found[:-1] == requests
    assert isinstance(found[-1], asyncpg.DataError)
    assert not any(name in f"{found[-1]!r}" for key in keys[:-1] for name in key)


class TestStoreWhereEverybodyGathers(StoreConformance):
    """The whole contract while another statement of this process is under way: all that come later gather."""

    @pytest.fixture
    async def store(self, database: PostgresDatabase) -> AsyncIterator[Store]:
        store, never = PostgresStore(database), asyncio.Future[Sequence[Any]]()
        gatherings: list[StatementBatcher[Any]] = [store._changes, *store._reads.values()]
        under_way = [asyncio.create_task(each.result({}, lambda: never)) for each in gatherings]
        await asyncio.wait(under_way, timeout=0)
        yield store
        for each in under_way:
            each.cancel()

    @pytest.fixture
    def other(self, second: PostgresDatabase) -> Store:
        return PostgresStore(second)
