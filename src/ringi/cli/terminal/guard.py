"""A second process that restores the terminal if the first one is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MODES = (1000, 1002, 1003, 1006, 1015, 1016, 1004, 2004, 2048)
"""Terminal modes to reset: mouse protocols, focus reports, bracketed paste, resize reports."""
LEAVE = "\x1b[<u" + "".join(f"\x1b[?{mode}l" for mode in MODES) + "\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"
"""Resets kitty's keys, the modes, wrapping, the alternate screen and the cursor."""
ENDED_NORMALLY = b"."


@contextmanager
def guarded_terminal() -> Iterator[None]:
    """Restore the terminal after the block, even if this process is killed with SIGKILL."""
    if not hasattr(os, "fork"):  # Windows restores the console.
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
        if _is_in_shell_mode():
            os.write(writer, ENDED_NORMALLY)
        os.close(writer)
        os.waitpid(guard, 0)


def _watch_over(reader: int, before: list[Any]) -> None:
    """Wait for the other process to end, restore the terminal if needed, and exit."""
    try:
        import termios

        # A key or a closed window signals the whole process group; this process must survive to clean up.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU):
            signal.signal(number, signal.SIG_IGN)
        if os.read(reader, 1) != ENDED_NORMALLY:
            os.write(2, LEAVE.encode())
            # A shell that already took over has set its own mode.
            if not _is_in_shell_mode():
                termios.tcsetattr(0, termios.TCSANOW, before)
    finally:
        os._exit(0)


def _is_in_shell_mode() -> bool:
    """Return whether keys such as ctrl+c send signals, as they do outside of full-screen programs."""
    import termios

    return bool(termios.tcgetattr(0)[3] & termios.ISIG)
