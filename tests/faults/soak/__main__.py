"""`python -m tests.faults.soak --minutes 60 --postgres`: equal cycles of load and faults, and what the server holds."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import asyncpg
import psutil
from tests.faults.soak.load import OPERATIONS, callers, cycle
from tests.servers import mortal_postgres

SCRIPT = Path(__file__).with_name("process.py")
RESTS = 30.0
STEADY = 5
"""Looks in a row that must be the same."""
WARM = 3
"""Cycles until every cache and every pool is full."""
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> $1"


class Held(NamedTuple):
    """What a server at rest holds a whole number of."""

    tasks: int
    threads: int
    files: int
    connections: int
    """To PostgreSQL."""


class Rest(NamedTuple):
    """A server at rest."""

    held: Held
    blocks: int
    """Of Python's memory: each object has one at least."""
    resident: int
    """Bytes."""


class Soaked:
    """A running server, and how its store is cut off."""

    def __init__(self, process: Process, url: str, address: str, tokens: dict[str, str]) -> None:
        self._process, self._url, self._address, self._tokens = process, url, address, tokens
        self._seen = psutil.Process(process.pid)
        self._port = urlsplit(url).port

    async def cycle(self) -> None:
        """Let everything happen once more."""
        await cycle(self._address, self._tokens, self._cut if self._port else None)

    async def rest(self, held: Held | None = None) -> Rest:
        """Return what it holds when that is what it should hold, or, when nothing is said, no longer changes.

        Of its memory the least in a few looks: what a call has just left, the next turns of the loop take away.
        """
        last, same = await self._look(), 0
        ends_at = time.monotonic() + RESTS
        while time.monotonic() < ends_at and (last.held != held if held else same < STEADY):
            await self._busy_for_a_moment()
            now = await self._look()
            last, same = now, same + 1 if now.held == last.held else 0
        looks = [last]
        for _ in range(STEADY):
            await asyncio.sleep(0.2)
            looks.append(await self._look())
        return Rest(last.held, min(look.blocks for look in looks), min(look.resident for look in looks))

    async def request_bytes(self) -> int:
        """Return how long one request is, as JSON."""
        async with callers(self._address, self._tokens) as who:
            return len(json.dumps(await who.ask()))

    async def _busy_for_a_moment(self) -> None:
        # What a pool has lost is made again when it is wanted.
        async with callers(self._address, self._tokens) as who:
            await who.fill_pools()
        await asyncio.sleep(0.2)

    async def _look(self) -> Rest:
        assert self._process.stdin
        self._process.stdin.write(b"look\n")
        message = await line_of(self._process)
        open_ones = [each for each in self._seen.net_connections() if tuple(each.raddr)[1:] == (self._port,)]
        held = Held(message["tasks"], self._seen.num_threads(), self._seen.num_fds(), len(open_ones))
        return Rest(held, message["blocks"], self._seen.memory_info().rss)

    async def _cut(self) -> None:
        connection = await asyncpg.connect(self._url.partition("?")[0])
        await connection.execute(CUT, connection.get_server_pid())
        await connection.close()


@asynccontextmanager
async def soaked(folder: Path, url: str) -> AsyncIterator[Soaked]:
    """Run a server in a process of its own."""
    environment = {**os.environ, "RINGI_HOME": str(folder / "home")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), url, stdin=PIPE, stdout=PIPE, env=environment
    )
    try:
        address = (await line_of(process))["address"]
        yield Soaked(process, url, address, json.loads((folder / "home" / "tokens.json").read_text()))
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line_of(process: Process) -> dict[str, Any]:
    """Return what a process says next."""
    assert process.stdout
    async with asyncio.timeout(RESTS):
        line = await process.stdout.readline()
    assert line, "the server has ended"
    message: dict[str, Any] = json.loads(line)
    return message


def report(cycles: int, rest: Rest) -> str:
    """Return a line about a server at rest."""
    held = ", ".join(f"{value} {name}" for name, value in rest.held._asdict().items())
    return f"{cycles * OPERATIONS:,} operations: {held}, {rest.blocks:,} blocks, {rest.resident / 2**20:.1f} MiB"


async def soak(folder: Path, url: str, seconds: float) -> None:
    """Show after each tenth of the time what the server holds."""
    ends_at, cycles = time.monotonic() + seconds, 0
    async with soaked(folder, url) as server:
        for tenth in range(10, -1, -1):
            while time.monotonic() < ends_at - seconds * tenth / 10 or cycles < WARM:
                await server.cycle()
                cycles += 1
            print(report(cycles, await server.rest()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ringi-soak-")))
        url = stack.enter_context(mortal_postgres()).url if options.postgres else f"sqlite:///{folder}/ringi.db"
        asyncio.run(soak(folder, url, options.minutes * 60))


if __name__ == "__main__":
    main()
