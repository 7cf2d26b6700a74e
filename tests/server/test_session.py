"""Tokens, the page's session, and the page."""

from __future__ import annotations

import asyncio
import stat
import time
from pathlib import Path

import jwt
import pytest
from tests.server.world import SECRET, World, open_world

from ringi.base.settings import SettingError
from ringi.server import Keys, Principal, problems
from ringi.server.auth.authenticator import load_signing_secret
from ringi.server.refusals import UnauthenticatedError


def test_a_token_says_who_somebody_is() -> None:
    keys = Keys(SECRET)
    token = keys.mint(role="person", name="ann", tenant="t", groups=("ops",))
    assert keys.read(token) == Principal("t", "person", "ann", ("ops",))
    assert keys.read(token) is keys.read(token)


def test_a_token_of_another_server_is_refused() -> None:
    token = Keys("another secret, which is long enough").mint(role="admin", name="eve")
    with pytest.raises(UnauthenticatedError):
        Keys(SECRET).read(token)


@pytest.mark.parametrize(
    "claims",
    [
        {"tenant": "t", "role": "root", "sub": "eve"},
        {"tenant": "t", "role": "admin"},
        {"role": "admin", "sub": "eve"},
        {"tenant": "t", "sub": "eve"},
        {"tenant": "t", "role": "admin", "sub": 5},
    ],
)
def test_a_token_must_say_everything(claims: dict[str, object]) -> None:
    with pytest.raises(UnauthenticatedError):
        Keys(SECRET).read(jwt.encode(claims, SECRET, "HS256"))


@pytest.mark.parametrize("name", ["agent:bot", "a:b", "system", ""])
def test_a_token_is_refused_when_its_name_could_be_taken_for_anothers(name: str) -> None:
    with pytest.raises(UnauthenticatedError, match="is not allowed"):
        Keys(SECRET).read(jwt.encode({"tenant": "t", "role": "person", "sub": name}, SECRET, "HS256"))


def test_an_agent_acts_under_a_name_that_no_person_can_have() -> None:
    actors = [Principal("t", role, "ann").actor for role in ("agent", "person", "admin")]
    assert actors == ["agent:ann", "ann", "ann"]


def test_an_unsigned_token_is_refused() -> None:
    token = jwt.encode({"tenant": "t", "role": "admin", "sub": "eve"}, "", "none")
    with pytest.raises(UnauthenticatedError):
        Keys(SECRET).read(token)


