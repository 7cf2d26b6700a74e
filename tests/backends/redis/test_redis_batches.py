"""Changes and reads of one moment share a command, and each has its own outcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from ringi.audit.verify import verify_store
from ringi.backends.redis.lists import redis_lists_with_positions
from ringi.backends.redis.server import RedisServer, join_redis_name
from ringi.backends.redis.store import RedisStore
from ringi.domain.record import Erased, Event, Key, Query, Viewer
from ringi.domain.request import Request
from ringi.domain.voting import Decider
from ringi.errors import ConflictError, NotFoundError, UnavailableError
from ringi.testing import store_request
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request, a_thread, answer_to

MANY = 40


@pytest.fixture
def store(server: RedisServer) -> RedisStore:
    return RedisStore(server)


async def asked(store: RedisStore, count: int, **made: Any) -> list[Request]:
    return [await store_request(store, f"request-{n:03}", **made) for n in range(count)]


def answered(request: Request, by: str = "ann") -> tuple[Request, Event | None]:
    return request.completed(answer_to(request), by=Decider(by, is_admin=True), channel="page", now=NOON)


async def calls(server: RedisServer, *commands: str) -> int:
    statistics = await server.redis.info("commandstats")
    return sum(statistics.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in commands)


async def test_reads_and_answers_of_one_moment_take_few_commands(store: RedisStore, server: RedisServer) -> None:
    requests = await asked(store, MANY)
    before = await calls(server, "evalsha", "hmget")

    found = await asyncio.gather(*(store.get(Request, *request.key) for request in requests))
    await asyncio.gather(*(store.put(*answered(request)) for request in found))

    assert await calls(server, "evalsha", "hmget") - before <= 4
    assert len(await store.events()) == 2 * MANY
    assert (await verify_store(store))[1] == []


async def test_an_answer_updates_its_lists_in_two_commands(store: RedisStore, server: RedisServer) -> None:
    request = await store_request(store, groups=("a", "b", "c"))
    before = await calls(server, "zadd", "zrem")

    await store.put(*answered(request))

    # One for the lists that it joins, one for those that it leaves, one for the lists of events.
    assert await calls(server, "zadd", "zrem") - before == 3


async def test_of_answers_to_one_request_in_one_moment_one_wins(store: RedisStore) -> None:
    requests = await asked(store, 12)
    names = ("ann", "ben", "cho")

    outcomes = await asyncio.gather(
        *(store.put(*answered(request, by)) for by in names for request in requests), return_exceptions=True
    )

    assert sum(outcome is None for outcome in outcomes) == 12
    assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == 24
    assert (await verify_store(store))[1] == []


async def test_reads_of_one_moment_return_each_its_own_record(store: RedisStore) -> None:
    requests = await asked(store, 3)
    keys = [*(request.key for request in requests), Key("tenant-2", "request-000"), Key("tenant-1", "odd \ud800\0")]

    found = await asyncio.gather(*(store.get(Request, *key) for key in keys), return_exceptions=True)

    assert found[:-2] == requests
    assert [type(each) for each in found[-2:]] == [NotFoundError, NotFoundError]


async def test_a_change_that_fails_does_not_fail_the_others(store: RedisStore, server: RedisServer) -> None:
    requests = await asked(store, 6)
    await server.redis.delete(server.key("request", "texts"))
    await server.redis.set(server.key("request", "texts"), "not a hash: first versions cannot be stored")
    changes = [answered(request) for request in requests]
    changes.insert(3, a_request("request-new"))

    outcomes = await asyncio.gather(*(store.put(*change) for change in changes), return_exceptions=True)

    assert [n for n, outcome in enumerate(outcomes) if outcome is not None] == [3]
    assert isinstance(outcomes[3], UnavailableError)
    assert [(await store.get(Request, *request.key)).version for request in requests] == [2] * 6


async def test_a_request_with_thousands_of_groups_is_on_a_list_of_each(store: RedisStore) -> None:
    request = await store_request(store)
    many, event = request.reassigned("ann", NOON, None, [f"group-{n}" for n in range(3_000)])
    last = Query(tenant=request.tenant, statuses=("pending",), viewer=Viewer(name="ben", groups=("group-2999",)))

    await store.put(many, event)
    assert await store.count(Request, last) == 1
    await store.put(*answered(many))
    assert await store.count(Request, last) == 0


async def test_names_and_marks_are_stored_as_before(store: RedisStore, server: RedisServer) -> None:
    request = await store_request(store, groups=('Ann "the {wise}, \\ one" 田中', "b"))

    (stored,) = await server.redis.hvals(server.key("request", "filed"))

    lists, marks = redis_lists_with_positions(request)
    assert stored.decode() == json.dumps({"lists": lists, "marks": marks}, separators=(",", ":"))
    assert join_redis_name("a\0", '"田') == json.dumps(["a\0", '"田'], separators=(",", ":"))


async def test_an_answer_sends_few_arguments(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = list[Any]()
    put = store._put

    async def recorded(keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        sent.extend(arguments)
        return await put(keys, arguments)

    request = await store_request(store)
    monkeypatch.setattr(store, "_put", recorded)
    await store.put(*answered(request))

    assert len(sent) == 4


async def test_an_erased_thread_has_no_text_to_search(store: RedisStore, server: RedisServer) -> None:
    thread, event = a_thread("thread-1")
    await store.put(thread, event)
    await store.erase(*thread.redacted(Erased(at=NOON, by="ann", rule="person"), {}), {})

    assert await server.redis.exists(server.key("thread", "texts")) == 0
