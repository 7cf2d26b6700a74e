"""The cost of a gate for a tool call that a rule of its policy approves, compared with one small transaction."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from tests.servers import mortal_postgres

from benchmarks.measure import Row, folder, percentile
from benchmarks.threads import Desk, counting_desk, desk_at
from ringi import Approval
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

ROUNDS = 5
RUNS = 20
COUNTED = 15
POLICY = {"rules": [{"tools": ["refund"], "auto_approve": [{"name": "small", "where": {"amount": {"at_most": 50}}}]}]}
marks: list[float] = []
"""The time when the model of the run was called."""


@tool
async def refund(order: int, amount: float) -> str:
    """Pay money back."""
    return f"refunded {amount:g} for {order}"


def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Call the tool once, then report its result."""
    marks.append(time.perf_counter())
    if isinstance(messages[-1], ToolMessage):
        return messages[-1].text
    call = {"name": "refund", "args": {"order": 1182, "amount": 40}, "id": uuid.uuid4().hex, "type": "tool_call"}
    return AIMessage("I will pay it back.", tool_calls=[call])


def office(name: str, middleware: Sequence[Any]) -> Agent:
    graph = create_agent(ScriptedModel(script=script), [refund], middleware=middleware)
    return Agent(name, graph, input=lambda _: {"messages": [HumanMessage("Please.")]})


def offices() -> list[Agent]:
    return [office("bare", ()), office("gated", [Approval(POLICY, [refund])])]


async def auto_approved() -> list[Row]:
    """Measure the time that the gate adds to a run, on SQLite and on PostgreSQL."""
    with folder() as path, mortal_postgres() as server:
        return [
            await commits(path / "commits.db"),
            *await gate_cost("SQLite", f"sqlite:///{path / 'gate.db'}"),
            *await gate_cost("PostgreSQL", server.url),
        ]


async def gate_cost(store: str, url: str) -> list[Row]:
    bare, gated, puts = list[float](), list[float](), list[float]()
    async with desk_at(url, offices()) as desk:
        await one_round(desk)
        for _ in range(ROUNDS):
            medians = [percentile(times, 50) * 1e6 for times in await one_round(desk)]
            for rounds, median in zip((bare, gated, puts), medians, strict=True):
                rounds.append(median)
    more = [ours - floor for ours, floor in zip(gated, bare, strict=True)]
    what = f"{store}: a tool's call that a rule approves"
    return [
        Row(f"{what}: what the gate adds, against one small transaction", "µs", more, puts, at_most=1),
        Row(f"{what}: from the call to the model's next turn, beside no gate", "µs", gated, bare),
    ]


async def commits(path: Path) -> Row:
    """Return how many transactions the gate adds to a run, measured over several runs because two may share one."""
    counts: dict[str, list[float]] = defaultdict(list)
    async with counting_desk(path, offices()) as (desk, noted):
        for _ in range(COUNTED):
            for agent in ("bare", "gated"):
                before = len(noted)
                await run(desk, agent)
                counts[agent].append(len(noted) - before)
    more = percentile(counts["gated"], 50) - percentile(counts["bare"], 50)
    return Row("SQLite: a tool's call that a rule approves: transactions that the gate adds", "", [more], at_most=1)


async def one_round(desk: Desk) -> tuple[list[float], list[float], list[float]]:
    bare, gated, puts = list[float](), list[float](), list[float]()
    for _ in range(RUNS):
        bare.append(await run(desk, "bare"))
        gated.append(await run(desk, "gated"))
        puts.append(await desk.put_one(uuid.uuid4().hex))
    return bare, gated, puts


async def run(desk: Desk, agent: str) -> float:
    """Return the seconds from the model's tool call until the model has the result."""
    marks.clear()
    thread = await desk.runner.start("default", uuid.uuid4().hex, agent, {}, by="bench")
    await desk.until(thread, "done")
    called_at, answered_at = marks
    return answered_at - called_at
