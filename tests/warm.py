"""Processes that start at once, because they are forked from one that has imported everything.

`python -c "from ringi.cli import main; main()"` spends seconds on imports, and the tests start hundreds of those.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "ringi.cli.app",
        "ringi.cli.commands.serve",
        "ringi.demo",
        "ringi.backends.sqlite.checkpoints",
        "tests.engrammer.learner",
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
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in ((1, output), (2, log)):
        target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(target, number)
        os.close(target)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv, sys.path[:0] = ["ringi", *arguments], [""]
    from ringi.base import failpoints
    from ringi.cli import main

    failpoints.ARMED.update(failpoints.parse_failpoints(environment.get("RINGI_FAILPOINT", "")))
    main()
