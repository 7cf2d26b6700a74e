"""What was asked before a process was killed is answered after it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.gateways.mcp.clients import COMMAND, ERAS, Http, Stdio, connected, plain_environment

import ringi
from ringi.gateways.mcp.routes import PATH
from ringi.inbox.api import Seen

RINGI = COMMAND[0]


class Served:
    """`ringi serve` on one port, again and again."""

    def __init__(self, home: Path) -> None:
        self.environment = plain_environment(RINGI_HOME=str(home), RINGI_SECRET="s" * 40)
        self.home = home
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [RINGI, "serve", "--port", str(self.port), "--json"]
        self.process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout
        assert json.loads(self.process.stdout.readline())["url"] == self.url

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.communicate()

    def token(self, role: str) -> str:
        found: str = json.loads((self.home / "tokens.json").read_text())[role]
        return found

    async def answer(self, id: str, message: str) -> None:
        headers = {"authorization": f"Bearer {self.token('person')}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers) as person:
            digest = (await person.get(f"/v1/requests/{id}")).json()["digest"]
            body = {"decision": "respond", "message": message, "digest": digest}
            (await person.post(f"/v1/requests/{id}/respond", json=body)).raise_for_status()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    served.start()
    try:
        yield served
    finally:
        served.kill()


@contextmanager
def no_failure_on_the_way_out() -> Iterator[None]:
    """Ignore what a client says about its server, which the test has killed."""
    try:
        yield
    except* Exception:
        pass


def own_servers() -> list[psutil.Process]:
    return [each for each in psutil.Process().children(recursive=True) if "mcp" in each.cmdline()[-1:]]


@pytest.mark.parametrize("era", ERAS)
async def test_a_killed_stdio_server_loses_no_request(tmp_path: Path, era: str) -> None:
    server = Stdio(plain_environment(RINGI_HOME=str(tmp_path)))
    asked: dict[str, Any] = {}
    with no_failure_on_the_way_out():
        async with connected(server, "sdk", era) as model:
            asked = await model.call("ask_human", title="Go?", id="go")
            (process,) = own_servers()
            os.kill(process.pid, signal.SIGKILL)
    assert asked["status"] == "pending"

    async with ringi.open(f"sqlite:///{tmp_path / 'ringi.db'}") as inbox:
        request = await inbox.get("go")
        await inbox.respond(Seen("go", request.digest), "respond", message="Yes.", by="ann")

    async with connected(server, "sdk", era) as model:
        assert (await model.call("get_request", id="go"))["message"] == "Yes."
        assert (await model.call("ask_human", title="Go?", id="go"))["message"] == "Yes."


@pytest.mark.parametrize("era", ERAS)
async def test_a_killed_server_loses_no_request(served: Served, era: str) -> None:
    server = Http(served.url + PATH, {"authorization": f"Bearer {served.token('agent')}"})
    asked: dict[str, Any] = {}
    with no_failure_on_the_way_out():
        async with connected(server, "sdk", era) as model:
            asked = await model.call("ask_human", title="Go?")
            served.kill()
    served.start()
    await served.answer(asked["id"], "Yes.")

    async with connected(server, "sdk", era) as model:
        assert (await model.call("get_request", id=asked["id"]))["message"] == "Yes."


async def test_a_wait_over_stdio_outlives_the_server_behind_it(served: Served, tmp_path: Path) -> None:
    environment = plain_environment(RINGI_HOME=str(tmp_path), RINGI_URL=served.url, RINGI_TOKEN=served.token("agent"))
    async with connected(Stdio(environment)) as model:
        asked = await model.call("ask_human", title="Go?")
        assert asked["address"] == f"{served.url}/r/{asked['id']}"
        waiting = asyncio.create_task(model.call("get_request", id=asked["id"]))
        served.kill()
        served.start()
        await served.answer(asked["id"], "Yes.")
        assert (await waiting)["message"] == "Yes."


async def test_a_token_of_a_person_over_stdio_asks_and_answers_nothing(served: Served, tmp_path: Path) -> None:
    environment = plain_environment(RINGI_HOME=str(tmp_path), RINGI_URL=served.url, RINGI_TOKEN=served.token("person"))
    async with connected(Stdio(environment)) as model:
        asked = await model.call("ask_human", title="Go?")
        assert asked["status"] == "pending"
        assert [each.name for each in (await model.client.list_resources()).resources] == [asked["id"]]
    agent = plain_environment(RINGI_HOME=str(tmp_path), RINGI_URL=served.url, RINGI_TOKEN=served.token("agent"))
    async with connected(Stdio(agent)) as model:
        other = await model.call("ask_human", title="Other?")
    async with connected(Stdio(environment)) as model:
        # The person may read it on the page, but the model did not ask it.
        assert "no request" in await model.refused("get_request", id=other["id"])
        assert [each.name for each in (await model.client.list_resources()).resources] == [asked["id"]]
