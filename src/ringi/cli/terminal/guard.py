"""A second process that gives the terminal back when the first one is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MODES = (1000, 1002, 1003, 1006, 1015, 1016, 1004, 2004, 2048)
"""What was switched on: the mouse in its dialects, focus reports, bracketed paste, resize reports."""
LEAVE = "\x1b[<u" + "".join(f"\x1b[?{mode}l" for mode in MODES) + "\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"
"""End kitty's keys and the modes, wrap lines again, leave the alternate screen, show the cursor."""
WELL = b"."


@contextmanager
def guarded_terminal() -> Iterator[None]:
    """Put the terminal back in order after the block, however this process ends: SIGKILL included."""
    if not hasattr(os, "fork"):  # Windows gives a console back by itself.
        yield
        return
    import termios

    before = termios.tcgetattr(0)
    reader, writer = os.pipe()
    guard = os.fork()
    if guard == 0:
        os.close(writer)
        _watch_over(reader, before)
    os.close(reader)
    try:
        yield
    finally:
        if _is_calm():
            os.write(writer, WELL)
        os.close(writer)
        os.waitpid(guard, 0)


def _watch_over(reader: int, before: list[Any]) -> None:
    """Wait for the end of the other process and never return."""
    try:
        # What ends the whole group, as a key or a closed window does, must not end the one who cleans up.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU):
            signal.signal(number, signal.SIG_IGN)
        if os.read(reader, 1) != WELL:
            _restore(before)
    finally:
        os._exit(0)


def _restore(before: list[Any]) -> None:
    import termios

    os.write(2, LEAVE.encode())
    # A shell that took over already has set its own mode: it stays.
    if not _is_calm():
        termios.tcsetattr(0, termios.TCSANOW, before)


def _is_calm() -> bool:
    """Whether the terminal sends signals for keys again, as it does whenever no full-screen program has it."""
    import termios

    return bool(termios.tcgetattr(0)[3] & termios.ISIG)
