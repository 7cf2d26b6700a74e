"""What `ringi serve` prints for the person at this machine, and `ringi link`."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.cli.terminal import ENTRY, Terminal

COMMAND = [sys.executable, "-c", ENTRY]
START_SECONDS = 40


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")}
    return variables | {"RINGI_HOME": str(tmp_path), "TERM": "xterm"}


@pytest.fixture
def terminal(tmp_path: Path, environment: dict[str, str]) -> Iterator[Terminal]:
    """A terminal in which a server runs."""
    terminal = Terminal([*COMMAND, "serve", "--port", "0"], tmp_path, environment, 600, 12)
    try:
        yield terminal
    finally:
        terminal.close()


def sign_in(address: str, link: str) -> httpx.Response:
    return httpx.post(f"{address}/v1/session", json={"token": link.partition("#token=")[2]}, timeout=20)


def test_a_terminal_gets_a_link_that_works_once(
    terminal: Terminal, tmp_path: Path, environment: dict[str, str]
) -> None:
    screen = terminal.until("Stop it with", limit=START_SECONDS)
    found = re.search(r"http://\S+#token=link\.\S+", screen)
    assert found, screen
    tokens = json.loads((tmp_path / "tokens.json").read_text())
    assert stat.S_IMODE((tmp_path / "tokens.json").stat().st_mode) == 0o600
    assert not any(tokens[role] in screen for role in ("agent", "person", "admin"))
    first, again = sign_in(tokens["url"], found[0]), sign_in(tokens["url"], found[0])
    assert (first.status_code, again.status_code) == (200, 401)

    def made(*arguments: str) -> str:
        command = [*COMMAND, "link", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=40, check=True)
        return done.stdout.strip()

    other = made("--name", "bob", "--role", "admin", "--groups", "ops, finance")
    assert other.startswith(tokens["url"])
    assert sign_in(tokens["url"], other).json() == {
        "name": "bob", "role": "admin", "tenant": "default", "groups": ["ops", "finance"],
    }  # fmt: skip
    assert made("--server", "https://inbox.example.com/").startswith("https://inbox.example.com/#token=link.")


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_a_log_gets_no_link(tmp_path: Path, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    command = [*COMMAND, "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        assert server.stdout
        printed = b""
        while b"http://" not in printed:
            ready, _, _ = select.select([server.stdout], [], [], START_SECONDS)
            assert ready
            printed += os.read(server.stdout.fileno(), 65536)
        server.send_signal(signal.SIGTERM)
        printed += server.stdout.read()
    tokens = json.loads((tmp_path / "tokens.json").read_text())
    assert tokens["url"].encode() in printed
    assert b"token=" not in printed
    assert b"eyJ" not in printed


def test_without_a_server_a_link_says_what_is_missing(tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run([*COMMAND, "link"], env=environment, capture_output=True, text=True, timeout=40, check=False)
    assert (done.returncode, "server" in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []
