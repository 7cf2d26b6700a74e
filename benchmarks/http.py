"""Answers over HTTP, compared with a bare FastAPI endpoint that stores the same number of bytes as durably."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from benchmarks.client import Caller
from benchmarks.inboxes import CALLERS, ask_many, sqlite_inbox
from benchmarks.measure import Row, folder
from benchmarks.serving import Served, served
from benchmarks.writes import stored_text
from ringi.domain.request import Request

ROUNDS = 5
ANSWERS = 1_500


PATHS = {"bare": "/rows/{}", "least": "/answers/{}", "ringi": "/v1/requests/{}/respond"}
LEAST = "against the least that an answer needs"


async def respond() -> list[Row]:
    """Measure the calls a second of `POST …/respond` at 64 connections."""
    paces: dict[str, list[float]] = {kind: [] for kind in PATHS}
    costs: dict[str, list[float]] = {kind: [] for kind in PATHS}
    with folder() as path:
        async with sqlite_inbox(path / "ringi.db") as inbox:
            (path / "row.txt").write_text(await stored_text(inbox))
            with served("bare", path) as bare, served("ringi", path) as ringi, served("least", path) as least:
                for _ in range(ROUNDS):
                    for kind, server in (("bare", bare), ("least", least), ("ringi", ringi)):
                        requests = await ask_many(inbox, ANSWERS)
                        await asyncio.sleep(0.3)
                        pace, cost = await calls_a_second(server, requests, PATHS[kind])
                        paces[kind].append(pace)
                        costs[kind].append(cost)
    what = f"HTTP respond, {CALLERS} connections"
    return [
        Row(f"{what}, against a bare FastAPI insert", "1/s", paces["ringi"], paces["bare"], at_least=0.6),
        Row(f"{what}, {LEAST}", "1/s", paces["ringi"], paces["least"]),
        Row(
            f"{what}, server CPU a call, against a bare FastAPI insert",
            "µs",
            costs["ringi"],
            costs["bare"],
            at_most=1.7,
        ),
        Row(f"{what}, server CPU a call, {LEAST}", "µs", costs["ringi"], costs["least"]),
    ]


async def calls_a_second(server: Served, requests: list[Request], path: str) -> tuple[float, float]:
    """Return the calls a second, and the server's CPU time for each in microseconds."""
    left = iter(requests)

    async def answer_some(caller: Caller) -> None:
        for request in left:
            body = {"decision": "approve", "digest": request.digest}
            status, reply = await caller.post(path.format(request.id), body)
            if status != 200:
                raise RuntimeError(f"status {status}: {reply[:300]!r}")

    async with AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(Caller(server)) for _ in range(CALLERS)]
        cpu, began = server.processor_seconds(), time.perf_counter()
        await asyncio.gather(*map(answer_some, callers))
        took = time.perf_counter() - began
    return len(requests) / took, (server.processor_seconds() - cpu) / len(requests) * 1e6
