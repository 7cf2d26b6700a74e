"""A minimal program that stores and sends the output of agents: no fence, no tenants, no HTTP, no restart.

Every 50 ms it stores the output of all threads in one transaction on SQLite at full durability, and writes it to one
socket for each thread.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from queue import SimpleQueue

EVERY = 0.05
Row = tuple[int, int, str]
READ = """
import asyncio
async def follow():
    reader, _ = await asyncio.open_connection("127.0.0.1", {port})
    while await reader.read(65536):
        pass
async def all_of_them():
    await asyncio.gather(*(follow() for _ in range({readers})))
asyncio.run(all_of_them())
"""


class MinimalStore:
    """A writer that collects, stores and sends text."""

    def __init__(self, path: Path, writers: list[asyncio.StreamWriter]) -> None:
        self._loop, self._writers = asyncio.get_running_loop(), writers
        self._texts: dict[int, str] = {}
        self._last = [0] * len(writers)
        self._queue: SimpleQueue[list[Row]] = SimpleQueue()
        self._stored = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for line in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", TABLE):
            self._stored.execute(line)
        self._thread = threading.Thread(target=self._store)
        self._thread.start()

    def add(self, thread: int, text: str) -> None:
        """Add text of one thread."""
        if not self._texts:
            self._loop.call_at(self._loop.time() // EVERY * EVERY + EVERY, self._flush)
        self._texts[thread] = self._texts.get(thread, "") + text

    def close(self) -> None:
        """Store and send the rest."""
        self._queue.put([])
        self._thread.join()
        self._stored.close()

    def _flush(self) -> None:
        texts, self._texts = self._texts, {}
        rows = []
        for thread, text in texts.items():
            self._last[thread] += 1
            event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m{thread}", "delta": text}
            rows.append((thread, self._last[thread], json.dumps(event)))
        self._queue.put(rows)

    def _store(self) -> None:
        while rows := self._queue.get():
            self._stored.execute("BEGIN IMMEDIATE")
            self._stored.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
            self._stored.execute("COMMIT")
            self._loop.call_soon_threadsafe(self._send, rows)

    def _send(self, rows: list[Row]) -> None:
        for thread, number, event in rows:
            self._writers[thread].write(f"id: {number}\ndata: {event}\n\n".encode())


TABLE = "CREATE TABLE items (thread, number, event, PRIMARY KEY (thread, number)) WITHOUT ROWID"


@asynccontextmanager
async def open_readers(readers: int) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Yield connections to a number of readers in a separate process."""
    writers: list[asyncio.StreamWriter] = []
    all_there = asyncio.Event()

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        if len(writers) == readers:
            all_there.set()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        script = READ.format(port=server.sockets[0].getsockname()[1], readers=readers)
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
        await all_there.wait()
        try:
            yield writers
        finally:
            process.kill()
            await process.wait()
