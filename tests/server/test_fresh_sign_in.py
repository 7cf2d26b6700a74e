"""Requests of a tier are answered only by people who signed in a short time ago."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from langgraph.graph import START, MessagesState, StateGraph
from tests.server.provider import Provider, serving
from tests.server.test_chat import ag_ui, pending, stream, ui
from tests.server.test_chat_partial import message_of
from tests.server.test_oidc import configured, signed_in
from tests.server.test_oidc_tokens import access
from tests.server.world import World, open_world

from ringi import ask
from ringi.base import fresh_sign_in
from ringi.base.settings import SettingError, Settings, read_setting_pairs
from ringi.domain.ask import Action
from ringi.domain.request import Request
from ringi.domain.voting import Tier
from ringi.protocols.langgraph_api.routes import EXTENSION
from ringi.runs.agent import Agent
from ringi.server import ServerSettings
from ringi.server.identity import Oidc

LIMITS: dict[Tier, float] = {"high": 300.0, "irreversible": 60.0}
TIERS = ("low", "medium", "high", "irreversible")
OLD = 100.0


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A server at which people enter tokens on the page."""
    async with open_world("memory://", fresh_sign_in=LIMITS) as world:
        yield world


@contextlib.asynccontextmanager
async def at_provider(person: dict[str, Any] | None = None) -> AsyncIterator[tuple[World, Provider]]:
    async with serving(Provider()) as provider:
        provider.person |= person or {}
        async with open_world("memory://", oidc=configured(provider), fresh_sign_in=LIMITS) as world:
            yield world, provider


def session(world: World, age: float | None = OLD, **claims: Any) -> httpx.AsyncClient:
    """Return the page of a person who signed in so many seconds ago."""
    more: Any = {} if age is None else {"auth_time": time.time() - age}
    token = world.keys.mint(role="person", name="ann", expires_in=3600, parent="token", **more, **claims)
    return world.stranger(origin=world.url, cookie=f"ringi_session={token}")


async def answered(client: httpx.AsyncClient, request: Request) -> tuple[int, str | None]:
    body = {"decision": "respond", "message": "yes", "digest": request.digest}
    reply = await client.post(f"/v1/requests/{request.id}/respond", json=body, headers={"origin": "http://localhost"})
    return reply.status_code, reply.json().get("code")


async def outcomes(world: World, client: httpx.AsyncClient) -> list[int]:
    """Return what the person gets for a request without a tier, and for one of each tier."""
    asks = [await world.asked(**({"tier": tier} if tier else {})) for tier in (None, *TIERS)]
    found = [await answered(client, request) for request in asks]
    assert {code for status, code in found if status == 403} <= {"fresh_sign_in"}
    assert [(await world.inbox.get(each.id)).is_final for each in asks] == [status == 200 for status, _ in found]
    return [status for status, _ in found]


@pytest.mark.parametrize(
    ("age", "statuses"),
    [
        (0, [200, 200, 200, 200, 200]),
        (OLD, [200, 200, 200, 200, 403]),
        (1_000, [200, 200, 200, 403, 403]),
        (None, [200, 200, 200, 403, 403]),
    ],
)
async def test_a_sign_in_is_too_old_for_some_tiers(world: World, age: float | None, statuses: list[int]) -> None:
    assert await outcomes(world, session(world, age)) == statuses


@pytest.mark.parametrize("role", ["person", "admin"])
async def test_a_token_is_no_sign_in(world: World, role: str) -> None:
    assert await outcomes(world, world.client(role)) == [200, 200, 200, 403, 403]
    request = await world.asked(tier="high")
    body = {"decision": "respond", "message": "yes", "digest": request.digest, "override": "urgent"}
    reply = await world.client(role).post(f"/v1/requests/{request.id}/respond", json=body)
    assert (reply.status_code, reply.json()["code"]) == (403, "fresh_sign_in")
    assert "sign in on the page again" in reply.json()["detail"]


async def test_without_the_setting_nothing_is_refused() -> None:
    async with open_world("memory://") as world:
        assert await outcomes(world, world.client()) == [200] * 5


async def test_a_repeated_answer_needs_no_second_sign_in(world: World) -> None:
    request = await world.asked(tier="irreversible")
    assert await answered(session(world, 0), request) == (200, None)
    assert await answered(session(world), request) == (200, None)


async def test_who_enters_a_token_on_the_page_has_signed_in(world: World) -> None:
    page = world.stranger(origin=world.url)
    await page.post("/v1/session", json={"token": world.token("person", "ann")})
    assert await outcomes(world, page) == [200] * 5


