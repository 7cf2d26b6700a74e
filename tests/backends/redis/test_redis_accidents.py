"""What no contract can see: a killed server, lost connections and replies, forgotten scripts, no memory."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests import servers
from tests.mortal_redis import MortalRedis, mortal_redis
from tests.proxy import Proxy

from ringi.audit.verify import verify_store
from ringi.backends.redis.server import CONNECTIONS, RedisServer
from ringi.backends.redis.store import RedisStore
from ringi.backends.redis.stream import RedisNotifier, RedisStream
from ringi.base.settings import SettingError
from ringi.connect import Notify, open_backend, open_inbox_on_backend, store_inbox
from ringi.contracts.backend import StreamItem, Wakeup
from ringi.domain.record import START, Key, Query
from ringi.domain.request import Request
from ringi.errors import RingiError, UnavailableError
from ringi.inbox.inbox import StoreInbox
from ringi.testing import store_request

LIMIT = 20.0
NEVER = 3_600.0
"""A poll interval that no test lives to see the end of."""
KEY = Key("tenant-1", "thread-1")


@pytest.fixture(params=[servers.redis_program, servers.valkey_program], ids=["redis", "valkey"])
def mortal(request: pytest.FixtureRequest) -> Iterator[MortalRedis]:
    with mortal_redis(request.param()) as server:
        yield server


@pytest.fixture
async def proxy(server_url: str) -> AsyncIterator[Proxy]:
    async with Proxy(urlsplit(server_url).port or 0) as proxy:
        yield proxy


@pytest.fixture
async def behind(proxy: Proxy, server_url: str) -> AsyncIterator[RedisServer]:
    """The server by way of the proxy."""
    async with RedisServer(server_url.replace(f":{urlsplit(server_url).port}/", f":{proxy.port}/")) as server:
        yield server


async def until(check: Callable[[], Awaitable[Any]]) -> Any:
    """Return what the check returns once it is true and raises nothing of ours."""
    rest = Wakeup()
    async with asyncio.timeout(LIMIT):
        while True:
            with suppress(RingiError):
                if found := await check():
                    return found
            await rest.wait(0.02)


async def answered(inbox: StoreInbox, title: str) -> Request:
    """Ask, and return what the answer was acknowledged with."""
    asked = await inbox.ask(title)
    return await inbox.respond(asked, "respond", by="ann", message=title)


async def busy(inbox: StoreInbox, acknowledged: list[Request]) -> None:
    """Have questions answered until the server is gone."""
    with suppress(UnavailableError):
        for n in range(100_000):
            acknowledged.append(await answered(inbox, f"Question {n}"))  # noqa: PERF401 - it ends in the middle


@pytest.mark.timeout(120)
async def test_no_acknowledged_answer_is_lost_when_the_server_is_killed(mortal: MortalRedis) -> None:
    acknowledged: list[Request] = []
    async with open_backend(mortal.url, notify="polling") as backend, open_inbox_on_backend(backend) as inbox:
        for _ in range(3):
            before = len(acknowledged)
            async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
                for _ in range(8):
                    group.create_task(busy(inbox, acknowledged))
                while len(acknowledged) < before + 100:
                    await Wakeup().wait(0.005)
                mortal.kill()
            mortal.start()

        await until(backend.store.tail)
        found = await backend.store.get_many(Request, [request.key for request in acknowledged])
        by_id = {request.id: request for request in found}
        assert [by_id.get(request.id) for request in acknowledged] == acknowledged
        assert (await verify_store(backend.store))[1] == []


async def test_a_server_that_comes_back_is_used_again(mortal: MortalRedis) -> None:
    async with open_backend(mortal.url, poll_interval=NEVER) as backend:
        await store_request(backend.store, "before")
        mortal.kill()
        with pytest.raises(UnavailableError):
            await store_request(backend.store, "meanwhile")
        mortal.start()

        assert (await backend.store.get(Request, "tenant-1", "before")).id == "before"
        async with backend.notifier.subscribe("topic") as wakeup, store_inbox(mortal.url) as other:

            async def is_woken() -> bool:
                await other.notifier.publish("topic")
                return await wakeup.wait(0.05)

            assert await until(is_woken)


async def test_a_change_whose_reply_is_lost_is_done_once(
    behind: RedisServer, server: RedisServer, proxy: Proxy
) -> None:
    store, direct = RedisStore(behind), RedisStore(server)
    await store_request(store, "before")
    proxy.drops_replies = True
    saving = asyncio.create_task(store_request(store))
    await until(lambda: direct.get(Request, "tenant-1", "request-1"))
    proxy.drops_replies = False
    proxy.cut()

    await saving
    assert [event.record_id for event in await direct.events()] == ["before", "request-1"]


async def test_output_whose_reply_is_lost_is_added_once(behind: RedisServer, server: RedisServer, proxy: Proxy) -> None:
    stream, direct = RedisStream(behind), RedisStream(server)
    await stream.append(KEY, [StreamItem({"n": 1})], fence=1)
    proxy.drops_replies = True
    adding = asyncio.create_task(stream.append(KEY, [StreamItem({"n": 2})], fence=1))
    await until(lambda: direct.read(KEY, 1))
    proxy.drops_replies = False
    proxy.cut()

    assert await adding == 2
    assert [item.number for item in await direct.read(KEY)] == [1, 2]


async def test_a_move_whose_reply_is_lost_is_no_conflict(
    behind: RedisServer, server: RedisServer, proxy: Proxy
) -> None:
    store, direct = RedisStore(behind), RedisStore(server)
    await store_request(store)
    tail = await store.tail()
    await store.move_cursor("notices", START, tail)
    proxy.drops_replies = True
    moving = asyncio.create_task(store.move_cursor("webhooks", START, tail))
    await until(lambda: direct.cursor("webhooks"))
    proxy.drops_replies = False
    proxy.cut()

    await moving
    assert await direct.cursor("webhooks") == tail


async def test_a_connection_that_was_cut_while_idle_costs_nothing(behind: RedisServer, proxy: Proxy) -> None:
    store = RedisStore(behind)
    await store_request(store, "before")
    proxy.cut()

    assert (await store_request(store)).version == 1


async def test_nobody_who_waits_for_a_connection_is_passed_by_those_who_come_later(server: RedisServer) -> None:
    calls: list[int] = []

    async def caller() -> None:
        for nth in range(4):
            await server.time()
            calls.append(nth)

    await asyncio.gather(*(caller() for _ in range(4 * CONNECTIONS)))

    lasts_first = len(calls) - 1 - calls[::-1].index(0)
    assert lasts_first < calls.index(2)


async def test_a_server_that_forgot_its_scripts_is_told_them_again(server: RedisServer) -> None:
    store = RedisStore(server)
    await store_request(store, "before")
    await server.redis.script_flush()
    asked = await store_request(store)
    await server.redis.script_flush()

    assert asked in await store.find(Request, Query(tenant="tenant-1"))


async def test_without_memory_nothing_is_half_done(mortal: MortalRedis) -> None:
    async with RedisServer(mortal.url) as server:
        store = RedisStore(server)
        before = await store_request(store, "before")
        await server.redis.config_set("maxmemory", "1")
        with pytest.raises(UnavailableError, match="memory"):
            await store_request(store)
        with pytest.raises(UnavailableError, match="memory"):
            await store.put(*before.cancelled("ann", before.created_at, None))
        await server.redis.config_set("maxmemory", "0")

        assert await store.find(Request, Query()) == [before]
        assert await verify_store(store) == (1, [])


async def test_messages_alone_wake_at_once(mortal: MortalRedis) -> None:
    opened: dict[str, Any] = {"notify": "pubsub", "poll_interval": NEVER}
    async with store_inbox(mortal.url, **opened) as inbox, store_inbox(mortal.url, **opened) as other:
        asked = await inbox.ask("Go on?")
        waiting = asyncio.create_task(inbox.wait(asked.id, LIMIT))
        await until(lambda: is_waited_for(inbox, asked))
        await other.respond(asked, "respond", by="ann", message="yes")

        assert (await waiting).status == "completed"


async def is_waited_for(inbox: StoreInbox, *requests: Request) -> bool:
    return all(request.topic in inbox.notifier._listeners for request in requests)


async def test_a_thousand_waits_of_a_process_wake_over_one_connection(server: RedisServer, second: RedisServer) -> None:
    async with RedisNotifier(server, NEVER) as notifier, RedisNotifier(second, NEVER) as elsewhere:
        inbox, other = StoreInbox(RedisStore(server), notifier), StoreInbox(RedisStore(second), elsewhere)
        async with inbox.feed:
            asked = [await inbox.ask(f"Question {n}") for n in range(1_000)]
            waits = [asyncio.create_task(inbox.wait(request.id, LIMIT)) for request in asked]
            await until(lambda: is_waited_for(inbox, *asked))
            (_, listeners), *_ = await server.redis.pubsub_numsub(server.key("bell"))
            for request in asked:
                await other.cancel(request.id, by="ann")
            ended = await asyncio.gather(*waits)

    assert listeners == 2
    assert [request.status for request in ended] == ["cancelled"] * 1_000


async def test_a_wait_without_messages_wakes_by_polling(behind: RedisServer, server: RedisServer, proxy: Proxy) -> None:
    async with RedisNotifier(behind, 0.05) as notifier:
        inbox, other = (
            StoreInbox(RedisStore(server), notifier),
            StoreInbox(RedisStore(server), RedisNotifier(server, NEVER)),
        )
        proxy.is_blocked = True
        proxy.cut()
        async with inbox.feed:
            asked = await inbox.ask("Go on?")
            waiting = asyncio.create_task(inbox.wait(asked.id, LIMIT))
            await until(lambda: is_waited_for(inbox, asked))
            await other.cancel(asked.id, by="ann")

            assert (await waiting).status == "cancelled"


async def test_a_notifier_whose_connection_was_lost_wakes_all_and_hears_again(
    behind: RedisServer, server: RedisServer, proxy: Proxy
) -> None:
    async with (
        RedisNotifier(behind, NEVER) as notifier,
        RedisNotifier(server, NEVER) as other,
        notifier.subscribe("missed") as missed,
        notifier.subscribe("topic") as topic,
    ):
        proxy.is_blocked = True
        proxy.cut()
        await until(listeners_are(server, 1))
        await other.publish("missed")
        proxy.is_blocked = False

        assert await missed.wait(LIMIT)
        await topic.wait(0)
        await other.publish("topic")
        assert await topic.wait(LIMIT)


def listeners_are(server: RedisServer, listeners: int) -> Callable[[], Awaitable[bool]]:
    async def has_so_many() -> bool:
        return [number for _, number in await server.redis.pubsub_numsub(server.key("bell"))] == [listeners]

    return has_so_many


async def test_a_connection_that_says_nothing_any_more_is_made_anew(
    behind: RedisServer, server: RedisServer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringi.backends.redis.stream.SILENCE", 0.1)
    async with RedisNotifier(behind, NEVER) as notifier, notifier.subscribe("missed") as missed:
        proxy.drops_replies = True
        await server.redis.publish(server.key("bell"), "another missed")
        await until(listeners_are(server, 0))
        proxy.drops_replies = False
        proxy.cut()

        assert await missed.wait(LIMIT)


async def test_a_connection_that_the_driver_makes_anew_is_noticed(server: RedisServer, second: RedisServer) -> None:
    async with RedisNotifier(server, NEVER) as notifier, notifier.subscribe("missed") as missed:
        await second.redis.client_kill_filter(_type="pubsub")

        assert await missed.wait(LIMIT)


async def test_a_store_opens_without_the_redis_that_wakes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RINGI_REDIS_URL", f"redis://127.0.0.1:{servers.free_port()}/0")
    url = f"sqlite:///{tmp_path}/ringi.db"
    with caplog.at_level(logging.WARNING):
        async with store_inbox(url, poll_interval=0.05) as inbox, store_inbox(url, notify="polling") as other:
            asked = await inbox.ask("Go on?")
            waiting = asyncio.create_task(inbox.wait(asked.id, LIMIT))
            await until(lambda: is_waited_for(inbox, asked))
            await other.cancel(asked.id, by="ann")

            assert (await waiting).status == "cancelled"
    assert "no connection for wake-ups from other processes" in caplog.text
    with pytest.raises(UnavailableError):
        async with store_inbox(url, notify="pubsub"):
            pass


async def test_a_redis_that_is_away_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    async with RedisServer(f"redis://127.0.0.1:{servers.free_port()}/0") as server:
        with caplog.at_level(logging.WARNING):
            async with RedisNotifier(server, NEVER, must_listen=False) as notifier:
                for n in range(1, 4):
                    await notifier.publish(f"topic-{n}")
                    await until(has_lost(notifier, n))

    assert caplog.text.count("wake-ups were lost") == 1


def has_lost(notifier: RedisNotifier, number: int) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return notifier.lost == number

    return is_so


@pytest.fixture(params=["sqlite", "postgres"])
def other_store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ringi.db"
    return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"


async def test_a_redis_wakes_who_waits_on_another_store(
    other_store_url: str, monkeypatch: pytest.MonkeyPatch, server_url: str
) -> None:
    monkeypatch.setenv("RINGI_REDIS_URL", server_url)
    opened: dict[str, Any] = {"notify": "pubsub", "poll_interval": NEVER}
    async with store_inbox(other_store_url, **opened) as inbox, store_inbox(other_store_url, **opened) as other:
        asked = await inbox.ask("Go on?")
        waiting = asyncio.create_task(inbox.wait(asked.id, LIMIT))
        await until(lambda: is_waited_for(inbox, asked))
        assert type(inbox.notifier) is RedisNotifier
        await other.cancel(asked.id, by="ann")

        assert (await waiting).status == "cancelled"


async def test_a_store_without_messages_is_no_pubsub(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="RINGI_REDIS_URL"):
        async with store_inbox(f"sqlite:///{tmp_path}/ringi.db", notify="pubsub"):
            pass


@pytest.mark.parametrize("notify", ["polling", "webhook"])
async def test_polling_tells_nobody(server_url: str, monkeypatch: pytest.MonkeyPatch, notify: Notify) -> None:
    monkeypatch.setenv("RINGI_REDIS_URL", server_url)
    async with open_backend("memory://", notify=notify) as backend, backend.notifier.subscribe("topic") as wakeup:
        await backend.notifier.publish("topic")

        assert not await wakeup.wait(0.05)


async def test_no_wake_up_is_lost_while_listeners_are_cut_off_again_and_again(
    server: RedisServer, second: RedisServer
) -> None:
    async with RedisNotifier(server, 0.5) as notifier, RedisNotifier(second, 0.5) as elsewhere:
        inbox, other = StoreInbox(RedisStore(server), notifier), StoreInbox(RedisStore(second), elsewhere)
        async with inbox.feed:
            asked = [await inbox.ask(f"Question {n}") for n in range(300)]
            waits = [asyncio.create_task(inbox.wait(request.id, LIMIT)) for request in asked]
            await until(lambda: is_waited_for(inbox, *asked))
            for n, request in enumerate(asked):
                if n % 10 == 0:
                    await server.redis.client_kill_filter(_type="pubsub")
                await other.cancel(request.id, by="ann")
            ended = await asyncio.gather(*waits)
        await until(listeners_are(server, 2))

    assert [request.status for request in ended] == ["cancelled"] * 300


async def test_all_that_it_does_stays_in_one_slot_of_a_cluster() -> None:
    with mortal_redis(servers.redis_program(), "--cluster-enabled", "yes") as node:
        async with RedisServer(node.url) as server:
            await server.redis.execute_command("CLUSTER ADDSLOTS", *range(16_384))
            store, stream = RedisStore(server), RedisStream(server)
            asked = await until(lambda: store_request(store))
            await store.put(*asked.cancelled("ann", asked.created_at, None))
            await store.move_cursor("webhooks", START, await store.tail())
            await stream.append(KEY, [StreamItem({"n": 1})], fence=1)

            assert [request.status for request in await store.find(Request, Query(text="refund"))] == ["cancelled"]
            assert await store.count(Request, Query(tenant="tenant-1")) == 1
            assert len(await store.events(tenant="tenant-1")) == 2
            assert len(await stream.read(KEY)) == 1


async def test_a_server_that_does_not_answer_costs_one_wait_and_not_one_for_each_call(
    behind: RedisServer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RedisStore(behind)
    await store_request(store, "before")
    proxy.drops_replies = True
    for name in ("WAIT_SECONDS", "PROBE_SECONDS"):
        monkeypatch.setattr(f"ringi.backends.redis.server.{name}", 0.2)
    with pytest.raises(UnavailableError):
        await store_request(store, "lost")

    monkeypatch.setattr("ringi.backends.redis.server.WAIT_SECONDS", 600.0)
    async with asyncio.timeout(LIMIT):
        with pytest.raises(UnavailableError, match="does not answer"):
            await store.get(Request, "tenant-1", "before")
    proxy.drops_replies = False
    proxy.cut()
    await until(lambda: is_stored(store, "before"))


async def is_stored(store: RedisStore, id: str) -> bool:
    try:
        return bool(await store.get(Request, "tenant-1", id))
    except UnavailableError:
        return False
