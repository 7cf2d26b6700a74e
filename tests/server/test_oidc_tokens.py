"""UserInfo, the provider's tokens as bearers, and its errors as a page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.server.provider import CLIENT, Claims, Key, Provider, serving
from tests.server.test_oidc import ATTACKS, CALLBACK, configured, forged, signed_in
from tests.server.world import World, open_world, until

from ringi.server.auth import oidc_provider
from ringi.server.auth.oidc_provider import is_oidc_access_token
from ringi.server.auth.revocations import Revocation
from ringi.server.identity import GroupRoles

BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving(Provider()) as provider:
        yield provider


@pytest.fixture
async def world(provider: Provider) -> AsyncIterator[World]:
    async with open_world("memory://", oidc=configured(provider)) as world:
        yield world


def split(provider: Provider, userinfo: Claims) -> None:
    """Let the id token name only the subject."""
    provider.person, provider.userinfo = {"sub": "1"}, userinfo


ANN = {"sub": "1", "email": "ann@example.com", "email_verified": True, "groups": ["finance"]}


async def test_what_the_id_token_does_not_say_is_read_from_userinfo(world: World, provider: Provider) -> None:
    split(provider, ANN)
    browser, reply = await signed_in(world, provider)
    assert reply.status_code == 302
    session = (await browser.get("/v1/session")).json()
    assert (session["name"], session["groups"]) == ("ann@example.com", ["finance"])


async def test_userinfo_of_somebody_else_is_refused(world: World, provider: Provider) -> None:
    split(provider, {**ANN, "sub": "2"})
    _, reply = await signed_in(world, provider)
    assert (reply.status_code, "another person" in reply.json()["detail"]) == (401, True)


async def test_the_token_goes_before_userinfo(world: World, provider: Provider) -> None:
    provider.person = {"sub": "1", "email": "ann@example.com", "email_verified": False}
    provider.userinfo = {**ANN, "email": "root@example.com"}
    _, reply = await signed_in(world, provider)
    assert (reply.status_code, "has not verified" in reply.json()["detail"]) == (403, True)


async def test_userinfo_is_not_asked_for_what_is_known(world: World, provider: Provider) -> None:
    provider.userinfo = ANN
    await signed_in(world, provider)
    assert "userinfo" not in provider.called


def access(provider: Provider, **changes: Any) -> Claims:
    now = int(time.time())
    claims = {"iss": provider.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "scope": "openid"}
    claims |= provider.person | changes
    return {name: value for name, value in claims.items() if value is not None}


def bearer(world: World, token: str) -> httpx.AsyncClient:
    return world.stranger(authorization=f"Bearer {token}")


async def test_a_token_of_the_provider_is_a_bearer(world: World, provider: Provider) -> None:
    request = await world.asked(groups=["finance"])
    client = bearer(world, provider.key.sign(access(provider)))
    assert (await client.get("/v1/session")).json() == {
        "name": "ann@example.com", "role": "person", "tenant": "default", "groups": ["finance"],
    }  # fmt: skip
    answer = {"decision": "respond", "message": "yes", "digest": request.digest}
    done = await client.post(f"/v1/requests/{request.id}/respond", json=answer)
    assert (done.status_code, done.json()["response"]["responder"]) == (200, "ann@example.com")
    assert provider.called.count("keys") == 1


UNMARKED: Claims = {"scope": None}


@pytest.mark.parametrize(
    "claims",
    [
        UNMARKED,
        {**UNMARKED, "azp": CLIENT},
        {**UNMARKED, "aud": [CLIENT], "nonce": "n"},
        {**UNMARKED, "at_hash": "h"},
        {"typ": "ID"},
        {"token_use": "id"},
    ],
)
async def test_an_id_token_is_no_bearer_unless_a_setting_says_so(
    world: World, provider: Provider, claims: Claims
) -> None:
    token = provider.key.sign(access(provider, **claims))
    refused = await bearer(world, token).get("/v1/session")
    assert (refused.status_code, "RINGI_OIDC_ID_TOKENS" in refused.text) == (401, True)
    async with open_world("memory://", oidc=replace(configured(provider), takes_id_tokens=True)) as lenient:
        assert (await bearer(lenient, token).get("/v1/session")).status_code == 200


# What the access tokens of these providers carry for a program that calls for a person.
ISSUED: dict[str, tuple[Claims, Claims]] = {
    "RFC 9068": ({"typ": "at+jwt"}, {"nonce": "n"}),
    "RFC 9068, whole media type": ({"typ": "application/AT+JWT"}, {}),
    "Keycloak": ({"typ": "JWT"}, {"typ": "Bearer", "azp": CLIENT, "nonce": "n"}),
    "authentik": ({"typ": "JWT"}, {"scope": "openid email", "azp": CLIENT, "nonce": "n"}),
    "Okta": ({}, {"scp": ["openid"], "cid": CLIENT}),
    "Entra": ({"typ": "JWT"}, {"scp": "read", "azp": CLIENT, "azpacr": "1"}),
    "Entra without a scope": ({"typ": "JWT"}, {"roles": ["run"], "azp": CLIENT, "azpacr": "1"}),
    "Auth0": ({"typ": "JWT"}, {"aud": ["api", "https://tenant.example/userinfo"], "azp": CLIENT}),
    "Cognito": ({}, {"token_use": "access", "client_id": CLIENT}),
}


@pytest.mark.parametrize("issuer", ISSUED)
def test_an_access_token_is_known_by_its_marks(issuer: str) -> None:
    header, claims = ISSUED[issuer]
    assert is_oidc_access_token(header, access(Provider(), **UNMARKED | claims), CLIENT)


@pytest.mark.parametrize("name", ["a\0nn@example.com", "ann\n"])
async def test_a_name_with_a_control_character_is_refused(world: World, provider: Provider, name: str) -> None:
    token = provider.key.sign(access(provider, email=name))
    assert (await bearer(world, token).get("/v1/session")).status_code == 401


async def test_an_access_token_that_names_nobody_is_completed_by_userinfo_once(
    world: World, provider: Provider
) -> None:
    split(provider, ANN)
    client = bearer(world, provider.key.sign(access(provider)))
    for _ in range(3):
        assert (await client.get("/v1/session")).json()["name"] == "ann@example.com"
    assert provider.called.count("userinfo") == 1


async def test_an_audience_of_its_own_is_a_setting(provider: Provider) -> None:
    async with open_world("memory://", oidc=configured(provider, audience="api://ringi")) as world:
        own, other = (provider.key.sign(access(provider, aud=aud)) for aud in (["api://ringi", "x"], CLIENT))
        plain = provider.key.sign(access(provider, aud="api://ringi", **UNMARKED))
        assert (await bearer(world, plain).get("/v1/session")).status_code == 200
        assert (await bearer(world, own).get("/v1/session")).status_code == 200
        assert (await bearer(world, other).get("/v1/session")).status_code == 401


WRONG = {
    name: change for name, (_, change) in ATTACKS.items() if name not in ("party", "nonce", "no nonce", "audiences")
}


@pytest.mark.parametrize("attack", WRONG)
async def test_a_bearer_that_says_something_wrong_is_refused(world: World, provider: Provider, attack: str) -> None:
    token = provider.key.sign(WRONG[attack](access(provider)))
    reply = await bearer(world, token).get("/v1/session")
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize(
    "how",
    [
        "none", "public key as secret", "client secret", "published secret", "another key of that name",
        "another algorithm of that key", "key in the header", "no name", "unknown key",
    ],
)  # fmt: skip
async def test_a_bearer_that_the_provider_did_not_sign_is_refused(world: World, provider: Provider, how: str) -> None:
    reply = await bearer(world, forged(provider, how)(access(provider))).get("/v1/session")
    assert reply.status_code == 401


async def test_a_bearer_ends_also_when_it_was_read_before(
    world: World, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, later = bearer(world, provider.key.sign(access(provider))), time.time() + 400
    assert (await client.get("/v1/session")).status_code == 200
    monkeypatch.setattr(time, "time", lambda: later)
    assert (await client.get("/v1/session")).status_code == 401


async def test_revoking_a_name_ends_its_bearers(world: World, provider: Provider) -> None:
    client = bearer(world, provider.key.sign(access(provider)))
    assert (await client.get("/v1/session")).status_code == 200
    revocations = world.app._revocations
    at = revocations.now() + 1
    await revocations.revoke(Revocation(tenant="default", name="ann@example.com", at=at, by="ops"))

    async def is_out() -> bool:
        return (await client.get("/v1/session")).status_code == 401

    await until(is_out)


async def test_no_bearer_of_the_provider_is_an_agent_and_groups_decide(provider: Provider) -> None:
    group_roles = GroupRoles(admins=frozenset({"ops"}), people=frozenset({"finance"}))
    async with open_world("memory://", oidc=configured(provider, group_roles=group_roles)) as world:
        for changes, status, role in (
            ({"role": "agent"}, 200, "person"),
            ({"groups": ["ops"]}, 200, "admin"),
            ({"groups": ["sales"]}, 403, None),
            ({"email": "agent:bot"}, 401, None),
        ):
            reply = await bearer(world, provider.key.sign(access(provider, **changes))).get("/v1/session")
            assert (reply.status_code, reply.json().get("role")) == (status, role)


async def test_ringis_own_tokens_work_on_and_a_forged_issuer_asks_nobody(world: World, provider: Provider) -> None:
    assert (await world.client().get("/v1/session")).status_code == 200
    assert (await bearer(world, Key(2).sign(access(provider, iss="https://evil.example"))).get("/v1/session")).is_error
    assert provider.called == []


@pytest.mark.parametrize("down", ["discovery", "keys"])
async def test_forged_bearers_do_not_flood_a_provider_that_is_down(
    world: World, provider: Provider, monkeypatch: pytest.MonkeyPatch, down: str
) -> None:
    provider.down = down
    forgery, genuine = bearer(world, Key(2).sign(access(provider))), bearer(world, provider.key.sign(access(provider)))
    replies = [await forgery.get("/v1/session")]
    replies += await asyncio.gather(*(forgery.get("/v1/session") for _ in range(5)))
    assert ({reply.status_code for reply in replies}, provider.called.count(down)) == ({503}, 1)

    provider.down = None
    assert (await genuine.get("/v1/session")).status_code == 503
    monkeypatch.setattr(oidc_provider, "REPEAT_SECONDS", 0)
    replies = await asyncio.gather(*(genuine.get("/v1/session") for _ in range(5)))
    assert ({reply.status_code for reply in replies}, provider.called.count("keys")) == ({200}, 1 + (down == "keys"))


TITLES = {"en": "You are not signed in", "ja": "サインインしていません", "zh": "您尚未登录"}


@pytest.mark.parametrize("language", TITLES)
async def test_an_error_is_a_page_in_the_persons_language(world: World, language: str) -> None:
    person = world.stranger(accept=BROWSER, **{"accept-language": language})
    began = await person.get("/v1/session/oidc")
    state = httpx.URL(began.headers["location"]).params["state"]
    params = {"state": state, "error": "access_denied", "error_description": "<script>x</script>", "session_state": "1"}
    reply = await person.get(CALLBACK, params=params)
    assert (reply.status_code, reply.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert TITLES[language] in reply.text
    assert f'lang="{language}"' in reply.text
    assert ("access_denied" if language == "en" else "<code>sign_in</code>") in reply.text
    assert "<script" not in reply.text
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert not [line for line in reply.headers.get_list("set-cookie") if "ringi_session" in line]


async def test_a_person_without_a_group_and_a_provider_that_is_down_have_words_of_their_own(
    provider: Provider,
) -> None:
    group_roles = GroupRoles(people=frozenset({"ops"}))
    async with open_world("memory://", oidc=configured(provider, group_roles=group_roles)) as world:
        person = world.stranger(accept=BROWSER)
        began = await person.get("/v1/session/oidc")
        reply = await person.get(provider.agree(began.headers["location"]))
        assert (reply.status_code, "may not use Ringi" in reply.text) == (403, True)
    real, provider.issuer = provider.issuer, "http://127.0.0.1:1"
    async with open_world(
        "memory://",
        oidc=configured(
            provider,
        ),
    ) as world:
        provider.issuer = real
        reply = await world.stranger(accept=BROWSER).get("/v1/session/oidc")
    assert (reply.status_code, "cannot be reached" in reply.text) == (503, True)
    assert reply.headers["retry-after"]