async def test_a_session_does_not_become_younger(world: World) -> None:
    # Shorter than its full life: the next call renews it.
    old = session(world, 1_000)
    renewed = await old.get("/v1/session")
    token = renewed.cookies["ringi_session"]
    assert token
    page = world.stranger(origin=world.url, cookie=f"ringi_session={token}")
    assert await outcomes(world, page) == [200, 200, 200, 403, 403]
    for again in (token, old.headers["cookie"].partition("=")[2], session(world, None).headers["cookie"][14:]):
        exchanged = world.stranger(origin=world.url)
        assert (await exchanged.post("/v1/session", json={"token": again})).status_code == 200
        assert await outcomes(world, exchanged) == [200, 200, 200, 403, 403]


@pytest.mark.parametrize(
    ("auth_time", "statuses"),
    [
        (None, [200] * 5),
        (lambda now: now - OLD, [200, 200, 200, 200, 403]),
        (lambda now: now + 10_000, [200] * 5),
    ],
)
async def test_the_provider_says_when_a_person_signed_in(auth_time: Any, statuses: list[int]) -> None:
    person = {"auth_time": auth_time(int(time.time()))} if auth_time else {}
    async with at_provider(person) as (world, provider):
        browser, _ = await signed_in(world, provider)
        assert await outcomes(world, browser) == statuses
        (claims,) = [world.keys.verify(token) for token in [browser.cookies["ringi_session"]]]
        assert claims.signed_in_at
        assert claims.signed_in_at <= time.time()


async def test_a_sign_in_at_no_readable_time_is_refused() -> None:
    async with at_provider({"auth_time": True}) as (world, provider):
        _, reply = await signed_in(world, provider)
        assert (reply.status_code, reply.json()["code"]) == (401, "sign_in")


async def test_a_token_of_the_provider_says_when_its_person_signed_in() -> None:
    async with at_provider() as (world, provider):
        for changes, statuses in (
            ({}, [200, 200, 200, 403, 403]),
            ({"auth_time": int(time.time() - OLD)}, [200, 200, 200, 200, 403]),
        ):
            bearer = provider.key.sign(access(provider, **changes))
            assert await outcomes(world, world.stranger(authorization=f"Bearer {bearer}")) == statuses


async def test_where_people_sign_in_at_a_provider_a_token_on_the_page_is_no_sign_in() -> None:
    async with at_provider() as (world, _):
        page = world.stranger(origin=world.url)
        await page.post("/v1/session", json={"token": world.token("person", "ann")})
        assert await outcomes(world, page) == [200, 200, 200, 403, 403]


async def test_a_fresh_sign_in_asks_the_provider_for_the_credentials() -> None:
    async with at_provider() as (world, _):

        async def sent(**params: str) -> tuple[list[str] | None, list[str] | None]:
            began = await world.stranger().get("/v1/session/oidc", params=params)
            query = parse_qs(urlsplit(began.headers["location"]).query)
            return query.get("max_age"), query.get("prompt")

        assert await sent(fresh="true") == (["0"], ["login"])
        assert await sent() == (["43200"], None)


ACR: dict[Tier, str] = {"high": "mfa", "irreversible": "phr"}


@pytest.mark.parametrize(
    ("acr", "statuses"),
    [
        ("phr", [200, 200, 200, 200, 200]),
        ("mfa", [200, 200, 200, 200, 403]),
        ("pwd", [200, 200, 200, 403, 403]),
        (["phr"], [200, 200, 200, 403, 403]),
        (None, [200, 200, 200, 403, 403]),
    ],
)
async def test_a_tier_may_need_a_stronger_way_to_sign_in(acr: Any, statuses: list[int]) -> None:
    """What the provider does not state is not enough, and what is enough for more at stake is enough for less."""
    async with serving(Provider()) as provider:
        provider.person |= {} if acr is None else {"acr": acr}
        oidc = configured(provider)
        async with open_world("memory://", oidc=oidc, fresh_sign_in=LIMITS, sign_in_acr=ACR) as world:
            browser, _ = await signed_in(world, provider)
            assert await outcomes(world, browser) == statuses
            bearer = provider.key.sign(
                access(provider, auth_time=int(time.time()), **({} if acr is None else {"acr": acr}))
            )
            assert await outcomes(world, world.stranger(authorization=f"Bearer {bearer}")) == statuses
            # A session that is renewed, or a token of this server, does not become stronger.
            assert await outcomes(world, session(world, 0)) == [200, 200, 200, 403, 403]


