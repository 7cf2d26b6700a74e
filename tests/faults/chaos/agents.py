"""An agent whose side effects are lines of a file, each with the key that a receiver would know it by."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph

import ringi
from ringi import Action, ask
from ringi.runs.agent import Agent
from ringi.runs.context import idempotency_key

EFFECTS = "CHAOS_EFFECTS"


class State(TypedDict, total=False):
    """What was decided, in order."""

    order: str
    payer: str
    outcome: str
    steps: int


def pay(state: State) -> State:
    """Ask, then pay what was granted."""
    call = Action("pay", {"order": state["order"]})
    request = ask(f"Pay {state['order']}?", action=call, assignee=state.get("payer"))
    if request.granted is None:
        return {"outcome": "refused", "steps": state.get("steps", 0) + 1}
    request.authorize("pay", request.granted.args)
    note(f"{request.id} {request.response.responder if request.response else None}")
    return {"outcome": "paid", "steps": state.get("steps", 0) + 1}


def report(state: State) -> State:
    """Count once more."""
    return {"steps": state["steps"] + 1}


def note(line: str) -> None:
    """Add a line that survives the process."""
    # One write of one line to a file opened for appending is whole, whoever else writes.
    file = os.open(Path(os.environ[EFFECTS]), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\n".encode())
    os.close(file)


graph = StateGraph(State).add_node("pay", pay).add_node("report", report)
graph.add_edge(START, "pay").add_edge("pay", "report").add_edge("report", END)
agents = [Agent("payer", graph.compile(), output=dict)]


@ringi.gate({"rules": [{"tools": ["wire"], "auto_approve": [{"name": "all"}]}]})
async def wire(order: str) -> None:
    """Pay an order that a rule approves."""
    note(str(idempotency_key()))


async def pay_by_rule(state: State) -> State:
    """Pay two orders without a person."""
    await wire(state["order"])
    await wire(state["order"])
    return {"steps": state["steps"] + 1}


payments = StateGraph(State).add_node("pay", pay).add_node("by_rule", pay_by_rule).add_node("pay_again", pay)
payments.add_edge(START, "pay").add_edge("pay", "by_rule").add_edge("by_rule", "pay_again")
several = Agent("several", payments.compile(), output=dict)
"""An agent that pays equal orders: the first and the last with a person's approval, the others by a rule."""
