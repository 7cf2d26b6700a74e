"""Processes that start at once, because they are forked from one that has imported everything.

`python -c "from ringi.cli import main; main()"` spends seconds on imports, and the tests start hundreds of those.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests import warm_server

CLIENT = Path(__file__).with_name("warm_client.py")
ROOT = Path(__file__).parent.parent
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "ringi.cli.app",
        "ringi.cli.commands.serve",
        "ringi.demo",
        "ringi.backends.sqlite.checkpoints",
        "tests.apps.engrammer.learner",
        "tests.faults.thread_worker",
        "tests.integrations.langchain.finish_worker",
        "uvicorn",
    ]
)


class Command:
    """A running `ringi` with the methods of `subprocess.Popen` that tests use; its output goes to files."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path, log: Path
    ) -> None:
        args = (list(arguments), folder, dict(environment), output, log)
        self.args = ("ringi", *arguments)
        self._process = FORKS.Process(target=_run, args=args)
        self._process.start()

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process.pid
        return self._process.pid

    def poll(self) -> int | None:
        """Return the code with which it ended, or None while it runs; minus the signal if it was killed."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the code with which it ends, or raise `subprocess.TimeoutExpired`."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it and wait for its end."""
        self._process.kill()
        self._process.join()


def ringi(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float = 40
) -> subprocess.CompletedProcess[str]:
    """Run one command in a folder and return its exit code and what it printed."""
    with tempfile.TemporaryDirectory() as name:
        output, log = Path(name, "output"), Path(name, "log")
        command = Command(arguments, folder, environment, output, log)
        try:
            code = command.wait(timeout)
        finally:
            command.kill()
        return subprocess.CompletedProcess(command.args, code, output.read_text(), log.read_text())


def _run(arguments: list[str], folder: Path, environment: dict[str, str], output: Path, log: Path) -> None:
    """Become the command, as a shell would start it."""
    outputs = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for path in (output, log)]
    warm_server.become(folder, environment, {1: outputs[0], 2: outputs[1]})
    sys.argv, sys.path[:0] = ["ringi", *arguments], [""]
    from ringi.cli import main

    main()


@cache
def _server() -> tuple[Path, subprocess.Popen[bytes]]:
    """Start the process that forks programs; return its address too."""
    address = Path(tempfile.mkdtemp(prefix="ringi-warm"), "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen(64)
        command = [sys.executable, "-m", warm_server.__name__, str(listener.fileno())]
        return address, subprocess.Popen(command, pass_fds=[listener.fileno()], cwd=ROOT)


def program(place: str, *imports: str) -> list[str]:
    """Return the command of a program: `module:function`, or the path of a script.

    Args:
        place: Where the program is.
        imports: The modules that are imported before the fork, besides the program's own.
    """
    return [sys.executable, "-I", "-S", str(CLIENT), str(_server()[0]), ",".join((place, *imports))]


def ringi_program(*imports: str) -> list[str]:
    """Return the command of `ringi` as such a program."""
    return program("ringi.cli:main", "ringi.cli.app", *imports)


def stop() -> None:
    """End the process that forks programs, if there is one."""
    if _server.cache_info().currsize:
        address, process = _server()
        process.kill()
        process.wait()
        shutil.rmtree(address.parent)
        _server.cache_clear()
