"""What would keep a desk at work for ever ends, and says why."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

from ringi.errors import SettingError
from ringi.testing import Desk, RunFailedError


class State(TypedDict, total=False):
    outcome: str


def go(state: State) -> State:
    return {"outcome": "gone"}


def builder() -> Any:
    return StateGraph(State).add_node("go", go).add_edge(START, "go")


@pytest.mark.parametrize(("agent", "what"), [(builder(), "StateGraph"), (go, "function"), ("graph", "str")])
async def test_what_is_no_compiled_graph_is_refused(ringi_desk: Desk, agent: Any, what: str) -> None:
    with pytest.raises(SettingError, match=f"agents='agent-1': {what} is no compiled graph: give it what"):
        await ringi_desk.run(agent)
    assert (await ringi_desk.run(builder().compile())).state == {"outcome": "gone"}


async def test_a_graph_that_no_worker_can_prepare_fails_with_its_own_exception(ringi_desk: Desk) -> None:
    def torn(update: Any = None) -> Any:
        raise RuntimeError("no copy of this")

    graph = builder().compile()
    graph.copy = torn
    with pytest.raises(RunFailedError, match="failed: RuntimeError: no copy of this") as raised:
        await ringi_desk.run(graph)
    assert isinstance(raised.value.__cause__, RuntimeError)
