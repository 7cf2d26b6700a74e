"""A worker, to be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph

from ringi import Action, ask
from ringi.backends import claimed_jobs as jobs
from ringi.base import failpoints
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.contracts.backend import Wakeup
from ringi.demo import refund, two_questions
from ringi.demo.script import scripted_demo_reply
from ringi.runs import lease
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.worker import Worker
from ringi.testing.model import ScriptedModel

EXPLANATION = "I looked at the parcel's history, and it came nine days late, so I think that we should pay."
FAREWELL = "All is settled, and I have written to the customer."


class State(TypedDict, total=False):
    """What the agent knows."""

    explanation: str
    outcome: str
    farewell: str


def speaker(text: str) -> BaseChatModel:
    """Return a model that says one thing, a few milliseconds for each word."""
    return ScriptedModel(script=lambda _: text, delay=0.005)


def paying(effects: Path, before_paying: Callable[[], None]) -> Agent:
    """Return an agent whose payments are lines of a file."""

    async def explain(state: State) -> State:
        return {"explanation": (await speaker(EXPLANATION).ainvoke("explain")).text}

    def pay(state: State) -> State:
        request = ask("Pay 40?", action=Action("pay", {"amount": 40}))
        if request.granted is None:
            return {"outcome": "refused"}
        fail_if_broken(effects)
        before_paying()
        request.authorize("pay", request.granted.args)
        note(effects, f"{request.id} {request.granted.args['amount']}")
        return {"outcome": f"paid {request.granted.args['amount']}"}

    async def report(state: State) -> State:
        return {"farewell": (await speaker(FAREWELL).ainvoke("report")).text}

    graph = StateGraph(State)
    for name, node in {"explain": explain, "pay": pay, "report": report}.items():
        graph.add_node(name, node)
    for one, next in [(START, "explain"), ("explain", "pay"), ("pay", "report"), ("report", END)]:
        graph.add_edge(one, next)
    return Agent("paying", graph.compile(), input=lambda _: {"explanation": ""}, output=dict)


def note(file: Path, line: str) -> None:
    """Add a line that survives the process."""
    with file.open("a") as lines:
        lines.write(f"{line}\n")
        lines.flush()
        os.fsync(lines.fileno())


def lines_of(file: Path) -> list[str]:
    """Return what was noted."""
    return file.read_text().splitlines() if file.exists() else []


def fail_if_broken(effects: Path) -> None:
    """Raise as long as there is a file that says so."""
    if effects.with_name("broken").exists():
        raise OSError("no paper")


def stand_still() -> None:
    """Stop this process as a laptop's lid does."""
    os.kill(os.getpid(), signal.SIGSTOP)
    # The signal reaches the other threads first: without a wait this one may pay before it stops.
    threading.Event().wait(0.1)


def go_on() -> None:
    """Do nothing."""


def killed_mark(effects: Path) -> Path:
    """Return the file that a test writes when it has killed the worker."""
    return effects.with_name("killed")


def wavering(effects: Path) -> Agent:
    """Return an agent that says something else each time that its step runs."""

    async def explain(state: State) -> State:
        note(effects, "explains")
        tries = len(lines_of(effects))
        text = f"In try {tries} I looked at the parcel's history, and it came nine days late."
        # It goes on for seconds until its worker is killed; a slow machine may take the lease of an earlier try.
        text += " And so on." * (0 if killed_mark(effects).exists() else 300)
        return {"explanation": (await speaker(text).ainvoke("explain")).text}

    graph = StateGraph(State)
    graph.add_node("explain", explain)
    graph.add_edge(START, "explain")
    graph.add_edge("explain", END)
    return Agent("wavering", graph.compile(), input=lambda _: {"explanation": ""}, output=dict)


def dying() -> Agent:
    """Return an agent that takes its worker with it."""

    def die(state: State) -> State:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    graph = StateGraph(State)
    graph.add_node("die", die)
    graph.add_edge(START, "die")
    graph.add_edge("die", END)
    return Agent("dying", graph.compile(), input=lambda _: {"explanation": ""}, output=dict)


def patient(effects: Path) -> Agent:
    """Return an agent that waits in its step until there is a file that says that it may go on."""

    async def wait(state: State) -> State:
        note(effects, "begun")
        while not effects.with_name("go on").exists():
            await Wakeup().wait(0.02)
        return {"outcome": "went on"}

    graph = StateGraph(State)
    graph.add_node("wait", wait)
    graph.add_edge(START, "wait")
    graph.add_edge("wait", END)
    return Agent("patient", graph.compile(), input=lambda _: {"explanation": ""}, output=dict)


def agents(effects: Path, before_paying: Callable[[], None] = go_on) -> dict[str, Agent]:
    """Return what the workers of these tests run."""
    quick: Any = ScriptedModel(script=scripted_demo_reply)
    pays = paying(effects, before_paying)
    samples = [two_questions.agent(), refund.agent(quick)]
    return agents_by_name([pays, *samples, dying(), patient(effects), wavering(effects)])


def work(url: str, effects: Path, seconds: float, armed: str, *, stands_still: bool) -> None:
    """Work until killed: `armed` names a fail-point, `seconds` is the length of leases and claims."""
    lease.LEASE_SECONDS = jobs.CLAIM_SECONDS = seconds
    name, _, nth = armed.partition(":")
    failpoints.ARMED.update({name: f"kill9@{nth or 1}"})
    asyncio.run(main(url, agents(effects, stand_still if stands_still else go_on)))


async def main(url: str, agents: dict[str, Agent]) -> None:
    """Run threads for ever."""
    async with open_backend(url, poll_interval=0.1) as backend, open_inbox_on_backend(backend) as inbox:
        await Worker(backend, inbox, agents).work(asyncio.Event())


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]), lease.LEASE_SECONDS, "", stands_still=False)
