"""Which arguments of a tool the agent's code injects: LangChain and LangGraph have a way of marking each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from ringi.runtimes.langgraph.tool_arguments import injected_arguments


class Own(InjectedToolArg):
    """A mark of the agent."""


class Order(BaseModel):
    """What a model may set of `outside_the_schema`."""

    order: int


def marked(
    order: int,
    kind: Literal["a"],
    state: Annotated[dict[str, Any], InjectedState],
    messages: Annotated[list[Any], InjectedState("messages")],
    store: Annotated[BaseStore, InjectedStore()],
    own: Annotated[int, Own],
    call: Annotated[str, InjectedToolCallId],
    config: RunnableConfig,
) -> str:
    """Every mark."""
    return f"{order} {kind} {state} {messages} {store} {own} {call} {config}"


def within(
    order: int, rest: ToolRuntime[Any, Any], state: Annotated[dict[str, Any], InjectedState] | None = None
) -> str:
    """Marks within types."""
    return f"{order} {rest} {state}"


def of_model(order: int, own: Annotated[int, Own()] | None = None) -> str:
    """A mark within a type, which LangChain does not see: the model may set the argument."""
    return f"{order} {own}"


def by_name(order: int, runtime: Any) -> str:
    """A name that LangGraph injects."""
    return f"{order} {runtime}"


def outside_the_schema(order: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """A mark that the schema does not have."""
    return f"{order} {state}"


@pytest.mark.parametrize(
    ("function", "schema", "names"),
    [
        (marked, None, {"state", "messages", "store", "own", "call"}),
        (within, None, {"rest", "state"}),
        (of_model, None, set()),
        (by_name, None, {"runtime"}),
        (outside_the_schema, Order, {"state"}),
        (outside_the_schema, Order.model_json_schema(), {"state"}),
    ],
)
def test_each_mark_names_an_injected_argument(function: Callable[..., str], schema: Any, names: set[str]) -> None:
    assert injected_arguments(tool(function, args_schema=schema)) == names
