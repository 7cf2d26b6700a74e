"""Streams that are opened without a network, at the moments of a server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.types import Message
from tests.server.world import LIMIT, SECRET

from ringi.connect import open_backend, open_inbox_on_backend
from ringi.delivery.deliveries import Deliveries
from ringi.delivery.settings import DeliverySettings
from ringi.domain.ask import Ask
from ringi.inbox.inbox import StoreInbox
from ringi.server import Keys, ServerComponents, ServerSettings
from ringi.server.app import App

KEYS = Keys(SECRET)


@contextlib.asynccontextmanager
async def open_app(url: str) -> AsyncIterator[tuple[App, StoreInbox]]:
    """Open an app without agents on a store of any sort."""
    async with open_backend(url, poll_interval=0.1) as backend, open_inbox_on_backend(backend) as inbox:
        deliveries, settings = Deliveries(backend, inbox, DeliverySettings()), ServerSettings(streams_per_caller=10_000)
        app = App(ServerComponents(backend, inbox, None, KEYS, settings, deliveries))
        try:
            yield app, inbox
        finally:
            await app.close()


async def ask(inbox: StoreInbox, id: str) -> None:
    await inbox.submit(Ask.parse({"title": "Go?", "id": id}), by="agent:bot")


class Stream:
    """A client that sees its stream open, and reads it."""

    def __init__(self, seen_open: Callable[[], Awaitable[None]]) -> None:
        self._text, self._seen_open = "", seen_open
        self._changed, self._left = asyncio.Condition(), asyncio.Event()

    @property
    def ids(self) -> list[str]:
        """The requests of the events so far."""
        data = [line.removeprefix("data: ") for line in self._text.splitlines() if line.startswith("data: ")]
        return [event["request"]["id"] for event in map(json.loads, data) if "request" in event]

    async def until(self, id: str | None) -> None:
        """Wait for the event of a request; None waits for the end of the stream."""
        async with asyncio.timeout(LIMIT), self._changed:
            await self._changed.wait_for(lambda: self._left.is_set() if id is None else id in self.ids)

    async def read(self, app: App, path: str, until_id: str | None) -> list[str]:
        """Open the stream and return the requests of its events up to one, or to the end of the stream."""
        token = KEYS.mint(role="admin", name="ann", tenant="default")
        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
            "server": ("localhost", 80), "headers": headers,
        }  # fmt: skip
        reading = asyncio.create_task(app(scope, self._receive, self._send))
        try:
            await self.until(until_id)
        finally:
            self._left.set()
            await reading
        return self.ids

    async def _receive(self) -> Message:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] == 200
            await self._seen_open()
            return
        async with self._changed:
            self._text += message["body"].decode()
            if not message.get("more_body"):
                self._left.set()
            self._changed.notify_all()
