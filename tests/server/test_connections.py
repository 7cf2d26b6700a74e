"""Calls that are sent by halves: each ends in time, and everybody else is served meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from tests.server.world import LIMIT, World, listening, open_world, served, until

from ringi.server import connections, middleware
from ringi.server.connections import PROGRESS, BoundedProtocol

CHUNKED = (
    b"POST /v1/requests HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"
)
HALVES = {
    "nothing": b"",
    "a line": b"GET /healthz HTTP/1.1\r\n",
    "no end": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: b\r\n",
    "line breaks": b"\r\n\r\n\r\n",
    "no body": b"POST /v1/requests HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"content-length: 9\r\n\r\n{",
    "no last chunk": CHUNKED,
    "refused, no body": b"POST /v1/requests HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n"
    b"content-length: 9\r\n\r\n{",
    "a whole call, then half": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /hea",
}
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connected(world: World) -> AsyncIterator[Pair]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
    try:
        yield reader, writer
    finally:
        writer.close()


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the server closes the connection, or fail."""
    try:
        return await asyncio.wait_for(reader.read(), LIMIT)
    except ConnectionResetError:
        return b""


async def healthy(world: World) -> bool:
    return (await world.stranger().get("/healthz")).status_code == 200


@pytest.fixture
async def short() -> AsyncIterator[World]:
    async with open_world("memory://", serves=True, header_seconds=0.2, body_seconds=0.3) as world:
        yield world


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
async def test_half_a_call_is_closed(short: World, half: bytes) -> None:
    async with connected(short) as (reader, writer):
        writer.write(half)
        assert await healthy(short)
        reply = await rest_of(reader)
    refused = b"content-length: 9" in half and b"text/plain" in half
    assert (b" 415 " if refused else b" 408 ") in reply


async def test_a_large_body_has_time_as_long_as_it_comes() -> None:
    async with open_world("memory://") as world, served(world) as server, connected(world) as (reader, writer):
        lines = (
            "POST /v1/chat HTTP/1.1", "host: localhost", f"authorization: Bearer {world.token('person', 'ann')}",
            "content-type: application/json", "content-length: 999999", "\r\n",
        )  # fmt: skip
        writer.write("\r\n".join(lines).encode())

        def expecting() -> list[BoundedProtocol]:
            found = [each for each in server.server_state.connections if isinstance(each, BoundedProtocol)]
            return [each for each in found if each._awaited_part == "body"]

        await until(lambda: len(expecting()) == 1)
        (protocol,) = expecting()
        writer.write(b"x" * PROGRESS)
        await until(lambda: protocol._received == PROGRESS)
        protocol._expire()
        assert not protocol.transport.is_closing()
        writer.write(b"x" * (PROGRESS - 1))
        await until(lambda: protocol._received == PROGRESS - 1)
        protocol._expire()
        assert b" 408 " in await rest_of(reader)


async def test_a_drop_at_a_time_does_not_win_time(short: World) -> None:
    async with connected(short) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\n")
        ended = asyncio.create_task(rest_of(reader))
        drops = 0
        while not ended.done():
            writer.write(b"x-a: b\r\n")
            await asyncio.wait([ended], timeout=0.05)
            drops += 1
            assert drops < 200
        assert b" 408 " in ended.result()


async def test_line_breaks_after_a_whole_call_do_not_keep_a_connection(short: World) -> None:
    async with connected(short) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"}"), LIMIT)
        ended = asyncio.create_task(rest_of(reader))
        for _ in range(200):
            writer.write(b"\r\n")
            await asyncio.wait([ended], timeout=0.05)
            if ended.done():
                break
        assert ended.done()


async def test_streams_long_polls_and_idle_connections_live_on(short: World) -> None:
    request = await short.asked()
    ann = short.client()
    async with listening(ann, "/v1/events") as stream:
        await stream.placed()
        waited = asyncio.create_task(ann.get(f"/v1/requests/{request.id}", params={"wait": 1}))
        async with connected(short) as (reader, writer):
            writer.write(b"GET /hea")
            await rest_of(reader)
        assert (await waited).status_code == 200
        later = await short.asked()
        assert (await stream.next()).data["request"]["id"] in (request.id, later.id)


async def test_a_whole_body_that_comes_in_pieces_is_taken(short: World) -> None:
    head = f"POST /v1/requests HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {short.token('agent', 'bot')}\r\n"
    body = b'{"title":"Go?"}'
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    async with connected(short) as (reader, writer):
        for piece in (head.encode(), body[:5], body[5:]):
            writer.write(piece)
            await writer.drain()
        assert b" 201 " in await rest_of(reader)


