"""The command `watch`: an inbox in the terminal, or its changes as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer

from ringi.base.settings import SettingError
from ringi.cli.options import split_names
from ringi.cli.session import CommandSession, MemberSession, existing_store_url, run_on_event_loop
from ringi.cli.texts import cli_text
from ringi.connect import store_inbox
from ringi.domain.record import Event
from ringi.domain.request import Request

if TYPE_CHECKING:
    from ringi.cli.terminal.app import WatchApp

MODES = (1000, 1002, 1003, 1006, 1015, 1016, 1004, 2004, 2048)
"""Terminal modes to reset: mouse protocols, focus reports, bracketed paste, resize reports."""
LEAVE = "\x1b[<u" + "".join(f"\x1b[?{mode}l" for mode in MODES) + "\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"
"""Resets kitty's keys, the modes, wrapping, the alternate screen and the cursor."""
ENDED_NORMALLY = b"."


def watch(session: MemberSession) -> None:
    """Open the inbox in the terminal; with --json, print each change as it happens."""
    if session.json:
        return run_on_event_loop(_print_events(session))
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise SettingError("terminal", "none", cli_text("needs_terminal"))
    from ringi.cli.terminal.app import WatchApp

    with guarded_terminal():
        groups = split_names(session.groups)
        code = session.work_on_backend(lambda _, inbox: _watch(WatchApp(inbox, str(session.by), groups)))
    if code:
        raise typer.Exit(code)


async def _watch(app: WatchApp) -> int:
    # Otherwise Textual treats it as a normal exit.
    with suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, app.action_interrupt)
    with _warnings_to(app):
        async with app.requests.follow():
            await app.run_async()
    if app.crash:
        raise app.crash
    return app.return_code or 0


async def _print_events(session: CommandSession) -> None:
    from ringi.server.serialize import feed_event_json, request_json

    queue: asyncio.Queue[Event] = asyncio.Queue()

    def enqueue(events: Sequence[Event]) -> None:
        for event in events:
            if event.record == Request.record and event.tenant == session.tenant:
                queue.put_nowait(event)

    url = existing_store_url(session.url)
    async with store_inbox(url, tenant=session.tenant) as inbox, inbox.feed.follow(enqueue):
        session.say({"watching": url}, "")
        while True:
            event = await queue.get()
            request = await inbox.get(event.record_id)
            session.say(json.loads(feed_event_json(event, request_json(request))), "")


@contextmanager
def _warnings_to(app: WatchApp) -> Iterator[None]:
    """Send log messages to the app: printed on the terminal they would damage the display."""

    class WarningHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            app.show_warning(record)

    previous, logging.root.handlers = logging.root.handlers, [WarningHandler(logging.WARNING)]
    try:
        yield
    finally:
        logging.root.handlers = previous


@contextmanager
def guarded_terminal() -> Iterator[None]:
    """Restore the terminal after the block; if this process is killed with SIGKILL, a second one does."""
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
