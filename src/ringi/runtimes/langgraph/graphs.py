"""The graphs of an agent: what each must be to be served, and those that run in a stretch."""

from __future__ import annotations

import inspect
import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.pregel import Pregel
from langgraph.types import Send

from ringi.base.extras import UnsupportedError
from ringi.runs.agent import Agent
from ringi.runtimes.langgraph.interrupt_formats import EVERY_NODE, AnswerSpec, answer_schemas

MINIMUM_VERSIONS = {"langgraph": "1.2.20", "langchain": "1.4.6"}
"""The oldest versions that match each answer to its own question and refuse an invalid answer before storing it."""
ASK_INSTEAD = "compile it without interrupt_before and interrupt_after, and ask in a node"
HOOKS = ("before_agent", "before_model", "after_model", "after_agent")
"""The hooks that a middleware of LangChain runs as separate steps, outside any call."""
REVIEW_EACH = "set interrupt_mode='per_call' of HumanInTheLoopMiddleware, or use ringi.Approval"
COMPILE = "give it what StateGraph(…).compile() returns, or an @entrypoint workflow"
TOOLS = "branch:to:tools"
"""The channel with which a step of a LangChain agent goes to the tools with the whole state."""
SCRATCHPAD = "__pregel_scratchpad"
"""LangGraph's own key of what one attempt of a task counts."""
CALLBACK_FRAMES = 10
"""How many calls lie at most between a graph that starts and a callback that is told of it."""


def graph_node_names(graph: Any) -> frozenset[str]:
    """Return the names of a graph's nodes."""
    return frozenset(getattr(graph, "nodes", ()))


def answer_spec(agent: Agent, node: str) -> AnswerSpec:
    """Return the answer schema and the rejection value of a plain `interrupt()` in this node."""
    schemas = answer_schemas(agent.answer_schema, graph_node_names(agent.target))
    return AnswerSpec(schemas.get(node, schemas.get(EVERY_NODE)), agent.rejection_value)


def graph_with_subgraphs(graph: Any) -> list[Any]:
    """Return a graph and all its subgraphs."""
    return [graph, *(sub for _, sub in graph.get_subgraphs(recurse=True))]


def graph_breakpoints(graph: Any) -> list[str]:
    """Return the nodes at which a graph or one of its subgraphs was compiled to stop.

    Such a stop has no question and no answer. A worker cannot distinguish it from a pending step, and continues.
    """
    places = ("interrupt_before_nodes", "interrupt_after_nodes")
    graphs = graph_with_subgraphs(graph)
    return sorted({node for each in graphs for place in places for node in getattr(each, place, ())})


def middleware_that_skips_review(graph: Any) -> list[str]:
    """Return the middleware that may jump to the tools of an agent whose calls are reviewed once for each model turn.

    Such a jump runs all calls of the turn, those that a person rejected too.
    """
    reviewed = filter(graph_reviews_whole_turns, graph_middleware(graph))
    return sorted({type(one).__name__ for each in reviewed for one in each if can_jump_to_tools(type(one))})


def graph_reviews_whole_turns(middleware: list[Any]) -> bool:
    """Return whether the middleware of a graph asks about all calls of a turn at once."""
    return any(getattr(one, "interrupt_mode", None) == "batched" for one in middleware)


def graph_middleware(graph: Any) -> Iterator[list[Any]]:
    """Yield the middleware of a graph and of each of its subgraphs."""
    for each in graph_with_subgraphs(graph):
        bound = [node.bound for node in each.nodes.values()]
        found = [getattr(getattr(one, name, None), "__self__", None) for one in bound for name in ("func", "afunc")]
        yield [one for one in found if one is not None]


def can_jump_to_tools(middleware: type) -> bool:
    """Return whether a hook of a middleware declares that it may jump to the tools."""
    hooks = [getattr(middleware, f"{start}{name}", None) for start in ("", "a") for name in HOOKS]
    return any("tools" in getattr(hook, "__can_jump_to__", ()) for hook in hooks)


def check_langgraph_versions() -> None:
    """Raise `UnsupportedError` if an installed library is too old; another check reports missing libraries."""
    for name, needed in MINIMUM_VERSIONS.items():
        with suppress(metadata.PackageNotFoundError):
            found = metadata.version(name)
            if version_numbers(found) < version_numbers(needed):
                what = f"{name} {found} is too old to run agents"
                raise UnsupportedError(f"{what}: pip install '{name}>={needed}'")


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the first three numbers of a version, for comparison."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


