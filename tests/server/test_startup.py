"""A process that starts before its store waits for it, and says so; what no waiting mends ends it at once."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests import servers
from tests.mortal_redis import DURABLE, MortalRedis

import ringi

LIMIT = 40.0
CODE = str(Path(ringi.__file__).parents[1])
CLIENT = httpx.Client(timeout=20, verify=False)
"""One for all calls: to make one takes longer than what it calls."""
atexit.register(CLIENT.close)
ENTRY = "from ringi.cli import main; main()"


class Process:
    """A command of Ringi that stays."""

    def __init__(self, folder: Path, *words: str, **more: str) -> None:
        self.log = folder / f"log-{time.monotonic_ns()}"
        env = os.environ | {"RINGI_HOME": str(folder), "PYTHONPATH": CODE} | more
        with self.log.open("wb") as log:
            command = [sys.executable, "-c", ENTRY, *words]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=folder)

    @property
    def output(self) -> str:
        return self.log.read_text()

    def says(self, words: str) -> None:
        until(lambda: words in self.output, f"it says {words!r}", lambda: self.output)

    def code(self) -> int:
        return self._process.wait(LIMIT)

    def end(self, number: int = signal.SIGTERM) -> int:
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self.code()


def until(check: Callable[[], Any], what: str, seen: Callable[[], Any]) -> None:
    """Return once the check is true, or fail after the limit."""
    over, rest = time.monotonic() + LIMIT, threading.Event()
    while not check():
        assert time.monotonic() < over, f"not in {LIMIT} s: {what}; {seen()}"
        rest.wait(0.1)


@contextmanager
def begun(folder: Path, *words: str, **more: str) -> Iterator[Process]:
    process = Process(folder, *words, **more)
    try:
        yield process
    finally:
        process.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def postgres() -> Iterator[servers.MortalPostgres]:
    with servers.mortal_postgres() as server:
        yield server


def reply(port: int, path: str) -> httpx.Response | None:
    try:
        return CLIENT.get(f"http://127.0.0.1:{port}{path}")
    except httpx.TransportError:
        return None


def status(port: int, path: str) -> int:
    answer = reply(port, path)
    return answer.status_code if answer else 0


def serve(folder: Path, url: str, port: int, *words: str) -> Any:
    return begun(folder, "serve", "--url", url, "--port", str(port), *words)


def waits_and_goes_on(folder: Path, url: str, start: Callable[[], None]) -> None:
    port = servers.free_port()
    with serve(folder, url, port) as process:
        until(lambda: status(port, "/readyz") == 503, "it is not ready", lambda: process.output)
        response = reply(port, "/readyz")
        assert response
        assert "waiting for its store" in response.json()["detail"]
        assert int(response.headers["retry-after"]) >= 1
        assert response.headers["content-type"] == "application/problem+json"
        assert status(port, "/healthz") == 200
        assert status(port, "/v1/requests") == 503
        process.says("waiting for the store")
        start()
        until(lambda: status(port, "/readyz") == 200, "it is ready", lambda: process.output)
        assert status(port, "/v1/requests") == 401
        process.says("Ringi is running")
        assert "Traceback" not in process.output


def test_a_server_waits_for_its_postgresql(postgres: servers.MortalPostgres, tmp_path: Path) -> None:
    postgres.kill()
    waits_and_goes_on(tmp_path, postgres.url, postgres.start)


def test_a_server_waits_for_its_redis(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    redis = MortalRedis(servers.redis_program(), tmp_path / "data", DURABLE)
    try:
        waits_and_goes_on(tmp_path, redis.url, redis.start)
    finally:
        redis.kill()


def test_a_worker_waits_for_its_postgresql(postgres: servers.MortalPostgres, tmp_path: Path) -> None:
    postgres.kill()
    with begun(tmp_path, "worker", "--url", postgres.url, "--agents", "ringi.demo") as process:
        process.says("waiting for the store")
        postgres.start()
        process.says("working on ")
        assert process.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("words", [["serve", "--port", "0"], ["worker", "--agents", "ringi.demo"]])
def test_a_process_that_waits_ends_when_told(tmp_path: Path, words: list[str], number: int) -> None:
    with begun(tmp_path, *words, "--url", nowhere("postgresql")) as process:
        process.says("waiting for the store")
        assert process.end(number) in (0, 130, -number)
        assert "Traceback" not in process.output


def nowhere(scheme: str) -> str:
    return f"{scheme}://127.0.0.1:{servers.free_port()}/x"


@pytest.mark.parametrize("scheme", ["postgresql", "redis"])
def test_a_process_gives_up_after_the_time_that_it_was_given(tmp_path: Path, scheme: str) -> None:
    with begun(tmp_path, "serve", "--port", "0", "--url", nowhere(scheme), RINGI_STORE_TIMEOUT="0.3") as process:
        assert process.code() == 1
        assert "the store is unavailable" in process.output.splitlines()[-1]


def test_what_no_waiting_mends_is_not_tried_again(
    postgres: servers.MortalPostgres, durable_redis_url: str, tmp_path: Path
) -> None:
    base = postgres.url.rpartition("/")[0]
    wrong = {
        f"{base}/no_such_database": "no_such_database",
        f"{base.replace('postgres@', 'nobody_here@')}/postgres": "nobody_here",
        durable_redis_url.replace("redis://", "redis://nobody:wrong@"): "give a user who may",
    }
    for url, why in wrong.items():
        with begun(tmp_path, "serve", "--port", "0", "--url", url) as process:
            assert process.code() == 2
            assert why in process.output
            assert "waiting" not in process.output