async def test_of_too_many_connections_the_oldest_half_call_gives_way() -> None:
    async with open_world("memory://", serves=True, max_connections=20) as world:
        halves = [connected(world) for _ in range(40)]
        pairs = [await half.__aenter__() for half in halves]
        for _, writer in pairs:
            writer.write(b"GET /hea")
        replies = await asyncio.gather(*(rest_of(reader) for reader, _ in pairs[:20]))
        assert all(b" 503 " in each and b"retry-after" in each for each in replies)
        assert await healthy(world)
        for half in halves:
            await half.__aexit__(None, None, None)


async def test_when_all_connections_are_in_use_a_new_one_is_refused() -> None:
    async with (
        open_world("memory://", serves=True, max_connections=2) as world,
        listening(world.client(), "/v1/events") as one,
        listening(world.client(), "/v1/events") as two,
    ):
        await one.placed()
        await two.placed()
        async with connected(world) as (reader, _):
            assert b" 503 " in await rest_of(reader)
        asked = await world.asked()
        assert (await one.next()).data["request"]["id"] == asked.id


def list_call(world: World, name: str = "bot", more: str = "", after: bytes = b"") -> bytes:
    """Return a call whose reply is larger than what sockets hold."""
    token = world.token("agent", name)
    lines = "GET /v1/requests?limit=60 HTTP/1.1", "host: localhost", f"{more}authorization: Bearer {token}", "\r\n"
    return "\r\n".join(lines).encode() + after


Large = tuple[World, Callable[..., set[int]]]


@pytest.fixture
async def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Large]:
    """Give a server with long lists, and the ports of its connections."""
    monkeypatch.setattr("ringi.inbox.core.MAX_PAGE_BYTES", 1 << 30)
    async with open_world("memory://", body_seconds=request.param) as world, served(world) as server:
        for n in range(60):
            await world.asked(id=f"r{n}", context={"text": "x" * 90_000})

        def ports(*, are_unread: bool = False) -> set[int]:
            found = [each for each in server.server_state.connections if isinstance(each, BoundedProtocol)]
            waiting = [each for each in found if each.flow.write_paused or not are_unread]
            return {each.transport.get_extra_info("peername")[1] for each in waiting}

        yield world, ports


@asynccontextmanager
async def deaf(world: World, call: bytes) -> AsyncIterator[int]:
    """Call without reading the reply, and give the port."""
    async with connected(world) as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(call)
        yield writer.get_extra_info("sockname")[1]


@pytest.mark.parametrize("large", [0.5], indirect=True)
async def test_a_reply_that_nobody_reads_is_dropped_and_a_slow_reader_gets_all_of_it(
    large: Large,
) -> None:
    world, ports = large
    async with connected(world) as (reader, writer), deaf(world, list_call(world)) as port:
        writer.write(list_call(world))
        received = 0
        while received < 60 * 90_000:
            part = await asyncio.wait_for(reader.read(PROGRESS), LIMIT)
            assert part, f"closed after {received} bytes"
            received += len(part)

        await until(lambda: port not in ports())


