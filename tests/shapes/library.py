"""A library: workflows, graphs within graphs, and what is known beyond a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import interrupt
from tests.shapes.shape import Case, Shape, does, form, json, no, words, yes


class Loan(TypedDict, total=False):
    book: str
    reader: str
    days: Any
    outcome: str
    known: list[str]


@dataclass
class Desk:
    branch: str
    limit: int = 14


def chain(state: Any, *steps: Any, **more: Any) -> Any:
    """Return a graph that does one step after the other."""
    graph = StateGraph(state, **more)
    names = [step.__name__ for step in steps]
    for name, step in zip(names, steps, strict=True):
        graph.add_node(name, step)
    for before, after in zip((START, *names), names, strict=False):
        graph.add_edge(before, after)
    return graph.compile()


def functional() -> Any:
    @task
    def look_up(book: str) -> str:
        return does(f"looked up {book}")

    @task
    def lend(book: str, days: Any) -> str:
        return does(f"lent {book} for {days}")

    @entrypoint()
    def loan(input: dict[str, Any]) -> dict[str, Any]:
        look_up(input["book"]).result()
        days = interrupt(f"How long may {input['book']} be away?")
        return {"outcome": lend(input["book"], days).result() if days else "kept"}

    return loan


def functional_async() -> Any:
    @task
    async def ask(about: str) -> Any:
        return interrupt(f"Is the {about} whole?")

    @entrypoint()
    async def check(input: dict[str, Any]) -> dict[str, Any]:
        found = [await ask(part) for part in ("spine", "cover")]
        return {"outcome": does(f"checked {found}")}

    return check


def functional_review() -> Any:
    """Return an agent of its own making, whose tool calls a person reviews."""

    @task
    def think(messages: list[Any]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage(messages[-1].text)
        return AIMessage("", tool_calls=[{"name": "reserve", "args": {"book": "Emma"}, "id": "c1"}])

    @task
    def reserve(call: dict[str, Any]) -> ToolMessage:
        return ToolMessage(does(f"reserved {call['args']['book']}"), tool_call_id=call["id"])

    def reviewed(call: Any) -> Any:
        review = interrupt({"question": "Is this call right?", "call": call})
        if review["action"] == "feedback":
            return ToolMessage(review["text"], tool_call_id=call["id"])
        return {**call, "args": review["args"]} if review["action"] == "update" else call

    @entrypoint()
    def agent(messages: list[Any], *, previous: Any = None) -> Any:
        answer = think(messages).result()
        while answer.tool_calls:
            found = [reviewed(call) for call in answer.tool_calls]
            results = [each if isinstance(each, ToolMessage) else reserve(each).result() for each in found]
            messages = [*messages, answer, *results]
            answer = think(messages).result()
        return entrypoint.final(value=answer.text, save=[*messages, answer])

    return agent


def lending() -> Any:
    """Return a graph that others use."""

    def prepare(state: Loan) -> Loan:
        return {"outcome": does(f"fetched {state['book']}")}

    def decide(state: Loan) -> Loan:
        return {"days": interrupt(f"Lend {state['book']}?")}

    return chain(Loan, prepare, decide)


def stamped(state: Loan) -> Loan:
    return {"outcome": does(f"stamped {state['days']}")}


def subgraph_as_node() -> Any:
    graph = StateGraph(Loan).add_node("lending", lending()).add_node("stamp", stamped)
    return graph.add_edge(START, "lending").add_edge("lending", "stamp").compile()


def subgraph_called_async() -> Any:
    inner = lending()

    async def borrow(state: Loan) -> Loan:
        return {"days": (await inner.ainvoke({"book": state["book"]}))["days"]}

    return chain(Loan, borrow, stamped)


def subgraph_called() -> Any:
    inner = lending()

    def borrow(state: Loan) -> Loan:
        return {"days": inner.invoke({"book": state["book"]})["days"]}

    return chain(Loan, borrow, stamped)


def store_in_nodes() -> Any:
    def note(state: Loan, *, store: BaseStore) -> Loan:
        store.put(("shelf", state["reader"]), state["book"], {"title": state["book"]})
        return {}

    def decide(state: Loan) -> Loan:
        return {"days": interrupt("For how many days?")}

    async def recall(state: Loan, runtime: Runtime[Any]) -> Loan:
        assert runtime.store is not None
        found = await runtime.store.asearch(("shelf", state["reader"]))
        return {"known": sorted(item.key for item in found)}

    return chain(Loan, note, decide, recall)


def context_schema() -> Any:
    def limit(state: Loan, runtime: Runtime[Desk]) -> Loan:
        return {"days": runtime.context.limit}

    def decide(state: Loan, runtime: Runtime[Desk]) -> Loan:
        answer = interrupt(f"{state['days']} days at {runtime.context.branch}?")
        return {"outcome": does(f"{runtime.context.branch}: {answer}")}

    return chain(Loan, limit, decide, context_schema=Desk)


LENT = (
    Case("approved", (yes(),), {"outcome": "stamped True"}, ("fetched Emma", "stamped True")),
    Case("rejected", (no(),), {"outcome": "stamped False"}, ("fetched Emma", "stamped False")),
    Case("words", (words("a week"),), {"outcome": "stamped a week"}, ("fetched Emma", "stamped a week")),
    Case("a number", (json(7),), {"outcome": "stamped 7"}, ("fetched Emma", "stamped 7")),
)
EMMA = {"book": "Emma"}
REVIEW = {
    "type": "object",
    "properties": {
        "action": {"enum": ["continue", "update", "feedback"]},
        "args": {"type": "object"},
        "text": {"type": "string"},
    },
    "required": ["action"],
}
SHAPES = (
    Shape(
        "functional-api",
        "langgraph/functional-api: human-in-the-loop",
        functional,
        (
            Case(
                "words",
                (words("a week"),),
                {"outcome": "lent Emma for a week"},
                ("looked up Emma", "lent Emma for a week"),
            ),
            Case("a number", (json(7),), {"outcome": "lent Emma for 7"}, ("looked up Emma", "lent Emma for 7")),
            Case("approved", (yes(),), {"outcome": "lent Emma for True"}, ("looked up Emma", "lent Emma for True")),
            Case("rejected", (no(),), {"outcome": "kept"}, ("looked up Emma",)),
        ),
        EMMA,
    ),
    Shape(
        "functional-api-async",
        "langgraph/use-functional-api: tasks that ask",
        functional_async,
        (
            Case(
                "one after the other",
                (yes("spine"), words("torn", "cover")),
                {"outcome": "checked [True, 'torn']"},
                ("checked [True, 'torn']",),
            ),
        ),
        EMMA,
    ),
    Shape(
        "functional-api-review",
        "langgraph/use-functional-api: review tool calls",
        functional_review,
        (
            Case("continue", (form({"action": "continue"}),), {"output": "reserved Emma"}, ("reserved Emma",)),
            Case(
                "update",
                (form({"action": "update", "args": {"book": "Dune"}}),),
                {"output": "reserved Dune"},
                ("reserved Dune",),
            ),
            Case("feedback", (form({"action": "feedback", "text": "Not now."}),), {"output": "Not now."}),
        ),
        {"messages": [{"role": "user", "content": "Reserve it."}]},
        {"input": lambda input: input["messages"], "answer_schema": REVIEW},
        '`input=lambda input: input["messages"], answer_schema=SCHEMA`',
    ),
    Shape("subgraph-as-node", "langgraph/use-subgraphs: as a node", subgraph_as_node, LENT, EMMA),
    Shape("subgraph-called-async", "langgraph/use-subgraphs: inside a node", subgraph_called_async, LENT, EMMA),
    Shape("subgraph-called", "langgraph/use-subgraphs: inside a node", subgraph_called, LENT, EMMA),
    Shape(
        "store-in-nodes",
        "langgraph/stores: in nodes",
        store_in_nodes,
        (
            Case("a number", (json(7),), {"days": 7, "known": ["Emma"]}),
            Case("rejected", (no(),), {"days": False, "known": ["Emma"]}),
        ),
        {**EMMA, "reader": "ann"},
    ),
    Shape(
        "context-schema",
        "langgraph/graph-api: runtime context",
        context_schema,
        (
            Case("approved", (yes(),), {"outcome": "West: True"}, ("West: True",)),
            Case("words", (words("ten"),), {"days": 14, "outcome": "West: ten"}, ("West: ten",)),
        ),
        {**EMMA, "reader": "ann"},
        {"context": lambda input, by: {"branch": "West"}},
        '`context=lambda input, by: {"branch": "West"}`',
    ),
)
