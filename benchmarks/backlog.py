"""The cost of a question and its answer while more and more others wait, are answered, or are queued."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable

from tests.servers import mortal_postgres

from benchmarks.measure import Row, folder, percentile, resident
from benchmarks.park import agents, our_cycle
from benchmarks.threads import Desk, desk_at
from ringi.contracts.backend import Job
from ringi.domain.ask import Action, Answer, Ask, Continuation
from ringi.domain.request import Request

SIZES = (100, 1_000, 10_000)
CYCLES = 40
AT_ONCE = 200
Grow = Callable[[Desk, int], Awaitable[object]]


async def growth() -> list[Row]:
    """Measure the processor time of a question and its answer in this process, and its memory."""
    rows = list[Row]()
    with folder() as path:
        # Not measured: buffers of the allocator grow with the first wave, whatever the store holds.
        await on_store("", f"sqlite:///{path}/first.db", add_waiting)
        for name, grow in BACKLOGS.items():
            rows += await on_store(f"SQLite, {name}", f"sqlite:///{path / name}.db", grow)
    with mortal_postgres() as server:
        for name, grow in BACKLOGS.items():
            rows += await on_store(f"PostgreSQL, {name}", f"{server.url}?schema={name}", grow)
    return rows


async def on_store(name: str, url: str, grow: Grow) -> list[Row]:
    milliseconds, memory, there = list[float](), list[float](), 0
    async with desk_at(url, agents()) as desk:
        await cost(desk)
        for size in SIZES:
            await grow(desk, size - there)
            there = size
            milliseconds.append(await cost(desk))
            memory.append(resident() / 2**20)
    sizes = f"{SIZES[0]:,} → {SIZES[-1]:,}"
    return [
        Row(f"{name}: {sizes}: processor time of one more", "ms", [milliseconds[-1]], [milliseconds[0]], at_most=1.15),
        Row(f"{name}: {sizes}: memory of the process", "MiB", [memory[-1]], [memory[0]], at_most=1.15),
    ]


async def cost(desk: Desk) -> float:
    """Return the processor time of one question and its answer in milliseconds, at the median."""
    times = list[float]()
    for _ in range(CYCLES):
        began = time.process_time()
        await our_cycle(desk)
        times.append((time.process_time() - began) * 1e3)
    return percentile(times, 50)


async def add_waiting(desk: Desk, number: int) -> list[Request]:
    """Add questions of runs that wait."""
    return [request for part in parts(number) for request in await asyncio.gather(*(ask(desk) for _ in part))]


async def ask(desk: Desk) -> Request:
    name = uuid.uuid4().hex
    question = Ask(title="Run refund?", action=Action("refund", {"order": name, "amount": 40}), thread_id=name)
    # Nobody resumes a run of another runner.
    waits = Continuation(runner="another", target="office", key=name, args={})
    return await desk.inbox.submit(question, by="bench", continuation=waits)


async def add_answered(desk: Desk, number: int) -> None:
    """Add answered questions, whose runs have taken their answers."""

    async def answer(request: Request) -> None:
        approval = Answer(decision="approve", digest=request.digest)
        await desk.inbox.answer(request.id, approval, by="ann", channel="api")
        await desk.inbox.acknowledge(request.id, "bench")

    requests = await add_waiting(desk, number)
    for part in parts(number):
        await asyncio.gather(*(answer(requests[n]) for n in part))


async def add_queued(desk: Desk, number: int) -> None:
    """Add jobs for which there is no worker."""
    for part in parts(number):
        jobs = [Job(key=uuid.uuid4().hex, kind="another", partition_key=uuid.uuid4().hex, payload={}) for _ in part]
        await desk.backend.jobs.submit_all(jobs)


def parts(number: int) -> list[range]:
    return [range(start, min(start + AT_ONCE, number)) for start in range(0, number, AT_ONCE)]


BACKLOGS: dict[str, Grow] = {"waiting": add_waiting, "answered": add_answered, "queued": add_queued}
