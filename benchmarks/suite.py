"""The benches by name, each run within a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import uvloop

from benchmarks import (
    attention,
    backlog,
    expiry,
    gate,
    http,
    mcp_gate,
    page,
    page_postgres,
    park,
    peers,
    postgres,
    recorded,
    redis,
    sse,
    statements,
    stop,
    storage,
    storm,
    streams,
    ten_million,
    tokens,
    urgent,
    verify,
    wakes,
    wave,
    writes,
)
from benchmarks.apps import assistant, models
from benchmarks.measure import Row

Bench = Callable[[], Awaitable[list[Row]]]
BENCHES: dict[str, Bench] = {
    "wake": wakes.in_process,
    "waits": wakes.thousand_waits,
    "many": wakes.ten_thousand_waits,
    "respond": writes.respond,
    "processes": writes.three_processes,
    "across": writes.across_processes,
    "http": http.respond,
    "sse": sse.delivery,
    "tokens": tokens.hundred_threads,
    "streams": streams.fifty_a_second,
    "gate": gate.auto_approved,
    "mcp-gate": mcp_gate.allowed_calls,
    "park": park.park_and_resume,
    "stop": stop.after_a_pause,
    "wave": wave.all_at_once,
    "backlog": backlog.growth,
    "peers": peers.answer_to_node,
    "page": page.first_load,
    "postgres": postgres.on_postgres,
    "statements": statements.on_postgres,
    "page-postgres": page_postgres.first_load,
    "ten-million": ten_million.beside_ten_thousand,
    "urgent": urgent.on_sqlite,
    "urgent-postgres": urgent.on_postgres,
    "urgent-redis": urgent.on_redis,
    "redis": redis.on_redis,
    "expiry": expiry.hundred_thousand,
    "storm": storm.after_a_restart,
    "storage": storage.chats,
    "assistant": assistant.core,
    "verify": verify.memory,
    "attention": attention.goals,
    "models": models.conversations,
    "recorded": recorded.recorded,
}
ONLY_BY_NAME = ("ten-million",)
"""The benches that need hours and many gigabytes."""
LIMIT_SECONDS = 100.0
LONGER = {
    "http": 600.0,
    "gate": 300.0,
    "mcp-gate": 300.0,
    "page": 1_800.0,
    "postgres": 300.0,
    "page-postgres": 1_800.0,
    "ten-million": 36_000.0,
    "urgent": 1_800.0,
    "urgent-postgres": 1_800.0,
    "urgent-redis": 1_800.0,
    "redis": 300.0,
    "wave": 300.0,
    "statements": 300.0,
    "stop": 600.0,
    "backlog": 600.0,
    "expiry": 1_800.0,
    "storage": 900.0,
    "verify": 7_200.0,
    "attention": 900.0,
    "models": 14_400.0,
    "recorded": 1_800.0,
}
"""Some benches first write a million requests, or a hundred thousand three times, or start a server."""
ON_UVLOOP = ("wave",)
"""The benches whose both sides run on the loop of `ringi worker`."""


def run(name: str) -> list[Row]:
    """Run one bench on its own event loop."""
    run_on_loop = uvloop.run if name in ON_UVLOOP else asyncio.run
    return run_on_loop(_limited(BENCHES[name], LONGER.get(name, LIMIT_SECONDS)))


async def _limited(bench: Bench, seconds: float) -> list[Row]:
    async with asyncio.timeout(seconds):
        return await bench()
