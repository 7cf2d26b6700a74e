"""What a client makes of a network that fails and of a server that refuses."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import httpx
import pytest
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import token
from tests.client.network import CLOSED_AT_ONCE, proxy, scripted
from tests.raising import raises_code
from tests.server.world import open_world
from tests.servers import free_port

import ringi
from ringi import Action, Form, Text, errors
from ringi.base.clock import retry_after_seconds, utc_now
from ringi.base.settings import SettingError
from ringi.client.transport import ERROR_BY_CODE, ApiCall, HttpError, error_from_reply
from ringi.connect import open
from ringi.errors import ForbiddenError, InvalidError, LostReplyError, RingiError, UnavailableError, WaitTimeoutError
from ringi.server.problems import STATUSES, problem_response

ACTION = Action("refund", {"amount": 40})
CUTS = [CLOSED_AT_ONCE, 0, 20, 400]
"""Where replies break off: before the call, before the reply, in its head, in its body."""


async def test_an_ask_whose_replies_are_lost_asks_once(server: DemoServer) -> None:
    async with proxy(server.port, CUTS) as (relay, url), ringi.open(url, token=token(server, "bot")) as bot:
        asked = await bot.ask("Refund whose reply is lost?", action=ACTION)

        assert relay.is_whole
        assert [found.id for found in await bot.find(q="whose reply is lost")] == [asked.id]


async def test_an_answer_whose_replies_are_lost_decides_once(server: DemoServer) -> None:
    async with proxy(server.port, CUTS) as (relay, url), ringi.open(server.url, token=token(server, "ann")) as direct:
        asked = await direct.ask("Refund?", action=ACTION)
        async with ringi.open(url, token=token(server, "ann")) as ann:
            done = await ann.respond(asked, "approve")

        assert relay.is_whole
        assert (done.status, done.version) == ("completed", 2)
        assert len(await direct.events(request_id=asked.id)) == 2


async def test_a_withdrawal_whose_reply_is_lost_is_no_error(server: DemoServer) -> None:
    async with proxy(server.port, [0]) as (relay, url), ringi.open(server.url, token=token(server, "bot")) as direct:
        asked = await direct.ask("Refund?", action=ACTION)
        async with ringi.open(url, token=token(server, "bot")) as bot:
            assert (await bot.cancel(asked.id, reason="called off")).status == "cancelled"

        assert relay.is_whole


async def test_a_withdrawal_that_never_arrived_is_sent_again(server: DemoServer) -> None:
    async with proxy(server.port, [CLOSED_AT_ONCE]) as (_, url), ringi.open(url, token=token(server, "bot")) as bot:
        asked = await bot.ask("Refund?", action=ACTION)
    async with proxy(server.port, [CLOSED_AT_ONCE]) as (relay, url), ringi.open(url, token=token(server, "bot")) as bot:
        assert (await bot.cancel(asked.id)).status == "cancelled"
        assert relay.is_whole


async def test_a_withdrawal_whose_reply_is_lost_does_not_hide_that_somebody_answered(server: DemoServer) -> None:
    async with ringi.open(server.url, token=token(server, "bot")) as direct:
        asked = await direct.ask("Refund?", action=ACTION)
        await direct.respond(asked, "approve")
        async with proxy(server.port, [0]) as (relay, url), ringi.open(url, token=token(server, "bot")) as bot:
            with raises_code("final", match="completed by bot"):
                await bot.cancel(asked.id)
            assert relay.is_whole


async def test_the_end_of_a_memory_whose_reply_is_lost_is_no_error(server: DemoServer) -> None:
    async with proxy(server.port, [0]) as (relay, url), ringi.open(server.url, token=token(server, "ann")) as direct:
        form, context = Form([Text("diet")]), {"memory_category": "food"}
        asked = await direct.ask("What do you eat?", form=form, context=context)
        await direct.respond(asked, "approve", {"diet": "no fish"})
        async with ringi.open(url, token=token(server, "ann")) as ann:
            await ann.memories.delete(asked.id)

        assert relay.is_whole
        assert asked.id not in [memory.id for memory in await direct.memories.list()]


async def test_handing_on_is_not_repeated_behind_the_callers_back(server: DemoServer) -> None:
    async with (
        proxy(server.port, [0]) as (_, url),
        ringi.open(server.url, token=token(server, "bot", "admin")) as direct,
    ):
        asked = await direct.ask("Refund?", action=ACTION)
        async with ringi.open(url, token=token(server, "bot", "admin")) as bot:
            with pytest.raises(LostReplyError, match="read the request again"):
                await bot.reassign(asked.id, assignee="ann")

            assert (await bot.get(asked.id)).assignee == "ann"
        assert len(await direct.events(request_id=asked.id)) == 2


async def test_a_wait_goes_on_when_its_connections_are_cut(server: DemoServer) -> None:
    async with (
        proxy(server.port, [*CUTS, 30]) as (relay, url),
        ringi.open(server.url, token=token(server, "ann")) as ann,
    ):
        asked = await ann.ask("Refund?", action=ACTION)
        async with ringi.open(url, token=token(server, "bot", "admin")) as bot:
            waiting = asyncio.create_task(bot.wait(asked.id, timeout=30))
            await relay.until_arrived(1)
            done = await ann.respond(asked, "approve")

            assert await waiting == done
        assert relay.is_whole


async def test_a_wait_goes_on_when_the_server_is_killed_and_comes_back(tmp_path: Path) -> None:
    with DemoServer(tmp_path, "serve") as server:
        async with proxy(server.port) as (relay, url), ringi.open(url, token=token(server, "ann")) as ann:
            asked = await ann.ask("Refund?", action=ACTION)
            arrived = relay.arrived
            waiting = asyncio.create_task(ann.wait(asked.id, timeout=60))
            await relay.until_arrived(arrived + 1)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            done = await ann.respond(asked, "approve")

            assert await waiting == done


async def test_a_wait_ends_in_time_when_the_server_stays_away(tmp_path: Path) -> None:
    with DemoServer(tmp_path, "serve") as server:
        async with proxy(server.port) as (relay, url), ringi.open(url, token=token(server, "ann")) as ann:
            asked = await ann.ask("Refund?", action=ACTION)
            with pytest.raises(WaitTimeoutError):
                await ann.wait(asked.id, 0)
            arrived = relay.arrived
            waiting = asyncio.create_task(ann.wait(asked.id, timeout=2))
            await relay.until_arrived(arrived + 1)
            await asyncio.to_thread(server.kill)

            with pytest.raises((WaitTimeoutError, UnavailableError)):
                await waiting


async def test_a_server_that_is_not_there_is_named() -> None:
    async with open(f"http://127.0.0.1:{free_port()}", token="token", retry_for=0.2) as client:
        for attempt in (client.get("some"), client.wait("some", 0.1), client.ask("Go?"), client.cancel("some")):
            with raises_code("unreachable", match=r"127\.0\.0\.1.*is not reachable"):
                await attempt


REQUEST = {
    "tenant": "default", "id": "r1", "version": 1, "created_at": "2026-11-22T00:00:00Z", "kind": "question",
    "title": "Go?", "allowed": ["respond"], "digest": "sha256:0",
}  # fmt: skip
FOUND = f"200 OK\ncontent-type: application/json\n\n{json.dumps(REQUEST)}"
PROBLEM = '{"code": "x", "detail": "not now"}'


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_a_server_that_names_a_time_is_called_again_then(status: str) -> None:
    async with (
        scripted(f"{status}\nretry-after: 1\n\n{PROBLEM}", FOUND) as (heard, url),
        ringi.open(url, token="token") as client,
    ):
        began = time.monotonic()

        assert (await client.reassign("r1", assignee="ann")).title == "Go?"
        assert time.monotonic() - began >= 1
        assert len(heard) == 2


@pytest.mark.parametrize(("status", "code"), [("429 Too Many", "limit"), ("503 Service", "unreachable")])
async def test_a_time_beyond_the_callers_patience_is_told_at_once(status: str, code: str) -> None:
    async with (
        scripted(f"{status}\nretry-after: 90\n\n{PROBLEM}") as (heard, url),
        ringi.open(url, token="token") as client,
    ):
        with raises_code(code, match="not now") as refused:
            await client.get("r1")

        assert (refused.value.retry_after, len(heard)) == (90, 1)


async def test_a_proxy_without_its_server_is_tried_again_where_that_is_safe() -> None:
    gateway = "502 Bad Gateway\ncontent-type: text/html\n\n<h1>oops</h1>"
    async with scripted(gateway, gateway, FOUND) as (heard, url), ringi.open(url, token="token") as client:
        assert (await client.claim("r1")).id == "r1"
        assert len(heard) == 3
    async with scripted(gateway) as (heard, url), ringi.open(url, token="token") as client:
        with pytest.raises(LostReplyError):
            await client.reassign("r1", assignee="ann")
        assert len(heard) == 1


async def test_what_a_newer_server_says_besides_is_left_out() -> None:
    newer = {**REQUEST, "mood": "new", "action": {"name": "refund", "args": {"mood": 1}, "mood": "new"}}
    async with scripted(f"200 OK\n\n{json.dumps(newer)}") as (_, url), ringi.open(url, token="token") as client:
        request = await client.get("r1")

    assert request.action == Action("refund", {"mood": 1})


@pytest.mark.parametrize(
    "reply", ["200 OK\n\n<h1>Welcome</h1>", "404 Not Found\n\n<h1>Nothing</h1>", "302 Found\nlocation: /"]
)
async def test_what_is_not_ringi_is_said_to_be_not(reply: str) -> None:
    async with scripted(reply) as (_, url), ringi.open(url, token="token") as client:
        with pytest.raises(HttpError, match="check that this is the address"):
            await client.get("r1")


@pytest.mark.parametrize("url", ["localhost:8123", "https://", "ftp://inbox.example.com"])
async def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(SettingError, match="url="):
        await ringi.open(url, token="token")


async def test_a_limit_of_the_server_is_told_with_its_time() -> None:
    async with (
        open_world("memory://", serves=True, asks_per_minute=1) as world,
        ringi.open(world.url, token=world.token("agent", "bot"), retry_for=1) as bot,
    ):
        asked = await bot.ask("Go?", id="r1")

        with raises_code("limit", match="retry later") as refused:
            await bot.ask("Go on?")

        assert refused.value.retry_after > 1
        assert (await bot.ask("Go?", id="r1")).id == asked.id


async def test_nobody_acts_under_a_name_that_is_not_the_tokens(server: DemoServer) -> None:
    async with ringi.open(server.url, token=token(server, "ann")) as ann:
        asked = await ann.ask("Refund?", action=ACTION)

        with pytest.raises(InvalidError, match="by: the token says who acts"):
            await ann.respond(asked, "approve", by="bob")

        assert (await ann.get(asked.id)).version == 1


async def test_an_agent_cannot_answer_and_is_told_so(server: DemoServer) -> None:
    async with ringi.open(server.url, token=token(server, "bot", "agent")) as bot:
        asked = await bot.ask("Refund?", action=ACTION)

        with pytest.raises(ForbiddenError, match="only people can"):
            await bot.respond(asked, "approve")

        assert (await bot.cancel(asked)).status == "cancelled"


async def test_a_token_of_another_server_is_refused(server: DemoServer) -> None:
    async with ringi.open(server.url, token="nonsense") as nobody:
        with pytest.raises(HttpError, match="did not issue the token") as refused:
            await nobody.get("r1")

    assert (refused.value.status, refused.value.code) == (401, "unauthenticated")


async def test_a_question_that_a_server_is_not_asked_is_refused(server: DemoServer) -> None:
    async with ringi.open(server.url, token=token(server, "ann")) as ann:
        with pytest.raises(InvalidError) as refused:
            await ann.find(asked_by="bot", statuses=["pending"])  # type: ignore[call-arg]

        assert [error.field for error in refused.value.errors] == ["asked_by", "statuses"]
        assert "use one of agent, assignee," in refused.value.errors[0].message


ERRORS: list[RingiError] = [
    errors.ConflictError.ended("r1", "expired"),
    errors.ConflictError.ended(
        "r1", "completed", {"decision": "reject", "responder": "ann", "at": "2026-11-22T00:00:00Z"}
    ),
    errors.ConflictError.digest_mismatch("r1", "sha256:0"),
    errors.ConflictError.claimed("r1", "ann"),
    errors.ConflictError.different("r1"),
    errors.ConflictError.too_often("request", "r1"),
    errors.InvalidError([errors.FieldError("a.b", "is wrong"), errors.FieldError("", "is bad")]),
    errors.NotFoundError("request", "r1"),
    errors.ForbiddenError("no"),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_an_error_comes_back_as_it_was(error: RingiError) -> None:
    sent = problem_response(error)
    reply = httpx.Response(sent.status_code, headers=dict(sent.headers), content=bytes(sent.body))
    call = ApiCall("POST", "/v1/requests/r1/respond", "r1", {"digest": "sha256:0"})

    raised = error_from_reply("http://ringi", call, reply, reply.json())

    assert (type(raised), str(raised), vars(raised)) == (type(error), str(error), vars(error))


def test_every_error_of_the_verbs_has_its_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RingiError)]
    codes = set(STATUSES)

    assert {kind.code for kind in kinds if kind.code} <= {*codes, "unreachable"}
    assert set(ERROR_BY_CODE) - codes == set()
    assert codes - set(ERROR_BY_CODE) == {"limit", "unavailable", "unsupported", "not_authorised", "missing_extra"}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        *((None, None), ("3", 3), ("soon", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("-1", None)),
        *(("Wed Oct 21 07:28:00 2015", 0), ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", None)),
    ],
)
def test_the_time_to_come_back_is_read_from_any_header(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, utc_now()) == seconds
