"""What a graph must be to be served."""

from __future__ import annotations

import re
from contextlib import suppress
from importlib import metadata
from typing import Any

from ringi.errors import UnsupportedError
from ringi.runs.agent import Agent
from ringi.runtimes.langgraph.answer_schema import EVERY_NODE, AnswerSpec, answer_schemas
from ringi.runtimes.langgraph.reachable_graphs import reachable_graphs

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
    """Return the nodes at which a graph, or one that it may run, was compiled to stop.

    Such a stop has no question and no answer. A worker cannot distinguish it from a pending step, and continues.
    """
    places = ("interrupt_before_nodes", "interrupt_after_nodes")
    return sorted({node for each in reachable_graphs(graph) for place in places for node in getattr(each, place)})


def jumps_past_review(graph: Any) -> list[str]:
    """Return the middleware that may jump to the tools of an agent whose calls are reviewed once for each model turn.

    Such a jump runs all calls of the turn, those that a person rejected too.
    """
    reviewed = filter(reviews_turns, reachable_graphs(graph))
    found = {type(one) for each in reviewed for one in middleware_of(each)}
    return sorted(each.__name__ for each in found if can_jump_to_tools(each))


def reviews_turns(graph: Any) -> bool:
    """Return whether a middleware of a graph asks about all calls of a turn at once."""
    return any(getattr(one, "interrupt_mode", None) == "batched" for one in middleware_of(graph))


def middleware_of(graph: Any) -> list[Any]:
    """Return the middleware of a graph that have a step of their own."""
    bound = [node.bound for node in graph.nodes.values()]
    found = [getattr(getattr(one, name, None), "__self__", None) for one in bound for name in ("func", "afunc")]
    return [one for one in found if one is not None]


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
