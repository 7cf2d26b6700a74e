"""The pages of the docs, run as a reader would run them: every block is typed, saved or run.

- A block with `title="name"` is a file, saved under that name in the page's folder.
- `python` without a title runs by itself; `npm install` finds the packages of Ringi's page.
- `bash` is typed into the page's one terminal and must succeed. So must each line after `$ ` of a `console` block.
  The other lines are the expected output; `…` stands for anything.
- `<!-- another terminal -->` before a block opens a separate terminal, with the variables that the page
  has exported so far. It runs to the end of the page, or to `<!-- ctrl-c -->`, which stops the newest one.
  `<!-- ctrl-c: command -->` stops the newest one with that command, even if a newer one still runs.
- `<!-- meanwhile: command -->` is an action of the reader elsewhere, for example on Ringi's page.
- `<!-- until: command -->` is a condition: the command is repeated until it succeeds.
- `text` is not run.
"""

from __future__ import annotations

import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from tests.servers import postgres_programs

ROOT = Path(__file__).resolve().parent.parent
WRITTEN_PORT = "8123"
"""Stands in the pages for whatever port is free."""
WRITTEN_DATABASE = "postgresql://ringi:secret@db.example.com/ringi"
"""Stands in the pages for a PostgreSQL that the reader has."""
WRITTEN_NEW_DATABASE = "postgresql://ringi:secret@new.example.com/ringi"
"""Stands in the pages for an empty database elsewhere."""
WRITTEN_REDIS = "redis://redis.example.com:6379/0"
"""Stands in the pages for a Redis that the reader has."""
SECONDS = 60
UNSET = ("RINGI_", "COLUMNS", "VIRTUAL_ENV", "PYTHON")
PARTS = re.compile(
    r"^(?P<indent> *)```(?P<language>\S+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^ *```$"
    r"|<!-- (?P<directive>another terminal|ctrl-c(?!:)|(?:ctrl-c|meanwhile|until): (?P<command>.*?)) -->",
    re.M | re.S,
)
UNTIL = """for LEFT in $(seq 200 -1 0); do
if {}; then break; fi
[ $LEFT -gt 0 ]
sleep 0.1
done"""
CLIENTS = ("pg_dump", "pg_restore")
PACKAGES = f'ln -sfn "{ROOT}/ui/node_modules" node_modules; echo added'
SHIMS = {
    "npm": PACKAGES,
    "make": f'exec /usr/bin/env PATH="$OWN_PATH" make --silent --dry-run -C "{ROOT}" "$@"',
    **{name: f'exec "{postgres_programs() / name}" "$@"' for name in CLIENTS},
    "celery": 'exec python -m py_compile "$2.py"',
    "dramatiq": 'exec python -m py_compile "$1.py"',
    "pgq": 'exec python -m py_compile "${2%%:*}.py"',
}
"""A page says `make test`; the test of the page only looks whether there is such a thing. Of a file
for a queue that is not installed, it checks the syntax."""


class Part(NamedTuple):
    """A block, or what is said about the next one."""

    line: int
    kind: str
    body: str
    title: str | None = None


def parts_of(text: str) -> list[Part]:
    """Return the blocks and directives of a page in order."""
    return list(_parts(text))


def _parts(text: str) -> Iterator[Part]:
    for found in PARTS.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if directive := found["directive"]:
            yield Part(line, directive.partition(":")[0], found["command"] or "")
            continue
        body = re.sub(rf"^{found['indent']}", "", found["body"], flags=re.M)
        yield Part(line, found["language"], body, found["title"])


