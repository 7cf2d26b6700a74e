"""Servers and workers on one store, killed and stopped at random."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Self

import httpx
from tests.faults.chaos.agents import EFFECTS
from tests.next_version import HERE, ROOT, environment
from tests.servers import MortalPostgres, PostgresPair, free_port

ENTRY = "from ringi.cli import main; main()"
START = (sys.executable, "-c", ENTRY)
AGENTS = "tests.faults.chaos.agents"
CODE = HERE.parent
STARTS = 180.0
STOPPED = 8.0
"""Longer than a lease."""


class Member:
    """One process that comes back whenever it dies."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: BinaryIO) -> None:
        self.name, self._command, self._environment, self._log = name, command, environment, log
        self.is_hurt = False
        self.start()

    def start(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            self._command, stdout=self._log, stderr=self._log, env=self._environment, cwd=ROOT
        )

    def deploy(self, code: Path) -> None:
        """Let it be of the Ringi in that folder from its next start on."""
        self._environment = {**self._environment, "PYTHONPATH": environment(code)["PYTHONPATH"]}

    def send(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def revive(self) -> None:
        """Start it again if it has ended by itself, as a supervisor does."""
        if not self.is_hurt and self._process.poll() is not None:
            self.start()

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self._process.poll() is None

    def end(self, number: int = signal.SIGKILL) -> int:
        """Send it a signal that ends it, and wait."""
        self._process.send_signal(number)
        return self._process.wait(STARTS)


class Fleet:
    """All members, and what was done to them."""

    def __init__(
        self,
        folder: Path,
        url: str,
        *,
        servers: int = 2,
        workers: int = 3,
        agents: str = AGENTS,
        code: Path = CODE,
        start: Sequence[str] = START,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.home, self.effects = folder / "home", folder / "effects"
        self._log = (folder / "log").open("ab")
        own = {"RINGI_HOME": str(self.home), "RINGI_URL": url, EFFECTS: str(self.effects)}
        settings = environment(code, **own, **(more or {}))
        self.addresses = [free_port() for _ in range(servers)]
        asks = {f"server {port}": ["serve", "--agents", agents, "--port", str(port)] for port in self.addresses}
        works = {f"worker {n}": ["worker", "--agents", agents] for n in range(workers)}
        self.home.mkdir()
        self.members = [Member(name, [*start, *words], settings, self._log) for name, words in (asks | works).items()]
        self.harm: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        try:
            await self.ready()
        except BaseException:
            self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    @property
    def urls(self) -> list[str]:
        """Where the servers are."""
        return [f"http://127.0.0.1:{port}" for port in self.addresses]

    async def ready(self) -> None:
        """Return when all servers answer."""
        async with asyncio.timeout(STARTS), httpx.AsyncClient() as client:
            for url in self.urls:
                while not await is_ready(client, url):
                    await asyncio.sleep(0.1)
                    self.revive()

    def revive(self) -> None:
        """Start again who has ended: without a store, a process says so and ends."""
        for member in self.members:
            member.revive()

    async def roll(self, code: Path) -> None:
        """Replace every other one, and then the rest, by the Ringi in that folder, as a deploy does."""
        for half in (self.members[::2], self.members[1::2]):
            await self.replace(half, code)

    async def replace(self, members: Sequence[Member], code: Path) -> None:
        """Stop some members, and start them with the Ringi in that folder."""
        await asyncio.gather(*(asyncio.to_thread(member.end, signal.SIGTERM) for member in members))
        for member in members:
            member.deploy(code)
            member.start()
        await self.ready()

    async def suffer(self, dice: random.Random, every: float) -> None:
        """Kill or stop one after the other until cancelled; one member of each sort is always left alone."""
        async with asyncio.TaskGroup() as harm:
            while True:
                await asyncio.sleep(dice.uniform(0.5, 1.5) * every)
                self.revive()
                well = [member for member in self.members if self._may_be_hurt(member)]
                if well:
                    harm.create_task(self._hurt(dice.choice(well), dice))

    def _may_be_hurt(self, member: Member) -> bool:
        sort = member.name.split()[0]
        others = [each for each in self.members if each is not member and each.name.startswith(sort)]
        return not member.is_hurt and any(not each.is_hurt for each in others)

    async def _hurt(self, member: Member, dice: random.Random) -> None:
        member.is_hurt = True
        ways = {"kill -9": self._kill, "SIGSTOP": self._stop, "SIGTERM": self._terminate}
        way = dice.choices(list(ways), weights=[6, 2, 2])[0]
        self.harm[f"{way} {member.name.split()[0]}"] += 1
        try:
            await ways[way](member, dice)
        finally:
            member.is_hurt = False

    async def _kill(self, member: Member, dice: random.Random) -> None:
        member.end()
        try:
            await asyncio.sleep(dice.uniform(0, 2))
        finally:
            member.start()

    async def _terminate(self, member: Member, _: random.Random) -> None:
        member.send(signal.SIGTERM)
        try:
            # Others go on: a server that was stopped with SQLite's lock would be waited for, and never continued.
            while member.is_running:
                await asyncio.sleep(0.05)
        finally:
            member.end()  # Cancelled, it would be started while its port is still held.
            member.start()

    async def _stop(self, member: Member, _: random.Random) -> None:
        member.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(STOPPED)
        finally:
            member.send(signal.SIGCONT)

    async def lose_store(self, store: MortalPostgres | PostgresPair, dice: random.Random, every: float) -> None:
        """Kill the store now and then, with all sessions, and start it again, or what takes over."""
        while True:
            await asyncio.sleep(dice.uniform(0.5, 1.5) * every)
            self.harm[store.harm] += 1
            # Both in this thread: a cancelled task waits for no other, and all would end without a store.
            store.kill()
            try:
                await asyncio.sleep(dice.uniform(0, 2))
            finally:
                store.start()
            if isinstance(store, PostgresPair):
                await asyncio.to_thread(store.add_standby)

    def close(self) -> None:
        """Kill all."""
        for member in self.members:
            member.end()
        self._log.close()


async def is_ready(client: httpx.AsyncClient, url: str) -> bool:
    """Whether a server answers."""
    try:
        return (await client.get(f"{url}/readyz")).is_success
    except httpx.HTTPError:
        return False
