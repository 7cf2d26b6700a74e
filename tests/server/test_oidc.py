"""People sign in at a provider of OpenID Connect; whoever pretends to come from there stays outside."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import jwt
import pytest
from tests.server.provider import CLIENT, SECRET, Claims, Key, Provider, serving
from tests.server.world import World, open_world
from tests.servers import free_port

from ringi.base.settings import SettingError
from ringi.server.identity import GroupRoles, Oidc
from ringi.server.problems import SPREAD_SECONDS
from ringi.server.routes.sign_in import COOKIE, safe_local_path

Arrival = tuple[httpx.AsyncClient, httpx.Response]
CALLBACK = "/v1/session/oidc/callback"


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving(Provider()) as provider:
        yield provider


def configured(provider: Provider, **more: Any) -> Oidc:
    return Oidc(provider.issuer, CLIENT, SECRET, **more)


@pytest.fixture
async def world(provider: Provider) -> AsyncIterator[World]:
    async with open_world("memory://", oidc=configured(provider)) as world:
        yield world


async def came_back(world: World, provider: Provider, next: str | None = None) -> tuple[httpx.AsyncClient, str]:
    """Begin to sign in, agree, and return the browser with the address to which the provider sends it."""
    browser = world.stranger()
    began = await browser.get("/v1/session/oidc", params={"next": next} if next else {})
    assert began.status_code == 302
    return browser, provider.agree(began.headers["location"])


async def signed_in(
    world: World, provider: Provider, next: str | None = None
) -> tuple[httpx.AsyncClient, httpx.Response]:
    browser, address = await came_back(world, provider, next)
    return browser, await browser.get(address)


async def assert_outside(browser: httpx.AsyncClient, reply: httpx.Response, why: str, status: int = 401) -> None:
    assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json"), reply.text
    assert why in reply.json()["detail"]
    assert "set-cookie" not in reply.headers
    assert (await browser.get("/v1/session")).status_code == 401


async def test_who_signs_in_has_the_name_and_groups_of_the_provider(world: World, provider: Provider) -> None:
    browser, reply = await signed_in(world, provider, "/r/refund-1182?x=1#y")

    assert (reply.status_code, reply.headers["location"]) == (302, "/r/refund-1182?x=1#y")
    session = (await browser.get("/v1/session")).json()
    assert session == {"name": "ann@example.com", "role": "person", "tenant": "default", "groups": ["finance"]}


async def test_an_answer_bears_the_name_of_who_signed_in(world: World, provider: Provider) -> None:
    request = await world.asked(groups=["finance"])
    browser, _ = await signed_in(world, provider)
    answer = {"decision": "respond", "message": "yes", "digest": request.digest}

    foreign = await browser.post(f"/v1/requests/{request.id}/respond", json=answer, headers={"origin": "http://evil"})
    own = await browser.post(f"/v1/requests/{request.id}/respond", json=answer, headers={"origin": "http://localhost"})

    assert (foreign.status_code, own.status_code) == (403, 200)
    assert (own.json()["response"]["responder"], own.json()["response"]["channel"]) == ("ann@example.com", "page")


async def test_the_cookies_are_kept_from_scripts_and_other_sites(world: World, provider: Provider) -> None:
    browser = world.stranger()
    began = await browser.get("/v1/session/oidc")
    reply = await browser.get(provider.agree(began.headers["location"]))

    attempt = began.headers["set-cookie"].lower()
    session, gone = (line.lower() for line in reply.headers.get_list("set-cookie"))
    assert all(part in attempt for part in ("httponly", "samesite=lax", "path=/v1/session/oidc", "max-age=600"))
    assert all(
        part in session for part in ("ringi_session=", "httponly", "samesite=strict", "path=/;", "max-age=43200")
    )
    assert all(part in gone for part in (f"{COOKIE}=", "max-age=0"))
    assert all("secure" not in line for line in (attempt, session))


async def test_behind_https_the_cookies_are_secure_and_the_way_back_is_the_public_one(provider: Provider) -> None:
    oidc = configured(provider, public_url="https://inbox.example.com")
    async with open_world("memory://", oidc=oidc, hosts=("inbox.example.com",)) as world:
        began = await world.stranger().get("/v1/session/oidc")

        asked = parse_qs(urlsplit(began.headers["location"]).query)
        assert asked["redirect_uri"] == [f"https://inbox.example.com{CALLBACK}"]
        assert "secure" in began.headers["set-cookie"].lower()


async def test_signing_out_forgets_the_cookie(world: World, provider: Provider) -> None:
    browser, _ = await signed_in(world, provider)

    assert (await browser.delete("/v1/session", headers={"origin": "http://localhost"})).status_code == 204
    assert (await browser.get("/v1/session")).status_code == 401


async def test_the_page_is_told_whether_there_is_a_provider(world: World, store_url: str) -> None:
    assert (await world.stranger().get("/v1/session/ways")).json() == {"oidc": True}
    async with open_world(store_url) as without:
        assert (await without.stranger().get("/v1/session/ways")).json() == {"oidc": False}
        for path in ("/v1/session/oidc", CALLBACK):
            assert (await without.stranger().get(path)).status_code == 404


@pytest.mark.parametrize(
    ("person", "group_roles", "session"),
    [
        ({"groups": ["ops"]}, GroupRoles(admins=frozenset({"ops"})), {"role": "admin", "groups": ["ops"]}),
        ({"groups": "ops"}, GroupRoles(people=frozenset({"ops"})), {"role": "person", "groups": ["ops"]}),
        ({"groups": None}, GroupRoles(), {"role": "person", "groups": []}),
    ],
)
async def test_groups_decide_what_somebody_is(
    provider: Provider, person: Claims, group_roles: GroupRoles, session: Claims
) -> None:
    provider.person |= person
    async with open_world("memory://", oidc=configured(provider, group_roles=group_roles)) as world:
        browser, _ = await signed_in(world, provider)

        assert session.items() <= (await browser.get("/v1/session")).json().items()


async def test_claims_of_other_names_say_name_groups_and_tenant(provider: Provider) -> None:
    provider.person = {"sub": "1", "preferred_username": "ann", "roles": ["finance"], "org": "acme"}
    claims = {"name_claim": "preferred_username", "groups_claim": "roles", "tenant_claim": "org"}
    async with open_world("memory://", oidc=configured(provider, **claims)) as world:
        browser, _ = await signed_in(world, provider)

        session = (await browser.get("/v1/session")).json()
        assert session == {"name": "ann", "role": "person", "tenant": "acme", "groups": ["finance"]}


@pytest.mark.parametrize(
    ("person", "settings", "why", "status"),
    [
        ({"groups": ["sales"]}, {"group_roles": GroupRoles(people=frozenset({"ops"}))}, "not in an allowed group", 403),
        ({"email_verified": False}, {}, "has not verified", 403),
        ({"email_verified": "true"}, {}, "has not verified", 403),
        ({}, {"tenant_claim": "org"}, "sent no tenant", 403),
        ({"org": ["acme"]}, {"tenant_claim": "org"}, "sent no tenant", 403),
        ({"email": "agent:bot"}, {}, "is not allowed", 401),
        ({"email": "system"}, {}, "is not allowed", 401),
        ({"email": ["ann"]}, {}, "is not allowed", 401),
        ({"groups": [f"group-{n}" for n in range(500)]}, {}, "do not fit in a cookie", 401),
    ],
)
async def test_whom_the_rules_keep_out_gets_no_cookie(
    provider: Provider, person: Claims, settings: dict[str, Any], why: str, status: int
) -> None:
    provider.person |= person
    async with open_world("memory://", oidc=configured(provider, **settings)) as world:
        browser, reply = await signed_in(world, provider)

        await assert_outside(browser, reply, why, status)


ATTACKS: dict[str, tuple[str, Callable[[Claims], Claims]]] = {
    "issuer": ("'iss'", lambda claims: {**claims, "iss": "http://127.0.0.1:1"}),
    "audience": ("'aud'", lambda claims: {**claims, "aud": "another"}),
    "audiences": ("'azp'", lambda claims: {**claims, "aud": [CLIENT, "another"]}),
    "party": ("'azp'", lambda claims: {**claims, "azp": "another"}),
    "nonce": ("another sign-in", lambda claims: {**claims, "nonce": "other"}),
    "no nonce": ("nonce", lambda claims: {name: value for name, value in claims.items() if name != "nonce"}),
    "expired": ("expired", lambda claims: {**claims, "exp": time.time() - 60, "iat": time.time() - 360}),
    "endless": ("exp", lambda claims: {name: value for name, value in claims.items() if name != "exp"}),
    "early": ("not yet valid", lambda claims: {**claims, "nbf": time.time() + 600}),
    "nobody": ("sub", lambda claims: {name: value for name, value in claims.items() if name != "sub"}),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_token_that_says_something_wrong_is_refused(world: World, provider: Provider, attack: str) -> None:
    why, provider.claims = ATTACKS[attack]

    browser, reply = await signed_in(world, provider)

    await assert_outside(browser, reply, why)


def forged(provider: Provider, how: str) -> Callable[[Claims], str]:
    key, kid = Key(2), provider.key.kid
    if how == "none":
        return lambda claims: jwt.encode(claims, "", "none", {"kid": kid})
    if how == "public key as secret":
        return lambda claims: hs256(claims, provider.key.pem, kid)
    if how == "client secret":
        return lambda claims: hs256(claims, SECRET.encode(), kid)
    if how == "published secret":
        return lambda claims: hs256(claims, SECRET.encode(), "oct")
    if how == "another key of that name":
        return lambda claims: jwt.encode(claims, key.private, "RS256", {"kid": kid})
    if how == "another algorithm of that key":
        return lambda claims: jwt.encode(claims, provider.key.private, "PS256", {"kid": kid})
    if how == "key in the header":
        return lambda claims: jwt.encode(claims, key.private, "RS256", {"kid": kid, "jwk": key.jwk})
    if how == "no name":
        return lambda claims: jwt.encode(claims, key.private, "RS256")
    return key.sign


def hs256(claims: Claims, secret: bytes, kid: str) -> str:
    """Sign by a secret, as an attacker would: without the library's own caution."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    text = (
        f"{part(json.dumps({'alg': 'HS256', 'typ': 'JWT', 'kid': kid}).encode())}.{part(json.dumps(claims).encode())}"
    )
    return f"{text}.{part(hmac.digest(secret, text.encode(), 'sha256'))}"