ALIKE: dict[str, dict[str, Any]] = {
    "the same call": {},
    "another cookie": {"more": "cookie: x=1\r\n"},
    "a call behind it": {"after": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n\r\n"},
}


@pytest.mark.parametrize("large", [LIMIT], indirect=True)
@pytest.mark.parametrize("how", ALIKE.values(), ids=ALIKE)
async def test_who_leaves_too_much_unread_loses_the_oldest_replies(
    large: Large, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, ports = large
    monkeypatch.setattr(connections, "MAX_UNREAD", 1)
    first_call, call = list_call(world), list_call(world, **how)
    async with deaf(world, first_call) as first, deaf(world, list_call(world, "eve")) as other:
        await until(lambda: first in ports(are_unread=True) and other in ports())
        async with deaf(world, call) as second:
            await until(lambda: first not in ports())

            assert {second, other} <= ports()


@pytest.mark.parametrize("large", [LIMIT], indirect=True)
async def test_an_unread_reply_counts_whole_while_a_part_of_it_is_not_sent(
    large: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, ports = large
    # Less than two replies, and more than the rest of two that sockets do not hold.
    monkeypatch.setattr(connections, "MAX_UNREAD", 2 * 60 * 90_000)
    async with deaf(world, list_call(world)) as first:
        await until(lambda: first in ports(are_unread=True))
        async with deaf(world, list_call(world)) as second:
            await until(lambda: first not in ports())

            assert second in ports()


async def test_bodies_that_one_caller_sends_at_once_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MAX_BODIES", 1_000)
    ask = json.dumps({"title": "x", "description": "x" * 900}).encode()
    async with open_world("memory://") as world, served(world), world.client("agent", "bot") as bot:
        token = world.token("agent", "bot")
        head = f"POST /v1/requests HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(ask)}\r\nconnection: close\r\n\r\n"
        async with connected(world) as (reader, writer), world.client("agent", "eve") as eve:
            writer.write(head.encode() + ask[:-1])

            async def is_refused() -> bool:
                return (await bot.post("/v1/requests", json=json.loads(ask))).status_code == 429

            await until(is_refused)
            assert (await eve.post("/v1/requests", json=json.loads(ask))).status_code == 201
            writer.write(ask[-1:])

            assert (await rest_of(reader)).startswith(b"HTTP/1.1 201")
        assert (await bot.post("/v1/requests", json=json.loads(ask))).status_code == 201


async def test_a_sign_in_is_small(short: World) -> None:
    async with short.stranger() as stranger:
        reply = await stranger.post("/v1/session", json={"token": "x" * 20_000})

    assert reply.status_code == 413


ENDLESS = {
    "lines": (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n", b"a: b\r\n"),
    "a line": (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\na: ", b"bbbbbb"),
    "the address": (b"GET /healthz?q=", b"bbbbbb"),
    "line breaks": (b"", b"\r\n\r\n\r\n"),
    "trailers": (CHUNKED + b"0\r\n", b"a: b\r\n"),
    "a trailer": (CHUNKED + b"0\r\na: ", b"bbbbbb"),
    "the line of a chunk": (CHUNKED + b"1;a=", b"bbbbbb"),
}


@pytest.mark.parametrize(("begin", "part"), ENDLESS.values(), ids=ENDLESS)
async def test_what_never_ends_is_refused_before_it_fills_the_memory(begin: bytes, part: bytes) -> None:
    async with open_world("memory://") as world, served(world), connected(world) as (reader, writer):
        writer.write(begin)
        block, sent = part * (8_192 // len(part)), 0
        with suppress(ConnectionError):
            while sent < 4 * 1024 * 1024 and not writer.is_closing():
                writer.write(block)
                sent += len(block)
                await writer.drain()

        assert b" 431 " in await rest_of(reader) or sent < 4 * 1024 * 1024
        assert await healthy(world)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"a: b\r\n" * 190, 200),
        (b"a: b\r\n" * 201, 431),
        (b"a: " + b"b" * 60_000 + b"\r\n", 200),
        (b"a: " + b"b" * 65_536 + b"\r\n", 431),
    ],
    ids=["190 lines", "201 lines", "60 kB", "64 KiB"],
)
async def test_headers_have_a_limit_of_bytes_and_of_lines(lines: bytes, status: int) -> None:
    async with open_world("memory://") as world, served(world), connected(world) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" + lines + b"\r\n")

        assert f" {status} ".encode() in await rest_of(reader)


async def test_the_trailers_of_a_complete_body_have_a_limit() -> None:
    async with open_world("memory://") as world, served(world), connected(world) as (reader, writer):
        writer.write(CHUNKED + b"0\r\n" + b"a: b\r\n" * 201 + b"\r\n")

        assert b" 431 " in await rest_of(reader)


async def test_lines_are_counted_before_the_headers_are_complete() -> None:
    async with open_world("memory://") as world, served(world), connected(world) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\n" + b"ab:\r\n" * 210)

        assert b" 431 " in await rest_of(reader)


async def test_calls_that_wait_for_a_reply_on_one_connection_have_a_limit() -> None:
    async with open_world("memory://") as world, served(world) as server, connected(world) as (reader, writer):
        call = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
        writer.write(call * 10)
        replies = [await reader.readuntil(b"}") for _ in range(10)]
        assert all(b" 200 " in reply for reply in replies)

        sent = 0
        with suppress(ConnectionError):
            while sent < 4 * 1024 * 1024 and not writer.is_closing():
                writer.write(call * 100)
                sent += len(call) * 100
                await writer.drain()

        assert sent < 4 * 1024 * 1024
        await until(lambda: not server.server_state.connections)
        assert await healthy(world)
