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
SKEW = Path(__file__).with_name("skew")
LIMIT = 20.0


class Child:
    """A running `core_process.py`."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.lines: list[list[str]] = []

    async def says(self, word: str) -> list[str]:
        """Return the next line that begins with the word; lines before it are kept in `said`."""
        async with asyncio.timeout(LIMIT):
            while line := await self._line():
                if line[0] == word:
                    return line
        raise AssertionError(f"it ended before it said {word!r}; it said {self.lines}")

    async def death(self) -> int:
        """Return the code with which it ended by itself."""
        async with asyncio.timeout(LIMIT):
            while await self._line():
                pass
            return await self._process.wait()

    def jump(self) -> None:
        """Let its clock on the wall, which is wrong, jump to as wrong the other way."""
        self._process.send_signal(signal.SIGUSR1)

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
        self.lines.append([*words[:-1], words[-1].rstrip("\n")])
        return self.lines[-1]


def skewed(seconds: float) -> dict[str, str]:
    """Return the environment of a process whose clock on the wall is wrong by so much."""
    path = os.pathsep.join([str(SKEW), os.environ.get("PYTHONPATH", "")])
    return {"SKEW": str(seconds), "PYTHONPATH": path} if seconds else {}


@asynccontextmanager
async def child(
    url: str, verb: str, *arguments: str, failpoint: str = "", nth: int = 1, skew: float = 0, script: Path = SCRIPT
) -> AsyncIterator[Child]:
    """Run one verb in a process of its own, its clock on the wall wrong by `skew` seconds.

    A fail-point kills it at the `nth` pass.
    """
    armed = {**os.environ, **skewed(skew), "RINGI_FAILPOINT": f"{failpoint}:kill9@{nth}" if failpoint else ""}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), url, verb, *arguments, stdout=PIPE, env=armed
    )
    running = Child(process)
    try:
        yield running
    finally:
        await running.kill()
