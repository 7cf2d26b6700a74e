"""Two hundred waiting runs are answered at once, on SQLite and PostgreSQL, beside LangGraph with its own saver."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Command
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from tests.servers import mortal_postgres

from benchmarks.least_wave import Step, minimal_runs
from benchmarks.measure import Row, folder, percentile
from benchmarks.park import agents, bare_cycle, graph, our_cycle, saver_at
from benchmarks.threads import Desk, desk_at
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.server.startup import collect_garbage_rarely

ROUNDS = 5
RUNS = 200
ONE_AT_A_TIME = 20
CONNECTIONS = 16
STEPS_SECONDS = 60.0
LEAST = "against the least that keeps an answer and a run"


class Wave(NamedTuple):
    """The speed of one wave, and the processor time of one run."""

    runs_a_second: float
    milliseconds: float


class Goals(NamedTuple):
    """The bounds of one store: runs a second and processor time beside bare, and milliseconds over bare."""

    speed: float
    processor: float
    over: float


async def all_at_once() -> list[Row]:
    """Measure a wave and single answers on both stores."""
    rows = list[Row]()
    with folder() as path:
        bare = partial(saver_at, path / "bare.db")
        rows += await on_store("SQLite", f"sqlite:///{path / 'ringi.db'}", bare, Goals(0.6, 2, 6))
    with mortal_postgres() as server:
        rows += await on_store("PostgreSQL", server.url, partial(postgres_saver, server.url), Goals(0.5, 2.5, 8))
    return rows


async def on_store(
    name: str, url: str, saver: Callable[[], AbstractAsyncContextManager[Any]], goals: Goals
) -> list[Row]:
    ours, theirs = list[Wave](), list[Wave]()
    single, bare_single = list[float](), list[float]()
    least = list[Wave]()
    async with AsyncExitStack() as stack:
        desk = await stack.enter_async_context(desk_at(url, agents()))
        bare_graph = graph().compile(checkpointer=await stack.enter_async_context(saver()))
        await our_wave(desk)
        await bare_wave(bare_graph)
        minimal = None
        if url.startswith("postgresql"):
            (request,) = await desk.inbox.search(Query(limit=1))
            event = (await desk.inbox.events(request_id=request.id))[-1]
            minimal = await stack.enter_async_context(minimal_runs(url, bare_graph, CONNECTIONS, request, event))
        collect_garbage_rarely()
        for _ in range(ROUNDS):
            theirs.append(await bare_wave(bare_graph))
            ours.append(await our_wave(desk))
            if minimal:
                least.append(await least_wave(*minimal))
            bare_single.append(await median_of(partial(bare_cycle, bare_graph)))
            single.append(await median_of(partial(our_cycle, desk)))
    over = [mine - bare for mine, bare in zip(single, bare_single, strict=True)]
    what = f"{name}: {RUNS} waiting runs are all answered at once"
    beside_least = (
        [
            Row(f"{what}, {LEAST}", "1/s", [w.runs_a_second for w in ours], [w.runs_a_second for w in least]),
            Row(
                f"{what}: processor time of a run, {LEAST}",
                "ms",
                [w.milliseconds for w in ours],
                [w.milliseconds for w in least],
            ),
        ]
        if least
        else []
    )
    return [
        *beside_least,
        Row(what, "1/s", [w.runs_a_second for w in ours], [w.runs_a_second for w in theirs], at_least=goals.speed),
        Row(
            f"{what}: processor time of a run",
            "ms",
            [wave.milliseconds for wave in ours],
            [wave.milliseconds for wave in theirs],
            at_most=goals.processor,
        ),
        Row(f"{name}: one answer at a time → the step goes on, over bare", "ms", over, at_most=goals.over),
    ]


async def our_wave(desk: Desk) -> Wave:
    runs = [uuid.uuid4().hex for _ in range(RUNS)]
    threads = [await desk.runner.start("default", run, "step", {"run": run}, by="bench") for run in runs]
    async with asyncio.timeout(STEPS_SECONDS):
        await asyncio.gather(*(desk.until(thread, "interrupted") for thread in threads))
    requests = [(await desk.inbox.search(Query(thread_id=run)))[0] for run in runs]
    began, cpu = time.perf_counter(), time.process_time()

    async def answer(request: Request) -> None:
        await desk.inbox.respond(request, "respond", by="ann", message="yes")

    async with asyncio.timeout(STEPS_SECONDS):
        await asyncio.gather(*map(answer, requests), *(desk.until(thread, "done") for thread in threads))
    return since(began, cpu)


async def bare_wave(compiled: Any) -> Wave:
    configs: list[Any] = [{"configurable": {"thread_id": uuid.uuid4().hex}} for _ in range(RUNS)]
    for config in configs:
        await compiled.ainvoke({"run": config["configurable"]["thread_id"]}, config, durability="sync")
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(compiled.ainvoke(Command(resume="yes"), config, durability="sync") for config in configs))
    return since(began, cpu)


async def least_wave(ask: Step, answer: Step) -> Wave:
    runs = [uuid.uuid4().hex for _ in range(RUNS)]
    for run in runs:
        await ask(run)
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(answer, runs))
    return since(began, cpu)


def since(began: float, cpu: float) -> Wave:
    return Wave(RUNS / (time.perf_counter() - began), (time.process_time() - cpu) / RUNS * 1e3)


async def median_of(cycle: Callable[[], Any]) -> float:
    """Return the milliseconds from an answer to the step, at the median."""
    return percentile([(await cycle()).resume * 1e3 for _ in range(ONE_AT_A_TIME)], 50)


@asynccontextmanager
async def postgres_saver(url: str) -> AsyncIterator[AsyncPostgresSaver]:
    """LangGraph's saver as its documentation opens it for production: on a pool."""
    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(f"{url}?options=-csearch_path%3Dbare", max_size=CONNECTIONS, kwargs=options) as pool:
        async with pool.connection() as connection:
            await connection.execute("CREATE SCHEMA IF NOT EXISTS bare")
        saver = AsyncPostgresSaver(pool)  # type: ignore[arg-type]
        await saver.setup()
        yield saver
