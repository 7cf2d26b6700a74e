"""Deliveries of several machines on one PostgreSQL, when the one that delivers is killed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from tests.delivery.receivers import Got, Receiver, Writer, receiving
from tests.server.world import until

import ringi
from ringi.connect import Backend, open_backend, open_inbox_on_backend
from ringi.contracts.backend import MAX_CONCURRENT
from ringi.delivery.attempt_log import AttemptLog
from ringi.domain.request import Request

ENTRY = "from ringi.cli import main; main()"
SERVER = ("serve", "--port", "0", "--poll-interval", "0.1", "--json")
WORKER = ("worker", "--agents", "ringi.demo:agents", "--json")


@asynccontextmanager
async def machine(url: str, home: Path, *command: str, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a command of Ringi until it says that it is ready, and end it at the end."""
    own = {"RINGI_URL": url, "RINGI_HOME": str(home), "PYTHONPATH": str(Path(ringi.__file__).parents[1])}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ENTRY, *command, env=os.environ | own | settings, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout
        async with asyncio.timeout(30):
            assert await process.stdout.readline()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def notify_settings(url: str) -> dict[str, str]:
    """Return the settings of a machine that tells this receiver."""
    endpoints = json.dumps([{"name": "crm", "url": url, "secrets": [f"whsec_{'A' * 43}="]}])
    return {"RINGI_WEBHOOKS": endpoints, "RINGI_WEBHOOK_ALLOW": "127.0.0.0/8"}


@dataclass
class Watch:
    """Takes what comes, and holds it while it is told to."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    running: dict[Writer, Got] = field(default_factory=dict)
    most: int = 0
    clashes: list[str] = field(default_factory=list)

    async def __call__(self, receiver: Receiver, writer: Writer) -> None:
        got = receiver.got[-1]
        self.clashes += [got.id for other in self.running.values() if other.id == got.id]
        self.running[writer] = got
        self.most = max(self.most, len(self.running))
        await self.gate.wait()
        # While it is slow another machine could begin its own.
        await asyncio.wait([asyncio.create_task(asyncio.Event().wait())], timeout=0.01)
        self.running.pop(writer, None)
        writer.write(b"HTTP/1.1 204 Told\r\n\r\n")
        await writer.drain()

    def kill_one_of(self, fleet: list[asyncio.subprocess.Process]) -> set[str]:
        """Kill a machine that delivers, and return the events that it had not ended."""
        ports = {writer.get_extra_info("peername")[1]: writer for writer in self.running}
        owners = {each: ports_of(each.pid) & ports.keys() for each in fleet}
        machine = max(owners, key=lambda each: len(owners[each]))
        machine.kill()
        return {self.running.pop(ports[port]).id for port in owners[machine]}


def ports_of(pid: int) -> set[int]:
    return {each.laddr.port for each in psutil.Process(pid).net_connections("inet")}


async def is_told(backend: Backend, request: Request) -> bool:
    found = await AttemptLog(backend.stream).of_request(request.tenant, request.id)
    return [each.status for each in found] == ["delivered"]


@pytest.mark.timeout(240)
async def test_no_event_is_lost_and_none_comes_twice_at_once_when_a_machine_dies_in_mid_delivery(
    postgres_url: str, tmp_path: Path
) -> None:
    url, watch = f"{postgres_url}?schema=t{uuid.uuid4().hex}", Watch()
    async with (
        AsyncExitStack() as stack,
        receiving(watch) as crm,
        open_backend(url) as backend,
        open_inbox_on_backend(backend) as inbox,
    ):
        commands = [SERVER, SERVER, WORKER]
        homes = [tmp_path / str(number) for number in range(len(commands))]
        fleet = [
            await stack.enter_async_context(machine(url, home, *command, **notify_settings(crm.url)))
            for home, command in zip(homes, commands, strict=True)
        ]
        watch.gate.set()
        requests = [await inbox.ask(f"Go {number}?") for number in range(5)]
        for request in requests:
            await until(lambda request=request: is_told(backend, request))  # type: ignore[misc]

        watch.gate.clear()
        requests += [await inbox.ask(f"Held {number}?") for number in range(15)]
        # All machines together hold as many as one endpoint may get at once, and no more.
        await crm.calls(5 + MAX_CONCURRENT)
        lost = watch.kill_one_of(fleet)
        requests += [await inbox.ask(f"And {number}?") for number in range(5)]
        watch.gate.set()
        for request in requests:
            await until(lambda request=request: is_told(backend, request))  # type: ignore[misc]

        events = {event.id for event in await inbox.events()}
    assert lost
    assert watch.most == MAX_CONCURRENT
    assert Counter(got.id for got in crm.got) == {id: 2 if id in lost else 1 for id in events}
    assert watch.clashes == []


async def test_a_worker_without_a_server_delivers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ringi.db"
    async with (
        receiving() as crm,
        machine(url, tmp_path, *WORKER, **notify_settings(crm.url)),
        ringi.open(url) as inbox,
    ):
        await inbox.ask("Go?")
        await crm.calls(1)

    assert crm.types == ["request.created"]