class PageError(AssertionError):
    """A page does not do what it says."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")


class Reader:
    """Works through one page in an empty folder."""

    def __init__(self, folder: Path, shims: Path, servers: Mapping[str, Callable[[], str]] | None = None) -> None:
        self.folder, self.port, self._servers = folder, page_port(), servers or {}
        self._environment = environment(shims)
        self._terminal = Terminal(folder, self._environment)
        self._others: list[OtherTerminal] = []

    def work_through(self, parts: list[Part]) -> None:
        """Do every block in order, or raise `PageError`."""
        elsewhere = False
        for part in parts:
            if part.kind == "another terminal":
                elsewhere = True
                continue
            self._do(part, elsewhere)
            elsewhere = False
        for other in self._others:
            other.expect_all()

    def _do(self, part: Part, elsewhere: bool) -> None:
        body = self._with_port(part.body)
        if part.title:
            (self.folder / part.title).write_text(body)
        elif part.kind == "ctrl-c":
            self._stop(part.line, body)
        elif elsewhere:
            self._others.append(OtherTerminal(part, body, self.folder, self._terminal.exported()))
            self._others[-1].wait_for_the_first_line()
        elif part.kind in ("bash", "meanwhile"):
            self._terminal.type(part.line, body)
        elif part.kind == "until":
            self._terminal.type(part.line, UNTIL.format(body))
        elif part.kind == "console":
            commands, printed = console_parts(body)
            expect(part.line, printed, self._terminal.type(part.line, commands))
        elif part.kind == "python":
            self._run(part.line, body)

    def _stop(self, line: int, command: str) -> None:
        """Stop the newest terminal with this command, and wait until no process listens on the page's port."""
        terminals = [other for other in self._others if not other.is_stopped and other.runs(command)]
        if not terminals or not terminals[-1].is_running:
            raise PageError(line, f"no terminal runs {command or 'a command'!r}")
        terminals[-1].interrupt()
        ends_at = time.monotonic() + SECONDS
        while is_listening(self.port):
            if time.monotonic() > ends_at:
                raise PageError(line, f"a process still listens on port {self.port}")
            select.select([], [], [], 0.05)

    def _run(self, line: int, body: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", body],
            cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        if done.returncode:
            raise PageError(line, done.stderr)

    def _with_port(self, body: str) -> str:
        body = re.sub(r"(?m)^((?:\$ )?ringi (?:demo|serve)\b)(?!.*--port)", rf"\1 --port {self.port}", body)
        for written, url in self._servers.items():
            if written in body:
                body = body.replace(written, url())
        return body.replace(WRITTEN_PORT, str(self.port))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for other in self._others:
            other.kill()
        self._terminal.close()


class Terminal:
    """One bash for all that a page types."""

    END = "--- end of the block"

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._script = folder.with_name(f"{folder.name}.sh")
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-e"], cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def type(self, line: int, commands: str) -> str:
        """Run commands and return what they print; one that fails is a `PageError`."""
        assert self._bash.stdin
        assert self._bash.stdout
        # Not typed into bash's own input: the first command that reads would swallow those after it.
        self._script.write_text(commands)
        self._bash.stdin.write(f"source '{self._script}' < /dev/null\necho '{self.END}'\n")
        self._bash.stdin.flush()
        printed = ""
        for text in self._bash.stdout:
            if text.endswith(f"{self.END}\n"):
                return printed + text.removesuffix(f"{self.END}\n")
            printed += text
        raise PageError(line, f"failed: {commands}\n{printed}")

    def exported(self) -> dict[str, str]:
        """Return the variables that a command has here."""
        variables = self.type(0, "env -0; echo").split("\0")
        return dict(variable.split("=", 1) for variable in variables if "=" in variable)

    def close(self) -> None:
        """End it and whatever it started."""
        kill_group(self._bash)
        for pipe in (self._bash.stdin, self._bash.stdout):
            if pipe:
                pipe.close()


class OtherTerminal:
    """A terminal in which one block runs beside the others."""

    def __init__(self, part: Part, body: str, folder: Path, environment: dict[str, str]) -> None:
        commands, printed = console_parts(body) if part.kind == "console" else (body, "")
        self._line, self._commands, self._expected, self.is_stopped = part.line, commands, printed, False
        self._log = folder.with_name(f"{folder.name}-line-{part.line}.log")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["bash", "-ec", commands], cwd=folder, env=environment | {"PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def wait_for_the_first_line(self) -> None:
        """Return once it has begun to say what the page says, or raise `PageError`."""
        first = self._expected.strip().splitlines()[:1] or ["…"]
        self._until(pattern_of(first[0]) + "(\n.*)?")

    def runs(self, command: str) -> bool:
        """Return whether a line of the block begins with a command."""
        return any(line.startswith(command) for line in self._commands.splitlines())

    @property
    def is_running(self) -> bool:
        """Whether nothing has ended it."""
        return self._process.poll() is None

    def expect_all(self) -> None:
        """Wait until it has printed what the page says, or raise `PageError`."""
        self._until(pattern_of(self._expected or "…") + "(\n.*)?")

    def interrupt(self) -> None:
        """Press Ctrl-C and wait for the end."""
        self.expect_all()
        self.is_stopped = True
        os.killpg(self._process.pid, signal.SIGINT)
        self._process.wait(SECONDS)

    def kill(self) -> None:
        """End it without asking."""
        kill_group(self._process)

    def _until(self, pattern: str) -> None:
        ends_at = time.monotonic() + SECONDS
        while True:
            was_running, printed = self.is_running, self._log.read_text("utf-8").strip()
            if printed and re.fullmatch(pattern, printed, re.S):
                return
            if not was_running or time.monotonic() > ends_at:
                raise PageError(self._line, f"wanted {self._expected or 'a line'!r}, printed {printed!r}")
            select.select([], [], [], 0.05)


def console_parts(body: str) -> tuple[str, str]:
    """Return the commands of a console block, and what it says that they print."""
    lines = body.splitlines()
    commands, printed = [], []
    for number, line in enumerate(lines):
        goes_on = number > 0 and lines[number - 1].endswith("\\") and line.startswith(("  ", "> "))
        if line.startswith("$ ") or goes_on:
            commands.append(line[2:])
        else:
            printed.append(line)
    return "\n".join(commands), "\n".join(printed)


def expect(line: int, wanted: str, printed: str) -> None:
    """Raise `PageError` unless that was printed."""
    if not re.fullmatch(pattern_of(wanted), printed.strip(), re.S):
        raise PageError(line, f"the page says\n{wanted}\nprinted was\n{printed}")


def pattern_of(printed: str) -> str:
    """Return the expression for what a page says is printed; a run of spaces is one."""
    words = [re.escape(part).replace("…", ".*?") for part in printed.split()]
    return r"\s+".join(words)


def environment(shims: Path) -> dict[str, str]:
    """Return the variables of somebody who has installed Ringi and set nothing."""
    for name, script in SHIMS.items():
        (shims / name).write_text(f"#!/bin/sh\n{script}\n")
        (shims / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(UNSET)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    # `pip install` finds everything installed, and must not ask an index.
    return environment | {"PATH": f"{shims}{os.pathsep}{path}", "OWN_PATH": path, "PIP_NO_INDEX": "1", "NO_COLOR": "1"}


def kill_group(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Kill a process and whatever it started, and wait for it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(SECONDS)


def page_port() -> int:
    """Return a free port that the system gives to no outgoing connection while the page's server is stopped."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def is_listening(port: int) -> bool:
    """Return whether a process listens on a local port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
