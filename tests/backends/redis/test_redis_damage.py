"""One damaged record in Redis: `ringi verify` names it, and the tenant's other requests are found and changed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ringi.audit.verify import verify_store
from ringi.backends.redis.inspection import is_record_on_its_lists, redis_field_of_member
from ringi.backends.redis.lists import redis_record_field
from ringi.backends.redis.server import RedisServer
from ringi.backends.redis.store import RedisStore
from ringi.contracts.store import change_record
from ringi.domain.record import Key, Query
from ringi.domain.request import Request
from ringi.errors import UnavailableError
from ringi.testing import store_request
from ringi.testing.clock import NOON

DEEP = "[" * 200_000
FIELD = redis_record_field("tenant-1", "request-2")
LATER = NOON + timedelta(days=30)
MARKS = {
    "deep": DEEP,
    "broken": "[",
    "number": "5",
    "text": '"x"',
    "null": "null",
    "list": "[]",
    "no marks": "{}",
    "null marks": '{"lists":null,"marks":null}',
    "number as marks": '{"lists":5,"marks":5}',
    "number as a deadline": '{"lists":[{}],"marks":{"[\\"tenant\\",\\"tenant-1\\"]":"","[\\"expires\\"]":5}}',
    "no text": b"\xff",
}


@pytest.fixture
async def store(server: RedisServer) -> RedisStore:
    """Three requests with a deadline."""
    store = RedisStore(server)
    for n in range(1, 4):
        await store_request(store, f"request-{n}", title=f"Lamp {n}", expires_at=NOON + timedelta(days=n))
    return store


async def findings(store: RedisStore) -> list[str]:
    _, found = await verify_store(store)
    return [f"{each.key.id}: {each.what}" for each in found]


async def ids(store: RedisStore, **query: object) -> list[str]:
    return sorted(request.id for request in await store.find(Request, Query.model_validate(query)))


@pytest.mark.parametrize("score", [7, -7, 0.5, "inf"])
async def test_a_list_out_of_order_is_named(server: RedisServer, store: RedisStore, score: float | str) -> None:
    lists = server.key("request", "lists")
    for member in await server.redis.zrange(lists, 0, -1):
        if member.endswith(FIELD):
            await server.redis.zadd(lists, {member: score})
    found = await findings(store)
    assert "request-2: it is missing in a list" in found
    assert [each for each in found if each.startswith("request-2: it stands at a wrong place in a list (")]
    assert {each.partition(":")[0] for each in found} == {"request-2"}


@pytest.mark.parametrize("filed", MARKS.values(), ids=MARKS)
async def test_damaged_marks_are_named_and_hide_no_other_request(
    server: RedisServer, store: RedisStore, filed: str | bytes
) -> None:
    await server.redis.hset(server.key("request", "filed"), FIELD, filed)
    assert await findings(store) == ["request-2: its marks are not what it says"]
    for query in ({"tenant": "tenant-1"}, {"expired_at": LATER}, {"tenant": "tenant-1", "text": "lamp"}):
        found = await ids(store, **query)
        assert set(found) - {"request-2"} == {"request-1", "request-3"}, query
    assert await store.count(Request, Query(expired_at=LATER)) >= 2


@pytest.mark.parametrize("filed", MARKS.values(), ids=MARKS)
async def test_a_change_writes_the_damaged_marks_anew_with_its_event(
    server: RedisServer, store: RedisStore, filed: str | bytes
) -> None:
    await server.redis.hset(server.key("request", "filed"), FIELD, filed)
    key = Key("tenant-1", "request-2")
    await change_record(store, Request, key, lambda request: request.cancelled("ann", NOON, "not now"))
    assert [event.version for event in await store.events(tenant="tenant-1", record_id="request-2")] == [1, 2]
    assert await ids(store, tenant="tenant-1", statuses=("cancelled",)) == ["request-2"]
    assert not [each for each in await findings(store) if "marks" in each]


@pytest.mark.parametrize("body", ["", "x", "1 token", "1 token {", f"1 token {DEEP}"], ids=len)
async def test_a_damaged_record_is_named_and_hides_no_other(server: RedisServer, store: RedisStore, body: str) -> None:
    await server.redis.hset(server.key("request", "bodies"), FIELD, body)
    assert "request-2: it cannot be read" in await findings(store)
    assert await ids(store, tenant="tenant-1") == ["request-1", "request-3"]
    assert await ids(store, expired_at=LATER) == ["request-1", "request-3"]


async def test_a_list_with_a_damaged_name_is_named(server: RedisServer, store: RedisStore) -> None:
    await server.redis.zadd(server.key("request", "lists"), {DEEP.encode() + b"\0" + b"1" * 18 + FIELD: 0})
    (found,) = await findings(store)
    assert found.startswith("request-2: it stands in a list that is not its own ([[[")
    assert len(found) < 200


def test_what_is_nested_too_deep_is_no_mark_and_no_list() -> None:
    assert not is_record_on_its_lists(DEEP.encode(), ["a"], {})
    assert redis_field_of_member(DEEP.encode() + b"\0" + b"1" * 18 + FIELD) == FIELD


@pytest.mark.parametrize("part", ["lists", "filed", "texts"])
async def test_a_key_of_another_type_is_named_and_the_rest_is_checked(
    server: RedisServer, store: RedisStore, part: str
) -> None:
    journals = server.key("journal", "filed")
    await server.redis.hset(journals, b"journal-1\0tenant-1", "{}")
    await server.redis.set(server.key("request", part), "x")
    found = await findings(store)
    assert [each for each in found if each.startswith(": not all of them can be compared with their lists (WRONGTYPE")]
    assert "journal-1: it is filed, and is not there" in found


async def test_an_outage_is_no_finding(server: RedisServer, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scan(*_: object, **__: object) -> None:
        raise ConnectionError("refused")

    monkeypatch.setattr(server.redis, "hscan", scan)
    with pytest.raises(UnavailableError, match="refused"):
        await findings(store)
