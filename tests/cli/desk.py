"""An inbox in a folder and a terminal before it: what the tests of `ringi watch` share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.cli.terminal import Terminal, terminal

from ringi.connect import store_inbox
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.inbox.inbox import Limits, StoreInbox

T = TypeVar("T")
OFFERED = "[a]"
"""Shown once a request can be decided."""
CURSOR = "▌"


class Desk:
    """One store, worked on by the tests directly and by `ringi watch` in a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder}/ringi.db"

    def work(self, work: Callable[[StoreInbox], Awaitable[T]]) -> T:
        """Do something with the store, as another process would."""

        async def opened() -> T:
            async with store_inbox(self.url, limits=Limits(max_fields=10)) as inbox:
                return await work(inbox)

        return asyncio.run(opened())

    def ask(self, title: str, **content: Any) -> Request:
        """Ask something."""
        return self.work(lambda inbox: inbox.ask(title, **content))

    def get(self, request: Request) -> Request:
        """Return a request as it is stored now."""
        return self.work(lambda inbox: inbox.get(request.id))

    def events(self, request: Request) -> list[Event]:
        """Return what happened to a request."""
        return self.work(lambda inbox: inbox.events(request_id=request.id))

    def respond(self, request: Request, decision: Any, by: str, **answer: Any) -> Request:
        """Decide a request elsewhere."""
        return self.work(lambda inbox: inbox.respond(request, decision, by=by, **answer))

    @contextmanager
    def watch(self, name: str = "ann", **settings: Any) -> Iterator[Terminal]:
        """Open `ringi watch` and wait until the list stands."""
        with terminal(self.folder, "watch", "--name", name, **settings) as screen:
            screen.until("Inbox ·")
            yield screen

    @contextmanager
    def opened(self, request: Request, **settings: Any) -> Iterator[Terminal]:
        """Open `ringi watch` with the only request that waits."""
        with self.watch(**settings) as screen:
            screen.until(CURSOR)
            screen.press("enter")
            screen.until(OFFERED)
            yield screen


def into(screen: Terminal, label: str) -> None:
    """Go to the next field, which must have this label."""
    screen.press("tab")
    screen.until(f"█ {label}")


def assert_answered(request: Request, decision: str, **answer: Any) -> None:
    """Fail unless ann gave exactly this answer to exactly what she was shown."""
    response = request.response
    assert response
    assert (request.status, response.responder, response.channel) == ("completed", "ann", "watch")
    values = {name: getattr(response, name) for name in ("data", "args", "message")}
    assert (response.decision, values) == (decision, {"data": None, "args": None, "message": None} | answer)
    assert response.authorised_digest == request.authorised_digest(response.decision, response.data, response.args)


def python_environment() -> dict[str, str]:
    """Return the environment without settings of Ringi."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")}
