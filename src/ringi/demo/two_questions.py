"""An agent that asks two questions at once; they can be answered in any order."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph

from ringi import Agent, ask

QUESTIONS = {"colour": "Which color should the poster have?", "city": "In which city should it hang?"}


def merge(before: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Merge answers; an empty dict resets them."""
    return {**before, **more} if more else {}


class AnswersState(TypedDict, total=False):
    """The state of the agent: the answers so far."""

    answers: Annotated[dict[str, Any], merge]


def agent() -> Agent:
    """Return the agent; it needs no model."""
    graph = StateGraph(AnswersState)
    for name, question in QUESTIONS.items():
        graph.add_node(name, question_node(name, question))
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return Agent(
        "two_questions",
        graph.compile(),
        title="Two questions",
        description="Asks two things at once.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        input=lambda _: {"answers": {}},
        output=lambda state: {"answers": state.get("answers", {})},
    )


def question_node(name: str, question: str) -> Any:
    """Return a node that asks one question."""

    def node(state: AnswersState) -> AnswersState:
        response = ask(question).response
        return {"answers": {name: response.message if response and response.decision == "respond" else None}}

    return node
