"""The graphs that run in a stretch, also those that tools and functions make, and the steps that skip a review."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.pregel import Pregel
from langgraph.types import Send

from ringi.runtimes.langgraph.checks import middleware_of, reviews_turns

TOOLS = "branch:to:tools"
"""The channel with which a step of a LangChain agent goes to the tools with the whole state."""
CALLBACK_FRAMES = 10
"""How many calls lie at most between a graph that starts and a callback that is told of it."""


class RunningGraphs(BaseCallbackHandler):
    """The graphs of one stretch of a run, and the names of their steps."""

    run_inline = True

    def __init__(self) -> None:
        self._graphs = defaultdict[str, list[Pregel[Any]]](list)
        """The graphs that have started in each task, by its namespace; the outermost graph has none."""
        self._steps = dict[str, tuple[str, str]]()
        """The namespace of the graph of each task, and the name of its step."""

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, metadata: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Note a graph that starts, and the step of a task."""
        known = metadata or {}
        namespace = str(known.get("langgraph_checkpoint_ns") or "")
        if graph := starting_graph():
            self._graphs[namespace].append(graph)
        if namespace:
            where = graph_namespace(namespace), str(known.get("langgraph_node"))
            self._steps.setdefault(namespace.rpartition(":")[2], where)

    def step(self, task_id: str | None) -> str | None:
        """Return the name of the step of a task; None if it has not started."""
        return self._steps[task_id][1] if task_id in self._steps else None

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
        reviewed = (each for each in graphs if reviews_turns(next(middleware_of(each))))
        return any(goes or step != last_step(each) for each in reviewed)


def starting_graph() -> Pregel[Any] | None:
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


def last_step(graph: Pregel[Any]) -> str | None:
    """Return the step of a LangChain agent that comes last after its model, and sends the calls to the tools."""
    return next((name for name in graph.nodes if name.endswith(".after_model")), None)
