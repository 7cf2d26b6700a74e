"""A Redis with its own disk that a test can kill and restart."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests import servers

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


class MortalRedis:
    """Writes each change to its append-only file before it answers, unless other options say otherwise."""

    def __init__(self, program: Path, folder: Path, options: tuple[str, ...]) -> None:
        self._program, self._folder, self._options = program, folder, options
        self._process: subprocess.Popen[bytes] | None = None
        # A node of a cluster listens at its port + 10,000 too.
        self.port = next(port for port in iter(servers.free_port, 0) if port < 55_000)

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and return once it answers."""
        place = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._folder), "--save", ""]
        log = self._folder / "log"
        with log.open("w") as output:
            command = [str(self._program), *place, *self._options]
            self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd="/")
        servers._await_start(self._process, self._program, log, lambda _: servers._answers(self.port))

    def kill(self) -> None:
        """Kill it in this instant, as a power cut does."""
        if self._process:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def mortal_redis(program: Path, *options: str) -> Iterator[MortalRedis]:
    """Give a running server that may be killed."""
    with servers._folder("ringi-redis-") as folder:
        server = MortalRedis(program, folder, options or DURABLE)
        server.start()
        try:
            yield server
        finally:
            server.kill()
