"""Programs of other people, in a real Node: they get commands line by line, and tell all that they see."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import hatch_build

HERE = Path(__file__).parent
SECONDS = 30.0
LONGEST = 16 * 1024 * 1024


class Reader:
    """A running program."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[dict[str, Any]] = []

    async def do(self, *command: Any) -> None:
        """Give a command; what it brings about comes later."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        await self._process.stdin.drain()

    async def until(self, holds: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Return the first state from now on that is as it should be, or fail."""
        assert self._process.stdout
        try:
            async with asyncio.timeout(SECONDS):
                async for line in self._process.stdout:
                    state: dict[str, Any] = json.loads(line)
                    self.lines.append(state)
                    if holds(state):
                        return state
        except TimeoutError:
            raise AssertionError(f"still {json.dumps(self.lines[-1:], indent=1)[:5000]}") from None
        raise AssertionError(f"ended after {json.dumps(self.lines[-1:], indent=1)[:5000]}")


def node() -> tuple[Path, Path]:
    """Return Node and its npm."""
    found = hatch_build.find_node()
    assert found, "no Node: the dev group of pyproject.toml has it"
    return found


def install() -> None:
    """Make this folder's packages what its lock file says; of several processes one does it."""
    wanted = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    stamp = HERE / "node_modules/.stamp"
    with (HERE / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == wanted:
            return
        program, npm = node()
        path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        command: list[str | Path] = [program, npm, "ci", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=HERE, env=os.environ | {"PATH": path}, check=True, capture_output=True)
        stamp.write_text(wanted)


@contextlib.asynccontextmanager
async def reading(program: str, folder: Path, **options: Any) -> AsyncIterator[Reader]:
    """Run a program of this folder with the packages that its package.json pins."""
    await asyncio.to_thread(install)
    packages, script = folder / "node_modules", folder / program
    if not packages.exists():
        packages.symlink_to(HERE / "node_modules")
        (folder / "package.json").write_text("{}")
    script.write_text((HERE / program).read_text("utf-8"))
    process = await asyncio.create_subprocess_exec(
        node()[0], script, json.dumps(options), cwd=folder, limit=LONGEST,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Reader(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
