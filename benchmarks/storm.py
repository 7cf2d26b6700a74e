"""A server dies, and all its readers reconnect to the next one."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

from benchmarks.client import Caller, head
from benchmarks.inboxes import ask, sqlite_inbox
from benchmarks.measure import Row, folder, percentile
from benchmarks.serving import Served, served

READERS = 5_000
BEFORE, BETWEEN, AFTER = 5, 5, 40
PAUSE = 0.05
EVENT = re.compile(rb"\nid: (\d+)\ndata: ")
RETRY = re.compile(rb"\nretry: (\d+)\n")


class Reader(asyncio.Protocol):
    """A browser's `EventSource`: it reconnects after the requested delay, with the last id that it received."""

    def __init__(self, storm: Storm) -> None:
        self._storm, self._tail, self._hint = storm, b"", 1.0
        self.seen: list[str] = []

    async def connect(self) -> None:
        """Connect, or retry later."""
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self._storm.server.port)
        except OSError:
            self._reconnect_later()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request with the last id."""
        self._tail = b""
        last = self.seen[-1] if self.seen else "0"
        call = head("GET", "/v1/events", self._storm.server, "person", f"last-event-id: {last}\r\n")
        transport.write(call)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Parse the complete events."""
        if data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 200"):
            self._storm.refused += 1
        whole, mark, self._tail = (self._tail + data).rpartition(b"\n\n")
        text = whole + mark
        if hint := RETRY.search(text):
            self._hint = int(hint[1]) / 1_000
        self.seen += [id.decode() for id in EVENT.findall(text)]

    def connection_lost(self, _: Exception | None) -> None:
        """Reconnect later."""
        self._reconnect_later()

    def _reconnect_later(self) -> None:
        if not self._storm.is_over:
            loop = asyncio.get_running_loop()
            loop.call_later(self._hint, lambda: self._storm.tasks.append(loop.create_task(self.connect())))


class Storm:
    """All readers, and the address of their server."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.readers = [Reader(self) for _ in range(READERS)]
        self.tasks: list[asyncio.Task[None]] = []
        self.refused = 0
        self.is_over = False

    async def connect_all(self) -> None:
        """Connect all readers, a limited number at a time."""
        for n in range(0, READERS, 100):
            await asyncio.gather(*(reader.connect() for reader in self.readers[n : n + 100]))

    async def wait_for_events(self, count: int) -> None:
        """Return when every reader has a number of events."""
        async with asyncio.timeout(60):
            while any(len(reader.seen) < count for reader in self.readers):
                await asyncio.sleep(0.05)


async def after_a_restart() -> list[Row]:
    """Kill a server with 5,000 readers, start another one, and use it while the readers reconnect."""
    with folder() as path:
        with served("ringi", path) as server:
            storm = Storm(server)
            await storm.connect_all()
            await time_asks(server, BEFORE)
            await storm.wait_for_events(BEFORE)
        await ask_behind(path, BETWEEN)
        with served("ringi", path) as server:
            storm.server, began = server, time.perf_counter()
            calling = asyncio.create_task(time_lists(server, storm))
            times = await time_asks(server, AFTER)
            await storm.wait_for_events(BEFORE + BETWEEN + AFTER)
            seconds = time.perf_counter() - began
            storm.is_over = True
            list_times = await calling
        expected = await positions(path)
    whole = sum(reader.seen == expected for reader in storm.readers)
    what = f"{READERS:,} readers come back after a restart"
    return [
        Row(f"{what}: those that were told everything, once and in order", "", [whole], at_least=READERS),
        Row(f"{what}: those that were refused", "", [storm.refused], at_most=0),
        Row(f"{what}: until they have everything", "s", [seconds]),
        Row(f"{what}: meanwhile an ask over HTTP, the slowest of {AFTER}", "ms", [max(times) * 1e3], at_most=1_000),
        Row(f"{what}: meanwhile a list over HTTP, p50", "ms", [percentile(list_times, 50) * 1e3]),
        Row(f"{what}: meanwhile a list over HTTP, p99", "ms", [percentile(list_times, 99) * 1e3], at_most=1_000),
    ]


async def time_asks(server: Served, count: int) -> list[float]:
    """Ask in sequence and return the seconds of each ask."""
    times = list[float]()
    async with Caller(server, "agent") as caller:
        for n in range(count):
            began = time.perf_counter()
            status, reply = await caller.post("/v1/requests", {"title": f"Refund {n}?"})
            if status != 201:
                raise RuntimeError(f"status {status}: {reply[:300]!r}")
            times.append(time.perf_counter() - began)
            await asyncio.sleep(PAUSE)
    return times


async def time_lists(server: Served, storm: Storm) -> list[float]:
    """List requests in a loop until the storm is over, and return the seconds of each list."""
    times = list[float]()
    async with Caller(server) as caller:
        while not storm.is_over:
            began = time.perf_counter()
            await caller.get("/v1/requests?status=pending")
            times.append(time.perf_counter() - began)
            await asyncio.sleep(PAUSE / 5)
    return times


async def ask_behind(path: Path, count: int) -> None:
    """Ask while no server is running."""
    async with sqlite_inbox(path / "ringi.db") as inbox:
        for n in range(count):
            await ask(inbox, n)


async def positions(path: Path) -> list[str]:
    async with sqlite_inbox(path / "ringi.db") as inbox:
        return [event.position for event in await inbox.events(limit=1_000)]
