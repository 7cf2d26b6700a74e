"""What a graph must be to be served."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from typing import Any

from ringi.errors import UnsupportedError
from ringi.runs.agent import Agent
from ringi.runtimes.langgraph.answer_schema import EVERY_NODE, AnswerSpec, answer_schemas

MINIMUM_VERSIONS = {"langgraph": "1.2.20", "langchain": "1.4.6"}
"""The oldest versions that match each answer to its own question and refuse an invalid answer before storing it."""
ASK_INSTEAD = "compile it without interrupt_before and interrupt_after, and ask in a node"
HOOKS = ("before_agent", "before_model", "after_model", "after_agent")
REVIEW_EACH = "set interrupt_mode='per_call' of HumanInTheLoopMiddleware, or use ringi.Approval"
COMPILE = "give it what StateGraph(…).compile() returns, or an @entrypoint workflow"


def nodes_of(graph: Any) -> frozenset[str]:
    """Return the names of a graph's nodes."""
    return frozenset(getattr(graph, "nodes", ()))


def answer_spec(agent: Agent, node: str) -> AnswerSpec:
    """Return the answer schema and the rejection value of a plain `interrupt()` in this node."""
    schemas = answer_schemas(agent.answer_schema, nodes_of(agent.target))
    return AnswerSpec(schemas.get(node, schemas.get(EVERY_NODE)), agent.rejection_value)


def breakpoints(graph: Any) -> list[str]:
    """Return the nodes at which a graph or one of its subgraphs was compiled to stop.

    Such a stop has no question and no answer. A worker cannot distinguish it from a pending step, and continues.
    """
    within = [sub for _, sub in graph.get_subgraphs(recurse=True)] if hasattr(graph, "get_subgraphs") else []
    places = ("interrupt_before_nodes", "interrupt_after_nodes")
    return sorted({node for each in (graph, *within) for place in places for node in getattr(each, place, ())})


def jumps_past_review(graph: Any) -> list[str]:
    """Return the middleware that may jump to the tools of an agent whose calls are reviewed once for each model turn.

    Such a jump runs all calls of the turn, those that a person rejected too.
    """
    jumps = set[str]()
    for middleware in middleware_of(graph):
        if reviews_turns(middleware):
            jumps |= {type(one).__name__ for one in middleware if can_jump_to_tools(type(one))}
    return sorted(jumps)


def reviews_turns(middleware: list[Any]) -> bool:
    """Return whether the middleware of a graph asks about all calls of a turn at once."""
    return any(getattr(one, "interrupt_mode", None) == "batched" for one in middleware)


def middleware_of(graph: Any) -> Iterator[list[Any]]:
    """Yield the middleware of a graph and of each of its subgraphs."""
    within = [sub for _, sub in graph.get_subgraphs(recurse=True)] if hasattr(graph, "get_subgraphs") else []
    for each in (graph, *within):
        bound = [node.bound for node in each.nodes.values()]
        found = [getattr(getattr(one, name, None), "__self__", None) for one in bound for name in ("func", "afunc")]
        yield [one for one in found if one is not None]


def can_jump_to_tools(middleware: type) -> bool:
    """Return whether a hook of a middleware declares that it may jump to the tools."""
    hooks = [getattr(middleware, f"{start}{name}", None) for start in ("", "a") for name in HOOKS]
    return any("tools" in getattr(hook, "__can_jump_to__", ()) for hook in hooks)


def check_versions() -> None:
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
