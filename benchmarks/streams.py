"""The CPU cost of each token at 50 tokens a second, stored and read over SSE, compared with bare LangGraph."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.agents import TOKEN_SECONDS, graph_of, talk
from benchmarks.client import Caller
from benchmarks.least import MinimalStore, open_readers
from benchmarks.measure import Row, folder
from benchmarks.park import saver_at
from benchmarks.serving import served
from benchmarks.tokens import PATIENCE, Reader

THREADS = 40
TOKENS = 400
ROUNDS = 3


async def fifty_a_second() -> list[Row]:
    """Measure CPU time of whole runs, with all threads of the process and sockets, from start to end of each run."""
    ours, bare, least = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        ours.append(await served_cpu())
        bare.append(await asyncio.to_thread(bare_cpu))
        least.append(await asyncio.to_thread(least_cpu))
    what = f"{THREADS} threads × {1 / TOKEN_SECONDS:.0f} tokens a second, each stored and with a reader: CPU a token"
    return [
        Row(f"{what}, against bare astream with a checkpointer", "µs", ours, bare),
        Row(f"{what}: the least that stores and sends, against bare astream", "µs", least, bare),
        Row(f"{what}, against the least that stores and sends", "µs", ours, least, at_most=1.3),
    ]


async def served_cpu() -> float:
    with folder() as path, served("ringi", path) as server:
        readers = [Reader(f"talk-{n}") for n in range(THREADS)]
        before = server.processor_seconds()
        async with Caller(server) as caller, asyncio.timeout(PATIENCE):
            for reader in readers:
                run = {"agent": "talk", "input": {"count": TOKENS}}
                status, reply = await caller.post(f"/v1/threads/{reader.thread}/runs", run)
                if status != 202:
                    raise RuntimeError(f"status {status}: {reply[:300]!r}")
            await asyncio.gather(*(reader.follow(server) for reader in readers))
        if any(len(reader.delays) != TOKENS for reader in readers):
            raise RuntimeError("a reader missed tokens")
        return each(server.processor_seconds() - before)


def bare_cpu() -> float:
    """Run the same graph on the server's kind of loop, with LangGraph's own saver, and discard its output."""
    with folder() as path:
        return uvloop.run(bare_streams(path))


def least_cpu() -> float:
    """Run the graph with the minimal program that stores the output and sends it to a reader for each."""
    with folder() as path:
        return uvloop.run(least_streams(path))


async def bare_streams(path: Path) -> float:
    return await streams_cpu(path, lambda _, __: None)


async def least_streams(path: Path) -> float:
    async with open_readers(THREADS) as writers:
        least = MinimalStore(path / "least.db", writers)
        cpu = await streams_cpu(path, least.add)
        least.close()
        return cpu


async def streams_cpu(path: Path, add: Callable[[int, str], None]) -> float:
    async with saver_at(path / "bare.db") as saver:
        graph = graph_of(talk).copy({"checkpointer": saver})
        before = time.process_time()
        await asyncio.gather(*(stream(graph, n, add) for n in range(THREADS)))
        return each(time.process_time() - before)


async def stream(graph: Any, n: int, add: Callable[[int, str], None]) -> None:
    config: Any = {"configurable": {"thread_id": f"talk-{n}"}}
    async for message, _ in graph.astream({"count": TOKENS}, config, stream_mode="messages"):
        add(n, message.content)


def each(cpu: float) -> float:
    return cpu / (THREADS * TOKENS) * 1e6
