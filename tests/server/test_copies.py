"""A copy of a store, opened with `--no-deliveries`, is read and answered, and has no effect outside."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copyfile
from typing import Any

import httpx
import pytest
from tests import servers
from tests.delivery.office import SECRET
from tests.server.test_away import leave
from tests.server.test_startup import begun, status, until
from tests.server.world import open_world

import ringi
from ringi.base.clock import utc_now


@pytest.fixture
def received() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The settings of an endpoint, and the events that it has received."""
    events: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            events.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield (
            json.dumps([{"name": "ops", "url": f"http://127.0.0.1:{server.server_port}/", "secrets": [SECRET]}]),
            events,
        )
        server.shutdown()
        thread.join()


async def asked(url: str) -> None:
    async with ringi.open(url) as inbox:
        await inbox.ask("Go?", id="open")
        await inbox.ask("Overdue?", id="overdue", expires_at=utc_now() + timedelta(seconds=1))


def signed_in(address: str, token: str) -> str:
    """Return the cookie of a new session."""
    reply = httpx.post(f"{address}/v1/session", json={"token": token}, headers={"origin": address})
    assert reply.status_code == 200, reply.text
    return reply.headers["set-cookie"].partition(";")[0]


def test_a_copy_sends_and_runs_nothing_until_it_is_opened_without_the_flag(
    tmp_path: Path, received: tuple[str, list[dict[str, Any]]]
) -> None:
    endpoints, events = received
    original, copy = tmp_path / "original.db", tmp_path / "copy.db"
    asyncio.run(asked(f"sqlite:///{original}"))
    copyfile(original, copy)
    receiver = {"RINGI_WEBHOOKS": endpoints, "RINGI_WEBHOOK_ALLOW": "127.0.0.0/8"}
    port = servers.free_port()
    address, words = f"http://127.0.0.1:{port}", ("--port", str(port))
    with begun(tmp_path, "serve", "--url", f"sqlite:///{original}", *words) as server:
        until(lambda: status(port, "/readyz") == 200, "the original is ready", lambda: server.output)
        tokens = json.loads((tmp_path / "tokens.json").read_text())
        cookie = signed_in(address, tokens["person"])
        assert cookie.startswith("ringi_session=")
        assert httpx.get(f"{address}/v1/requests", headers={"cookie": cookie}).status_code == 200

    files = (tmp_path / "seals.jsonl").read_bytes(), (tmp_path / "tokens.json").read_bytes()
    token = {"authorization": f"Bearer {tokens['admin']}"}
    with begun(tmp_path, "serve", "--no-deliveries", "--url", f"sqlite:///{copy}", *words, **receiver) as server:
        until(lambda: status(port, "/readyz") == 200, "the copy is ready", lambda: server.output)
        server.says("A copy of a store: nothing is sent")
        session = cookie.partition("=")[2]
        copied = {"cookie": f"ringi_copy_session={session}"}
        for sent in ({"cookie": cookie}, copied, {"authorization": f"Bearer {session}"}):
            assert httpx.get(f"{address}/v1/requests", headers=sent).status_code == 401, sent
        own = signed_in(address, tokens["person"])
        assert own.startswith("ringi_copy_session=")
        assert httpx.get(f"{address}/v1/info", headers={"cookie": own}).json()["no_deliveries"] is True
        waiting = httpx.get(f"{address}/v1/requests/open", headers=token).json()
        answer = {"decision": "respond", "message": "Yes", "digest": waiting["digest"]}
        done = httpx.post(f"{address}/v1/requests/open/respond", json=answer, headers=token)
        assert done.status_code == 200, done.text
        left = httpx.delete(f"{address}/v1/session", headers={"cookie": own, "origin": address})
        assert left.headers["set-cookie"].startswith("ringi_copy_session=")
        overdue = httpx.get(f"{address}/v1/requests/overdue", headers=token).json()
        assert (overdue["status"], events) == ("pending", [])
    assert ((tmp_path / "seals.jsonl").read_bytes(), (tmp_path / "tokens.json").read_bytes()) == files

    with begun(tmp_path, "serve", "--url", f"sqlite:///{copy}", *words, **receiver) as server:
        ended = {"request.completed", "request.expired"}
        until(lambda: ended <= {each["type"] for each in events}, "all events came", lambda: server.output)
        session = own.partition("=")[2]
        renamed = {"cookie": f"ringi_session={session}"}
        for sent in ({"cookie": own}, renamed, {"authorization": f"Bearer {session}"}):
            assert httpx.get(f"{address}/v1/requests", headers=sent).status_code == 401, sent


def test_a_copy_refuses_agents(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/copy.db"
    with begun(tmp_path, "serve", "--no-deliveries", "--agents", "ringi.demo", "--url", url, "--port", "0") as server:
        assert server.code() == 2
        assert "--no-deliveries runs no agent" in server.output


async def test_a_deputy_with_a_session_sees_on_a_copy_what_was_open_to_the_absent_person(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/copy.db"
    async with open_world(url) as world:
        request = await world.asked(assignee="ann")
        await leave(world.client(name="ann"), "dee")
        token = world.token("person", "dee")
    async with open_world(url, no_deliveries=True) as world:
        signed_in = await world.stranger(origin=world.url).post("/v1/session", json={"token": token})
        dee = world.stranger(cookie=signed_in.headers["set-cookie"].partition(";")[0])
        assert (await dee.get(f"/v1/requests/{request.id}")).status_code == 200
