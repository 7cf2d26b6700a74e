"""The memory and time of `ringi verify`, and their growth with the store."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.inboxes import approve, ask_many, spread, sqlite_inbox
from benchmarks.measure import Row, folder
from ringi.audit.verify import verify_store
from ringi.connect import open_to_verify
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

SIZES = [int(size) for size in os.environ.get("BENCH_VERIFY_SIZES", "10000,100000").split(",")]
"""Numbers of requests, each asked and answered; 10000,1000000 runs for an hour."""
LIMIT_MIB = 512.0


async def memory() -> list[Row]:
    """Measure the largest memory of a check at several sizes, each in a separate process."""
    with folder() as path:
        async with sqlite_inbox(path / "ringi.db") as inbox:
            most, seconds, size = list[float](), list[float](), 0
            for wanted in SIZES:
                await fill(inbox, wanted - size)
                size = wanted
                mib, took = await in_process(path / "ringi.db")
                most.append(mib)
                seconds.append(took)
    slope = (most[-1] - most[0]) / (SIZES[-1] - SIZES[0]) * 1e6 if len(SIZES) > 1 else 0.0
    return [
        Row(f"ringi verify, {SIZES[-1]:,} requests: most memory", "MiB", most[-1:], at_most=LIMIT_MIB),
        Row("ringi verify: memory of a million requests more", "MiB", [slope], at_most=LIMIT_MIB),
        *(Row(f"ringi verify, {n:,} requests", "s", [took]) for n, took in zip(SIZES, seconds, strict=True)),
    ]


async def fill(inbox: StoreInbox, count: int) -> None:
    async def answer(request: Request) -> None:
        await approve(inbox, request)

    for start in range(0, count, 10_000):
        requests: Sequence[Request] = await ask_many(inbox, min(10_000, count - start))
        await spread(requests, answer)


async def in_process(path: Path) -> tuple[float, float]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, check, path)


def check(path: Path) -> tuple[float, float]:
    began = time.perf_counter()
    findings = asyncio.run(findings_of(path))
    assert not findings, findings[:5]
    return most_resident(), time.perf_counter() - began


def most_resident() -> float:
    """Return the largest memory of this program in MiB; `getrusage` would include its parent's."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


async def findings_of(path: Path) -> list[object]:
    async with open_to_verify(f"sqlite:///{path}") as (store, stream):
        return list((await verify_store(store, stream=stream))[1])
