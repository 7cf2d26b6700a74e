"""Following the events on each way to the verbs: none is left out, none comes twice, whatever breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import CLIENTS, WAYS, opened, token
from tests.client.network import HoldingProxy, listening, proxy
from tests.raising import raises_code
from tests.server.world import open_world

import ringi
from ringi.base.settings import SettingError
from ringi.client import transport
from ringi.client.transport import HttpError
from ringi.contracts.store import ClosedError
from ringi.domain.record import Event, Position

LIMIT = 20.0


async def taken(events: AsyncIterator[Event], count: int) -> list[Event]:
    async with asyncio.timeout(LIMIT):
        return [await anext(events) for _ in range(count)]


async def end(desk: Any) -> Position:
    """Return the position of the last event."""
    place = ""
    while events := await desk.events(place, 200):
        place = events[-1].position
    return place


@pytest.mark.parametrize("way", [way for way in WAYS if not way.startswith("sync")])
async def test_what_happened_comes_first_and_then_what_happens(way: str, request: Any, tmp_path: Path) -> None:
    server = request.getfixturevalue("server") if way in CLIENTS else None
    async with opened(way, tmp_path, server) as desks:
        place = await end(desks.bot)
        asked = [await desks.bot.ask(f"Go {number}?") for number in range(3)]
        async with aclosing(desks.bot.follow(place)) as events:
            before = await taken(events, 3)
            await desks.ann.claim(asked[1].id, by="ann")
            await desks.ann.respond(asked[1], "respond", message="yes", by="ann")
            live = await taken(events, 2)

        assert [(e.type, e.record_id) for e in before] == [("request.created", each.id) for each in asked]
        assert [(e.type, e.actor) for e in live] == [("request.claimed", "ann"), ("request.completed", "ann")]
        assert live == await desks.bot.events(before[-1].position)


@pytest.mark.parametrize("way", ["memory", "sqlite", "client"])
async def test_by_default_it_begins_with_what_comes_and_may_be_of_one_request(
    way: str, request: Any, tmp_path: Path
) -> None:
    server = request.getfixturevalue("server") if way in CLIENTS else None
    async with opened(way, tmp_path, server) as desks:
        asked = [await desks.bot.ask(f"Go {number}?") for number in range(2)]
        for desired, more in ((asked[1], {}), (asked[0], {"request_id": asked[0].id})):
            async with aclosing(desks.bot.follow(**more)) as events:
                coming = asyncio.create_task(taken(events, 1))
                while not coming.done():
                    for each in (asked[1], *([asked[0]] if more else [])):
                        await desks.ann.claim(each.id, by="ann")
                    await asyncio.wait({coming}, timeout=0.05)
                (event,) = await coming

            assert (event.type, event.record_id) == ("request.claimed", desired.id)


def test_a_program_without_async_follows_too(tmp_path: Path, server: DemoServer) -> None:
    with (
        ringi.sync.open(f"sqlite:///{tmp_path}/ringi.db") as inbox,
        ringi.sync.open(server.url, token=token(server, "bot", "admin")) as client,
    ):
        for desk in (inbox, client):
            known = desk.events("", 200)
            asked = [desk.ask(f"Go {number}?") for number in range(3)]
            events = desk.follow(known[-1].position if known else "")

            assert [event.record_id for event in islice(events, 3)] == [each.id for each in asked]
            desk.cancel(asked[0], **({"by": "bot"} if desk is inbox else {}))
            assert next(events).type == "request.cancelled"
            events.close()


def test_who_follows_hears_that_its_inbox_was_closed(tmp_path: Path) -> None:
    with ringi.sync.open(f"sqlite:///{tmp_path}/ringi.db") as inbox:
        events = inbox.follow()
    with pytest.raises(ClosedError):
        next(events)


async def test_nothing_is_missed_or_told_twice_when_connections_break(server: DemoServer) -> None:
    async with (
        ringi.open(server.url, token=token(server, "bot", "admin")) as direct,
        proxy(server.port, [0, 40, 200, 700, 1500, 3000]) as (relay, url),
        ringi.open(url, token=token(server, "bot", "admin")) as bot,
    ):
        place = await end(direct)
        async with aclosing(bot.follow(place)) as events:
            asked = []
            heard: list[Event] = []
            for number in range(20):
                asked.append(await direct.ask(f"Go {number}?"))
                heard += await taken(events, 1)

        assert [event.record_id for event in heard] == [each.id for each in asked]
        assert relay.is_whole


async def test_it_goes_on_when_the_server_is_killed_and_comes_back(tmp_path: Path) -> None:
    with DemoServer(tmp_path, "serve") as server:
        async with (
            ringi.open(server.url, token=token(server, "bot", "admin")) as bot,
            aclosing(bot.follow("")) as events,
        ):
            first = await bot.ask("Before?")
            heard = await taken(events, 1)
            await asyncio.to_thread(server.kill)
            coming = asyncio.create_task(taken(events, 2))
            await asyncio.to_thread(server.start)
            later = [await bot.ask("After?"), await bot.ask("And?")]
            heard += await coming

        assert [event.record_id for event in heard] == [each.id for each in (first, *later)]


async def test_a_server_that_stays_away_is_an_error_with_its_name(tmp_path: Path) -> None:
    with DemoServer(tmp_path, "serve") as server:
        async with ringi.open(server.url, token=token(server, "bot"), retry_for=0.5) as bot:
            await bot.ask("Go?")
            async with aclosing(bot.follow("")) as events:
                await taken(events, 1)
                await asyncio.to_thread(server.kill)
                with raises_code("unreachable", match=r"127\.0\.0\.1"):
                    await taken(events, 1)


async def test_everybody_hears_what_they_may_see(tmp_path: Path) -> None:
    async with open_world(f"sqlite:///{tmp_path}/ringi.db", serves=True) as world:
        for number in range(450):
            await world.asked(assignee="ann" if number % 150 == 0 else "bob")
        async with ringi.open(world.url, token=world.token("person", "ann")) as ann, aclosing(ann.follow("")) as events:
            heard = await taken(events, 3)
            hidden = await world.asked(assignee="bob")
            visible = await world.asked(assignee="ann")
            heard += await taken(events, 1)

        assert heard[-1].record_id == visible.id
        assert hidden.id not in {event.record_id for event in heard}


async def test_a_token_that_is_none_hears_so(server: DemoServer) -> None:
    async with ringi.open(server.url, token="nonsense") as nobody, aclosing(nobody.follow()) as events:
        with pytest.raises(HttpError, match="did not issue the token"):
            await anext(events)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a client notice a silent stream soon."""
    monkeypatch.setattr(transport, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(transport, "POLL_SECONDS", 0.1)


async def test_a_proxy_that_holds_back_streams_delays_events_by_a_poll_and_is_named(
    server: DemoServer, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    relay = HoldingProxy(server.port)
    async with (
        ringi.open(server.url, token=token(server, "bot", "admin")) as direct,
        listening(relay.serve) as url,
        ringi.open(url, token=token(server, "bot", "admin")) as bot,
        aclosing(bot.follow(await end(direct))) as events,
    ):
        for is_held in (True, False):
            relay.holds_back = is_held
            asked = [await direct.ask(f"Go {number}?") for number in range(3)]
            assert [event.record_id for event in await taken(events, 3)] == [each.id for each in asked]
    assert relay.held_back
    (warning,) = [record.getMessage() for record in caplog.records if record.name == transport.__name__]
    assert warning.startswith("/v1/events of http://127.0.0.1:")
    assert "a proxy probably holds back event streams" in warning


class QuietServer:
    """Opens streams that have no events: while it holds back it sends nothing, and then a heartbeat now and then."""

    def __init__(self) -> None:
        self.openings = self.heartbeats = 0
        self.holds_back = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send one stream."""
        self.openings += 1
        holds_back = self.holds_back
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        is_open = True
        while is_open:
            if not holds_back:
                writer.write(b"event: heartbeat\ndata: {}\n\n")
                self.heartbeats += 1
            await writer.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.6):
                    is_open = bool(await reader.read(1))


async def test_a_quiet_stream_that_was_held_back_stays_open_once_it_passes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(transport, "SILENCE_SECONDS", 3.0)
    monkeypatch.setattr(transport, "POLL_SECONDS", 0.3)
    quiet = QuietServer()
    async with asyncio.timeout(LIMIT), listening(quiet.serve) as url:
        follower = transport.Transport(url, "bot", LIMIT)
        async with aclosing(follower.positions("/v1/events", lambda: "1")) as heard:
            for _ in range(2):
                assert await anext(heard) == ""
            quiet.holds_back = False
            while quiet.heartbeats < 2:
                await anext(heard)
            openings = quiet.openings
            while quiet.heartbeats < 5:
                await anext(heard)
        await follower.close()
    assert quiet.openings == openings
    assert len([record for record in caplog.records if record.name == transport.__name__]) == 1


async def test_a_stream_without_a_position_names_the_version_and_the_proxy() -> None:
    quiet = QuietServer()
    async with listening(quiet.serve) as url, ringi.open(url, token="bot") as bot, aclosing(bot.follow()) as events:
        with pytest.raises(SettingError, match="Last-Event-ID header: use a server of the same version"):
            await anext(events)


async def test_a_connection_that_dies_without_a_word_is_opened_again(server: DemoServer, impatient: None) -> None:
    relay = HoldingProxy(server.port)
    relay.holds_back = False
    async with (
        ringi.open(server.url, token=token(server, "bot", "admin")) as direct,
        listening(relay.serve) as url,
        ringi.open(url, token=token(server, "bot", "admin"), retry_for=0.2) as bot,
        aclosing(bot.follow(await end(direct))) as events,
    ):
        for number in range(3):
            asked = await direct.ask(f"Go {number}?")
            assert [event.record_id for event in await taken(events, 1)] == [asked.id]
            relay.forget()


async def test_following_what_comes_begins_behind_a_proxy_that_holds_back_streams(
    server: DemoServer, impatient: None
) -> None:
    async with (
        ringi.open(server.url, token=token(server, "bot", "admin")) as direct,
        listening(HoldingProxy(server.port).serve) as url,
        ringi.open(url, token=token(server, "bot", "admin")) as bot,
        aclosing(bot.follow()) as events,
    ):
        coming = asyncio.create_task(taken(events, 1))
        while not coming.done():
            asked = await direct.ask("Go?")
            await asyncio.wait({coming}, timeout=0.05)
        (event,) = await coming
    assert (event.type, event.at <= asked.created_at) == ("request.created", True)
