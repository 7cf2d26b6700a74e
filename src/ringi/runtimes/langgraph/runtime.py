"""The runtime of LangGraph's graphs and workflows."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from ringi.base.settings import SettingError
from ringi.contracts.runtime import Description, OpenRun, WorkerRun
from ringi.runtimes.langgraph.graph_run import GraphRun
from ringi.runtimes.langgraph.graphs import (
    ASK_INSTEAD,
    COMPILE,
    REVIEW_EACH,
    check_versions,
    graph_breakpoints,
    jumps_past_review,
    nodes_of,
)
from ringi.runtimes.langgraph.plain_interrupts import answer_schemas

REPEATS = "ask once per node, and let GraphBubbleUp through where exceptions are caught"


class LangGraphRuntime:
    """Runs graphs on checkpoints that only the worker that holds the thread can write."""

    def describe(self, agent: Any) -> Description | None:
        """Return the description of a compiled graph; None for an object of another framework.

        Not seen before the call is the inside of a step: without its question, a later deploy does the work first, and
        the run stops before anything of the step is stored. In an agent that a step or a tool calls, a jump past a
        review stops the run.

        Raises:
            SettingError: The graph is not compiled, has static breakpoints, or may run calls past their review.
            UnsupportedError: LangGraph is too old.
        """
        graph = agent.target
        if isinstance(graph, StateGraph):
            raise SettingError("agents", agent.name, f"{type(graph).__name__} is not a compiled graph: {COMPILE}")
        if not isinstance(graph, Pregel):
            return None
        if agent.policy is not None:
            raise SettingError(
                f"agents.{agent.name}.policy", "…", "give it to `Approval`: it gates the tools of graphs"
            )
        if agent.options:
            raise SettingError(
                f"agents.{agent.name}.options", sorted(agent.options), "set them with the graph's `with_config`"
            )
        if stops := graph_breakpoints(graph):
            raise SettingError(
                "agents", agent.name, f"it stops at {', '.join(stops)} without a question: {ASK_INSTEAD}"
            )
        if jumps := jumps_past_review(graph):
            what = f"{', '.join(jumps)} may jump to the tools, which would run calls that people rejected"
            raise SettingError("agents", agent.name, f"{what}: {REVIEW_EACH}")
        answer_schemas(agent.answer_schema, nodes_of(graph))
        check_versions()
        return Description(
            "langgraph", metadata.version("langgraph"), has_checkpoints=True, steps=nodes_of(graph), repeats=REPEATS
        )

    def open(self, run: WorkerRun) -> OpenRun:
        """Return a run of a graph."""
        return GraphRun(run)
