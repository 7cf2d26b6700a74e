"""`ringi verify` compares the lists, marks and texts in Redis with the records, also beside writers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from ringi.audit.verify import verify_store
from ringi.backends.redis.inspection import is_record_on_its_lists
from ringi.backends.redis.lists import redis_record_field
from ringi.backends.redis.server import RedisServer
from ringi.backends.redis.store import RedisStore
from ringi.contracts.store import change_record
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.voting import Decider
from ringi.testing import store_request
from ringi.testing.clock import NOON
from ringi.testing.conformance.erasures import erase_content, store_completed
from ringi.testing.factories import a_journal, a_thread

FIELD = redis_record_field("tenant-1", "request-1")


@pytest.fixture
async def store(server: RedisServer) -> RedisStore:
    """Requests in each state and on each sort of list, a thread and a journal."""
    store = RedisStore(server)
    for n in range(1, 4):
        await store_request(
            store, f"request-{n}", expires_at=NOON + timedelta(days=n), thread_id="thread-1", parked=n == 2
        )
    odd = await store_request(store, "odd:1", tenant='tenant"]', title="日本語", assignee="ann")
    done, event = odd.cancelled("ann", NOON, "not now")
    await store.put(done, event)
    await erase_content(store, await store_completed(store, "erased"))
    for record, event in (a_thread(), a_journal()):
        await store.put(record, event)
    return store


async def findings(store: RedisStore) -> list[str]:
    _, found = await verify_store(store)
    return [f"{each.key.id}: {each.what}" for each in found]


async def test_what_was_written_and_erased_in_good_order_has_no_findings(
    server: RedisServer, store: RedisStore
) -> None:
    assert await findings(store) == []


async def member(server: RedisServer, part: str) -> bytes:
    """Return a member of a list of the first request."""
    members = await server.redis.zrange(server.key("request", "lists"), 0, -1)
    found: bytes = next(each for each in members if part.encode() in each and each.endswith(FIELD))
    return found


async def drop_from_a_list(server: RedisServer) -> None:
    await server.redis.zrem(server.key("request", "lists"), await member(server, '["shown"'))


async def drop_the_deadline(server: RedisServer) -> None:
    await server.redis.zrem(server.key("request", "lists"), await member(server, '["expires"]'))


async def put_into_another_list(server: RedisServer) -> None:
    wrong = (await member(server, '["shown"')).replace(b"tenant-1", b"tenant-2", 1)
    await server.redis.zadd(server.key("request", "lists"), {wrong: 0})


async def move_the_deadline(server: RedisServer) -> None:
    old = await member(server, '["expires"]')
    head, _, rest = old.partition(b"\0")
    await server.redis.zadd(server.key("request", "lists"), {head + b"\0" + b"9" * 18 + rest[18:]: 0})


async def change_the_text(server: RedisServer) -> None:
    await server.redis.hset(server.key("request", "texts"), FIELD, "x")


async def drop_the_marks(server: RedisServer) -> None:
    await server.redis.hdel(server.key("request", "filed"), FIELD)


async def delete_the_record(server: RedisServer) -> None:
    await server.redis.hdel(server.key("request", "bodies"), FIELD)


async def spoil_the_record(server: RedisServer) -> None:
    await server.redis.hset(server.key("request", "bodies"), FIELD, "1 token {")


TAMPERINGS: dict[Callable[[RedisServer], Awaitable[None]], str] = {
    drop_from_a_list: "request-1: it is missing in a list",
    drop_the_deadline: "request-1: it is missing in a list",
    put_into_another_list: "request-1: it stands in a list that is not its own",
    move_the_deadline: "request-1: it stands in a list that is not its own",
    change_the_text: "request-1: the text it is searched by is not what it says",
    drop_the_marks: "request-1: its marks are not what it says",
    delete_the_record: "request-1: it is filed, and is not there",
    spoil_the_record: "request-1: it cannot be read",
}


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
async def test_what_does_not_fit_is_named(
    server: RedisServer, store: RedisStore, tamper: Callable[[RedisServer], Awaitable[None]]
) -> None:
    await tamper(server)
    found = await findings(store)
    assert [each for each in found if each.startswith(TAMPERINGS[tamper])], found
    assert {each.partition(":")[0] for each in found} <= {"request-1", ""}


async def test_requests_that_change_while_they_are_compared_are_no_findings(
    server: RedisServer, store: RedisStore
) -> None:
    root = Decider("root", is_admin=True)

    async def write() -> None:
        while True:
            for to in ("bob", "eve"):
                give = lambda request, to=to: request.reassigned(root, now=NOON, assignee=to, groups=())  # noqa: E731
                await change_record(store, Request, Key("tenant-1", "request-1"), give)

    writing = asyncio.create_task(write())
    try:
        for _ in range(20):
            assert await findings(store) == []
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


@pytest.mark.parametrize("filed", [b"[]", b"5", b'"x"', b'{"lists":[{}]}', b'{"lists":5}', b"{", b"\xff"])
def test_damaged_marks_are_not_what_a_record_says(filed: bytes) -> None:
    assert not is_record_on_its_lists(filed, ["a"], {})
    assert is_record_on_its_lists(b'{"lists":["a"],"marks":{}}', ["a"], {})
