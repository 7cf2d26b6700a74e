"""Ringi mounted in an application of somebody else, and served by their own server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp
from tests.server.provider import CLIENT, SECRET, Provider, serving
from tests.server.world import LIMIT, until

from ringi.base.settings import SettingError
from ringi.server import EmbeddedApp, Keys, Principal, ServerSettings, create_app
from ringi.server.auth.links import mint_link
from ringi.server.connections import BoundedProtocol
from ringi.server.identity import Oidc

PAGE = (
    """<!doctype html><title>Ringi</title><script src="./look.js"></script><script src="./assets/main.js"></script>"""
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RINGI_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text(PAGE)
    (static / "look.js").write_text("look")
    (static / "assets" / "main.js").write_text("main")
    return ServerSettings(static=static)


def mounted(inner: EmbeddedApp) -> FastAPI:
    outer = FastAPI(lifespan=inner.lifespan)

    @outer.get("/hello")
    def hello() -> str:
        return "of the application"

    outer.mount("/ringi", inner)
    return outer


@contextlib.asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application as anybody does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_level="error", http=BoundedProtocol, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server._serve([listener]))
        try:
            await until(lambda: server.started or task.done())
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            async with asyncio.timeout(LIMIT):
                await task


def bearer(home: Path, role: str, name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {Keys.load(home).mint(role=role, name=name)}"}


@pytest.mark.parametrize("how", ["mounted", "whole paths"])
async def test_everything_is_under_the_path(home: Path, settings: ServerSettings, how: str) -> None:
    base_path = "/ringi" if how == "whole paths" else ""
    inner = create_app(base_path=base_path, settings=settings)
    async with (
        served(inner if base_path else mounted(inner)) as address,
        httpx.AsyncClient(base_url=address, headers={"origin": address}) as page,
        httpx.AsyncClient(base_url=f"{address}/ringi", headers=bearer(home, "agent", "bot")) as agent,
    ):
        for path in ("/ringi/", "/ringi/r/some-id"):
            html = (await page.get(path)).text
            assert 'src="/ringi/look.js"' in html
            assert 'src="/ringi/assets/main.js"' in html
            assert '<meta name="ringi-base" content="/ringi">' in html
        assert ((await page.get("/ringi/look.js")).text, (await page.get("/ringi/assets/main.js")).text) == (
            "look", "main",
        )  # fmt: skip

        link = mint_link(Keys.load(home), f"{address}/ringi", Principal("default", "person", "ann"))
        assert link.startswith(f"{address}/ringi/#token=")
        opened = await page.post("/ringi/v1/session", json={"token": link.partition("#token=")[2]})
        assert "path=/ringi/;" in opened.headers["set-cookie"].lower()

        async with page.stream("GET", "/ringi/v1/events") as events:
            assert events.status_code == 200
            lines = events.aiter_lines()
            assert (await anext(lines)).startswith(("id:", ":", "retry:"))
            asked = (await agent.post("/v1/requests", json={"title": "Go?"})).json()
            async with asyncio.timeout(LIMIT):
                while asked["id"] not in await anext(lines):
                    pass
        answer = {"decision": "respond", "message": "yes", "digest": asked["digest"]}
        done = await page.post(f"/ringi/v1/requests/{asked['id']}/respond", json=answer)
        assert (done.status_code, done.json()["response"]["responder"]) == (200, "ann")

        refused = await page.request("TRACE", "/ringi/v1/requests/respond")
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        large = {"id": "c", "messages": [{"role": "user", "parts": [{"type": "text", "text": "x" * 300_000}]}]}
        assert (await page.post("/ringi/v1/chat", json=large)).status_code != 413
        for path, status in (("/hitl/respond", 403), ("/agui/talk", 422)):
            assert (await agent.post(path, json={})).status_code == status
        if how == "mounted":
            assert (await page.get("/v1/requests")).status_code == 404
            assert (await page.get("/hello")).json() == "of the application"

        await page.delete("/ringi/v1/session")
        assert (await page.get("/ringi/v1/session")).status_code == 401


async def test_signing_in_at_a_provider_comes_back_under_the_path(settings: ServerSettings) -> None:
    async with serving(Provider()) as provider:
        oidc = Oidc(provider.issuer, CLIENT, SECRET)
        inner = create_app(settings=ServerSettings(static=settings.static, oidc=oidc))
        async with served(mounted(inner)) as address, httpx.AsyncClient(base_url=address) as person:
            began = await person.get("/ringi/v1/session/oidc", params={"next": "/r/x1"})
            back = provider.agree(began.headers["location"])
            assert back.startswith(f"{address}/ringi/v1/session/oidc/callback?")
            reply = await person.get(back)
            assert (reply.status_code, reply.headers["location"]) == (302, "/ringi/r/x1")
            assert (await person.get("/ringi/v1/session")).json()["name"] == "ann@example.com"
            assert {cookie.path for cookie in person.cookies.jar} == {"/ringi/"}


async def test_without_its_lifespan_it_says_what_is_missing() -> None:
    outer = FastAPI()
    outer.mount("/ringi", create_app("memory://"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://localhost") as client:
        reply = await client.get("/ringi/v1/requests")
    assert (reply.status_code, "lifespan()" in reply.json()["detail"]) == (503, True)


async def test_what_cannot_start_fails_the_server_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    server = uvicorn.Server(uvicorn.Config(create_app("sqlite:////proc/none/ringi.db"), log_level="error"))
    with pytest.raises(SystemExit):
        await server._serve([])
    assert "cannot write there" in caplog.text


@pytest.mark.parametrize("path", ["ringi", "/ringi/", "/"])
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(SettingError, match="base_path"):
        create_app("memory://", base_path=path)
