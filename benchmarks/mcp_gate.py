"""What the gate before an MCP server adds to an allowed call, beside no gate and FastMCP's proxy; what waits cost."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import psutil
from mcp import Client, StdioServerParameters
from tests.gateways.mcp_gate.gates import ALLOW, ASK, Place, answer, opened

from benchmarks.measure import Row, folder, percentile
from ringi.domain import Query

ROUNDS = 5
CALLS = 100
WAITS = 200
IDLE_SECONDS = 5.0
PROXY = "import json, sys; from fastmcp.server import create_proxy; create_proxy(json.loads(sys.argv[1])).run('stdio')"


@asynccontextmanager
async def connected(place: Place, command: Sequence[str]) -> AsyncIterator[tuple[Client, psutil.Process]]:
    """Connect a client to a command, and return it with the process of the command."""
    env = {**os.environ, "RINGI_URL": place.store}
    known = {process.pid for process in psutil.Process().children()}
    parameters = StdioServerParameters(command=command[0], args=[*command[1:]], env=env, cwd=place.folder)
    async with Client(parameters) as client:
        (process,) = [each for each in psutil.Process().children() if each.pid not in known]
        yield client, process


def processor_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process, without that of its children."""
    times = process.cpu_times()
    return float(times.user + times.system)


async def allowed_calls() -> list[Row]:
    """Measure allowed calls of one tool, in turns: without a gate, behind FastMCP's proxy, behind the gate."""
    p50, p99, cost = (defaultdict[str, list[float]](list) for _ in range(3))
    with folder() as path:
        place = Place(path).rules(ALLOW)
        command, *args = place.server
        proxy = [sys.executable, "-c", PROXY, json.dumps({"mcpServers": {"it": {"command": command, "args": args}}})]
        commands = {"none": place.server, "fastmcp": proxy, "ringi": place.gate()}
        async with AsyncExitStack() as stack:
            sides = {
                name: await stack.enter_async_context(connected(place, command)) for name, command in commands.items()
            }
            for number in range(ROUNDS + 1):
                for name, (client, process) in sides.items():
                    before, times = processor_seconds(process), list[float]()
                    for _ in range(CALLS):
                        began = time.perf_counter()
                        await client.call_tool("read", {"path": "a"})
                        times.append((time.perf_counter() - began) * 1e3)
                    if number:  # The first round warms up.
                        p50[name].append(percentile(times, 50))
                        p99[name].append(percentile(times, 99))
                        cost[name].append((processor_seconds(process) - before) / CALLS * 1e3)
    what = "an allowed call over stdio"
    return [
        Row(f"{what}, p50: the gate, against FastMCP's proxy", "ms", p50["ringi"], p50["fastmcp"], at_most=1.3),
        Row(f"{what}, p99: the gate, against FastMCP's proxy", "ms", p99["ringi"], p99["fastmcp"], at_most=1.3),
        Row(f"{what}, p50: the gate, against no gate", "ms", p50["ringi"], p50["none"]),
        Row(f"{what}, p99: the gate, against no gate", "ms", p99["ringi"], p99["none"]),
        Row(f"{what}, processor time: the gate, against FastMCP's proxy", "ms", cost["ringi"], cost["fastmcp"]),
        *await held_calls(),
    ]


async def held_calls() -> list[Row]:
    """Measure many calls that wait for people behind one gate."""
    with folder() as path:
        place = Place(path).rules(ASK)
        async with place.inbox() as inbox, connected(place, place.gate("--wait", "600")) as (client, gate):
            first = asyncio.create_task(client.call_tool("write", {"text": "first"}))
            await answer(inbox)
            await first
            before = gate.memory_info().rss
            calls = [asyncio.create_task(client.call_tool("write", {"text": str(each)})) for each in range(WAITS)]
            began = time.perf_counter()
            requests = await opened(inbox, min(WAITS, 50))
            while await inbox.count(Query(statuses=("pending",), limit=WAITS)) < WAITS:
                await opened(inbox, 50)
            asked = time.perf_counter() - began
            more = gate.memory_info().rss - before
            spent, began = processor_seconds(gate), time.perf_counter()
            await asyncio.wait(calls, timeout=IDLE_SECONDS)
            idle = (processor_seconds(gate) - spent) / (time.perf_counter() - began)
            one = requests[0]
            began = time.perf_counter()
            await inbox.respond(one, "approve", by="ann")
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            answered = time.perf_counter() - began
            for call in calls:
                call.cancel()
    what = f"{WAITS} held calls behind one gate"
    return [
        Row(f"{what}: until all are asked", "ms a call", [asked / WAITS * 1e3]),
        Row(f"{what}: memory", "KB a call", [more / WAITS / 1024]),
        Row(f"{what}: processor time while nothing happens", "% of a core", [idle * 100]),
        Row(f"{what}: from an answer to the result", "ms", [answered * 1e3]),
    ]