class RunningGraphs(BaseCallbackHandler):
    """The graphs of one stretch of a run, the names of their steps, and the places of their calls."""

    run_inline = True

    def __init__(self) -> None:
        self._graphs = defaultdict[str, list[Pregel[Any]]](list)
        """The graphs that have started in each task, by its namespace; the outermost graph has none."""
        self._steps = dict[str, tuple[str, str]]()
        """The namespace of the graph of each task, and the name of its step."""
        self._lock = threading.Lock()
        self._paths = dict[str, str]()
        """The step and the path of each task, by its namespace."""
        self._calls = dict[tuple[str, str], tuple[object, list[object]]]()

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, metadata: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Note a graph that starts, and the step and the path of a task."""
        known = metadata or {}
        namespace = str(known.get("langgraph_checkpoint_ns") or "")
        if graph := graph_that_starts():
            self._graphs[namespace].append(graph)
        if namespace:
            where = graph_namespace(namespace), str(known.get("langgraph_node"))
            self._steps.setdefault(namespace.rpartition(":")[2], where)
            self._paths[namespace] = f"{known.get('langgraph_step')}:{known.get('langgraph_path')}"

    def step(self, task_id: str | None) -> str | None:
        """Return the name of the step of a task; None if it has not started."""
        return self._steps[task_id][1] if task_id in self._steps else None

    def place(self, configurable: Mapping[str, Any], call: str, id: str | None = None) -> str:
        """Return the place of a call: the steps and paths of its tasks, and its number among equal calls.

        The namespace of a task has the ids that LangGraph draws; its step and its path are the same in a repetition.

        Args:
            configurable: The configuration of the task.
            call: The digest of the call.
            id: The id that a model gave to the call, which has the same place each time; None if it has no id.
        """
        namespace = str(configurable.get("checkpoint_ns") or "")
        parts = namespace.split("|")
        places = (self._paths.get("|".join(parts[: n + 1]), part) for n, part in enumerate(parts))
        # An attempt of a task counts its interrupts anew, and its calls.
        attempt = getattr(configurable.get(SCRATCHPAD), "interrupt_counter", None)
        with self._lock:
            known, ids = self._calls.get((namespace, call), (None, []))
            if known is not attempt:
                ids = []
            self._calls[namespace, call] = attempt, ids
            key: object = object() if id is None else id
            if key not in ids:
                ids.append(key)
        return f"{'/'.join(places)}:{ids.index(key)}"

    def skips_review(self, task_id: str | None, writes: Sequence[tuple[str, Any]]) -> bool:
        """Return whether a task goes to the tools of an agent past the review of the calls of a whole turn.

        After the review LangChain's last step sends each call by itself, without those that people rejected.

        Args:
            task_id: The task; None for a whole checkpoint.
            writes: The results of the task.
        """
        goes = any(channel == TOOLS for channel, _ in writes)
        sends = any(isinstance(value, Send) and value.node == "tools" for _, value in writes)
        if task_id not in self._steps or not (goes or sends):
            return False
        namespace, step = self._steps[task_id]
        graphs = (each for each in self._graphs.get(namespace, ()) if step in each.nodes)
        reviewed = (each for each in graphs if graph_reviews_whole_turns(next(graph_middleware(each))))
        # The step of a LangChain agent that comes last after its model sends the calls to the tools.
        last = (next((name for name in each.nodes if name.endswith(".after_model")), None) for each in reviewed)
        return any(goes or step != each for each in last)


def graph_that_starts() -> Pregel[Any] | None:
    """Return the graph whose start a callback is being told of; None if something else starts.

    LangGraph tells a callback only the name of a graph, and names are not unique.
    """
    frame = inspect.currentframe()
    for _ in range(CALLBACK_FRAMES):
        frame = frame and frame.f_back
        if frame and frame.f_code.co_name in ("stream", "astream"):
            owner = frame.f_locals.get("self")
            return owner if issubclass(type(owner), Pregel) else None
    return None


def graph_namespace(task: str) -> str:
    """Return the namespace of the task that started the graph of a task; '' in the outermost graph."""
    *parts, _ = task.split("|")
    # A task that starts several graphs numbers them.
    while parts and parts[-1].isdigit():
        parts.pop()
    return "|".join(parts)
