"""Events to many readers, compared with a bare ASGI endpoint with a queue for each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from benchmarks.client import Audience, Caller
from benchmarks.measure import Row, folder
from benchmarks.serving import Served, served

ROUNDS = 3
SIZES = (1_000, 5_000)
EVENTS = {1_000: 20, 5_000: 8}
EVENT_BYTES = 1_000
SETTLE_SECONDS = 0.7
TICK_SECONDS = {1_000: 0.06, 5_000: 0.3}


@dataclass
class Costs:
    """The CPU time of one delivery in microseconds for each round, and the KiB of one idle connection."""

    floor: list[float] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
    thread: list[float] = field(default_factory=list)
    floor_memory: float = 0
    memory: float = 0


async def delivery() -> list[Row]:
    """Measure server CPU of one delivery at 1,000 and 5,000 readers, and memory of an idle connection."""
    rows: list[Row] = []
    for size in SIZES:
        with folder() as path:
            (path / "row.txt").write_text("")
            with served("bare", path) as bare, served("ringi", path) as ringi:
                costs = await measured(bare, ringi, size)
        what = f"SSE to {size:,} readers, server CPU a delivery"
        rows += [
            Row(f"{what}, /v1/events", "µs", costs.events, costs.floor, at_most=1.3),
            Row(f"{what}, a thread's stream", "µs", costs.thread, costs.floor, at_most=1.3),
        ]
        idle = f"memory of one of {size:,} idle connections"
        rows.append(Row(idle, "KiB", [costs.memory], [costs.floor_memory], at_most=24, of_ratio=False))
    return rows


async def measured(bare: Served, ringi: Served, size: int) -> Costs:
    costs = Costs()
    listeners, followers, viewers = Audience(), Audience(), Audience()
    await started(ringi, 1, 0.01)
    costs.floor_memory = await open_connections(listeners, bare, "/events", size)
    costs.memory = await open_connections(followers, ringi, "/v1/events", size)
    await open_connections(viewers, ringi, "/v1/threads/ticking/stream", size)
    for _ in range(ROUNDS):
        costs.floor.append(await cost(bare, listeners, lambda: one_by_one(bare, bare_event, listeners, size)))
        costs.events.append(await cost(ringi, followers, lambda: one_by_one(ringi, our_event, followers, size)))
        costs.thread.append(await cost(ringi, viewers, lambda: emit_event(ringi, viewers, size)))
    lost = listeners.lost + followers.lost + viewers.lost
    for audience in (listeners, followers, viewers):
        audience.close()
    if lost:
        raise RuntimeError(f"{lost} readers were sent away")
    return costs


async def open_connections(audience: Audience, server: Served, path: str, size: int) -> float:
    """Open the connections and return the server's memory for each in KiB."""
    await asyncio.sleep(SETTLE_SECONDS)
    before = server.resident()
    await audience.open(server, path, size)
    await asyncio.sleep(SETTLE_SECONDS)
    return (server.resident() - before) / size / 1024


async def cost(server: Served, audience: Audience, publish: Callable[[], Awaitable[None]]) -> float:
    await asyncio.sleep(SETTLE_SECONDS)
    before_events, before = audience.events, server.processor_seconds()
    await publish()
    return (server.processor_seconds() - before) / (audience.events - before_events) * 1e6


async def one_by_one(
    server: Served, publish: Callable[[Caller], Awaitable[None]], audience: Audience, size: int
) -> None:
    async with Caller(server, "agent") as caller:
        for _ in range(EVENTS[size]):
            due = audience.events + size
            await publish(caller)
            await audience.wait_for_events(due)


async def bare_event(caller: Caller) -> None:
    await caller.post(f"/publish/{EVENT_BYTES}", {})


async def our_event(caller: Caller) -> None:
    refused(*await caller.post("/v1/requests", {"title": "Refund?", "description": "x" * 300}), 201)


async def started(server: Served, count: int, seconds: float) -> None:
    run = {"agent": "tick", "input": {"count": count, "seconds": seconds, "size": EVENT_BYTES - 100}}
    async with Caller(server, "person") as caller:
        refused(*await caller.post("/v1/threads/ticking/runs", run), 202)


def refused(status: int, reply: bytes, wanted: int) -> None:
    if status != wanted:
        raise RuntimeError(f"status {status}: {reply[:300]!r}")


async def emit_event(server: Served, audience: Audience, size: int) -> None:
    """Let the agent emit an event; its run also reports its start, its values and its end."""
    due = audience.events + size * (EVENTS[size] + 3)
    await started(server, EVENTS[size], TICK_SECONDS[size])
    await audience.wait_for_events(due)