async def test_a_sign_in_that_is_too_weak_names_the_acr_and_the_link_asks_for_it() -> None:
    async with serving(Provider()) as provider:
        oidc = configured(provider)
        async with open_world("memory://", oidc=oidc, fresh_sign_in=LIMITS, sign_in_acr=ACR) as world:
            request = await world.asked(tier="high")
            body = {"decision": "respond", "message": "yes", "digest": request.digest}
            reply = await session(world, 0).post(f"/v1/requests/{request.id}/respond", json=body)
            assert reply.json()["code"] == "fresh_sign_in"
            assert "needs a sign-in with the acr 'mfa': sign in at the provider again" in reply.json()["detail"]

            async def acr_values(**params: str) -> list[str] | None:
                began = await world.stranger().get("/v1/session/oidc", params=params)
                return parse_qs(urlsplit(began.headers["location"]).query).get("acr_values")

            assert (await acr_values(fresh="true"), await acr_values()) == (["phr mfa"], None)


@pytest.mark.parametrize("text", ["high", "high=", "huge=mfa", "high=a,high=b", "high=a b"])
def test_a_wrong_acr_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_SIGN_IN_ACR", text)
    with pytest.raises(SettingError, match="give one value"):
        ServerSettings.load()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *((text, "give one value .* such as irreversible=60") for text in ("high", "high=", "huge=1", "high=1,high=2")),
        *(
            (text, "give seconds above 0 .* such as irreversible=60")
            for text in ("high=soon", "high=0", "high=-1", "high=nan", "high=inf")
        ),
    ],
)
def test_a_wrong_age_of_a_sign_in_says_what_is_wrong(text: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_FRESH_SIGN_IN", text)
    with pytest.raises(SettingError, match=why):
        ServerSettings.load()


def test_an_acr_that_nothing_can_meet_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_SIGN_IN_ACR", "high=urn:example:mfa, irreversible=phr")
    pairs = Settings.load().sign_in_acr
    assert read_setting_pairs("sign_in_acr", pairs, TIERS) == {"high": "urn:example:mfa", "irreversible": "phr"}
    with pytest.raises(SettingError, match="set RINGI_OIDC_ISSUER"):
        ServerSettings.load()
    with pytest.raises(SettingError, match="a maximum age"):
        ServerSettings(oidc=Oidc("https://id.example.com", "ringi"), fresh_sign_in={"high": 60.0}, sign_in_acr=ACR)


def transfer(state: MessagesState) -> MessagesState:
    """Ask about a call with much at stake."""
    ask("Transfer?", action=Action("transfer"), tier="high")
    return {"messages": []}


async def test_no_way_to_answer_goes_around_it() -> None:
    graph = StateGraph(MessagesState).add_node(transfer).add_edge(START, "transfer").compile()
    agents, langgraph = [Agent("talk", graph)], [EXTENSION]
    async with open_world(
        "memory://", serves=True, more_agents=agents, extensions=langgraph, fresh_sign_in=LIMITS
    ) as world:
        old = session(world, 1_000)
        async with contextlib.aclosing(stream(old, ui("go", "m1"))) as parts:
            received = [await anext(parts), await anext(parts), {"type": "finish", "messageMetadata": {"after": 0}}]
        (request,) = await pending(world)
        item = {"id": request.id, "decision": "approve", "digest": request.digest}
        resolved = {"interruptId": request.id, "status": "resolved", "payload": {"approved": True}}
        await old.get("/langgraph/threads/t1/state")
        resume = {"assistant_id": "talk", "command": {"resume": [{"type": "accept", "args": None}]}}
        hitl = {"request_id": request.id, "session_id": "t1", "action": "approve", "data": None}
        ways: list[tuple[str, dict[str, Any]]] = [
            (f"/v1/requests/{request.id}/respond", {"decision": "approve", "digest": request.digest}),
            ("/hitl/respond", hitl),
            message_of(received, request.id),
            ag_ui("", "", resume=[resolved]),
            ("/langgraph/threads/t1/runs", resume),
        ]
        for path, body in ways:
            reply = await old.post(path, json=body)
            assert (path, reply.status_code, "fresh_sign_in" in reply.text) == (path, 403, True), reply.text
        bulk = (await old.post("/v1/requests/respond", json={"items": [item]})).json()["items"][0]
        assert (bulk["status"], bulk["problem"]["errors"][0]["code"]) == (422, "decide_alone")
        assert (await world.inbox.get(request.id)).status == "pending"
        reply = await session(world, 0).post(ways[0][0], json=ways[0][1])
        assert (reply.status_code, reply.json()["status"]) == (200, "completed")


def test_the_setting_has_a_limit_for_each_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ServerSettings.load().fresh_sign_in == {}
    monkeypatch.setenv("RINGI_FRESH_SIGN_IN", "high=300, irreversible=60")
    assert ServerSettings.load().fresh_sign_in == LIMITS == fresh_sign_in(TIERS)
    with pytest.raises(SettingError, match="let people sign in"):
        ServerSettings(no_auth=True, fresh_sign_in=LIMITS)
