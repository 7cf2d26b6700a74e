"""An agent that refunds money after an approval."""

from __future__ import annotations

from typing import Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph

from ringi import Action, Agent, ask
from ringi.demo.shop import ARGS, exact, order_facts

PROMPT = """Explain why order {order} deserves a refund of {amount}.
Write two sentences for the person who decides, from these facts of the shop alone, and ask for nothing. {facts}"""


class RefundState(TypedDict, total=False):
    """The state of the agent."""

    order: int
    amount: float
    explanation: str
    refunded: float
    outcome: str
    farewell: str


def agent(model: BaseChatModel) -> Agent:
    """Return the agent on this model."""

    async def explain(state: RefundState) -> RefundState:
        facts = "; ".join(f"{name}: {value}" for name, value in order_facts(state["order"], state["amount"]).items())
        prompt = PROMPT.format(order=state["order"], amount=exact(state["amount"]), facts=facts)
        return {"explanation": (await model.ainvoke(prompt)).text}

    def pay(state: RefundState) -> RefundState:
        request = ask(
            f"Refund {exact(state['amount'])} for order {state['order']}?",
            description=state["explanation"],
            context=order_facts(state["order"], state["amount"]),
            action=Action("refund", {"order": state["order"], "amount": state["amount"]}, schema=ARGS),
        )
        if request.granted is None:
            status = "no reason given" if request.response else f"no consent, {request.status}"
            return {"outcome": f"rejected: {(request.response and request.response.message) or status}"}
        request.authorize("refund", request.granted.args)
        amount = request.granted.args["amount"]
        return {"refunded": amount, "outcome": f"refunded {exact(amount)}"}

    async def report(state: RefundState) -> RefundState:
        return {"farewell": (await model.ainvoke(f"Tell the customer what happened: {state['outcome']}.")).text}

    graph = StateGraph(RefundState).add_sequence([explain, pay, report])
    graph.add_edge(START, "explain").add_edge("report", END)
    return Agent(
        "refund",
        graph.compile(),
        title="Refund",
        description="Pays money back once you approve it.",
        input_schema=ARGS,
        input=new_case,
        output=visible_state,
    )


def new_case(input: dict[str, Any]) -> RefundState:
    """Return the input of a new case, which resets the state of the previous one."""
    empty: RefundState = {"explanation": "", "refunded": 0, "outcome": "", "farewell": ""}
    return {"order": input["order"], "amount": input["amount"], **empty}


def visible_state(state: Any) -> dict[str, Any]:
    """Return the visible part of the state."""
    return {name: state[name] for name in ("order", "amount", "outcome") if state.get(name) not in (None, "")}
