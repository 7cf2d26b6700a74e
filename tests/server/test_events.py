"""Streams: from the history into the present without a gap or a repeat."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import pytest
from tests.server.world import LIMIT, World, listening, open_world, served, until

from ringi.contracts.backend import StreamItem
from ringi.domain.record import Key
from ringi.inbox.api import Seen
from ringi.runs.stream_writer import stream_topic
from ringi.server.problems import SPREAD_SECONDS
from ringi.server.sse.sse import RETRY_MILLISECONDS, StreamConnection


async def test_a_stream_without_a_place_begins_with_what_comes(live: World) -> None:
    await live.asked(id="old")
    async with listening(live.client(), "/v1/events") as listener:
        await listener.placed()
        await live.asked(id="new")
        sent = await listener.next()
    assert (sent.name, sent.data["request"]["id"]) == ("request.created", "new")
    assert sent.id == sent.data["position"]


async def test_an_event_shows_who_did_what_and_the_public_request(live: World) -> None:
    async with listening(live.client(), "/v1/events?after=0") as listener:
        request = await live.asked()
        sent = await listener.next()
    assert sent.data["type"] == "request.created"
    assert sent.data["actor"] == "agent:bot"
    assert sent.data["at"].endswith("Z")
    assert sent.data["request"] == (await live.client().get(f"/v1/requests/{request.id}")).json()
    assert not {"head", "continuation"} & set(sent.data["request"])


async def test_a_browser_that_saw_nothing_yet_still_knows_where_it_was(live: World) -> None:
    client = live.client()
    async with listening(client, "/v1/events") as listener:
        await listener.placed()
    await live.asked(id="between")
    assert listener.last_id is not None
    async with listening(client, "/v1/events", **{"last-event-id": listener.last_id}) as listener:
        assert (await listener.next()).data["request"]["id"] == "between"


async def test_resuming_under_concurrent_writes_loses_and_repeats_nothing(live: World) -> None:
    total, seen = 300, list[str]()
    writing = asyncio.create_task(write(live, total))
    last = "0"
    while len(seen) < total:
        async with listening(live.client(), "/v1/events", **{"last-event-id": last}) as listener:
            for sent in await listener.take(min(23, total - len(seen))):
                seen.append(sent.data["request"]["id"])
                last = sent.id
    await writing
    assert seen == [f"r{n}" for n in range(total)]


async def write(world: World, total: int) -> None:
    for n in range(total):
        await world.asked(id=f"r{n}")
        if n % 7 == 0:
            await asyncio.sleep(0)  # noqa: TID251


async def test_many_who_arrive_while_others_write_all_see_the_same(live: World) -> None:
    total = 200
    writing = asyncio.create_task(write(live, total))
    seen = await asyncio.gather(*(ids_from_the_start(live, total) for _ in range(20)))
    await writing
    assert all(ids == [f"r{n}" for n in range(total)] for ids in seen)


async def ids_from_the_start(world: World, total: int) -> list[str]:
    async with listening(world.client(), "/v1/events?after=0") as listener:
        return [sent.data["request"]["id"] for sent in await listener.take(total)]


async def test_another_process_is_heard_too(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/ringi.db"
    async with (
        open_world(url, serves=True) as here,
        open_world(url) as there,
        listening(here.client(), "/v1/events") as listener,
    ):
        await listener.placed()
        await there.asked(id="from-there")
        assert (await listener.next()).data["request"]["id"] == "from-there"


async def test_a_stream_holds_only_what_its_caller_may_see(live: World) -> None:
    async with AsyncExitStack() as stack:
        people = [("person", "ann", "default"), ("person", "bob", "default"), ("agent", "bot", "default")]
        people.append(("admin", "root", "elsewhere"))
        paths = [listening(live.client(role, name, tenant), "/v1/events?after=0") for role, name, tenant in people]
        ann, bob, bot, other = [await stack.enter_async_context(path) for path in paths]
        await live.asked(id="for-bob", assignee="bob")
        await live.asked(id="elsewhere", tenant="elsewhere")
        await live.asked(id="for-all", by="another")
        await live.asked(id="by-bot", assignee="carl")
        assert [e.data["request"]["id"] for e in await bob.take(2)] == ["for-bob", "for-all"]
        assert [e.data["request"]["id"] for e in await ann.take(1)] == ["for-all"]
        assert [e.data["request"]["id"] for e in await bot.take(2)] == ["for-bob", "by-bot"]
        assert [e.data["request"]["id"] for e in await other.take(1)] == ["elsewhere"]


async def test_who_loses_sight_of_a_request_is_told_that_it_is_gone_and_no_more(live: World) -> None:
    async with AsyncExitStack() as stack:
        opened = [listening(live.client("person", name), "/v1/events") for name in ("ann", "bob", "carl")]
        ann, bob, carl = [await stack.enter_async_context(each) for each in opened]
        for listener in (ann, bob, carl):
            await listener.placed()
        await live.asked(id="a", assignee="ann")
        assert (await ann.next()).name == "request.created"
        await live.inbox.reassign("a", assignee="bob", by="ann")
        gone = await ann.next()
        assert gone.name == "request.reassigned"
        assert gone.data == {
            "type": "request.reassigned", "position": gone.id, "at": gone.data["at"], "actor": "ann", "gone": "a",
        }  # fmt: skip
        assert (await bob.next()).data["request"]["assignee"] == "bob"
        await live.asked(id="b")
        for listener in (ann, bob, carl):
            assert (await listener.next()).data["request"]["id"] == "b"
    async with listening(live.client("person", "ann"), "/v1/events", **{"last-event-id": "1"}) as late:
        assert (await late.next()).data == gone.data


async def test_a_request_streams_its_history_then_its_life(live: World) -> None:
    request = await live.asked(id="one")
    await live.asked(id="two")
    await live.inbox.claim("one", by="ann")
    async with listening(live.client(), "/v1/requests/one/events") as listener:
        assert [sent.name for sent in await listener.take(2)] == ["request.created", "request.claimed"]
        await live.inbox.claim("two", by="ann")
        await live.inbox.release("one", by="ann")
        await live.inbox.respond(Seen("one", request.digest), "respond", message="yes", by="ann")
        sent = await listener.take(2)
    assert [e.name for e in sent] == ["request.released", "request.completed"]
    assert {e.data["request"]["id"] for e in sent} == {"one"}


@pytest.mark.parametrize("place", ["abc", "-1", "²", "9" * 40])
async def test_a_place_that_is_none_is_refused(world: World, place: str) -> None:
    await world.asked(id="one")
    thread = await world.client().post("/v1/threads/t1/runs", json={"agent": "two_questions"})
    assert thread.status_code == 202
    for path in ("/v1/events", "/v1/requests/one/events", "/v1/threads/t1/stream"):
        reply = await world.client().get(path, headers={b"last-event-id": place.encode()})
        assert (reply.status_code, reply.headers["content-type"]) == (400, "application/problem+json"), path


async def test_a_place_past_the_end_is_refused_and_the_end_itself_is_not(world: World) -> None:
    await world.asked(id="one")
    await world.asked(id="two", tenant="elsewhere")
    end = int(await world.backend.store.tail())
    for path in ("/v1/events", "/v1/requests/one/events"):
        statuses = [
            (await world.client().head(path, headers={"last-event-id": str(end + n)})).status_code for n in (-1, 0, 1)
        ]
        assert statuses == [200, 200, 400], path


async def test_a_thread_is_read_without_following_it(live: World) -> None:
    client = live.client()
    await client.post("/v1/threads/t1/runs", json={"agent": "two_questions"})
    await until_status(live, "interrupted")
    whole = await client.get("/v1/threads/t1/stream?follow=false")
    numbers = [int(number) for number in re.findall(r"^id: (\d+)$", whole.text, re.MULTILINE)]
    assert numbers
    assert "RUN_FINISHED" in whole.text
    rest = await client.get(f"/v1/threads/t1/stream?follow=false&after={numbers[-2]}")
    assert re.findall(r"^id: (\d+)$", rest.text, re.MULTILINE) == [str(numbers[-1])]
    assert (await client.get("/v1/threads/t1/stream?follow=perhaps")).status_code == 400


async def test_a_thread_streams_on_over_a_pause_and_a_reload(live: World) -> None:
    client = live.client()
    await client.post("/v1/threads/t1/runs", json={"agent": "two_questions"})
    await until_status(live, "interrupted")
    async with listening(client, "/v1/threads/t1/stream") as listener:
        first = [await listener.next()]
        while first[-1].data["type"] != "RUN_FINISHED":
            first.append(await listener.next())
    first = [sent for sent in first if sent.name == "message"]
    async with listening(client, f"/v1/threads/t1/stream?after={first[-1].id}") as listener:
        for request in (await client.get("/v1/threads/t1")).json()["pending"]:
            answer = {"decision": "respond", "message": "blue", "digest": request["digest"]}
            assert (await client.post(f"/v1/requests/{request['id']}/respond", json=answer)).status_code == 200
        rest = [await listener.next()]
        while rest[-1].data["type"] != "RUN_FINISHED" or rest[-1].data.get("outcome", {}).get("type") == "interrupt":
            rest.append(await listener.next())
    assert [int(sent.id) for sent in first + rest] == list(range(1, len(first + rest) + 1))


async def until_status(world: World, status: str) -> None:
    async def holds() -> bool:
        return bool((await world.client().get("/v1/threads/t1")).json()["status"] == status)

    await until(holds)


@pytest.mark.parametrize("is_here", [True, False, None], ids=["this process", "another one", "both"])
async def test_all_readers_of_a_busy_thread_read_the_same(live: World, is_here: bool | None) -> None:
    await live.client().post("/v1/threads/t1/runs", json={"agent": "two_questions"})
    await until_status(live, "interrupted")
    key, total = Key("default", "t1"), 400

    async def append() -> None:
        for n in range(total):
            item = StreamItem({"type": "CUSTOM", "n": n})
            number = await live.backend.stream.append(key, [item], fence=99)
            is_known = n % 3 > 0 if is_here is None else is_here
            items = [item._replace(number=number)] if is_known else []
            await live.backend.notifier.publish(stream_topic(key), items)

    async def numbers() -> list[int]:
        async with listening(live.client(), "/v1/threads/t1/stream") as listener:
            read = [await listener.next()]
            while read[-1].data.get("n") != total - 1:
                read.append(await listener.next())
            return [int(sent.id) for sent in read if sent.name == "message"]

    appending = asyncio.create_task(append())
    read = await asyncio.gather(*(numbers() for _ in range(10)))
    await appending
    assert all(each == list(range(1, len(each) + 1)) for each in read)


async def test_output_of_this_process_is_sent_without_reading_the_store(
    live: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await live.client().post("/v1/threads/t1/runs", json={"agent": "two_questions"})
    await until_status(live, "interrupted")
    key, stream = Key("default", "t1"), live.backend.stream
    async with listening(live.client(), "/v1/threads/t1/stream") as listener:
        while (await listener.next()).data.get("outcome", {}).get("type") != "interrupt":
            pass
        reads: list[Key] = []

        async def read(key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
            reads.append(key)
            return await real(key, after, limit)

        real = stream.read
        monkeypatch.setattr(stream, "read", read)
        item = StreamItem({"type": "CUSTOM", "n": 1})
        for _ in range(20):
            number = await stream.append(key, [item], fence=99)
            await live.backend.notifier.publish(stream_topic(key), [item._replace(number=number)])
            assert int((await listener.next()).id) == number
    # The server reads the revoked tokens by its own clock, whatever is streamed.
    assert reads.count(key) <= 2, "one when it begins to follow, and one by the clock"


async def test_a_stream_is_never_kept_or_delayed_by_what_lies_between(live: World) -> None:
    async with listening(live.client(), "/v1/events") as listener:
        headers = listener.response.headers
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] == "no-cache"
    assert headers["x-accel-buffering"] == "no"


async def test_a_silent_stream_is_kept_alive(store_url: str) -> None:
    async with (
        open_world(store_url, serves=True, keep_alive_seconds=0.05) as world,
        world.client().stream("GET", "/v1/events?after=0") as response,
        asyncio.timeout(LIMIT),
    ):
        lines = response.aiter_lines()
        while await anext(lines) != "event: heartbeat":
            pass
        assert await anext(lines) == "data: {}"


async def test_a_stream_that_begins_now_tells_a_script_where(live: World) -> None:
    await live.asked(id="old")
    async with live.client().stream("GET", "/v1/events") as response, asyncio.timeout(LIMIT):
        lines = response.aiter_lines()
        while not (line := await anext(lines)).startswith("event: "):
            assert not line.startswith("id: "), "an event without data reaches no script in a browser"
        assert [line, await anext(lines), await anext(lines), await anext(lines)] == [
            "event: heartbeat",
            f"id: {response.headers['last-event-id']}",
            "data: {}",
            "",
        ]


async def test_the_heartbeat_of_a_protocol_of_others_is_a_comment(store_url: str) -> None:
    async with open_world(store_url, serves=True, keep_alive_seconds=0.05) as world, asyncio.timeout(LIMIT):
        await world.client().post("/v1/threads/t1/runs", json={"agent": "two_questions"})
        await until_status(world, "interrupted")
        async with world.client().stream("GET", "/v1/chat/t1/stream?hold=true") as response:
            lines = response.aiter_lines()
            while (line := await anext(lines)) != ":":
                assert not line.startswith("event:")


async def test_each_reader_is_told_another_time_to_come_again(live: World) -> None:
    hints = [await told_to_return(live) for _ in range(20)]
    assert len(set(hints)) > 1
    assert RETRY_MILLISECONDS[0] <= min(hints) <= max(hints) <= RETRY_MILLISECONDS[1]


async def told_to_return(world: World) -> int:
    async with world.client().stream("GET", "/v1/events") as response, asyncio.timeout(LIMIT):
        key, _, value = (await anext(response.aiter_lines())).partition(": ")
    assert key == "retry"
    return int(value)


async def test_streams_are_limited_for_each_caller_and_given_back(store_url: str) -> None:
    async with open_world(store_url, serves=True, streams_per_caller=2) as world:
        client = world.client()
        async with listening(client, "/v1/events"), listening(client, "/v1/events?after=0"):
            reply = await client.get("/v1/events")
            assert (reply.status_code, reply.json()["code"]) == (429, "limit")
            assert 5 <= int(reply.headers["retry-after"]) <= 5 + SPREAD_SECONDS
            async with listening(world.client("person", "bob"), "/v1/events"):
                pass
        await until_open(world, 0)
        async with listening(client, "/v1/events"):
            pass


async def test_long_polls_count_as_streams(store_url: str) -> None:
    async with open_world(store_url, serves=True, streams_per_caller=1) as world:
        await world.asked(id="one")
        client = world.client()
        async with listening(client, "/v1/events"):
            reply = await client.get("/v1/requests/one?wait=25")
            assert (reply.status_code, reply.json()["code"]) == (429, "limit")
            assert (await client.get("/v1/requests/one")).status_code == 200
        await until_open(world, 0)
        for _ in range(2):
            assert (await client.get("/v1/requests/one?wait=0.01")).status_code == 200


async def until_open(world: World, count: int) -> None:
    async def holds() -> bool:
        return f"ringi_open_streams {count}.0\n" in (await world.stranger().get("/metrics")).text

    await until(holds)


async def test_streams_are_limited_for_the_process(store_url: str) -> None:
    async with (
        open_world(store_url, serves=True, streams_per_process=1) as world,
        listening(world.client("person", "ann"), "/v1/events"),
    ):
        assert (await world.client("person", "bob").get("/v1/events")).status_code == 429


async def test_a_stream_ends_with_its_token(store_url: str) -> None:
    async with open_world(store_url, serves=True, keep_alive_seconds=0.05) as world:
        token = world.keys.mint(role="person", name="ann", expires_in=5)
        async with listening(world.stranger(authorization=f"Bearer {token}"), "/v1/events") as listener:
            assert (await listener.next()).name == "closing"


async def test_the_end_of_the_server_ends_streams_and_long_polls_at_once(store_url: str) -> None:
    async with open_world(store_url) as world:
        await world.asked(id="one")
        client = None
        async with served(world) as server:
            client = world.client()
            waiting = asyncio.create_task(client.get("/v1/requests/one?wait=25"))
            async with listening(client, "/v1/events") as listener:
                await listener.placed()
                server.should_exit = True
                assert (await listener.next()).name == "closing"
            assert (await waiting).json()["status"] == "pending"


async def test_a_reader_that_does_not_keep_up_is_let_go_and_its_slot_given_back(store_url: str) -> None:
    async with open_world(store_url, serves=True, stream_buffer=200_000) as world:
        slow = open_raw(world, "/v1/events?after=0")
        try:
            await until_open(world, 1)
            # What is read from the store at first is sent at the reader's speed: only later events fill a buffer.
            while b"\r\n\r\n" not in await asyncio.to_thread(slow.recv, 4096):
                pass
            for n in range(60):
                await world.asked(id=f"r{n}", description="x" * 20_000, context={"more": "y" * 200_000})
            await until_open(world, 0)
        finally:
            slow.close()


def open_raw(world: World, path: str) -> socket.socket:
    parts = urlsplit(world.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((parts.hostname, parts.port))
    head = (
        f"GET {path} HTTP/1.1\r\nhost: {parts.netloc}\r\nauthorization: Bearer {world.token('person', 'ann')}\r\n\r\n"
    )
    connection.sendall(head.encode())
    return connection


async def test_one_event_for_many_is_encoded_once(live: World, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = list[bytes]()
    push = StreamConnection.push

    def noted(self: StreamConnection, chunk: bytes) -> None:
        chunks.append(chunk)
        push(self, chunk)

    monkeypatch.setattr(StreamConnection, "push", noted)
    async with AsyncExitStack() as stack:
        people = [("person", name) for name in ("ann", "bob", "carl")] + [("admin", "root")]
        opened = [await stack.enter_async_context(listening(live.client(*who), "/v1/events")) for who in people]
        # A stream that is still reading its history gets the event from there.
        for number in range(20):
            chunks.clear()
            await live.asked(id=f"r{number}")
            for listener in opened:
                await listener.next()
            if len(events := [chunk for chunk in chunks if b"data:" in chunk]) == len(people):
                break
    assert len(events) == len(people)
    assert len({id(chunk) for chunk in events}) == 1
    assert json.loads(events[0].split(b"data: ")[1])["request"]["id"] == f"r{number}"
