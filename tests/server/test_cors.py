"""Pages of an allowed origin call every family of routes, with the headers that stock clients send and read."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.async_api import Page
from tests.server.world import World, open_world

from ringi.protocols.langgraph_api.routes import EXTENSION as LANGGRAPH
from ringi_apps.assistant.routes import EXTENSION as ASSISTANTS
from ringi_apps.engrammer.routes import EXTENSION as ENGRAMMERS

PAGE = "https://app.example.com"
STOCK = "authorization, x-api-key, content-type, last-event-id, x-auth-scheme, traceparent"
FAMILIES = [
    ("POST", "/v1/requests"),
    ("HEAD", "/v1/requests"),
    ("GET", "/v1/events"),
    ("GET", "/v1/threads/t1/stream"),
    ("DELETE", "/v1/memories/m1"),
    ("POST", "/v1/chat"),
    ("GET", "/v1/chat/t1/stream"),
    ("POST", "/agui/chat"),
    ("POST", "/agui/chat/connect"),
    ("GET", "/langgraph/info"),
    ("POST", "/langgraph/assistants/search"),
    ("POST", "/langgraph/threads/search"),
    ("POST", "/langgraph/threads/t1/state"),
    ("POST", "/langgraph/threads/t1/runs"),
    ("POST", "/langgraph/threads/t1/runs/stream"),
    ("POST", "/hitl/respond"),
    ("POST", "/engrammerFlow_start"),
    ("GET", "/v1/assistants/t1/memory"),
    ("GET", "/openapi.json"),
    ("GET", "/healthz"),
]
CALL = """async ({url, path, method, headers, body}) => {
  const reply = await fetch(url + path, {method, headers, body})
  const names = ["content-location", "retry-after", "x-vercel-ai-ui-message-stream"]
  const text = method === "POST" && path.endsWith("/stream") ? (await reply.body.cancel(), "") : await reply.text()
  return {status: reply.status, read: Object.fromEntries(names.map((name) => [name, reply.headers.get(name)])), text}
}"""


@pytest.fixture
async def world() -> AsyncIterator[World]:
    extensions = (ASSISTANTS, ENGRAMMERS, LANGGRAPH)
    async with open_world("memory://", cors_origins=(PAGE,), extensions=extensions) as world:
        yield world


@pytest.mark.parametrize(("method", "path"), FAMILIES)
async def test_a_preflight_allows_what_stock_clients_send(world: World, method: str, path: str) -> None:
    asked = {"access-control-request-method": method, "access-control-request-headers": STOCK}
    headers = {"origin": PAGE, "access-control-request-private-network": "true", **asked}
    reply = await world.stranger(**headers).options(path)
    assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, PAGE)
    assert method in reply.headers["access-control-allow-methods"]
    assert {each.strip() for each in reply.headers["access-control-allow-headers"].split(",")} >= set(STOCK.split(", "))
    assert reply.headers["access-control-allow-private-network"] == "true"
    assert "access-control-allow-credentials" not in reply.headers
    foreign = await world.stranger(**{**headers, "origin": "https://evil.example"}).options(path)
    assert (foreign.status_code, "access-control-allow-origin" in foreign.headers) == (400, False)


@pytest.mark.parametrize(("method", "path"), FAMILIES)
async def test_every_reply_lets_the_page_read_where_a_run_is(world: World, method: str, path: str) -> None:
    # Without a token: a refusal must be readable too.
    reply = await world.stranger(origin=PAGE).request(method, path)
    assert reply.headers["access-control-allow-origin"] == PAGE
    exposed = {each.strip() for each in reply.headers["access-control-expose-headers"].lower().split(",")}
    assert exposed >= {"content-location", "location", "retry-after", "x-vercel-ai-ui-message-stream"}


@contextmanager
def elsewhere() -> Iterator[str]:
    """Serve an empty page on an origin of its own."""

    class Blank(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.mark.asyncio(loop_scope="session")
async def test_a_browser_on_another_origin_reads_where_a_run_is(page: Page) -> None:
    with elsewhere() as origin:
        await from_a_browser(page, origin)


async def from_a_browser(page: Page, origin: str) -> None:
    async with open_world("memory://", serves=True, cors_origins=(origin,), extensions=[LANGGRAPH]) as world:
        await page.goto(origin)

        async def call(method: str, path: str, body: str | None = None, **headers: str) -> Any:
            about = {"url": world.url, "path": path, "method": method, "body": body, "headers": headers}
            return await page.evaluate(CALL, about)

        key = {"x-api-key": world.token("person", "ann"), "content-type": "application/json"}
        run = '{"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "hi", "id": "m1"}]}}'
        begun = await call("POST", "/langgraph/threads/t1/runs", run, **key)
        assert begun["status"] == 200, begun
        assert begun["read"]["content-location"].startswith("/threads/t1/runs/")
        streamed = await call("POST", "/langgraph/threads/t2/runs/stream", run, **key)
        assert streamed["read"]["content-location"].startswith("/threads/t2/runs/")
        refused = await call("POST", "/langgraph/threads/search", "{}", **{**key, "x-api-key": "wrong"})
        assert (refused["status"], "unauthenticated" in refused["text"]) == (401, True)
