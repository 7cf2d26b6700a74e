"""What the container image runs works where only the wheel is installed: the entry point, the environment, the secrets.

The commands, the variables and the health check are those of `compose.yaml` and the `Dockerfile`; only the folders, the
addresses and the ports are others. PostgreSQL and Valkey take the passwords that the entry point made, and no others.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import yaml
from psycopg import sql
from redis import Redis
from tests import servers
from tests.pages import parts_of

ROOT = Path(__file__).resolve().parents[2]
ENTRY = ROOT / "deploy/entrypoint.py"
UV = str(Path(sys.executable).with_name("uv"))
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
LIMIT = 60.0
STOP_SECONDS = 10.0
"""How long Docker waits after SIGTERM, unless it is told otherwise, before it kills."""

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment with what the image installs, and nothing else."""
    folder = tmp_path_factory.mktemp("image")
    extras = ",".join(re.findall(r"--extra (\w+)", (ROOT / "Dockerfile").read_text("utf-8")))
    run(
        UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder, ROOT
    )
    (wheel,) = folder.glob("*.whl")
    run(UV, "venv", "--quiet", "--python", sys.executable, folder / "environment")
    python = folder / "environment/bin/python"
    run(UV, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "requirements.lock", f"{wheel}[{extras}]")
    return python.with_name("ringi")


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        env=env or os.environ | {"RINGI_SKIP_UI": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Container:
    """A process of a service, and what it printed."""

    def __init__(self, command: list[str], env: dict[str, str], folder: Path, log: Path) -> None:
        self._log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(command, env=env, cwd=folder, stdout=output, stderr=output)

    @property
    def output(self) -> str:
        return self._log.read_text()

    def stop(self) -> tuple[int, float]:
        """Send SIGTERM, as Docker does, and return the exit code and the seconds until the end."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT), time.monotonic() - began


class Machine(NamedTuple):
    """The volumes of one machine, and where its services are."""

    folder: Path
    program: Path
    database: servers.MortalPostgres
    valkey: str
    port: int

    def env(self, service: str) -> dict[str, str]:
        """Return the variables of a service, with the folders of this machine."""
        home = "data" if service == "server" else "work"
        environment = SERVICES[service]["environment"]
        credentials = f"{self.folder}/credentials"
        moved = {name: interpolated(value).replace("/credentials", credentials) for name, value in environment.items()}
        return clean() | moved | {"RINGI_HOME": f"{self.folder}/{home}", "RINGI_PROGRAM": str(self.program)}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-I", str(ENTRY), *words]

    @contextmanager
    def begun(self, service: str, *more: str) -> Iterator[Container]:
        """Start a service with its command of `compose.yaml`."""
        words = [interpolated(word, RINGI_AGENTS="poster") for word in SERVICES[service]["command"]]
        log = self.folder / f"{service}.log"
        container = Container(self.command(*words, *more), self.env(service), self.folder / "agents", log)
        try:
            yield container
        finally:
            container.process.kill()
            container.process.wait(LIMIT)

    @contextmanager
    def up(self) -> Iterator[tuple[Container, Container]]:
        """Start server and worker at the same moment."""
        with self.begun("server", "--port", str(self.port)) as server, self.begun("worker") as worker:
            yield server, worker

    def ringi(self, *words: str) -> str:
        """Run the command line in the server, as `docker compose exec server ringi` does."""
        return run(*self.command(*words), env=self.env("server"))

    def is_healthy(self) -> bool:
        """Run the health check of the image."""
        line = re.search(r"HEALTHCHECK .*\\\n\s*CMD (\[.*\])", (ROOT / "Dockerfile").read_text("utf-8"))
        assert line
        command = [word.replace("8123", str(self.port)) for word in json.loads(line[1])]
        return subprocess.run([sys.executable, *command[1:]], capture_output=True, check=False).returncode == 0

    def call(self, method: str, path: str, token: str = "", **more: Any) -> httpx.Response | None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            return httpx.request(method, f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=20, **more)
        except httpx.TransportError:
            return None

    def text(self, path: str, token: str) -> str:
        answer = self.call("GET", path, token)
        return answer.text if answer else ""

    def status(self, path: str, token: str = "") -> int:
        answer = self.call("GET", path, token)
        return answer.status_code if answer else 0


def clean() -> dict[str, str]:
    """Return the variables of this process without those that a container does not have."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("RINGI_", "PYTHON", "VIRTUAL"))}


def interpolated(text: str, **variables: str) -> str:
    """Replace `${NAME:-default}` as Compose does."""
    while found := re.search(r"\$\{(\w+):-([^${}]*)\}", text):
        text = text.replace(found[0], variables.get(found[1], found[2]))
    return text


@pytest.fixture
def machine(program: Path, tmp_path: Path) -> Iterator[Machine]:
    """Make the credentials, and a database and a Valkey that take them."""
    for name in ("credentials", "data", "work", "agents"):
        (tmp_path / name).mkdir()
    (agents,) = (p.body for p in parts_of((ROOT / "docs/how-to/run-in-containers.md").read_text("utf-8")) if p.title)
    (tmp_path / "agents/poster.py").write_text(agents)
    with ExitStack() as stack:
        database = stack.enter_context(servers.mortal_postgres())
        valkey = stack.enter_context(servers.valkey())
        made = Machine(tmp_path, program, database, valkey, servers.free_port())
        make_credentials(made)
        password = (tmp_path / "credentials/postgres-password").read_text().strip()
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE ROLE ringi LOGIN PASSWORD {}").format(password))
            connection.execute("CREATE DATABASE ringi OWNER ringi")
            ((path,),) = connection.execute("SHOW hba_file").fetchall()
            rules = "host all postgres all trust\nhost all all all scram-sha-256"
            connection.execute(sql.SQL("COPY (SELECT unnest(string_to_array({}, chr(10)))) TO {}").format(rules, path))
            connection.execute("SELECT pg_reload_conf()")
        (line,) = (tmp_path / "credentials/valkey.conf").read_text().splitlines()
        with Redis.from_url(valkey) as client:
            client.config_set(*line.split())
        yield made


def make_credentials(machine: Machine) -> None:
    """Run the service `credentials`, with the addresses of this machine."""
    places = {"postgres:5432": machine.database.url, "valkey:6379": machine.valkey}
    words = [
        urlsplit(places[word]).netloc.rpartition("@")[2] if word in places else word
        for word in SERVICES["credentials"]["command"]
    ]
    words = [word.replace("/credentials", f"{machine.folder}/credentials") for word in words]
    subprocess.run(machine.command(*words), check=True, timeout=LIMIT)


def until(check: Callable[[], Any], what: str, *containers: Container) -> Any:
    """Return what the check returns once it is true, or fail after the limit."""
    over, rest = time.monotonic() + LIMIT, threading.Event()
    while not (found := check()):
        assert time.monotonic() < over, f"not in {LIMIT} s: {what}\n" + "\n".join(each.output for each in containers)
        assert all(each.process.poll() is None for each in containers), "\n".join(each.output for each in containers)
        rest.wait(0.1)
    return found


def ended(*containers: Container) -> float:
    """Stop them, one after another, and return the seconds of the slowest; none fails."""
    stopped = [container.stop() for container in containers]
    # Uvicorn ends by the signal itself once it has closed everything.
    assert {code for code, _ in stopped} <= {0, -signal.SIGTERM}, "\n".join(each.output for each in containers)
    return max(seconds for _, seconds in stopped)


def private_files(folder: Path) -> dict[str, tuple[str, int]]:
    names = ("data/secret", "data/seal.key", "credentials/postgres-password", "credentials/database-url")
    return {name: ((folder / name).read_text(), stat.S_IMODE((folder / name).stat().st_mode)) for name in names}


def test_server_and_worker_wait_ask_answer_end_and_go_on(machine: Machine) -> None:
    machine.database.kill()
    with machine.up() as (server, worker):
        until(machine.is_healthy, "the server lives while its database is away", server, worker)
        assert machine.status("/readyz") == 503
        machine.database.start()
        until(lambda: machine.status("/readyz") == 200, "both have migrated an empty database", server, worker)
        token = machine.ringi("token", "show", "person").strip()
        until(lambda: '"poster"' in machine.text("/v1/agents", token), "the agent is announced", server, worker)

        started = machine.call("POST", "/v1/threads/poster-1/runs", token, json={"agent": "poster"})
        assert started
        assert started.status_code < 300, started.text
        (question,) = until(lambda: json.loads(machine.ringi("list", "--json"))["items"], "it asks", server, worker)
        assert question["title"] == "Which color should the poster have?"
        private = private_files(machine.folder)
        assert ended(server, worker) < STOP_SECONDS

    make_credentials(machine)
    with machine.up() as (server, worker):
        until(lambda: machine.status("/readyz") == 200, "it is ready again", server, worker)
        assert private_files(machine.folder) == private
        assert {mode for name, (_, mode) in private.items() if "password" not in name} == {0o600}
        assert machine.status("/v1/requests", token) == 200, "a token of before the restart is taken"
        machine.ringi("respond", question["id"], "respond", "--message", "blue")
        thread = "/v1/threads/poster-1"
        until(lambda: '"color":"blue"' in machine.text(thread, token), "the run resumes", server, worker)
        machine.ringi("ask", "Which size?", "--id", "size-1")
        machine.ringi("respond", "size-1", "respond", "--message", "A2")
        assert "0 findings" in machine.ringi("verify")
        assert ended(server, worker) < STOP_SECONDS
    assert not (machine.folder / "work/secret").exists(), "the worker has no key of the tokens"
    assert not re.search(private["credentials/postgres-password"][0].strip(), server.output + worker.output)


def waits(container: Container) -> None:
    until(lambda: "waiting for the store" in container.output, "it waits", container)


def test_a_signal_ends_what_waits_for_its_database(machine: Machine) -> None:
    machine.database.kill()
    with machine.up() as (server, worker):
        for each in (server, worker):
            waits(each)
        assert ended(server, worker) < STOP_SECONDS
    assert "Traceback" not in server.output + worker.output


def test_a_wrong_password_is_named_and_not_printed(machine: Machine) -> None:
    url = machine.folder / "credentials/database-url"
    wrong = "0" * 64
    url.write_text(re.sub(r":[0-9a-f]{64}@", f":{wrong}@", url.read_text()))
    with machine.begun("server", "--port", str(machine.port)) as server:
        assert server.process.wait(LIMIT) == 2, server.output

    assert "password" in server.output
    assert wrong not in server.output
    assert "Traceback" not in server.output