@pytest.mark.parametrize(
    "how",
    [
        "none", "public key as secret", "client secret", "published secret", "another key of that name",
        "another algorithm of that key", "key in the header", "no name", "unknown key",
    ],
)  # fmt: skip
async def test_a_token_that_the_provider_did_not_sign_is_refused(world: World, provider: Provider, how: str) -> None:
    provider.sign = forged(provider, how)

    browser, reply = await signed_in(world, provider)

    await assert_outside(browser, reply, "the sign-in failed: the token")


async def test_what_is_no_token_is_refused(world: World, provider: Provider) -> None:
    provider.sign = lambda claims: "nonsense"

    await assert_outside(*await signed_in(world, provider), "the token is invalid")


async def test_a_new_key_of_the_provider_is_taken_at_once_and_keys_are_asked_for_seldom(
    world: World, provider: Provider
) -> None:
    for _ in range(2):
        _, reply = await signed_in(world, provider)
        assert reply.status_code == 302
    assert (provider.called.count("keys"), provider.called.count("discovery")) == (1, 1)

    provider.rotate()
    _, reply = await signed_in(world, provider)
    assert (reply.status_code, provider.called.count("keys")) == (302, 2)

    provider.sign = forged(provider, "unknown key")
    for _ in range(3):
        _, reply = await signed_in(world, provider)
        assert reply.status_code == 401
    assert provider.called.count("keys") == 2


