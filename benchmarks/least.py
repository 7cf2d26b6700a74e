"""The least that can store what agents say and send it: no numbering under a fence, no tenants, no HTTP, no restart.

Each 50 ms what all of them said is one transaction on SQLite at full durability, and one write to a socket for each.
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


class Least:
    """Takes words, stores them, sends them."""

    def __init__(self, path: Path, writers: list[asyncio.StreamWriter]) -> None:
        self._loop, self._writers = asyncio.get_running_loop(), writers
        self._said: dict[int, str] = {}
        self._last = [0] * len(writers)
        self._queue: SimpleQueue[list[Row]] = SimpleQueue()
        self._stored = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for line in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", TABLE):
            self._stored.execute(line)
        self._thread = threading.Thread(target=self._store)
        self._thread.start()

    def take(self, talk: int, words: str) -> None:
        """Take what one of them says."""
        if not self._said:
            self._loop.call_at(self._loop.time() // EVERY * EVERY + EVERY, self._flush)
        self._said[talk] = self._said.get(talk, "") + words

    def close(self) -> None:
        """Store the rest."""
        self._queue.put([])
        self._thread.join()
        self._stored.close()

    def _flush(self) -> None:
        said, self._said = self._said, {}
        rows = []
        for talk, words in said.items():
            self._last[talk] += 1
            event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m{talk}", "delta": words}
            rows.append((talk, self._last[talk], json.dumps(event)))
        self._queue.put(rows)

    def _store(self) -> None:
        while rows := self._queue.get():
            self._stored.execute("BEGIN IMMEDIATE")
            self._stored.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
            self._stored.execute("COMMIT")
            self._loop.call_soon_threadsafe(self._send, rows)

    def _send(self, rows: list[Row]) -> None:
        for talk, number, event in rows:
            self._writers[talk].write(f"id: {number}\ndata: {event}\n\n".encode())


TABLE = "CREATE TABLE items (talk, number, event, PRIMARY KEY (talk, number)) WITHOUT ROWID"


@asynccontextmanager
async def read_by(readers: int) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Yield the connections of so many readers in a process of their own."""
    writers: list[asyncio.StreamWriter] = []
    all_there = asyncio.Event()

    def come(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        if len(writers) == readers:
            all_there.set()

    async with await asyncio.start_server(come, "127.0.0.1", 0) as server:
        script = READ.format(port=server.sockets[0].getsockname()[1], readers=readers)
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
        await all_there.wait()
        try:
            yield writers
        finally:
            process.kill()
            await process.wait()
