"""A proxy says who calls: from its own address, and from nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from ipaddress import ip_network

import httpx
import pytest
from tests.server.world import World, open_world

from ringi.base.settings import SettingError
from ringi.server.identity import GroupRoles, TrustedProxy

USER, GROUPS = "x-forwarded-user", "x-forwarded-groups"
ELSEWHERE = TrustedProxy((ip_network("10.0.0.0/8"),))
HERE = TrustedProxy((ip_network("127.0.0.0/8"), ip_network("::1")), group_roles=GroupRoles(admins=frozenset({"ops"})))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world("memory://", serves=True, proxy=HERE) as world:
        yield world


async def test_who_the_proxy_names_is_who_calls(world: World) -> None:
    person = await world.stranger(**{USER: "ann", GROUPS: "finance, legal"}).get("/v1/session")
    admin = await world.stranger(**{USER: "root", GROUPS: "ops"}).get("/v1/session")

    assert person.json() == {"name": "ann", "role": "person", "tenant": "default", "groups": ["finance", "legal"]}
    assert admin.json()["role"] == "admin"


async def test_a_call_that_the_proxy_names_nobody_for_is_refused(world: World) -> None:
    for headers in ({}, {GROUPS: "ops"}):
        assert (await world.stranger(**headers).get("/v1/session")).status_code == 401


@pytest.mark.parametrize("forwarded", [{}, {"x-forwarded-for": "10.0.0.5"}, {"forwarded": "for=10.0.0.5"}])
async def test_somebody_elses_headers_are_ignored(forwarded: dict[str, str]) -> None:
    async with open_world("memory://", serves=True, proxy=ELSEWHERE) as world:
        headers = {USER: "ann", GROUPS: "ops", **forwarded}

        reply = await world.stranger(**headers).get("/v1/session")
        own = await world.stranger(authorization=f"Bearer {world.token('person', 'bob')}", **headers).get("/v1/session")

    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert (own.json()["name"], own.json()["groups"]) == ("bob", [])


async def test_without_a_proxy_its_headers_mean_nothing() -> None:
    async with open_world("memory://", serves=True) as world:
        assert (await world.stranger(**{USER: "ann", GROUPS: "ops"}).get("/v1/session")).status_code == 401


async def test_a_proxied_call_may_name_where_it_came_from_without_losing_its_own_place(world: World) -> None:
    reply = await world.stranger(**{USER: "ann", "x-forwarded-for": "203.0.113.9"}).get("/v1/session")

    assert reply.json()["name"] == "ann"


@pytest.mark.parametrize(("name", "status"), [("agent:bot", 401), ("system", 401), ("", 401), ("x" * 201, 401)])
async def test_nobody_comes_under_a_name_that_misleads(world: World, name: str, status: int) -> None:
    assert (await world.stranger(**{USER: name}).get("/v1/session")).status_code == status


async def test_a_call_that_names_two_persons_is_refused(world: World) -> None:
    async with httpx.AsyncClient(base_url=world.url, trust_env=False) as client:
        reply = await client.get("/v1/session", headers=[(USER, "ann"), (USER, "bob")])

    assert (reply.status_code, reply.json()["code"]) == (400, "malformed")


async def test_who_is_in_no_group_that_may_come_in_is_kept_out() -> None:
    proxy = TrustedProxy((ip_network("127.0.0.1"),), group_roles=GroupRoles(people=frozenset({"finance"})))
    async with open_world("memory://", proxy=proxy) as world:
        for groups, status in (("finance", 200), ("sales", 403), ("", 403)):
            assert (await world.stranger(**{USER: "ann", GROUPS: groups}).get("/v1/session")).status_code == status


async def test_a_page_of_another_site_cannot_write_through_the_proxy(world: World) -> None:
    request = await world.asked()
    path, answer = (
        f"/v1/requests/{request.id}/respond",
        {"decision": "respond", "message": "y", "digest": request.digest},
    )
    person = world.stranger(**{USER: "ann"})

    for origin in ({}, {"origin": "https://evil.example"}):
        reply = await person.post(path, json=answer, headers=origin)
        assert (reply.status_code, reply.json()["code"]) == (403, "foreign_origin")
    own = await person.post(path, json=answer, headers={"origin": world.url})

    assert (own.json()["response"]["responder"], own.json()["response"]["channel"]) == ("ann", "page")


async def test_the_page_is_on_its_own_origin_when_the_proxy_speaks_https(world: World) -> None:
    request = await world.asked()
    headers = {USER: "ann", "x-forwarded-proto": "https", "origin": world.url.replace("http:", "https:")}

    assert (await world.stranger(**headers).post(f"/v1/requests/{request.id}/claim")).status_code == 200


def test_variables_configure_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert TrustedProxy.load() is None
    monkeypatch.setenv("RINGI_PROXY_ADDRESSES", "10.0.0.5, fd00::/8")
    monkeypatch.setenv("RINGI_PROXY_NAME_HEADER", "X-Auth-Request-Email")
    monkeypatch.setenv("RINGI_PEOPLE_GROUPS", "finance")

    group_roles = GroupRoles(people=frozenset({"finance"}))
    networks = (ip_network("10.0.0.5/32"), ip_network("fd00::/8"))
    assert TrustedProxy.load() == TrustedProxy(networks, name_header="x-auth-request-email", group_roles=group_roles)


@pytest.mark.parametrize("address", ["proxy.example.com", "10.0.0.1/8", "*"])
def test_an_address_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("RINGI_PROXY_ADDRESSES", address)

    with pytest.raises(SettingError, match="RINGI_PROXY_ADDRESSES"):
        TrustedProxy.load()
