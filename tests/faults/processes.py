"""Real processes that use one file, and are really killed."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

SCRIPT = Path(__file__).with_name("core_process.py")
LIMIT = 20.0


class Child:
    """A running `core_process.py`."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.said: list[list[str]] = []

    async def says(self, word: str) -> list[str]:
        """Return the next line that begins with the word; lines before it are kept in `said`."""
        async with asyncio.timeout(LIMIT):
            while line := await self._line():
                if line[0] == word:
                    return line
        raise AssertionError(f"it ended before it said {word!r}; it said {self.said}")

    async def death(self) -> int:
        """Return the code with which it ended by itself."""
        async with asyncio.timeout(LIMIT):
            while await self._line():
                pass
            return await self._process.wait()

    async def kill(self) -> None:
        """Kill it, like a power cut."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self.death()

    async def _line(self) -> list[str]:
        assert self._process.stdout
        words = (await self._process.stdout.readline()).decode().split(" ")
        if words == [""]:
            return []
        self.said.append([*words[:-1], words[-1].rstrip("\n")])
        return self.said[-1]


@asynccontextmanager
async def child(url: str, verb: str, *arguments: str, failpoint: str = "") -> AsyncIterator[Child]:
    """Run one verb in a process of its own, armed with a fail-point."""
    armed = {**os.environ, "RINGI_FAILPOINT": f"{failpoint}:kill9" if failpoint else ""}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), url, verb, *arguments, stdout=PIPE, env=armed
    )
    running = Child(process)
    try:
        yield running
    finally:
        await running.kill()