async def test_a_way_back_works_once(world: World, provider: Provider) -> None:
    browser, address = await came_back(world, provider)
    cookie = browser.cookies[COOKIE]
    assert (await browser.get(address)).status_code == 302
    thief = world.stranger()

    await assert_outside(thief, await thief.get(address), "has not started a sign-in")
    await assert_outside(thief, await thief.get(address, headers={"cookie": f"{COOKIE}={cookie}"}), "already completed")


async def test_a_code_is_not_taken_for_another_sign_in(world: World, provider: Provider) -> None:
    victim, _ = await came_back(world, provider)
    _, address = await came_back(world, provider)

    await assert_outside(victim, await victim.get(address), "this browser started another sign-in")


async def test_a_code_of_another_sign_in_does_not_pass_with_the_right_state(world: World, provider: Provider) -> None:
    victim, own = await came_back(world, provider)
    _, other = await came_back(world, provider)
    mixed = {**query_of(own), "code": query_of(other)["code"]}

    reply = await victim.get(f"{CALLBACK}?{urlencode(mixed)}")

    await assert_outside(victim, reply, "refused the code")


def query_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"iss": "http://127.0.0.1:1"}, "another provider"),
        ({"code": "", "error": "access_denied"}, "access_denied"),
        ({"state": ""}, "started another sign-in"),
        ({"state": "é"}, "started another sign-in"),
    ],
)
async def test_a_way_back_that_was_changed_leads_nowhere(
    world: World, provider: Provider, changes: dict[str, str], why: str
) -> None:
    browser, address = await came_back(world, provider)

    reply = await browser.get(f"{CALLBACK}?{urlencode({**query_of(address), **changes})}")

    await assert_outside(browser, reply, why)


