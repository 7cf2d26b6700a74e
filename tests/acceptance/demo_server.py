"""A `ringi demo` of the test's own: a real process that can be killed and started again on the same port."""

from __future__ import annotations

import copy
import json
import os
import select
import signal
import socket
import time
import uuid
from pathlib import Path
from typing import Any, Self

import httpx
from tests.warm import Command

import ringi
from ringi.server.auth.authenticator import Keys

START_SECONDS = 60
CODE = str(Path(ringi.__file__).parents[1])


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class DemoServer:
    """A demo in a folder; killing and starting it again keeps the folder and the port."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self.port = folder, free_port()
        self.tenant = "default"
        self.arguments = arguments or ("demo", "--no-samples")
        self._output = folder / "output"
        self._process: Command | None = None

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def tokens(self) -> dict[str, str]:
        """One token a role: those that the server wrote for this machine, or the same people in another tenant."""
        tokens: dict[str, str] = json.loads((self.folder / "tokens.json").read_text())
        if self.tenant == "default":
            return tokens
        keys = Keys.load(self.folder)
        people = [keys.read(token) for name, token in tokens.items() if name != "url"]
        return {each.role: self.token(each.role, each.name) for each in people}

    def token(self, role: str, name: str, groups: tuple[str, ...] = ()) -> str:
        """Return a token of somebody of the tenant."""
        return Keys.load(self.folder).mint(tenant=self.tenant, role=role, name=name, groups=groups)

    def in_new_tenant(self) -> Self:
        """Return the same running server for the people of a new tenant; whoever got it does not end it."""
        view = copy.copy(self)
        view.tenant = f"tenant-{uuid.uuid4().hex[:8]}"
        return view

    def start(self, *, failpoint: str = "") -> Self:
        """Start it and return once it serves."""
        environment = os.environ | {"RINGI_HOME": str(self.folder), "RINGI_FAILPOINT": failpoint, "PYTHONPATH": CODE}
        for name in ("RINGI_URL", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        arguments = [*self.arguments, "--port", str(self.port), "--json"]
        self._output.unlink(missing_ok=True)
        self._process = Command(arguments, self.folder, environment, self._output, self.folder / "log")
        self._wait_for_the_first_line()
        return self

    @property
    def link(self) -> str:
        """A link with which the person at this machine signs in."""
        return f"{self.url}/#token={self.tokens['person']}"

    def kill(self) -> None:
        """Kill it like a power cut."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to stop and return its exit code."""
        return self._end(signal.SIGTERM)

    def wait_for_death(self, seconds: float = 30) -> None:
        """Return once it has died of a fail-point."""
        assert self._process
        self._process.wait(seconds)

    def client(self, role: str = "person") -> httpx.Client:
        """Return a client with the token of a role."""
        return httpx.Client(base_url=self.url, headers={"authorization": f"Bearer {self.tokens[role]}"}, timeout=30)

    def run(self, thread: str, agent: str, input: dict[str, Any]) -> None:
        """Start an agent."""
        with self.client("agent") as client:
            client.post(f"/v1/threads/{thread}/runs", json={"agent": agent, "input": input}).raise_for_status()

    def thread(self, id: str) -> dict[str, Any]:
        """Return a thread as people see it."""
        with self.client() as client:
            found: dict[str, Any] = client.get(f"/v1/threads/{id}").raise_for_status().json()
            return found

    def until(self, thread: str, *statuses: str, seconds: float = 30) -> dict[str, Any]:
        """Return the thread once it has one of the statuses; fail after a while."""
        ends_at = time.monotonic() + seconds
        while (found := self.thread(thread))["status"] not in statuses:
            assert time.monotonic() < ends_at, f"{thread} is still {found['status']}: {found}"
            select.select([], [], [], 0.05)
        return found

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._process and self._process.poll() is None:
            self.kill()

    def _end(self, number: signal.Signals) -> int:
        assert self._process
        self._process.send_signal(number)
        return self._process.wait(20)

    def _wait_for_the_first_line(self) -> None:
        ends_at = time.monotonic() + START_SECONDS
        while not self._output.exists() or "\n" not in self._output.read_text():
            is_over = self._process is None or self._process.poll() is not None or time.monotonic() > ends_at
            assert not is_over, f"the server said nothing:\n{(self.folder / 'log').read_text()}"
            select.select([], [], [], 0.02)
