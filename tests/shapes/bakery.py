"""A bakery: nodes that ask with plain interrupts."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel
from tests.shapes.shape import Case, Shape, does, form, json, no, words, yes


class Order(TypedDict, total=False):
    cake: str
    rolls: int
    text: str
    outcome: str
    baked: Annotated[list[str], operator.add]


class Wish(BaseModel):
    candles: int
    colour: Literal["red", "blue"] = "red"


def one(step: Any, name: str = "step") -> Any:
    """Return a graph of one node."""
    return StateGraph(Order).add_node(name, step).add_edge(START, name).compile()


def approve_or_reject() -> Any:
    def approval(state: Order) -> Command[Literal["bake", "decline"]]:
        accepted = interrupt({"question": "Take this order?", "details": state["cake"]})
        return Command(goto="bake" if accepted else "decline")

    def bake(state: Order) -> Order:
        return {"outcome": does(f"baked {state['cake']}")}

    def decline(state: Order) -> Order:
        return {"outcome": "declined"}

    graph = StateGraph(Order).add_node("approval", approval).add_node("bake", bake).add_node("decline", decline)
    return graph.add_edge(START, "approval").add_edge("bake", END).add_edge("decline", END).compile()


def edit_state() -> Any:
    def draft(state: Order) -> Order:
        return {"text": f"A {state['cake']} for you"}

    def review(state: Order) -> Order:
        return {"text": interrupt({"instruction": "Correct the card", "content": state["text"]})}

    graph = StateGraph(Order).add_node("draft", draft).add_node("review", review)
    return graph.add_edge(START, "draft").add_edge("draft", "review").compile()


def validation_loop() -> Any:
    def count(state: Order) -> Order:
        question = "How many rolls?"
        while True:
            answer = interrupt(question)
            if isinstance(answer, int) and not isinstance(answer, bool) and answer > 0:
                return {"rolls": answer, "outcome": does(f"baked {answer} rolls")}
            question = f"{answer!r} is no number of rolls. How many?"

    return one(count)


def validation_by_edge() -> Any:
    def count(state: Order) -> Order:
        answer = interrupt(state.get("text") or "How many rolls?")
        return {"rolls": answer} if isinstance(answer, int) and answer > 1 else {"text": f"Not {answer}. How many?"}

    def after(state: Order) -> str:
        return "bake" if state.get("rolls") else "count"

    def bake(state: Order) -> Order:
        return {"outcome": does(f"baked {state['rolls']} rolls")}

    graph = StateGraph(Order).add_node("count", count).add_node("bake", bake).add_edge(START, "count")
    return graph.add_conditional_edges("count", after, ["bake", "count"]).add_edge("bake", END).compile()


def in_parallel() -> Any:
    def dough(state: Order) -> Order:
        return {"baked": [does(f"dough: {interrupt('Which flour?')}")]}

    async def filling(state: Order) -> Order:
        return {"baked": [does(f"filling: {interrupt('Which fruit?')}")]}

    graph = StateGraph(Order).add_node("dough", dough).add_node("filling", filling)
    return graph.add_edge(START, "dough").add_edge(START, "filling").compile()


def fan_out() -> Any:
    def plan(state: Order) -> Order:
        return {"text": "planned"}

    def split(state: Order) -> list[Send]:
        return [Send("ice", {"cake": cake}) for cake in ("tart", "torte")]

    def ice(state: Order) -> Order:
        colour = interrupt(f"Which icing for the {state['cake']}?")
        return {"baked": [does(f"{state['cake']} in {colour}")]}

    graph = StateGraph(Order).add_node("plan", plan).add_node("ice", ice).add_edge(START, "plan")
    return graph.add_conditional_edges("plan", split, ["ice"]).add_edge("ice", END).compile()


def typed() -> Any:
    def wish(state: Order) -> Order:
        answer = interrupt("What shall be on it?", response_schema=Wish)
        return {"outcome": does(f"{answer.candles} {answer.colour} candles")}

    return one(wish)


def goto() -> Any:
    def taste(state: Order) -> Command[Literal["sweeten", "pack"]]:
        sweet = interrupt("Sweet enough?")
        return Command(goto="pack" if sweet else "sweeten", update={"baked": [f"tasted: {sweet}"]})

    def sweeten(state: Order) -> Command[Literal["taste"]]:
        return Command(goto="taste", update={"baked": [does("sugar")]})

    def pack(state: Order) -> Order:
        return {"outcome": does("packed")}

    graph = StateGraph(Order).add_node("taste", taste).add_node("sweeten", sweeten).add_node("pack", pack)
    return graph.add_edge(START, "taste").compile()


def streaming() -> Any:
    async def bake(state: Order) -> Order:
        writer = get_stream_writer()
        writer({"name": "oven", "degrees": 180})
        done = interrupt("Is it brown?")
        writer({"name": "oven", "degrees": 0})
        return {"outcome": does(f"brown: {done}")}

    return one(bake)


SHAPES = (
    Shape(
        "approve-or-reject",
        "langgraph/interrupts: approve or reject",
        approve_or_reject,
        (
            Case("approved", (yes(),), {"outcome": "baked tart"}, ("baked tart",)),
            Case("rejected", (no("we are closed"),), {"outcome": "declined"}),
            Case("words", (words("gladly"),), {"outcome": "baked tart"}, ("baked tart",)),
            Case("false as JSON", (json(False),), {"outcome": "declined"}),
            Case("an object", (json({"ok": 1}),), {"outcome": "baked tart"}, ("baked tart",)),
        ),
        {"cake": "tart"},
    ),
    Shape(
        "edit-state",
        "langgraph/interrupts: review and edit state",
        edit_state,
        (
            Case("words", (words("To Ann"),), {"text": "To Ann"}),
            Case("the form", (form({"answer": "To Bob"}),), {"text": "To Bob"}),
        ),
        {"cake": "tart"},
        {"answer_schema": {"type": "string"}},
        '`answer_schema={"type": "string"}`, because a button would put `True` into the state',
    ),
    Shape(
        "validation-loop",
        "langgraph/interrupts: validating human input",
        validation_loop,
        (
            Case("a number", (json(12),), {"rolls": 12}, ("baked 12 rolls",)),
            Case("words first", (words("a dozen"), json(12)), {"rolls": 12}, ("baked 12 rolls",)),
            Case("every way", (yes(), no(), json(-1), json([2]), json(6)), {"rolls": 6}, ("baked 6 rolls",)),
        ),
    ),
    Shape(
        "validation-by-edge",
        "langgraph/interrupts: validation with a conditional edge",
        validation_by_edge,
        (
            Case("a number", (json(12),), {"rolls": 12}, ("baked 12 rolls",)),
            Case("others first", (words("many"), no(), yes(), json(6)), {"rolls": 6}, ("baked 6 rolls",)),
        ),
    ),
    Shape(
        "parallel-interrupts",
        "langgraph/interrupts: handling multiple interrupts",
        in_parallel,
        (
            Case(
                "in order",
                (words("rye", "flour"), words("plum", "fruit")),
                {"baked": ["dough: rye", "filling: plum"]},
                ("dough: rye", "filling: plum"),
            ),
            Case(
                "the other way",
                (json(["plum"], "fruit"), no(about="flour")),
                {"baked": ["dough: False", "filling: ['plum']"]},
                ("dough: False", "filling: ['plum']"),
            ),
        ),
    ),
    Shape(
        "send-fan-out",
        "langgraph/graph-api: Send",
        fan_out,
        (
            Case(
                "in order",
                (words("red", "tart"), words("blue", "torte")),
                {"baked": ["tart in red", "torte in blue"]},
                ("tart in red", "torte in blue"),
            ),
            Case(
                "the other way",
                (yes("torte"), no(about="tart")),
                {"baked": ["tart in False", "torte in True"]},
                ("tart in False", "torte in True"),
            ),
        ),
    ),
    Shape(
        "response-schema",
        "langgraph/interrupts: response schema",
        typed,
        (
            Case("the form", (form({"candles": 7, "colour": "blue"}),), {}, ("7 blue candles",)),
            Case("its defaults", (form({"candles": 3}),), {}, ("3 red candles",)),
        ),
    ),
    Shape(
        "command-goto",
        "langgraph/graph-api: Command",
        goto,
        (
            Case("at once", (yes(),), {"outcome": "packed"}, ("packed",)),
            Case(
                "twice more",
                (no(), no(), yes()),
                {"baked": ["tasted: False", "sugar", "tasted: False", "sugar", "tasted: True"]},
                ("sugar", "sugar", "packed"),
            ),
        ),
    ),
    Shape(
        "streaming-modes",
        "langgraph/streaming: custom data",
        streaming,
        (
            Case("approved", (yes(),), {"outcome": "brown: True"}, ("brown: True",)),
            Case("words", (words("golden"),), {"outcome": "brown: golden"}, ("brown: golden",)),
        ),
    ),
)
