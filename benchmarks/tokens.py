"""A hundred agents that stream at once, each to its own reader."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field

from benchmarks.agents import TOKEN_SECONDS, graph_of, talk
from benchmarks.client import Caller, head
from benchmarks.measure import Row, folder, percentile
from benchmarks.serving import Served, served

THREADS = 100
TOKENS = 500
PATIENCE = 60.0


@dataclass
class Reader:
    """A reader of one thread that records the numbers and the delay of each token."""

    thread: str
    numbers: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    last: float = 0

    async def follow(self, server: Served) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**20)
        writer.write(head("GET", f"/v1/threads/{self.thread}/stream", server, "person"))
        try:
            while True:
                line = await reader.readline()
                if line.startswith(b"id: "):
                    self.numbers.append(int(line[4:]))
                elif line.startswith(b"data: ") and self.take(json.loads(line[6:])):
                    return
        finally:
            writer.close()

    def take(self, event: dict[str, str]) -> bool:
        """Return True at the end of the run."""
        if event.get("type") == "TEXT_MESSAGE_CONTENT":
            self.last = time.time()
            self.delays += [self.last - float(word) for word in event["delta"].split()]
        return event.get("type") in ("RUN_FINISHED", "RUN_ERROR")


async def hundred_threads() -> list[Row]:
    """Measure 100 threads × 50 tokens a second, read over SSE without a gap."""
    with folder() as path, served("ringi", path) as ringi:
        readers = [Reader(f"talk-{n}") for n in range(THREADS)]
        async with Caller(ringi) as caller:
            for reader in readers:
                run = {"agent": "talk", "input": {"count": TOKENS}}
                status, reply = await caller.post(f"/v1/threads/{reader.thread}/runs", run)
                if status != 202:
                    raise RuntimeError(f"status {status}: {reply[:300]!r}")
        began, before = time.time(), ringi.processor_seconds()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(reader.follow(ringi) for reader in readers))
        took, cpu = time.time() - began, ringi.processor_seconds() - before
    whole = [r for r in readers if r.numbers == list(range(1, len(r.numbers) + 1)) and len(r.delays) == TOKENS]
    items = sum(len(reader.numbers) for reader in readers)
    delays = [delay * 1e3 for reader in readers for delay in reader.delays]
    wanted = THREADS / TOKEN_SECONDS
    bare, bare_cpu = await asyncio.to_thread(alone)
    tokens = THREADS * TOKENS
    what = f"{THREADS} threads × {1 / TOKEN_SECONDS:.0f} tokens a second"
    return [
        Row(f"{what}: readers that saw 1 … n, and every token", "", [len(whole)], at_least=THREADS),
        Row(
            f"{what}: tokens a second (wanted {wanted:,.0f}), beside LangGraph without Ringi",
            "1/s",
            [tokens / took],
            [bare],
        ),
        Row(f"{what}: CPU a token, beside LangGraph without Ringi", "µs", [cpu / tokens * 1e6], [bare_cpu]),
        Row(f"{what}: stored events a second", "1/s", [items / took]),
        Row(f"{what}: token made → at the reader, p50", "ms", [percentile(delays, 50)]),
        Row(f"{what}: token made → at the reader, p99", "ms", [percentile(delays, 99)]),
    ]


def alone() -> tuple[float, float]:
    """Return the tokens a second of the same graphs with LangGraph alone, and the CPU time of each."""
    graph = graph_of(talk)

    async def stream() -> None:
        async for _ in graph.astream({"count": TOKENS}, stream_mode=["messages"]):
            pass

    async def stream_all() -> None:
        await asyncio.gather(*(stream() for _ in range(THREADS)))

    began, before = time.perf_counter(), time.process_time()
    asyncio.run(stream_all())
    took, cpu = time.perf_counter() - began, time.process_time() - before
    return THREADS * TOKENS / took, cpu / (THREADS * TOKENS) * 1e6
