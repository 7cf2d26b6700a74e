"""Two servers and three workers with a private PostgreSQL and Redis, for `make cluster`. Kill any of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from tests.servers import free_port, mortal_postgres, redis

from ringi.cli.session import process_user_name
from ringi.demo import agents as demo_agents
from ringi.server import Keys, Principal
from ringi.server.auth.links import mint_link

SERVERS, WORKERS = 2, 3
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
agents = demo_agents()
"""The agents for `ringi serve --agents scripts.cluster`."""


@contextmanager
def running(arguments: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of Ringi during the block."""
    command = [sys.executable, "-c", "from ringi.cli import main; main()", *arguments, "--agents", "scripts.cluster"]
    process = subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def link_of(server: subprocess.Popen[bytes], home: str) -> str:
    """Return a link for the local person when a server is ready."""
    assert server.stdout
    line = server.stdout.readline()
    if not line:
        raise SystemExit("a server did not start")
    return mint_link(
        Keys.load(Path(home)), json.loads(line)["url"], Principal("default", "person", process_user_name())
    )


def stop(number: int, frame: FrameType | None) -> None:
    """End the program, and with it all that it started, at the first of these signals."""
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)
    print("stopping …", flush=True)
    raise SystemExit


def main() -> None:
    """Start all processes, print their addresses, and stop them on Ctrl-C, SIGTERM or a closed terminal."""
    for each in STOPPING:
        signal.signal(each, stop)
    with ExitStack() as stack:
        print("starting PostgreSQL, Redis, two servers and three workers …", flush=True)
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="ringi-cluster-"))
        own = {"RINGI_HOME": home, "RINGI_URL": stack.enter_context(mortal_postgres()).url}
        own |= {"RINGI_REDIS_URL": stack.enter_context(redis()), "PYTHONPATH": str(Path.cwd())}
        environment = {**os.environ, **own}
        for _ in range(SERVERS):
            server = stack.enter_context(running(["serve", "--port", str(free_port()), "--json"], environment))
            print(f"server  {server.pid:8}  {link_of(server, home)}", flush=True)
        for _ in range(WORKERS):
            worker = stack.enter_context(running(["worker"], environment))
            print(f"worker  {worker.pid:8}", flush=True)
        print(
            "\nStart a run on one page, answer it on the other, and kill -9 what you like. Stop with Ctrl-C.",
            flush=True,
        )
        signal.pause()


if __name__ == "__main__":
    main()
