"""What holds of every route: who calls comes first, unknown parameters are refused, `Allow` names all methods."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, Depends
from tests.server.world import World, open_world

from ringi.base.settings import SettingError
from ringi.server import ServerSettings
from ringi.server.callers import AdminCaller
from ringi.server.calls import StrictRoute

PAGE = "https://app.example.com"
NO_TOKEN = {
    "GET /healthz": "health",
    "GET /readyz": "health",
    "GET /metrics": "health",
    "GET /v1/session/ways": "before a sign-in",
    "GET /v1/session/oidc": "before a sign-in",
    "GET /v1/session/oidc/callback": "before a sign-in",
    "POST /v1/session": "the sign-in",
    "DELETE /v1/session": "forgets a cookie, whatever it holds",
}
"""Calls without a token, and why."""
FLAGS = {
    "follow": "a stream that does not exist is 404 whatever is asked of it",
    "hold": "any text but true is false",
    "sdk": "an auditor's write is refused before",
    "everywhere": "an auditor's write is refused before",
}
"""Query parameters that do not come before the role, and why."""
ANY_PARAMETER = {
    "GET /v1/session/oidc/callback": "providers add parameters of their own",
}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world("memory://", cors_origins=(PAGE,)) as world:
        yield world


def calls(world: World) -> list[tuple[str, str, dict[str, Any]]]:
    """Return method, path and description of every call."""
    paths: dict[str, dict[str, Any]] = world.app.api.openapi()["paths"]
    return [(method.upper(), path, call) for path, of in paths.items() for method, call in of.items()]


def filled(path: str) -> str:
    return re.sub(r"\{\w+\}", "x1", path)


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'"x"', b'{"a":1,"a":2}', b"\xff", b"{}"])
async def test_who_calls_is_asked_before_anything_is_read(world: World, body: bytes) -> None:
    stranger, wrong = world.stranger(**{"content-type": "application/json"}), []
    for method, path, _ in calls(world):
        if f"{method} {path}" in NO_TOKEN:
            continue
        query = "?limit=none&since=never&wait=long&status=odd&unknown=1&from=x&to=y&version=z&everywhere=perhaps"
        for each in ("", query):
            reply = await stranger.request(method, filled(path) + each, content=body)
            if reply.status_code != 401:
                wrong.append(f"{method} {path}{each}: {reply.status_code}")
    assert wrong == []


async def test_no_token_is_asked_for_as_the_description_says(world: World) -> None:
    open_calls = {f"{method} {path}" for method, path, call in calls(world) if call.get("security") == []}
    assert open_calls == set(NO_TOKEN)


async def test_an_unknown_parameter_is_refused_by_its_name(world: World) -> None:
    admin, wrong = world.client("admin", "root"), []
    for method, path, _ in calls(world):
        if f"{method} {path}" in ANY_PARAMETER:
            continue
        reply = await admin.request(method, f"{filled(path)}?assigne=ann", json=None if method == "GET" else {})
        fields = [each["field"] for each in reply.json().get("errors", [])]
        if (reply.status_code, fields) != (422, ["assigne"]):
            wrong.append(f"{method} {path}: {reply.status_code} {fields}")
    assert wrong == []


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("GET /v1/events?after=", "after"),
        ("GET /v1/requests/x1/events?after=", "after"),
        ("GET /v1/threads/x1/stream?after=", "after, follow"),
        ("POST /v1/chat?agent=chat&hold=true&sdk=6", "agent, hold, sdk"),
        ("GET /v1/chat/x1/stream?hold=true&sdk=5", "hold, sdk"),
    ],
)
async def test_a_stream_takes_its_own_parameters_and_no_others(world: World, path: str, known: str) -> None:
    method, url = path.split()
    refused = await world.client().request(method, f"{url}&aftr=x", json={})
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error == {
        **{"field": "aftr", "message": f"unknown parameter: choose {known}"},
        **{"code": "unexpected", "params": {}},
    }


async def test_an_answer_with_an_unknown_parameter_decides_nothing(world: World) -> None:
    request = await world.asked(id="a")
    answer = {"decision": "respond", "message": "yes", "digest": request.digest}
    refused = await world.client().post("/v1/requests/a/respond?dry_run=true", json=answer)
    assert (refused.status_code, [each["field"] for each in refused.json()["errors"]]) == (422, ["dry_run"])
    assert (await world.inbox.get("a")).status == "pending"


async def test_a_misspelt_filter_says_which_there_are(world: World) -> None:
    reply = await world.client().get("/v1/requests?assigne=ann&statu=pending")
    errors = reply.json()["errors"]
    assert [each["field"] for each in errors] == ["assigne", "statu"]
    assert "assignee" in errors[0]["message"]


async def test_allow_names_all_methods(world: World) -> None:
    described: dict[str, set[str]] = {}
    for method, path, _ in calls(world):
        described.setdefault(path, set()).update({method, "HEAD"} if method == "GET" else {method})
    for path, methods in described.items():
        reply = await world.client().request("TRACE", filled(path))
        assert (reply.status_code, path, set(reply.headers["allow"].split(", "))) == (405, path, methods)


def preflight(method: str, origin: str = PAGE) -> dict[str, str]:
    return {
        "origin": origin,
        "access-control-request-method": method,
        "access-control-request-headers": "authorization,content-type,last-event-id",
    }


async def test_a_page_of_an_allowed_origin_may_call_with_a_token(world: World) -> None:
    asked = await world.stranger(**preflight("POST")).options("/v1/requests")
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, PAGE)
    assert "authorization" in asked.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in asked.headers
    page = world.stranger(origin=PAGE, authorization=f"Bearer {world.token('agent', 'bot')}")
    for reply, status in (
        (await page.post("/v1/requests", json={"title": "Go?"}), 201),
        (await page.get("/v1/requests/unknown"), 404),
        (await page.post("/v1/requests", content=b"x", headers={"content-type": "text/plain"}), 415),
    ):
        assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (status, PAGE)


async def test_another_origin_may_not_nor_may_the_pages_cookie(world: World) -> None:
    for headers in (preflight("POST", "https://evil.example"), preflight("POST", "null")):
        refused = await world.stranger(**headers).options("/v1/requests")
        assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (400, False)
    cookie = f"ringi_session={world.token('person', 'ann')}"
    written = await world.stranger(origin=PAGE, cookie=cookie).post("/v1/requests", json={"title": "Go?"})
    assert written.status_code == 403
    read = await world.stranger(origin=PAGE, cookie=cookie).get("/v1/requests")
    assert "access-control-allow-credentials" not in read.headers


async def test_it_is_off_unless_it_was_set() -> None:
    async with open_world("memory://") as world:
        asked = await world.stranger(**preflight("POST")).options("/v1/requests")
        read: httpx.Response = await world.client().get("/v1/requests", headers={"origin": PAGE})
    assert asked.status_code == 405
    assert not any(name.startswith("access-control") for reply in (asked, read) for name in reply.headers)


@pytest.mark.parametrize(
    "origin", ["app.example.com", "https://app.example.com/", "https://a.example/path", "null", ""]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(SettingError, match="RINGI_CORS_ORIGINS"):
        ServerSettings(cors_origins=(origin,))


def test_without_tokens_not_every_page_may_read() -> None:
    with pytest.raises(SettingError, match="RINGI_CORS_ORIGINS"):
        ServerSettings(cors_origins=("*",), no_auth=True)


def test_the_settings_are_read_from_their_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"SESSION_DAYS": "2", "HEADER_SECONDS": "3", "BODY_SECONDS": "4.5", "MAX_CONNECTIONS": "50"}
    for name, value in {**variables, "CORS_ORIGINS": "https://a.example, http://localhost:3000"}.items():
        monkeypatch.setenv(f"RINGI_{name}", value)
    found = ServerSettings.load()
    assert (found.session_seconds, found.header_seconds, found.body_seconds) == (2 * 86_400, 3, 4.5)
    assert (found.max_connections, found.cors_origins) == (50, ("https://a.example", "http://localhost:3000"))
    monkeypatch.setenv("RINGI_HEADER_SECONDS", "soon")
    with pytest.raises(SettingError, match="RINGI_HEADER_SECONDS"):
        ServerSettings.load()


def refusable(call: dict[str, Any]) -> list[str]:
    """Return the query parameters of a call that do not accept each text."""
    parameters = [each for each in call.get("parameters", ()) if each["in"] == "query"]
    kinds = {each["name"]: each["schema"].get("anyOf", [each["schema"]]) for each in parameters}
    return [
        name
        for name, schemas in kinds.items()
        if name not in FLAGS
        and all(s.get("type") != "string" or "enum" in s or s.get("format") == "date-time" for s in schemas)
    ]


@pytest.mark.parametrize("role", ["agent", "person", "auditor", "admin"])
async def test_a_wrong_query_is_refused_before_a_role(world: World, role: str) -> None:
    client, wrong, count = world.client(role, role), [], 0
    for method, path, call in calls(world):
        for name in refusable(call):
            reply = await client.request(method, f"{filled(path)}?{name}=odd-*")
            count += 1
            if reply.status_code != 422 or name not in reply.text:
                wrong.append(f"{method} {path}?{name}: {reply.status_code} {reply.text[:200]}")
    assert (wrong, count > 30) == ([], True)


async def test_a_role_holds_on_routes_of_any_kind(world: World) -> None:
    async def run(caller: AdminCaller) -> str:
        return caller.name

    def nested(name: str = Depends(run)) -> str:
        return name

    routers = [APIRouter(), APIRouter(route_class=StrictRoute)]
    for number, router in enumerate(routers):
        router.add_api_route(f"/x/{number}/own", run)
        router.add_api_route(f"/x/{number}/nested", nested)
        world.app.api.include_router(router, prefix="/included")
        world.app.api.router.routes += router.routes
    for place in [
        f"{prefix}/x/{n}/{kind}" for prefix in ("", "/included") for n in (0, 1) for kind in ("own", "nested")
    ]:
        statuses = [(await world.client(role, role).get(place)).status_code for role in ("agent", "person", "admin")]
        assert (place, statuses) == (place, [403, 403, 200])
