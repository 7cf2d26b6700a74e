"""Links that sign in once, sessions that are replaced only when the person agrees, and how long a session lives."""

from __future__ import annotations

import time

import httpx
import pytest
from tests.server.world import World, open_world, until

from ringi.connect import open_backend
from ringi.server import Keys, Principal
from ringi.server.auth.links import SignInLinks, mint_link
from ringi.server.auth.revocations import Revocation, token_digest
from ringi.server.refusals import UnauthenticatedError

ORIGIN = "http://localhost"
DAY = 86_400.0


def code(world: World, name: str = "ann", role: str = "person", minutes: float = 10) -> str:
    address = mint_link(world.keys, world.url, Principal("default", role, name), minutes)  # type: ignore[arg-type]
    return address.partition("#token=")[2]


def page(world: World) -> httpx.AsyncClient:
    return world.stranger(origin=ORIGIN)


async def signed_in(client: httpx.AsyncClient) -> str | None:
    reply = await client.get("/v1/session")
    return str(reply.json()["name"]) if reply.status_code == 200 else None


async def test_a_link_signs_in_once(world: World) -> None:
    link, first, second = code(world), page(world), page(world)
    assert (await first.post("/v1/session", json={"token": link})).status_code == 200
    assert await signed_in(first) == "ann"
    reply = await second.post("/v1/session", json={"token": link})
    assert (reply.status_code, "already used" in reply.json()["detail"]) == (401, True)
    assert await signed_in(second) is None


async def test_of_two_servers_that_get_a_link_at_once_one_takes_it(store_url: str) -> None:
    keys = Keys("a secret of these tests, long enough")
    link = mint_link(keys, ORIGIN, Principal("default", "person", "ann")).partition("#token=")[2]
    async with open_backend(store_url) as one, open_backend(store_url) as two:
        both = [SignInLinks(keys, backend) for backend in (one, two)]
        known = [links.verify(link) for links in both]
        await both[0].refuse_used(known[0])
        await both[1].refuse_used(known[1])
        await both[0].use(known[0])
        if store_url != "memory://":
            with pytest.raises(UnauthenticatedError, match="used"):
                await both[1].use(known[1])


async def test_a_link_is_worth_nothing_after_its_minutes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    link, later = code(world, minutes=1), time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    reply = await page(world).post("/v1/session", json={"token": link})
    assert (reply.status_code, "expired" in reply.json()["detail"]) == (401, True)


async def test_a_link_is_no_token(world: World) -> None:
    link = code(world, role="admin")
    for token in (link, link.removeprefix("link.")):
        assert (await world.stranger(authorization=f"Bearer {token}").get("/v1/session")).status_code == 401
        assert (await world.stranger(cookie=f"ringi_session={token}").get("/v1/session")).status_code == 401
    plain = await page(world).post("/v1/session", json={"token": link.removeprefix("link.")})
    assert plain.status_code == 401


async def test_a_token_is_no_link(world: World) -> None:
    reply = await page(world).post("/v1/session", json={"token": f"link.{world.token('admin', 'eve')}"})
    assert reply.status_code == 401


async def test_a_link_that_was_made_before_all_of_a_name_was_revoked_is_worth_nothing(world: World) -> None:
    link, client = code(world), world.client("person", "ann")
    assert (await client.delete("/v1/session?everywhere=true")).status_code == 204

    async def is_known() -> bool:
        return (await client.get("/v1/session")).status_code == 401

    await until(is_known)
    reply = await page(world).post("/v1/session", json={"token": link})
    assert (reply.status_code, "revoked" in reply.json()["detail"]) == (401, True)


@pytest.mark.parametrize("is_link", [True, False])
async def test_a_link_of_another_site_does_not_replace_a_living_session(world: World, is_link: bool) -> None:
    client = page(world)
    await client.post("/v1/session", json={"token": world.token("person", "ann")})
    theirs = code(world, "mallory", "admin") if is_link else world.token("admin", "mallory")
    reply = await client.post("/v1/session", json={"token": theirs})
    assert (reply.status_code, reply.json()["code"]) == (409, "signed_in")
    assert (reply.json()["current"]["name"], reply.json()["other"]["name"]) == ("ann", "mallory")
    assert "set-cookie" not in reply.headers
    assert await signed_in(client) == "ann"
    reply = await client.post("/v1/session", json={"token": theirs, "replace": True})
    assert reply.status_code == 200
    assert await signed_in(client) == "mallory"


