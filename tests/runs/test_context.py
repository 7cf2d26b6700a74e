"""`runtime.context`: made from a run's input and who started it, each time that the run goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel
from tests.runs.world import at_work, opened, working

from ringi import ask
from ringi.runs.agent import Agent


class State(TypedDict, total=False):
    shelf: str
    found: Any


@dataclass
class Desk:
    shelf: str = "A"
    by: str | None = None


@dataclass
class Strict:
    shelf: str


class Model(BaseModel):
    shelf: str = "M"


def graph(schema: Any, *, asks: bool = False) -> Any:
    def look(state: State, runtime: Runtime[Any]) -> State:
        if asks:
            ask("Go on?")
        return {"found": repr(runtime.context)}

    return StateGraph(State, context_schema=schema).add_node("look", look).add_edge(START, "look").compile()


async def found(file: str, schema: Any, **more: Any) -> Any:
    agent = Agent("agent", graph(schema), output=lambda state: {"found": state.get("found")}, **more)
    async with at_work(file, [agent]) as world:
        thread = await world.run("agent", {"shelf": "B"})
        assert thread.status == "done", thread.error
        return thread.values["found"]


async def test_it_comes_from_the_input_and_who_started_the_run(file: str) -> None:
    context = lambda input, by: {"shelf": input["shelf"], "by": by}  # noqa: E731
    assert await found(file, Desk, context=context) == "Desk(shelf='B', by='bot')"


async def test_an_object_is_handed_on_as_it_is(file: str) -> None:
    assert await found(file, Desk, context=lambda input, by: Desk("C")) == "Desk(shelf='C', by=None)"


async def test_without_one_the_defaults_of_the_schema_count(file: str) -> None:
    assert await found(file, Desk) == "Desk(shelf='A', by=None)"
    assert await found(f"{file}2", Model) == "Model(shelf='M')"
    assert await found(f"{file}3", Strict) == "None"
    assert await found(f"{file}4", None) == "None"


async def test_it_is_there_after_an_answer_in_another_process(file: str) -> None:
    agent = Agent(
        "agent",
        graph(Desk, asks=True),
        context=lambda input, by: {"shelf": input["shelf"], "by": by},
        output=lambda state: {"found": state.get("found")},
    )
    async with opened(file, [agent]) as world, working(world):
        await world.run("agent", {"shelf": "B"})
    async with at_work(file, [agent]) as world:
        thread = await world.answer(await world.one(), "respond", message="yes")
        assert thread.values["found"] == "Desk(shelf='B', by='bot')"


async def test_a_context_that_fails_fails_the_run(file: str) -> None:
    agent = Agent("agent", graph(Desk), context=lambda input, by: {"unknown": input["nothing"]})
    async with at_work(file, [agent]) as world:
        thread = await world.run("agent", {})
        assert (thread.status, thread.error and thread.error.message) == ("error", "KeyError: 'nothing'")
