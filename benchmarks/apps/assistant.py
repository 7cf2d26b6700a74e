"""The cost of an assistant's core for each turn: availability, memory and fetched values."""

from __future__ import annotations

import asyncio
import json
import operator
import time
import uuid
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.measure import Row, folder, percentile
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant import plans
from ringi_apps.assistant.availability import availability_of_all
from ringi_apps.assistant.declarations import ActionDefinition, Info, InfoHandler
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.freshness import Freshness
from ringi_apps.assistant.handlers import Handlers, Scope
from ringi_apps.assistant.memory import MAX_HISTORY, ContextMemory, Provenance
from ringi_apps.assistant.memory_ops import MemoryOp

INFOS = 500
ACTIONS = 200
NEEDS = 6
ROUNDS = 5
CALLS = 200
TURNS = 40
FACTS = 30
CROWD = 1000
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SCOPE = Scope("default", "anna")
CONVERSATION_SOURCE = Provenance(
    kind="model", actor="anna", ref="message", quote="we want to sell a fifth more in the first quarter"
)


class ConversationState(TypedDict, total=False):
    messages: Annotated[list[dict[str, str]], operator.add]
    memory: dict[str, Any]


async def core() -> list[Row]:
    """Measure availability in a large assistant, and the memory's share of a turn."""
    return [*availability(), *await turns(), *await crowds()]


def availability() -> list[Row]:
    definitions = large()
    rows = []
    for what, share in (("nothing is known", 0.0), ("half is known", 0.5), ("all is known and planned", 1.0)):
        memory = filled(definitions, share)
        rounds = [percentile([timed(definitions, memory) for _ in range(CALLS)], 99) for _ in range(ROUNDS)]
        name = f"availability of {ACTIONS} actions × {INFOS} infos, {what}: p99 of the processor's time"
        rows.append(Row(name, "ms", rounds, at_most=2))
    return rows


def timed(definitions: Definitions, memory: ContextMemory) -> float:
    # CPU time, because other load of the machine is not the core's.
    began = time.thread_time()
    availability_of_all(definitions, memory, NOW)
    return (time.thread_time() - began) * 1e3


