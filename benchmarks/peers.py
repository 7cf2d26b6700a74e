"""From an answer to the waiting step: LangGraph with its saver and a poll, and Ringi."""

from __future__ import annotations

import asyncio
import time
import uuid
from pathlib import Path
from typing import Any, TypedDict

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from benchmarks.inboxes import POLL, approve
from benchmarks.measure import Row, folder, percentile
from ringi import ask
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.ask import Action
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox
from ringi.runs.agent import Agent
from ringi.runs.worker import Worker

ROUNDS = 3
ANSWERS = 12
went_on: dict[str, float] = {}
"""The time when the step of each run resumed after its answer."""


class State(TypedDict, total=False):
    run: str


def bare_step(state: State) -> State:
    interrupt("Refund?")
    went_on[state["run"]] = time.perf_counter()
    return {}


def our_step(state: State) -> State:
    ask("Refund?", action=Action("refund", {"amount": 40}))
    went_on[state["run"]] = time.perf_counter()
    return {}


def graph_of(step: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_edge("step", END)
    return graph


async def answer_to_node() -> list[Row]:
    """Measure the milliseconds from the stored answer until the node resumes, p50."""
    floors: list[float] = []
    ours: list[float] = []
    with folder() as path:
        for n in range(ROUNDS):
            floors.append(percentile(await polled(path / f"bare-{n}.db"), 50))
            ours.append(percentile(await rung(path / f"ringi-{n}.db"), 50))
    return [Row("answer → the graph goes on, p50, beside LangGraph's saver and a 0.5 s poll", "ms", ours, floors)]


async def polled(path: Path) -> list[float]:
    """Store answers in a table that a loop polls every 0.5 s."""
    async with (
        aiosqlite.connect(path, isolation_level=None) as table,
        AsyncSqliteSaver.from_conn_string(str(path)) as saver,
    ):
        await table.execute("PRAGMA journal_mode = WAL")
        await table.execute("CREATE TABLE answers (run TEXT PRIMARY KEY, answer TEXT, seen INTEGER NOT NULL DEFAULT 0)")
        graph = graph_of(bare_step).compile(checkpointer=saver)
        runs = [uuid.uuid4().hex for _ in range(ANSWERS)]
        for run in runs:
            await graph.ainvoke({"run": run}, config_of(run))
        polling = asyncio.create_task(poll(table, graph))
        times = []
        for n, run in enumerate(runs):
            await asyncio.sleep(POLL * (n * 0.618 % 1))  # Out of step with the poll.
            await table.execute("INSERT INTO answers (run, answer) VALUES (?, 'yes')", (run,))
            times.append(await until_on(run, time.perf_counter()))
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
    return times


async def poll(table: aiosqlite.Connection, graph: Any) -> None:
    while True:
        for run, answer in await table.execute_fetchall("SELECT run, answer FROM answers WHERE NOT seen"):
            await graph.ainvoke(Command(resume=answer), config_of(run))
            await table.execute("UPDATE answers SET seen = 1 WHERE run = ?", (run,))
        await asyncio.sleep(POLL)


def config_of(run: str) -> Any:
    return {"configurable": {"thread_id": run}}


async def rung(path: Path) -> list[float]:
    """Answer the same questions in an inbox whose worker runs the same graph."""
    async with (
        open_backend(f"sqlite:///{path}", poll_interval=POLL) as backend,
        open_inbox_on_backend(backend) as inbox,
    ):
        agent = Agent("step", graph_of(our_step).compile())
        runner, stop = Worker(backend, inbox, {"step": agent}), asyncio.Event()
        working = asyncio.create_task(runner.work(stop))
        runs = [uuid.uuid4().hex for _ in range(ANSWERS)]
        for run in runs:
            await runner.start(inbox.tenant, run, "step", {"run": run}, by="bench")
        times = []
        for n, run in enumerate(runs):
            request = await parked(inbox, runner, run)
            await asyncio.sleep(POLL * (n * 0.618 % 1))
            await approve(inbox, request)
            times.append(await until_on(run, time.perf_counter()))
        stop.set()
        await working
    return times


async def parked(inbox: StoreInbox, runner: Worker, run: str) -> Request:
    async with asyncio.timeout(20):
        while (await runner.get(inbox.tenant, run)).status != "interrupted":
            await asyncio.sleep(0.02)
    (request,) = await inbox.search(Query(thread_id=run))
    return request


async def until_on(run: str, answered: float) -> float:
    async with asyncio.timeout(20):
        while run not in went_on:
            await asyncio.sleep(0.001)
    return (went_on[run] - answered) * 1e3
