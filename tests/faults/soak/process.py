"""A server that says what it holds, a line of JSON for each line that it is sent: `… process.py URL`."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
from functools import _lru_cache_wrapper
from typing import Any

import uvloop

from ringi.demo import agents
from ringi.server.serve import serve_until_signal
from ringi.server.settings import ServerSettings

UNLIMITED = 1_000_000


async def main(url: str) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    await fill_threads()
    settings = ServerSettings(max_open_requests=UNLIMITED, asks_per_minute=UNLIMITED)
    where: dict[str, Any] = {"url": url, "host": "127.0.0.1", "port": 0, "poll_interval": 0.1}
    options: dict[str, Any] = {"person": "ann", "announce": lambda address, _: say({"address": address})}
    serving = asyncio.create_task(serve_until_signal(agents(), settings=settings, **where, **options))
    serving.add_done_callback(lambda _: lines.feed_eof())
    while await lines.readline():
        forget()
        say({"tasks": len(asyncio.all_tasks()), "blocks": sys.getallocatedblocks()})
    serving.cancel()
    await asyncio.gather(serving)


async def fill_threads() -> None:
    """Start all threads that asyncio starts for blocking calls as they come, until it has so many."""
    barrier = threading.Barrier(min(32, (os.cpu_count() or 1) + 4))
    await asyncio.gather(*(asyncio.to_thread(barrier.wait) for _ in range(barrier.parties)))


def forget() -> None:
    """Leave what is needed: a cache that may hold so much and no more is full some day, and is no leak."""
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, _lru_cache_wrapper) and each.cache_info().maxsize is not None:
            each.cache_clear()
    gc.collect()


def say(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
