"""Receivers of webhooks: real servers that take what comes, late, badly or not at all."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.server.world import until

Writer = asyncio.StreamWriter
Behaviour = Callable[["Receiver", Writer], Awaitable[None]]


@dataclass
class Got:
    """One call as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """A server that answers each call as it was told to, the last way for ever."""

    behaviours: list[Behaviour]
    url: str = ""
    got: list[Got] = field(default_factory=list)
    connections: int = 0
    written: int = 0
    """Bytes of a reply that somebody still wanted."""
    open: set[Writer] = field(default_factory=set)

    async def calls(self, count: int) -> list[Got]:
        """Wait until it was called so often."""
        await until(lambda: len(self.got) >= count)
        return self.got

    @property
    def types(self) -> list[str]:
        return [got.json["type"] for got in self.got]

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self.connections += 1
        self.open.add(writer)
        try:
            self.got.append(await read_call(reader))
            behaviour = self.behaviours[min(len(self.got), len(self.behaviours)) - 1]
            await behaviour(self, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()


async def read_call(reader: asyncio.StreamReader) -> Got:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(split(line) for line in lines if line)
    return Got(first.split(" ")[1], headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def split(line: str) -> tuple[str, str]:
    name, _, value = line.partition(": ")
    return name.lower(), value


def answers(status: int, *headers: str, body: bytes = b"", reason: str = "Told") -> Behaviour:
    """Answer at once."""

    async def answer(_: Receiver, writer: Writer) -> None:
        lines = [f"HTTP/1.1 {status} {reason}", f"content-length: {len(body)}", *headers, "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()

    return answer


async def hangs(_: Receiver, __: Writer) -> None:
    """Never answer."""
    await asyncio.Event().wait()


async def breaks(_: Receiver, writer: Writer) -> None:
    """Hang up."""
    writer.transport.abort()


async def floods(receiver: Receiver, writer: Writer) -> None:
    """Answer with a reply of 64 MB."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 67108864\r\n\r\n")
    for _ in range(1024):
        writer.write(b"x" * 65536)
        await writer.drain()
        receiver.written += 65536


async def drips(_: Receiver, writer: Writer) -> None:
    """Begin a reply, and never get past its first line."""
    writer.write(b"HTTP/1.1 200")
    await writer.drain()
    await asyncio.Event().wait()


OK = answers(200)


@asynccontextmanager
async def receiving(*behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """Run a receiver on a port of this machine."""
    receiver = Receiver(list(behaviours) or [OK])
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    scheme, port = "https" if tls else "http", server.sockets[0].getsockname()[1]
    receiver.url = f"{scheme}://127.0.0.1:{port}/hook"
    try:
        yield receiver
    finally:
        server.close()
        for writer in list(receiver.open):
            writer.transport.abort()
