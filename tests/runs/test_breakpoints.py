"""Graphs that were compiled to stop at a node, without a question that a person could answer."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.graph import StateGraph
from tests.runs.test_pitfalls import State, agent, chain

from ringi.base.settings import SettingError
from ringi.runs.agent import Agent, agents_by_name


def act(state: State) -> State:
    """Do something."""
    return {"log": ["acted"]}


INNER = chain(deep=act).compile(interrupt_before=["deep"])


@pytest.mark.parametrize(
    ("graph", "node"),
    [
        (chain(act=act).compile(interrupt_before=["act"]), "act"),
        (chain(act=act).compile(interrupt_after=["act"]), "act"),
        (chain(act=act).compile(interrupt_before="*"), r"\*"),
        (chain(outer=INNER).compile(), "deep"),
        (chain(outer=lambda state: INNER.invoke(state)).compile(), "deep"),
    ],
)
def test_a_graph_that_stops_without_a_question_is_refused_before_it_runs(graph: Any, node: str) -> None:
    with pytest.raises(SettingError, match=f"agents='a': it stops at {node} without a question: compile it without"):
        agents_by_name([Agent("a", graph)])


def test_a_graph_that_stops_nowhere_is_taken() -> None:
    assert list(agents_by_name([agent(act=act)])) == ["agent"]


@pytest.mark.parametrize("graph", [chain(act=act), act, None])
def test_what_is_no_compiled_graph_is_refused_before_it_runs(graph: Any) -> None:
    what = "a compiled graph" if isinstance(graph, StateGraph) else "an agent of an installed framework"
    with pytest.raises(SettingError, match=f"agents='a': {type(graph).__name__} is not {what}: give it "):
        agents_by_name([Agent("a", graph)])
