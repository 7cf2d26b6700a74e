"""The cost to park a run at a question and to resume it, compared with LangGraph and its own saver."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from benchmarks.measure import Row, folder, percentile
from benchmarks.threads import Desk, counting_desk, desk_at, noting
from ringi.domain.record import Query
from ringi.runs.agent import Agent

ROUNDS = 5
CYCLES = 20
WHAT = {"park": "a step asks → its run is parked", "resume": "answered → the step goes on"}
asked: dict[str, float] = {}
"""The time when the step of each run asked."""
went_on: dict[str, float] = {}
"""The time when the step got its answer."""


class State(TypedDict, total=False):
    run: str


class Cycle(NamedTuple):
    """The times when one question was asked, its run parked, its answer given, and its step resumed."""

    asked: float
    parked: float
    answered: float
    went_on: float

    @property
    def park(self) -> float:
        return self.parked - self.asked

    @property
    def resume(self) -> float:
        return self.went_on - self.answered


async def step(state: State) -> State:
    asked[state["run"]] = time.perf_counter()
    interrupt("Refund?")
    went_on[state["run"]] = time.perf_counter()
    return {}


def graph() -> StateGraph[State]:
    builder = StateGraph(State)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_edge("step", END)
    return builder


async def park_and_resume() -> list[Row]:
    """Measure from the interrupt to the parked run, and from the answer to the resumed step."""
    times: dict[str, list[float]] = defaultdict(list)
    with folder() as path:
        async with desk_at(f"sqlite:///{path / 'ringi.db'}", agents()) as desk, saver_at(path / "bare.db") as saver:
            bare_graph = graph().compile(checkpointer=saver)
            await one_round(bare_graph, desk)
            for _ in range(ROUNDS):
                for name, seconds in (await one_round(bare_graph, desk)).items():
                    times[name].append(percentile(seconds, 50) * 1e6)
    return [*rows("park", times), *rows("resume", times), *await commits()]


async def one_round(bare_graph: Any, desk: Desk) -> dict[str, list[float]]:
    """Return the seconds of each part; the two sides take turns."""
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(CYCLES):
        for side, cycle in (("bare", await bare_cycle(bare_graph)), ("ours", await our_cycle(desk))):
            times[f"{side} park"].append(cycle.park)
            times[f"{side} resume"].append(cycle.resume)
        times["put"].append(await desk.put_one(uuid.uuid4().hex))
    return times


def rows(part: str, times: dict[str, list[float]]) -> list[Row]:
    own, floor = times[f"ours {part}"], times[f"bare {part}"]
    over = [mine - theirs for mine, theirs in zip(own, floor, strict=True)]
    what = WHAT[part]
    return [
        Row(
            f"{what}: over LangGraph with its own saver, against one small transaction",
            "µs",
            over,
            times["put"],
            at_most=1,
        ),
        Row(f"{what}: beside LangGraph with its own saver", "µs", own, floor),
    ]


def agents() -> list[Agent]:
    return [Agent("step", graph().compile())]


@asynccontextmanager
async def saver_at(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA journal_mode = WAL")
        await saver.conn.execute("PRAGMA synchronous = FULL")
        yield saver


async def bare_cycle(compiled: Any) -> Cycle:
    run = uuid.uuid4().hex
    config: Any = {"configurable": {"thread_id": run}}
    await compiled.ainvoke({"run": run}, config, durability="sync")
    parked, since = time.perf_counter(), asked[run]
    answered = time.perf_counter()
    await compiled.ainvoke(Command(resume="yes"), config, durability="sync")
    return Cycle(since, parked, answered, went_on[run])


async def our_cycle(desk: Desk) -> Cycle:
    run = uuid.uuid4().hex
    thread = await desk.runner.start("default", run, "step", {"run": run}, by="bench")
    await desk.until(thread, "interrupted")
    parked, since = time.perf_counter(), asked[run]
    (request,) = await desk.inbox.search(Query(thread_id=run))
    answered = time.perf_counter()
    await desk.inbox.respond(request, "respond", by="ann", message="yes")
    await desk.until(thread, "done")
    return Cycle(since, parked, answered, went_on[run])


async def commits() -> list[Row]:
    """Count the transactions of the same work."""
    bare = list[float]()
    with folder() as path:
        async with saver_at(path / "bare.db") as saver:
            await saver.conn.set_trace_callback(noting(bare))
            theirs = await bare_cycle(graph().compile(checkpointer=saver))
        async with counting_desk(path / "ringi.db", agents()) as (desk, ours):
            await our_cycle(desk)  # Makes LangGraph's tables.
            own = await our_cycle(desk)
    what = "transactions that LangGraph with its own saver does not need"
    return [
        Row(f"{WHAT[part]}: {what}", "", [within(ours, own, part) - within(bare, theirs, part)], at_most=1)
        for part in WHAT
    ]


def within(noted: list[float], cycle: Cycle, part: str) -> int:
    """Return how many of the times are within a part of a cycle."""
    since, until = (cycle.asked, cycle.parked) if part == "park" else (cycle.answered, cycle.went_on)
    return sum(since <= at <= until for at in noted)
