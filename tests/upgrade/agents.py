"""An agent of each framework that is installed; the effect of each run is a line with its request and who approved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from tests.faults.chaos.agents import agents, note

import ringi
from ringi import Action, Agent, ask
from ringi.demo.frameworks import agents as framework_agents
from ringi.demo.frameworks import story
from ringi.runs import idempotency_key

GROUP, ZOE = "board", "zoe"
"""Who may answer, and who does."""


class State(TypedDict, total=False):
    """What to pay, and what the rules of the chaos test count."""

    order: int
    steps: int


def pay(state: State) -> State:
    """Ask, then pay."""
    request = ask(f"Pay {state['order']}?", action=Action("pay", {"order": state["order"]}), groups=[GROUP])
    if request.granted and request.response:
        request.authorize("pay", request.granted.args)
        note(f"{request.id} {request.response.responder}")
    return {"steps": 2}


@ringi.gate({"rules": [{"tools": ["wire"], "groups": [GROUP]}]})
async def wire(order: int) -> None:
    """Pay an order that somebody approves."""
    note(f"{idempotency_key()} {ZOE}")


async def call(state: State) -> State:
    """Call the function with a gate."""
    await wire(state["order"])
    return {"steps": 2}


def refunded(order: int, amount: float) -> str:
    """Refund an order."""
    note(f"{idempotency_key()} {ZOE}")
    return f"refunded {amount} for order {order}"


def graph(name: str, node: Any) -> Agent:
    """Return an agent with one step."""
    return Agent(name, StateGraph(State).add_node(node).add_edge(START, node.__name__).compile(), output=dict)


story.refunded = refunded
agents = [
    *agents,
    graph("langgraph", pay),
    graph("function", call),
    *(replace(agent, groups=(GROUP,)) for agent in framework_agents()),
]