@pytest.mark.parametrize("what", ["session", "own claims", "expired"])
async def test_a_departure_cannot_be_made_up(world: World, provider: Provider, what: str) -> None:
    _, address = await came_back(world, provider)
    fields = {"state": query_of(address)["state"], "nonce": "n", "verifier": "v", "next": "/", "exp": time.time() + 60}
    secret = world.keys.derive("sign in")
    cookie = {
        "session": world.token("person", "eve"),
        "own claims": jwt.encode(fields, "a secret of an attacker, long enough", "HS256"),
        "expired": jwt.encode({**fields, "exp": time.time() - 1}, secret, "HS256"),
    }[what]

    reply = await world.stranger().get(address, headers={"cookie": f"{COOKIE}={cookie}"})

    await assert_outside(world.stranger(), reply, "has not started a sign-in")


async def test_what_a_browser_keeps_while_it_is_away_is_no_session(world: World, provider: Provider) -> None:
    browser, _ = await came_back(world, provider)
    cookie = browser.cookies[COOKIE]

    for headers in ({"cookie": f"ringi_session={cookie}"}, {"authorization": f"Bearer {cookie}"}):
        assert (await world.stranger().get("/v1/session", headers=headers)).status_code == 401


OUTWARD = [
    "https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example", "evil.example",
    "javascript:alert(1)", "/\n/evil.example", " //evil.example", "http:evil.example", "///evil.example", "",
]  # fmt: skip


@pytest.mark.parametrize("next", OUTWARD)
async def test_a_sign_in_never_leads_to_another_site(world: World, provider: Provider, next: str) -> None:
    _, reply = await signed_in(world, provider, next)

    assert (reply.status_code, reply.headers["location"]) == (302, "/")


@pytest.mark.parametrize("path", ["/", "/r/a", "/r/a?b=//c", "/t/x#y", "/稟議"])
def test_a_sign_in_leads_back_to_where_it_began(path: str) -> None:
    assert safe_local_path(path) == path


async def test_a_provider_that_calls_itself_otherwise_signs_nobody_in(provider: Provider) -> None:
    real, provider.issuer = provider.issuer, "http://127.0.0.1:1"
    async with open_world("memory://", oidc=Oidc(real, CLIENT, SECRET)) as world:
        reply = await world.stranger().get("/v1/session/oidc")

    assert reply.status_code == 503
    assert "its issuer is" in reply.json()["detail"]


async def test_a_provider_that_does_not_answer_is_said_so_and_the_rest_goes_on(store_url: str) -> None:
    async with open_world(store_url, oidc=Oidc(f"http://127.0.0.1:{free_port()}", CLIENT)) as world:
        reply = await world.stranger().get("/v1/session/oidc")

        assert reply.status_code == 503
        assert 5 <= int(reply.headers["retry-after"]) <= 5 + SPREAD_SECONDS
        assert (await world.client().get("/v1/session")).status_code == 200


VARIABLES = {"ISSUER": "https://id.example.com", "CLIENT_ID": "ringi", "TENANT_CLAIM": "org"}


def test_variables_configure_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Oidc.load() is None
    for name, value in VARIABLES.items():
        monkeypatch.setenv(f"RINGI_OIDC_{name}", value)
    monkeypatch.setenv("RINGI_ADMIN_GROUPS", "ops, root")
    monkeypatch.setenv("RINGI_PUBLIC_URL", "https://inbox.example.com/")

    group_roles = GroupRoles(admins=frozenset({"ops", "root"}))
    assert Oidc.load() == Oidc(
        "https://id.example.com",
        "ringi",
        public_url="https://inbox.example.com",
        tenant_claim="org",
        group_roles=group_roles,
    )


@pytest.mark.parametrize(
    ("name", "value"), [("ISSUER", "http://id.example.com"), ("ISSUER", "id.example.com"), ("CLIENT_ID", "")]
)
def test_a_provider_without_safety_or_id_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    for each, text in {**VARIABLES, name: value}.items():
        monkeypatch.setenv(f"RINGI_OIDC_{each}", text)

    with pytest.raises(SettingError, match=f"RINGI_OIDC_{name}"):
        Oidc.load()
