"""What no call gets past: hosts, origins, media types, sizes, malformed bodies; and what no reply leaves without."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.world import World, open_world, until

from ringi.base.settings import SettingError
from ringi.server.problems import SPREAD_SECONDS
from ringi.server.settings import ServerSettings

ASK = '{"title": "Go?"}'


async def post(client: httpx.AsyncClient, body: str | bytes, **headers: str) -> httpx.Response:
    return await client.post(
        "/v1/requests", content=body, headers={"content-type": "application/json"} | _dashed(headers)
    )


def _dashed(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


async def count(world: World) -> int:
    return len(await world.inbox.find())


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "evil.example:8000", ""]
)
async def test_a_name_that_was_bent_to_this_machine_is_refused(world: World, host: str) -> None:
    for method, path in (("GET", "/v1/requests"), ("POST", "/v1/requests"), ("GET", "/healthz"), ("GET", "/")):
        reply = await world.client().request(method, path, headers={"host": host})
        assert (reply.status_code, reply.json()["code"]) == (421, "host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8123", "127.0.0.1:1", "[::1]:8123", "[::1]"])
async def test_this_machine_is_known_by_its_own_names(world: World, host: str) -> None:
    assert (await world.stranger().get("/healthz", headers={"host": host})).status_code == 200


async def test_a_configured_host_is_served(store_url: str) -> None:
    async with open_world(store_url, hosts=("Ringi.example",)) as world:
        assert (await world.stranger().get("/healthz", headers={"host": "ringi.example:443"})).status_code == 200
        assert (await world.stranger().get("/healthz", headers={"host": "other.example"})).status_code == 421


async def test_two_hosts_are_none(world: World) -> None:
    reply = await world.stranger().get("/healthz", headers=[("host", "localhost"), ("host", "evil.example")])
    assert reply.status_code == 400


@pytest.mark.parametrize("no_auth", [False, True])
async def test_no_host_is_refused_before_the_caller_is_read(no_auth: bool) -> None:
    async with open_world("memory://", no_auth=no_auth) as world:
        client = await signed_in(world, origin="http://localhost")
        world.inbox.known_people.named.clear()
        call = client.build_request("POST", "/v1/requests", json={"title": "Go?"}, headers={"host": "evil.example"})
        assert (await client.send(call)).status_code == 421
        del call.headers["host"]
        assert (await client.send(call)).status_code == 400
        assert not world.inbox.known_people.has("default", "ann", ())


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "text/json", "application/jso"],
)
async def test_a_form_of_another_site_cannot_write(world: World, kind: str) -> None:
    reply = await post(world.client(), ASK, content_type=kind)
    assert (reply.status_code, reply.json()["code"]) == (415, "media_type")
    assert await count(world) == 0


async def signed_in(world: World, **headers: str) -> httpx.AsyncClient:
    return world.stranger(cookie=f"ringi_session={world.token('person', 'ann')}", **headers)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:8000", "https://localhost", None])
async def test_a_cookie_writes_from_the_page_alone(world: World, origin: str | None) -> None:
    client = await signed_in(world, **({"origin": origin} if origin else {}))
    reply = await post(client, ASK)
    assert (reply.status_code, reply.json()["code"]) == (403, "foreign_origin")
    assert await count(world) == 0


async def test_the_page_writes_with_its_cookie_and_a_program_with_its_token(world: World) -> None:
    assert (await post(await signed_in(world, origin="http://localhost"), ASK)).status_code == 201
    assert (await post(world.client(), ASK)).status_code == 201
    request = await world.asked(id="a")
    answer = {"decision": "respond", "message": "yes", "digest": request.digest}
    page = await signed_in(world, origin="http://localhost")
    answered = await page.post("/v1/requests/a/respond", json=answer)
    assert answered.json()["response"]["channel"] == "page"


async def test_a_cookie_reads_without_an_origin(world: World) -> None:
    assert (await (await signed_in(world)).get("/v1/requests")).status_code == 200


async def test_two_sessions_at_once_are_none(world: World) -> None:
    token = world.token("person", "ann")
    reply = await world.stranger(cookie=f"ringi_session={token}; ringi_session={token}").get("/v1/requests")
    assert reply.status_code == 400


async def test_without_tokens_everybody_is_the_local_admin_and_other_sites_are_still_refused(store_url: str) -> None:
    async with open_world(store_url, no_auth=True) as world:
        client = world.stranger()
        session = {"name": "local", "role": "admin", "tenant": "default", "groups": []}
        assert (await client.get("/v1/session")).json() == session
        assert (await post(client, ASK)).status_code == 201
        assert (await post(client, ASK, origin="http://localhost")).status_code == 201
        assert (await post(client, ASK, origin="http://evil.example")).status_code == 403
        assert (await post(client, ASK, host="evil.example")).status_code == 421
        assert (await post(client, ASK, content_type="text/plain")).status_code == 415
        assert await count(world) == 2


DEEP = 20_000


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"", b"nonsense", b'{"title": "Go?"} {}', b'{"title": "Go?", "title": "No?"}',
        b'{"title": "Go?", "context": {"a": {"b": 1, "b": 2}}}', b'{"title": "Go?", "context": {"a": NaN}}',
        b'{"title": "Go?", "context": {"a": -Infinity}}', b'{"title": "Go?", "context": {"a": 1e999}}',
        b'{"title": "\\ud800"}', b'{"title": "Go?", "context": {"\\uDC00": 1}}', b'{"title": "\xff"}',
        b"\xef\xbb\xbf{}", b'{"title": "Go?", "context": {"a": ' + b"9" * 5_000 + b"}}",
        b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP,
        b'{"title": "Go?", "context": {"a": ' + b"[" * 70 + b"]" * 70 + b"}}",
    ],
    ids=lambda body: repr(body[:40]),
)  # fmt: skip
async def test_a_body_that_is_no_strict_json_is_refused(world: World, body: bytes) -> None:
    await world.asked(id="a")
    for path in ("", "/a/respond", "/respond", "/a/cancel", "/a/reassign"):
        if body == b"" and path == "/a/cancel":
            continue
        reply = await world.client("admin", "root").post(
            f"/v1/requests{path}", content=body, headers={"content-type": "application/json"}
        )
        assert reply.status_code == (422 if body == b"" else 400), (path, reply.text)
        assert reply.headers["content-type"] == "application/problem+json"
    assert await count(world) == 1


async def test_whole_characters_and_ordinary_depth_pass(world: World) -> None:
    reply = await post(world.client(), b'{"title": "\\ud83d\\ude00 \\u7a1f", "context": {"a": [[[[1.5]]]]}}')
    assert (reply.status_code, reply.json()["title"]) == (201, "😀 稟")


async def test_a_number_that_no_other_program_could_read_is_named(world: World) -> None:
    reply = await post(world.client(), b'{"title": "Go?", "context": {"a": 12345678901234567890}}')
    assert reply.status_code == 422


async def test_a_body_over_the_limit_is_refused_whatever_it_announced(live: World) -> None:
    big = b'{"title": "Go?", "description": "' + b"x" * 300_000 + b'"}'

    async def chunks() -> Any:
        for at in range(0, len(big), 10_000):
            yield big[at : at + 10_000]

    client = live.client()
    for content in (big, chunks()):
        headers = {"content-type": "application/json"}
        reply = await client.post("/v1/requests", content=content, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (413, "too_large")
    assert await count(live) == 0


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/v1/requests", "/nowhere", "/v1/events", "/assets/none.js", "/openapi.json"]
)
async def test_every_reply_has_the_headers_that_protect_it(world: World, path: str) -> None:
    for client in (world.client(), world.stranger()):
        headers = (await client.head(path)).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "cache-control" in headers
        assert not [name for name in headers if name.startswith("access-control")]


async def test_a_preflight_of_another_site_gets_nothing(world: World) -> None:
    reply = await world.stranger().options(
        "/v1/requests", headers={"origin": "http://evil.example", "access-control-request-method": "POST"}
    )
    assert reply.status_code == 405
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("PUT", "/v1/requests", 405)])
async def test_what_is_not_there_is_a_problem_too(world: World, method: str, path: str, status: int) -> None:
    reply = await world.client().request(method, path, json={})
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert set(reply.json()) == {"type", "title", "status", "detail", "code"}


async def test_an_accident_is_a_problem_without_its_cause(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret of the inside")

    monkeypatch.setattr(type(world.backend.store), "find", broken)
    reply = await world.client().get("/v1/requests")
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")
    assert "secret" not in reply.text
    assert "a secret of the inside" in caplog.text


async def test_a_store_that_cannot_answer_is_said_so_with_a_time_to_retry(tmp_path: Path) -> None:
    async with open_world(f"sqlite:///{tmp_path}/ringi.db") as world:
        await world.backend.store._database.write(lambda c: c.execute("DROP TABLE requests"))  # type: ignore[attr-defined]
        reply = await world.client().get("/v1/requests")
    assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
    assert int(reply.headers["retry-after"]) >= 1


async def test_those_who_are_refused_together_are_told_different_times_to_retry(store_url: str) -> None:
    async with open_world(store_url, streams_per_caller=0) as world:
        replies = [await world.client().get("/v1/events") for _ in range(40)]
    delays = {int(reply.headers["retry-after"]) for reply in replies}
    assert len(delays) > 1
    assert 5 <= min(delays) <= max(delays) <= 5 + SPREAD_SECONDS


async def test_a_caller_who_hangs_up_in_the_middle_of_a_body_is_no_failure_of_the_server(world: World) -> None:
    """An error that gets out of the app is logged with its stack, once for each who hangs up."""
    messages: list[Any] = [
        {"type": "http.request", "body": b'{"title"', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []
    own = {"host": "localhost", "authorization": f"Bearer {world.token('agent', 'bot')}"}
    headers = own | {"content-type": "application/json", "content-length": "100"}
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/v1/requests", "raw_path": b"/v1/requests", "root_path": "", "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await world.app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert await count(world) == 0


async def test_the_server_says_how_it_is(world: World) -> None:
    client = world.stranger()
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    assert (await client.get("/readyz")).json()["status"] == "ready"
    await world.app.close()
    assert (await client.get("/readyz")).status_code == 503
    assert (await world.client().get("/v1/events")).status_code == 503
    await until(lambda: True)


@pytest.mark.parametrize(("url", "header"), [("https://ringi.example", "max-age=31536000"), ("", None)])
async def test_a_browser_that_came_by_tls_comes_by_nothing_else(
    url: str, header: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_PUBLIC_URL", url)
    async with open_world("memory://") as world:
        reply = await world.stranger().get("/healthz")
    assert reply.headers.get("strict-transport-security") == header


async def test_who_finds_a_weakness_finds_whom_to_write_to() -> None:
    contact = "mailto:security@example.com"
    async with open_world("memory://", security_contact=contact) as world:
        reply = await world.stranger().get("/.well-known/security.txt")
    async with open_world("memory://") as world:
        without = await world.stranger().get("/.well-known/security.txt")

    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    lines = dict(line.split(": ", 1) for line in reply.text.splitlines())
    assert lines["Contact"] == contact
    assert timedelta() < datetime.fromisoformat(lines["Expires"]) - datetime.now(UTC) < timedelta(days=366)
    assert without.status_code == 404


@pytest.mark.parametrize("contact", ["security@example.com", "mailto:a\nExpires: 1", "http://example.com"])
def test_a_contact_is_an_address_of_one_line(contact: str) -> None:
    with pytest.raises(SettingError, match="RINGI_SECURITY_CONTACT"):
        ServerSettings(security_contact=contact)
