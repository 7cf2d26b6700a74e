"""Agents for tests of the page: they fail, wait, chatter and lose a step when a file beside them says so."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from ringi import Action, ask
from ringi.demo import agents as demo_agents
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

WORDS = """## What I found

The parcel is **late** and the `order` is open, see [the carrier](https://carrier.example/p/1182).

1. wrote to the customer
2. <img src="https://elsewhere.example/x.png" onerror="document.title='stolen'">
   - ![cat](https://elsewhere.example/cat.png)

```
refund(order=1182)
```
[do not](javascript:document.title='stolen')"""


class State(TypedDict, total=False):
    """What the agents here are given, and what they write down."""

    tray: str
    count: int
    log: Annotated[list[str], operator.add]
    messages: Annotated[list[BaseMessage], operator.add]


def prints(state: State) -> State:
    """Fail until there is paper in the tray."""
    if not Path(f"paper-{state['tray']}").exists():
        raise OSError(f"no paper in tray {state['tray']}\n  at feed()\n  at print()")
    return {"log": ["printed"]}


def ticks(state: State) -> State:
    """Say each tick once, and end when the file is there."""
    write, pace = get_stream_writer(), threading.Event()
    for n in range(state["count"]):
        write({"name": "tick", "n": n})
        pace.wait(0.02)
    while not Path("enough").exists():
        pace.wait(0.02)
    return {"log": ["ticked"]}


def chatters(state: State) -> State:
    """Say many lines at once."""
    write = get_stream_writer()
    for n in range(state["count"]):
        write({"name": "line", "n": n, "words": "one of very many"})
    return {}


async def explains(state: State) -> State:
    """Call a tool, and say in Markdown what it found."""
    call = {"name": "find_parcel", "args": {"order": 1182, "fields": ["sent", "arrived"]}, "id": "call-1"}
    words = AIMessage(WORDS, tool_calls=[call])
    answer = await ScriptedModel(script=lambda _: words).ainvoke("explain")
    return {"messages": [answer, ToolMessage('{"days": 9}', tool_call_id="call-1")], "log": ["explained"]}


def until_there(file: str) -> None:
    """Return once there is a file."""
    pace = threading.Event()
    while not Path(file).exists():
        pace.wait(0.02)


class Halting(ScriptedModel):
    """Says three words, and the rest when there is a file with the name of the last word that it was told."""

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for n, chunk in enumerate(self._chunks(messages)):
            if n == 3:
                await asyncio.to_thread(until_there, messages[-1].text.split()[-1])
            yield chunk


async def echoes(state: MessagesState) -> MessagesState:
    """Say what one was told."""
    model = Halting(script=lambda messages: f"You said this: {messages[-1].text}. And that is all.")
    return {"messages": [await model.ainvoke(state["messages"])]}


def counted(file: Path) -> int:
    """Return how often this was called with a file."""
    with file.open("a+") as marks:
        marks.write("|")
        marks.seek(0)
        return len(marks.read())


async def wavers(state: MessagesState) -> MessagesState:
    """Say how often one was told this, and what it was."""
    word = state["messages"][-1].text.split()[-1]
    count = counted(Path(f"tries-{word}"))
    model = Halting(script=lambda messages: f"In try {count} I heard {word}. And that is all.")
    return {"messages": [await model.ainvoke(state["messages"])]}


TASK = {"task": "write a haiku about autumn", "summary": "Three lines are written.\n\n- autumn\n- rain"}


def hesitates(state: MessagesState) -> MessagesState:
    """End a conversation in the way that it was told to."""
    text = state["messages"][-1].text
    if text == "fail":
        raise OSError("the model's provider refuses the key\n  at connect()")
    if text == "expire":
        ask("Refund 12 for order 5?", action=Action("refund", {"order": 5, "amount": 12}), expires_in=0.1)
    elif text == "finish":
        ask("Finish “write a haiku”?", kind="finish", context=TASK)
    return {"messages": [AIMessage("All right.")]}


def conversation(name: str, node: Any) -> Agent:
    """Return an agent of one node to talk with."""
    graph = StateGraph(MessagesState)
    graph.add_node(name, node)
    graph.add_edge(START, name)
    schema = {"type": "object", "properties": {"messages": {}}}
    return Agent(name, graph.compile(), title=name.capitalize(), input_schema=schema)


def gate(name: str) -> Any:
    """Return a node behind a gate."""
    return lambda state: {
        "log": [f"{name}:{'yes' if ask(f'Open the {name} gate?', action=Action(name)).granted else 'no'}"]
    }


def counts(state: Any) -> dict[str, Any]:
    """Take a number only."""
    return {"log": [f"{int(interrupt('How many?'))} lamps"]}


def visible_state(state: Any) -> dict[str, Any]:
    """Return what people may see."""
    return {name: state[name] for name in ("tray", "count", "log") if state.get(name)}


def agent(name: str, nodes: dict[str, Any], input: dict[str, Any]) -> Agent:
    """Return the agent that runs these nodes at once."""
    graph = StateGraph(State)
    for node, run in nodes.items():
        graph.add_node(node, run)
        graph.add_edge(START, node)
        graph.add_edge(node, END)
    schema = {"type": "object", "properties": input, "required": list(input), "additionalProperties": False}
    return Agent(name, graph.compile(), input_schema=schema, input=lambda i: {"log": [], **i}, output=visible_state)


COUNT = {"count": {"type": "integer", "minimum": 1, "maximum": 20_000}}
SECOND = "renamed" if Path("without-second").exists() else "second"
agents = [
    *demo_agents(),
    agent("printer", {"prints": prints}, {"tray": {"type": "string", "minLength": 1, "maxLength": 9}}),
    agent("clock", {"ticks": ticks}, COUNT),
    agent("chatter", {"chatters": chatters}, COUNT),
    agent("writer", {"explains": explains}, {}),
    conversation("echo", echoes),
    conversation("wavers", wavers),
    conversation("moods", hesitates),
    agent("counter", {"counts": counts}, {}),
    agent("gates", {"first": gate("first"), SECOND: gate("second")}, {}),
]
