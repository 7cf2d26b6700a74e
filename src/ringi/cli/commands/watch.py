"""The command `watch`: an inbox in the terminal, or its changes as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

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


def watch(session: MemberSession) -> None:
    """Open the inbox in the terminal; with --json, print each change as it happens."""
    if session.json:
        return run_on_event_loop(_print_events(session))
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise SettingError("terminal", "none", cli_text("needs_terminal"))
    from ringi.cli.terminal.app import WatchApp
    from ringi.cli.terminal.guard import guarded_terminal

    with guarded_terminal():
        code = session.work_on_backend(
            lambda _, inbox: _watch(WatchApp(inbox, str(session.by), split_names(session.groups)))
        )
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
