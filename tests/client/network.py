"""A network that fails: a proxy that cuts replies short, and servers that say what they are told to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

HELD_BYTES = 65_536
LAST_CHUNK = b"0\r\n\r\n"
CLOSED_AT_ONCE = -1
"""In place of a number of bytes: the call does not even arrive."""


class Proxy:
    """Passes on connections to a server, and cuts the first ones after so many bytes of the reply."""

    def __init__(self, port: int, cuts: Sequence[int]) -> None:
        self._target, self._cuts = port, list(cuts)
        self.arrived = 0
        """How many connections brought a call to the server."""
        self._changed = asyncio.Condition()

    @property
    def is_whole(self) -> bool:
        """Whether every cut was made."""
        return not self._cuts

    async def until_arrived(self, count: int) -> None:
        """Return once so many calls have reached the server."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: self.arrived >= count)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        left = self._cuts.pop(0) if self._cuts else None
        if left != CLOSED_AT_ONCE:
            await self._relay(reader, writer, left)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int | None) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        up = asyncio.create_task(self._up(reader, to_server))
        try:
            while data := await from_server.read(65_536):
                writer.write(data if left is None else data[:left])
                await writer.drain()
                left = None if left is None else left - len(data)
                if left is not None and left <= 0:
                    break
        finally:
            up.cancel()
            to_server.close()
            await asyncio.gather(up, to_server.wait_closed(), return_exceptions=True)

    async def _up(self, reader: asyncio.StreamReader, to_server: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            to_server.write(data)
            async with self._changed:
                self.arrived += 1
                self._changed.notify_all()
        to_server.close()


class HoldingProxy:
    """Passes on connections to a server, but holds back its event streams until they end or it has 64 kB of them."""

    def __init__(self, port: int) -> None:
        self._target, self.holds_back, self.held_back = port, True, 0
        self._dead = set[asyncio.StreamWriter]()
        self._streams = set[asyncio.StreamWriter]()

    def forget(self) -> None:
        """Pass on nothing more of the streams that are open, and close none."""
        self._dead |= self._streams

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        up = asyncio.create_task(pass_on(reader, to_server))
        held, is_stream = b"", False
        try:
            while data := await from_server.read(65_536):
                is_stream = is_stream or b"content-type: text/event-stream" in data.lower()
                if is_stream:
                    self._streams.add(writer)
                head, end, body = data.partition(b"\r\n\r\n") if b"HTTP/1.1" in data else (b"", b"", data)
                held += body
                is_whole = held.endswith(LAST_CHUNK)
                if is_stream and self.holds_back and len(held) < HELD_BYTES and not is_whole:
                    self.held_back += len(body)
                    data = head + end
                else:
                    data, held = head + end + held, b""
                    is_stream = is_stream and not is_whole
                if writer not in self._dead:
                    writer.write(data)
                    await writer.drain()
        finally:
            self._streams.discard(writer)
            up.cancel()
            to_server.close()
            await asyncio.gather(up, to_server.wait_closed(), return_exceptions=True)


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what a client sends."""
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[str]:
    """Serve connections at an address; at the end none is left open."""
    open_ones: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await serve(reader, writer)
        writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(one(reader, writer))
        open_ones.add(task)
        task.add_done_callback(open_ones.discard)

    async with await asyncio.start_server(begin, "127.0.0.1", 0) as listener:
        try:
            yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        finally:
            listener.close()
            for task in open_ones:
                task.cancel()
            await asyncio.gather(*open_ones)


@contextlib.asynccontextmanager
async def proxy(port: int, cuts: Sequence[int] = ()) -> AsyncIterator[tuple[Proxy, str]]:
    """Open a proxy and give its address."""
    relay = Proxy(port, cuts)
    async with listening(relay.serve) as url:
        yield relay, url


@contextlib.asynccontextmanager
async def scripted(*replies: str) -> AsyncIterator[tuple[list[bytes], str]]:
    """Open a server that gives these replies in turn, the last for ever; give what it was sent, and its address."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        head, _, body = replies[min(len(heard), len(replies)) - 1].partition("\n\n")
        status, *headers = head.split("\n")
        lines = [f"HTTP/1.1 {status}", *headers, f"content-length: {len(body.encode())}", "connection: close", "", body]
        writer.write("\r\n".join(lines).encode())
        await writer.drain()

    async with listening(serve) as url:
        yield heard, url
