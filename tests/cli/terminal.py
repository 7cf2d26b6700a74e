"""A terminal without a window: a command runs in it, a test types and reads what a person would see."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyte

ENTRY = "from ringi.cli import main; main()"
LIMIT = 45.0
"""Seconds: an import of the command takes 2 s of a processor that a whole suite shares."""
SILENCE = 0.2
UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>=?][0-9;]*u")
"""Kitty's keys: pyte would print the last letter."""
KEYS = {
    "enter": "\r",
    "esc": "\x1b",
    "tab": "\t",
    "backtab": "\x1b[Z",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "space": " ",
    "backspace": "\x7f",
}
KEYS |= {f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"}


class Terminal:
    """A pseudo-terminal with a command in it."""

    def __init__(self, command: list[str], folder: Path, env: Mapping[str, str], columns: int, lines: int) -> None:
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, dict(env))
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(self._fd)
        self.status: int | None = None

    @property
    def text(self) -> str:
        """What is on the screen."""
        # The second cell of a wide letter is empty; `display` fails while only its first cell was drawn over.
        rows = (self.screen.buffer[line] for line in range(self.screen.lines))
        return "\n".join("".join(row[at].data for at in range(self.screen.columns)).rstrip() for row in rows)

    def press(self, *keys: str) -> None:
        """Press keys by their names; a single character is its own name."""
        for key in keys:
            os.write(self._fd, KEYS.get(key, key).encode())
            if key == "esc":
                # A terminal program tells a lone escape from the beginning of a sequence by the silence after it.
                quiet_at = time.monotonic() + SILENCE
                while (left := quiet_at - time.monotonic()) > 0:
                    self._read(left)

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._fd, text.encode())

    def until(self, *words: str, gone: tuple[str, ...] = (), limit: float = LIMIT) -> str:
        """Read until the screen shows all these words and none of those; return the screen."""
        return self.when(
            lambda text: all(word in text for word in words) and not any(word in text for word in gone),
            f"{words} without {gone}",
            limit,
        )

    def when(self, holds: Callable[[str], bool], what: str, limit: float = LIMIT) -> str:
        """Read until something holds of the screen; return the screen."""
        ends_at = time.monotonic() + limit
        while not holds(self.text):
            left = ends_at - time.monotonic()
            assert left > 0, f"no {what} within {limit} s on\n{self.text}"
            alive = self._read(min(left, 0.2))
            assert alive or holds(self.text), f"ended without {what} on\n{self.text}"
        return self.text

    def end(self, limit: float = LIMIT) -> int:
        """Return the exit code once the command has ended; minus the signal that ended it."""
        ends_at = time.monotonic() + limit
        while self.status is None:
            assert time.monotonic() < ends_at, f"still running after {limit} s:\n{self.text}"
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def drain(self, until: Callable[[], bool], limit: float = LIMIT) -> None:
        """Read on until something holds."""
        ends_at = time.monotonic() + limit
        while not until():
            assert time.monotonic() < ends_at, f"nothing happened within {limit} s on\n{self.text}"
            self._read(0.1)

    @property
    def mode(self) -> list[object]:
        """How the terminal treats keys now."""
        return termios.tcgetattr(self._fd)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the window."""
        self.screen.resize(lines, columns)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def close(self) -> None:
        """End whatever runs in it."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    def _read(self, seconds: float) -> bool:
        readable, _, _ = select.select([self._fd], [], [], seconds)
        if not readable:
            return True
        try:
            found = os.read(self._fd, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # Linux's way to say that nobody writes any more.
                return False
            raise
        self.raw += found
        self._stream.feed(UNKNOWN_TO_PYTE.sub(b"", found))
        return bool(found)


@contextlib.contextmanager
def terminal(
    folder: Path, *arguments: str, columns: int = 80, lines: int = 24, entry: str = ENTRY, **settings: str
) -> Iterator[Terminal]:
    """Run one `ringi` command in a terminal whose Ringi lives in this folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RINGI_", "NO_COLOR"))}
    env = environment | {"RINGI_HOME": str(folder), "TERM": "xterm-256color", "COLORTERM": "truecolor"} | settings
    for name in ("COLUMNS", "LINES"):
        env.pop(name, None)
    opened = Terminal([sys.executable, "-c", entry, *arguments], folder, env, columns, lines)
    try:
        yield opened
    finally:
        opened.close()