async def test_ones_own_new_link_asks_nothing(world: World) -> None:
    client = page(world)
    for _ in range(2):
        assert (await client.post("/v1/session", json={"token": code(world)})).status_code == 200


async def test_a_dead_session_is_replaced_unasked(world: World) -> None:
    client = page(world)
    client.cookies.set("ringi_session", "worth.nothing.now")
    assert (await client.post("/v1/session", json={"token": code(world)})).status_code == 200


async def test_an_agents_token_opens_no_page_session(world: World) -> None:
    token = world.token("agent", "bot")
    reply = await page(world).post("/v1/session", json={"token": token})
    assert (reply.status_code, reply.json()["code"]) == (403, "agent_session")
    assert "set-cookie" not in reply.headers
    assert (await world.stranger(cookie=f"ringi_session={token}").get("/v1/session")).status_code == 401


def life(reply: httpx.Response) -> int:
    parts = dict(part.strip().lower().partition("=")[::2] for part in reply.headers["set-cookie"].split(";"))
    return int(parts["max-age"])


async def test_a_session_lasts_fourteen_days_and_is_renewed_by_use(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, now = page(world), time.time()
    reply = await client.post("/v1/session", json={"token": world.token("person", "ann")})
    assert life(reply) == 14 * DAY
    assert "set-cookie" not in (await client.get("/v1/requests")).headers
    monkeypatch.setattr(time, "time", lambda: now + 10 * DAY)
    assert life(await client.get("/v1/requests")) == 14 * DAY
    monkeypatch.setattr(time, "time", lambda: now + 20 * DAY)
    assert await signed_in(client) == "ann"
    monkeypatch.setattr(time, "time", lambda: now + 40 * DAY)
    assert (await client.get("/v1/session")).status_code == 401


async def test_the_life_of_a_session_is_a_setting(store_url: str) -> None:
    async with open_world(store_url, session_seconds=60) as world:
        reply = await page(world).post("/v1/session", json={"token": code(world)})
    assert life(reply) == 60


async def test_a_session_does_not_outlive_the_token_that_opened_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, now = page(world), time.time()
    token = world.keys.mint(role="person", name="ann", expires_in=2 * DAY)
    assert life(await client.post("/v1/session", json={"token": token})) <= 2 * DAY
    monkeypatch.setattr(time, "time", lambda: now + DAY)
    assert "set-cookie" not in (await client.get("/v1/session")).headers
    monkeypatch.setattr(time, "time", lambda: now + 3 * DAY)
    assert (await client.get("/v1/session")).status_code == 401


async def test_taking_back_a_token_ends_the_sessions_it_opened(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client, token, now = page(world), world.token("person", "ann"), time.time()
    await client.post("/v1/session", json={"token": token})
    monkeypatch.setattr(time, "time", lambda: now + 10 * DAY)
    assert "set-cookie" in (await client.get("/v1/session")).headers
    revocations = world.app._revocations
    await revocations.revoke(
        Revocation(
            tenant="default", name="ann", role="person", mark=token_digest(token), at=revocations.now(), by="ops"
        )
    )
    await revocations._read()
    assert (await client.get("/v1/session")).status_code == 401


async def test_signing_out_is_not_undone_by_a_renewal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client, now = page(world), time.time()
    await client.post("/v1/session", json={"token": world.token("person", "ann")})
    monkeypatch.setattr(time, "time", lambda: now + 10 * DAY)
    reply = await client.delete("/v1/session?everywhere=true")
    assert reply.headers.get_list("set-cookie")
    assert len(reply.headers.get_list("set-cookie")) == 1
    assert await signed_in(client) is None
