"""What frameworks do without Ringi, as the table in the docs says it: each is run with its own pause alone."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

DOCS = (Path(__file__).parents[2] / "docs/explanation/what-frameworks-do.md").read_text("utf-8")
Effects = list[str]
Resume = Callable[[bool], Awaitable[object]]


@dataclass
class Pause:
    """A paused run: each call of `resume` goes on from it, as another process would."""

    resume: Resume


async def langgraph(effects: Effects, folder: Path, context: Any) -> Pause:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import Command, interrupt

    async def pay(state: MessagesState) -> None:
        if interrupt("Refund?"):
            effects.append("refund")

    saver = await context.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / "langgraph.db")))
    graph: Any = StateGraph(MessagesState).add_node(pay).add_edge(START, "pay").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t1"}}
    assert (await graph.ainvoke({"messages": []}, config))["__interrupt__"]
    return Pause(lambda approves: graph.ainvoke(Command(resume=approves), config))


async def openai_agents(effects: Effects, folder: Path, context: Any) -> Pause:
    from agents import Agent, Runner, RunState, function_tool, set_tracing_disabled
    from agents.testing import ScriptedModel, assistant_message, function_call

    set_tracing_disabled(True)

    @function_tool(needs_approval=True)
    async def refund() -> str:
        """Refund it."""
        effects.append("refund")
        return "refunded"

    def shop(*steps: Any) -> Any:
        return Agent(name="shop", model=ScriptedModel(steps), tools=[refund])

    paused = await Runner.run(shop([function_call("refund", {}, call_id="c1")]), "Refund it.")
    assert paused.interruptions
    stored = json.dumps(paused.to_state().to_json())

    async def resume(approves: bool) -> None:
        agent = shop([assistant_message("Done.")])
        state = await RunState.from_json(agent, json.loads(stored))
        (question,) = state.get_interruptions()
        (state.approve if approves else state.reject)(question)
        await Runner.run(agent, state)

    return Pause(resume)


async def pydantic_ai(effects: Effects, folder: Path, context: Any) -> Pause:
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def model(messages: Any, info: Any) -> Any:
        return ModelResponse([ToolCallPart("refund", {}, "c1") if len(messages) == 1 else TextPart("Done.")])

    agent: Any = Agent(FunctionModel(model), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    async def refund() -> str:
        """Refund it."""
        effects.append("refund")
        return "refunded"

    paused = await agent.run("Refund it.")
    assert paused.output.approvals
    history = paused.all_messages()

    async def resume(approves: bool) -> None:
        answers = DeferredToolResults(approvals={"c1": approves})
        await agent.run(message_history=history, deferred_tool_results=answers)

    return Pause(resume)


FRAMEWORKS: dict[str, tuple[str, Callable[..., Awaitable[Pause]]]] = {
    "LangGraph": ("langgraph.graph", langgraph),
    "OpenAI Agents SDK": ("agents.run_state", openai_agents),
    "Pydantic AI": ("pydantic_ai.tools", pydantic_ai),
}


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, AttributeError):
        return False


def cell(situation: str, framework: str) -> str:
    """Return a cell of the table."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"(?m)^\|.*\|$", DOCS)]
    (row,) = [row for row in rows if row[0] == situation]
    return str(row[rows[0].index(framework)])


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not is_installed(FRAMEWORKS[name][0]):
        pytest.skip(f"{name} is not installed")
    return name


def is_filled(folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.iterdir())


async def paused(framework: str, effects: Effects, folder: Path, context: Any) -> Pause:
    return await FRAMEWORKS[framework][1](effects, folder, context)


@pytest.mark.parametrize(
    ("situation", "answers"),
    [
        ("two people approve at the same time: the call runs", (True, True)),
        ("one approves, another rejects at the same time: the call runs", (True, False)),
        ("the same approval arrives twice, one after the other: the call runs", (True, True)),
    ],
)
async def test_answers_to_a_bare_pause(
    framework: str, tmp_path: Path, situation: str, answers: tuple[bool, bool]
) -> None:
    effects: Effects = []
    async with AsyncExitStack() as context:
        pause = await paused(framework, effects, tmp_path, context)
        if "one after the other" in situation:
            for answer in answers:
                await pause.resume(answer)
        else:
            await asyncio.gather(*(pause.resume(answer) for answer in answers), return_exceptions=True)
    assert f"{len(effects)} times" == cell(situation, framework)


async def test_what_a_bare_pause_has_stored_when_the_process_dies(framework: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as context:
        await paused(framework, [], tmp_path, context)
        has_files = is_filled(tmp_path)
    is_stored = cell("the process dies while it waits: the question is", framework)
    assert is_stored == (
        "in the checkpointer that you gave it" if has_files else "lost, unless your code stored the state"
    )