def test_a_token_ends_also_when_it_was_read_before(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(SECRET)
    token = keys.mint(role="person", name="ann", expires_in=60)
    assert keys.read(token).name == "ann"
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(UnauthenticatedError, match="expired"):
        keys.read(token)


@pytest.mark.parametrize("name", ["", "system", "x" * 201, "agent:bot", "a:b"])
def test_nobody_is_called_by_a_name_that_misleads(name: str) -> None:
    with pytest.raises(SettingError):
        Keys(SECRET).mint(role="person", name=name)


def test_a_role_must_be_known() -> None:
    with pytest.raises(SettingError, match="choose agent, person, admin, auditor"):
        Keys(SECRET).mint(role="root", name="ann")


def test_a_short_secret_is_refused_and_not_printed() -> None:
    with pytest.raises(SettingError) as refused:
        Keys("short-secret")
    assert "short-secret" not in str(refused.value)


async def test_the_secret_is_made_once_and_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "secret"
    found = await asyncio.gather(*(asyncio.to_thread(load_signing_secret, path) for _ in range(20)))
    assert len(set(found)) == 1
    assert len(found[0]) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["secret"]


def test_a_secret_of_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_SECRET", SECRET)
    assert Keys.load(tmp_path).read(Keys(SECRET).mint(role="person", name="ann")).name == "ann"
    assert not list(tmp_path.iterdir())


async def test_a_link_is_exchanged_for_a_cookie_that_no_script_reads(world: World) -> None:
    client = world.stranger(origin="http://localhost")
    assert (await client.get("/v1/session")).status_code == 401
    reply = await client.post("/v1/session", json={"token": world.token("person", "ann", groups=("ops",))})
    who = {"name": "ann", "role": "person", "tenant": "default", "groups": ["ops"]}
    assert reply.json() == who
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie
    assert (await client.get("/v1/session")).json() == who
    assert (await client.delete("/v1/session")).status_code == 204
    assert (await client.get("/v1/session")).status_code == 401


async def test_the_cookie_is_secure_where_the_page_is(world: World) -> None:
    client = world.stranger()
    client.base_url = "https://localhost"
    reply = await client.post("/v1/session", json={"token": world.token("person", "ann")})
    assert "secure" in reply.headers["set-cookie"].lower()


async def test_another_site_can_neither_sign_in_nor_out(world: World) -> None:
    client = world.stranger(origin="http://evil.example")
    assert (await client.post("/v1/session", json={"token": world.token("person", "eve")})).status_code == 403
    assert (await client.delete("/v1/session")).status_code == 403


@pytest.mark.parametrize("header", ["Basic YTpi", "Bearer", "Bearer ", "Bearer x", "Bearer a.b.c", "x"])
async def test_a_wrong_authorization_is_no_caller(world: World, header: str) -> None:
    assert (await world.stranger(authorization=header).get("/v1/requests")).status_code == 401


async def test_the_info_says_what_runs_here(store_url: str) -> None:
    async with open_world(store_url, scripted=True, model="a-model") as world:
        info = (await world.client().get("/v1/info")).json()
    assert (info["scripted"], info["model"]) == (True, "a-model")
    assert info["version"]


@pytest.fixture
def static(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "assets" / "main-1.js").write_text("1")
    (folder / "stamp.svg").write_text("<svg/>")
    (tmp_path / "secret.svg").write_text("secret")
    return folder


async def test_the_page_is_one_file_at_all_its_addresses(store_url: str, static: Path) -> None:
    async with open_world(store_url, static=static) as world:
        for path in ("/", "/r/some-id", "/threads", "/t/some-id", "/operations", "/overview", "/grants"):
            reply = await world.stranger().get(path)
            assert (reply.status_code, reply.text) == (200, "<!doctype html>")
            assert reply.headers["cache-control"] == "no-cache"
        asset = await world.stranger().get("/assets/main-1.js")
        assert (asset.text, asset.headers["cache-control"]) == ("1", "public, max-age=31536000, immutable")
        assert (await world.stranger().get("/stamp.svg")).headers["content-type"].startswith("image/svg")


async def test_a_browser_at_an_unknown_address_gets_the_page_and_a_program_a_problem(
    store_url: str, static: Path
) -> None:
    browser = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    async with open_world(store_url, static=static) as world:
        for path in ("/nowhere", "/r", "/chat/a/b", "/%ff", "/inbox?x=1"):
            reply = await world.stranger().get(path, headers=browser)
            assert (reply.status_code, reply.text) == (404, "<!doctype html>"), path
            assert reply.headers["cache-control"] == "no-cache"
        refused = [
            await world.stranger().get("/nowhere"),
            await world.stranger().post("/nowhere", headers=browser),
            await world.client().get("/v1/requests/none", headers=browser),
        ]
    assert [(each.status_code, each.headers["content-type"]) for each in refused] == [(404, problems.MEDIA_TYPE)] * 3


@pytest.mark.parametrize(
    "path", ["/assets/../secret.svg", "/assets/..%2f..%2fsecret.svg", "/..%2fsecret.svg", "/secret.svg"]
)
async def test_nothing_beside_the_page_is_served(store_url: str, static: Path, path: str) -> None:
    async with open_world(store_url, static=static, serves=True) as world:
        reply = await world.stranger().get(path)
    assert reply.status_code == 404
    assert "secret" not in reply.text.replace("secret.svg", "")


async def test_a_missing_page_says_how_to_build_it(store_url: str, tmp_path: Path) -> None:
    async with open_world(store_url, static=tmp_path / "none") as world:
        for path in ("/", "/r/x"):
            reply = await world.stranger().get(path)
            assert (reply.status_code, reply.headers["content-type"]) == (503, "application/problem+json")
            assert "make demo" in reply.json()["detail"]
        assert (await world.stranger().get("/assets/x.js")).status_code == 404