class Slow:
    """A service that takes a millisecond, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, _: dict[str, Any]) -> list[int]:
        self.calls += 1
        await asyncio.sleep(0.001)
        return [1, 2, 3]


def bare_waits(source: Slow) -> list[Awaitable[Any]]:
    task = asyncio.ensure_future(source({}))
    return [asyncio.shield(task) for _ in range(CROWD)]


async def timed_crowd(waits: list[Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await asyncio.gather(*waits)
    return (time.perf_counter() - began) * 1e3


def large() -> Definitions:
    """Return infos of all kinds, with every fifth derived from two others, and pairs of plan and apply."""
    infos = [info(number) for number in range(INFOS)]
    pairs = [each for number in range(ACTIONS // 4) for each in pair(number)]
    others = [
        ActionDefinition(f"act-{number}", "immediate", "Act", requires=required(number))
        for number in range(len(pairs), ACTIONS)
    ]
    return Definitions(tuple(infos), (*pairs, *others), (InfoHandler("fetch", nothing),))


def info(number: int) -> Info:
    key = f"info-{number}"
    if number % 5 == 4:
        return Info(key, derive=nothing, inputs=(f"info-{number - 1}", f"info-{number - 2}"))
    if number % 5 == 3:
        return Info(key, handler="fetch", params={"of": {"info": f"info-{number - 2}"}}, ttl=300)
    return Info(key, value=number) if number % 5 == 0 else Info(key)


def pair(number: int) -> tuple[ActionDefinition, ActionDefinition]:
    plan = ActionDefinition(f"plan-{number}", "plan", "Plan", workflow=f"planning-{number}", requires=required(number))
    needs = required(number + 1)
    apply = ActionDefinition(
        f"apply-{number}", "apply", "Do", workflow=f"doing-{number}", requires=needs, depends_on=(plan.id,)
    )
    return plan, apply


def required(number: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"info-{(number * 7 + step * 11) % INFOS}" for step in range(NEEDS)))


async def nothing(_: dict[str, Any]) -> Any:
    return None


def filled(definitions: Definitions, share: float) -> ContextMemory:
    memory = ContextMemory()
    for number, each in enumerate(definitions.ordered_infos):
        if each.kind != "static" and number < INFOS * share:
            known = Freshness(definitions, memory, NOW)
            inputs = {source: hash for source in each.sources if (hash := known.hash(source))}
            memory = memories.record_value(
                memory, each.key, f"value {number}", CONVERSATION_SOURCE, NOW, definitions, inputs
            )
    return memory if share < 1 else planned(definitions, memory)


def planned(definitions: Definitions, memory: ContextMemory) -> ContextMemory:
    known = Freshness(definitions, memory, NOW)
    for action in definitions.actions:
        if action.kind == "plan":
            plan = plans.next_plan_version(None, action.id, action, known.inputs(action), None, NOW)
            memory = memory.with_plan(plans.add_draft(plan, 1, {"plan": "do it"}, plan.inputs, NOW))
    return memory


async def turns() -> list[Row]:
    """Load, change and dump a memory with a full history; compare it with a turn of LangGraph and its SQLite saver."""
    definitions = Definitions(tuple(Info(f"fact-{number}", schema={"type": "string"}) for number in range(FACTS)))
    stored = memories.memory_to_json(talked(definitions))
    ours, bare, carried = list[float](), list[float](), list[float]()
    with folder() as path:
        async with AsyncSqliteSaver.from_conn_string(str(path / "turns.db")) as saver:
            graph = graph_of(saver)
            for _ in range(ROUNDS):
                bare.append(await talk(graph, {}))
                carried.append(await talk(graph, {"memory": stored}))
                ours.append(percentile([one_memory(definitions, stored, turn) for turn in range(TURNS)], 50))
    what = f"memory of {FACTS} facts and {MAX_HISTORY} changes"
    size = len(json.dumps(stored, ensure_ascii=False).encode())
    return [
        Row(f"{what}: load, change, dump, beside a turn of LangGraph and its saver", "ms", ours, bare, at_most=0.05),
        Row(f"{what}: a turn of LangGraph that carries it, beside one without", "ms", carried, bare),
        Row(f"{what}: stored", "bytes", [size]),
    ]


async def crowds() -> list[Row]:
    """Let a thousand callers use one handler at once, compared with as many that wait for one bare task."""
    calls, ours, bare = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        source = Slow()
        bare.append(await timed_crowd(bare_waits(source)))
        before = source.calls
        handlers = Handlers(Definitions(handlers=(InfoHandler("fetch", source),)), lambda: NOW)
        ours.append(await timed_crowd([handlers.run("fetch", {"of": "all"}, SCOPE) for _ in range(CROWD)]))
        calls.append(source.calls - before)
    what = f"{CROWD:,} requests for one handler at once"
    return [
        Row(f"{what}: calls", "calls", calls, at_most=1),
        Row(f"{what}: until all have the result, beside as many that wait for a bare task", "ms", ours, bare),
    ]


async def talk(graph: Any, state: dict[str, Any]) -> float:
    """Return the median time of a turn in a separate conversation."""
    config = {"configurable": {"thread_id": uuid.uuid4().hex}}
    await graph.ainvoke({"messages": [], **state}, config)
    return percentile([await one_turn(graph, config) for _ in range(TURNS)], 50)


def talked(definitions: Definitions) -> ContextMemory:
    memory = ContextMemory()
    for turn in range(MAX_HISTORY * 2):
        memory, _ = memories.apply_ops(
            memory, ops(turn), definitions, CONVERSATION_SOURCE, NOW + timedelta(seconds=turn)
        )
    return memory


def ops(turn: int) -> list[MemoryOp]:
    keys = (f"fact-{(turn + step) % FACTS}" for step in range(2))
    return [MemoryOp(op="set", key=key, value=f"the text of turn {turn}") for key in keys]


def one_memory(definitions: Definitions, stored: dict[str, Any], turn: int) -> float:
    began = time.perf_counter()
    memory, refused = memories.apply_ops(
        memories.memory_from_json(stored), ops(10_000 + turn), definitions, CONVERSATION_SOURCE, NOW
    )
    memories.memory_to_json(memory)
    took = (time.perf_counter() - began) * 1e3
    if refused or memory.changes != stored["changes"] + 2:
        raise RuntimeError(f"not changed: {refused}")
    return took


async def one_turn(graph: Any, config: dict[str, Any]) -> float:
    began = time.perf_counter()
    await graph.ainvoke({"messages": [{"role": "user", "content": uuid.uuid4().hex * 4}]}, config)
    return (time.perf_counter() - began) * 1e3


def graph_of(saver: AsyncSqliteSaver) -> Any:
    graph = StateGraph(ConversationState)
    graph.add_node("understand", lambda _: {})
    graph.add_node("reply", lambda state: {"messages": [{"role": "assistant", "content": "So it is."}]})
    graph.add_edge(START, "understand")
    graph.add_edge("understand", "reply")
    graph.add_edge("reply", END)
    return graph.compile(checkpointer=saver)
