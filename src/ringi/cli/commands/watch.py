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

from ringi.cli.format.output import say
from ringi.cli.options import By, Groups, Json, Tenant, Url, names_in
from ringi.cli.session import existing_store, person_name, run
from ringi.cli.texts import text_of
from ringi.connect import open, resolved_url
from ringi.domain.record import DEFAULT_TENANT, Event
from ringi.domain.request import Request
from ringi.errors import SettingError

if TYPE_CHECKING:
    from ringi.cli.terminal.app import WatchApp


def watch(
    groups: Groups = "", name: By = None, tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False
) -> None:
    """Open the inbox in the terminal; with --json, print each change as it happens."""
    if json_:
        return run(_print_events(tenant, url))
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise SettingError("terminal", "none", text_of("needs_terminal"))
    from ringi.cli.terminal.guard import guarded_terminal

    with guarded_terminal():
        code = run(_watch(name or person_name(), names_in(groups), tenant, url))
    if code:
        raise typer.Exit(code)


async def _watch(name: str, groups: tuple[str, ...], tenant: str, url: str | None) -> int:
    from ringi.cli.terminal.app import WatchApp

    async with open(existing_store(url), tenant=tenant) as inbox:
        app = WatchApp(inbox, name, groups)
        # Otherwise Textual treats it as a normal exit.
        with suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, app.action_interrupt)
        with _warnings_to(app):
            async with app.requests.follow():
                await app.run_async()
    if app.crash:
        raise app.crash
    return app.return_code or 0


async def _print_events(tenant: str, url: str | None) -> None:
    from ringi.server.serialize import event_json, request_json

    queue: asyncio.Queue[Event] = asyncio.Queue()

    def enqueue(events: Sequence[Event]) -> None:
        for event in events:
            if event.record == Request.record and event.tenant == tenant:
                queue.put_nowait(event)

    async with open(existing_store(url), tenant=tenant) as inbox, inbox.feed.follow(enqueue):
        say({"watching": resolved_url(url)}, "", as_json=True)
        while True:
            event = await queue.get()
            request = await inbox.get(event.record_id)
            say(json.loads(event_json(event, request_json(request))), "", as_json=True)


@contextmanager
def _warnings_to(app: WatchApp) -> Iterator[None]:
    """Send log messages to the app: printed on the terminal they would damage the display."""
    handler = WarningHandler(app)
    previous, logging.root.handlers = logging.root.handlers, [handler]
    try:
        yield
    finally:
        logging.root.handlers = previous


class WarningHandler(logging.Handler):
    """A log handler that shows warnings in the app."""

    def __init__(self, app: WatchApp) -> None:
        super().__init__(logging.WARNING)
        self.app = app

    def emit(self, record: logging.LogRecord) -> None:
        """Show a warning."""
        self.app.show_warning(record)
