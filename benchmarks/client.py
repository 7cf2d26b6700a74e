"""A client with little overhead: it uses raw sockets, so that the bench measures the server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from benchmarks.serving import Served

MARK = b"\ndata: "


class Caller:
    """A persistent connection that makes one call after another."""

    def __init__(self, server: Served, role: str = "person") -> None:
        self._server, self._role = server, role

    async def __aenter__(self) -> Caller:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def post(self, path: str, body: Any) -> tuple[int, bytes]:
        content = json.dumps(body).encode()
        more = f"content-type: application/json\r\ncontent-length: {len(content)}\r\n"
        self._writer.write(head("POST", path, self._server, self._role, more) + content)
        return await self._reply()

    async def delete(self, path: str) -> None:
        self._writer.write(head("DELETE", path, self._server, self._role))
        await self._reader.readuntil(b"\r\n\r\n")

    async def get(self, path: str) -> tuple[int, bytes]:
        self._writer.write(head("GET", path, self._server, self._role))
        return await self._reply()

    async def _reply(self) -> tuple[int, bytes]:
        lines = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
        return int(lines[0].split()[1]), await self._reader.readexactly(length)


def head(method: str, path: str, server: Served, role: str, more: str = "") -> bytes:
    token = server.tokens.get(role, "")
    own = f"authorization: Bearer {token}\r\n" if token else ""
    return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{own}{more}\r\n".encode()


class Listener(asyncio.Protocol):
    """A reader of a stream that counts its events."""

    __slots__ = ("_call", "_tail", "_transport", "audience", "is_open")

    def __init__(self, audience: Audience, call: bytes) -> None:
        self.audience, self._call, self._tail, self.is_open = audience, call, b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        transport.write(self._call)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        if not self.is_open:
            self.is_open = True
            self.audience.on_event(opened=1)
        text = self._tail + data
        if events := text.count(MARK):
            self.audience.on_event(events=events)
        self._tail = text[1 - len(MARK) :]

    def connection_lost(self, _: Exception | None) -> None:
        self.audience.lost += 1

    def close(self) -> None:
        self._transport.abort()  # type: ignore[attr-defined]


class Audience:
    """Many readers of one stream."""

    def __init__(self) -> None:
        self.events = self.opened = self.lost = 0
        self._listeners: list[Listener] = []
        self._changed = asyncio.Event()

    async def open(self, server: Served, path: str, count: int) -> None:
        loop = asyncio.get_running_loop()
        call = head("GET", path, server, "person")
        for n in range(0, count, 100):
            some = range(n, min(n + 100, count))
            made = await asyncio.gather(
                *(loop.create_connection(lambda: Listener(self, call), "127.0.0.1", server.port) for _ in some)
            )
            self._listeners += [listener for _, listener in made]
            await self._until(lambda: self.opened >= len(self._listeners))

    async def wait_for_events(self, events: int) -> None:
        """Return when the given number of events has arrived in total."""
        await self._until(lambda: self.events >= events)

    def on_event(self, *, events: int = 0, opened: int = 0) -> None:
        self.events += events
        self.opened += opened
        self._changed.set()

    def close(self) -> None:
        for listener in self._listeners:
            listener.close()

    async def _until(self, is_so: Any) -> None:
        async with asyncio.timeout(30):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()
