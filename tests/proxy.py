"""A proxy to a server that a test can cut, block, or let lose replies."""

from __future__ import annotations

import asyncio
from typing import Self


class Proxy:
    """Passes bytes on between clients and one server, unless told otherwise."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self.drops_replies = self.is_blocked = False
        self.refused = 0
        self._writers = set[asyncio.StreamWriter]()
        self._forgotten = set[asyncio.StreamWriter]()
        self._tasks = set[asyncio.Task[None]]()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1")
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Close every connection."""
        for writer in self._writers:
            writer.close()

    def forget(self) -> None:
        """Pass on nothing more through the connections that there are, and close none; new ones work."""
        self._forgotten |= self._writers

    def leads_to(self, port: int) -> None:
        """Let this be the way to another server from now on."""
        self._target = ("127.0.0.1", port)
        self.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_blocked:
            self.refused += 1
            writer.close()
            return
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        for source, sink, is_reply in ((reader, back, False), (there, writer, True)):
            task = asyncio.create_task(self._pass_on(source, sink, is_reply))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, is_reply: bool) -> None:
        try:
            while data := await source.read(65536):
                is_dropped = sink in self._forgotten or (is_reply and self.drops_replies)
                if not self.is_blocked and not is_dropped:
                    sink.write(data)
                    await sink.drain()
        except OSError:
            pass
        finally:
            self._writers.discard(sink)
            sink.close()
