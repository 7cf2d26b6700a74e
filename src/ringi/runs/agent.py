"""An agent that Ringi runs: a LangGraph graph or workflow, and how it meets the outside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from ringi.domain.ask import Ask, parsed
from ringi.errors import FieldError, InvalidError, OutdatedError, SettingError
from ringi.forms import form as forms
from ringi.runs.answer_schema import EVERY_NODE, Terms, answers_of

State = Mapping[str, Any]
NEEDED = {"langgraph": "1.2.20", "langchain": "1.4.6"}
"""The oldest versions that keep an answer with its own question, and refuse an unfit one before it is stored."""
ASK_INSTEAD = "compile it without interrupt_before and interrupt_after, and ask in a node"
COMPILE = "give it what StateGraph(…).compile() returns, or an @entrypoint workflow"
ANY_OBJECT: dict[str, Any] = {"type": "object"}


def as_it_is(input: dict[str, Any]) -> Any:
    """Return the input of a run as the graph's own input."""
    return input


def no_context(input: dict[str, Any], by: str | None) -> Any:
    """Return no context of a run."""
    return None


def nothing(state: State) -> dict[str, Any]:
    """Show nothing of the state."""
    return {}


class UnfitValuesError(InvalidError):
    """What an agent shows of its state is no JSON object that can be stored."""

    def __init__(self, agent: str, why: str) -> None:
        super().__init__([FieldError("output", f"agent {agent!r} cannot show these: {why}")])


@dataclass(frozen=True)
class Agent:
    """A name, a graph compiled without a checkpointer, and what is shown of it."""

    name: str
    graph: Any
    """A LangGraph `CompiledStateGraph`, or an `@entrypoint` workflow."""
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any] = field(default_factory=lambda: ANY_OBJECT)
    """JSON Schema of a run's input."""
    input: Callable[[dict[str, Any]], Any] = as_it_is
    """From a run's input to the graph's input."""
    context: Callable[[dict[str, Any], str | None], Any] = no_context
    """From a run's input, and the name of who started it, to `runtime.context` for the graph's `context_schema`.

    It is made anew each time that the run goes on. Without it the schema's own defaults are used, if it has all.
    """
    output: Callable[[State], dict[str, Any]] | None = None
    """From the graph's state to the JSON that people may see; None for its final messages, else its output."""
    expires_in: float | None = None
    """Seconds until nobody may answer any more what the graph asks without Ringi's own `ask`; None for never."""
    assignee: str | None = None
    """Who is asked by such a question."""
    candidate_groups: tuple[str, ...] = ()
    is_internal: bool = False
    """Whether only runs of other agents begin it: people and programs are not offered it."""
    answers: Any = None
    """What a plain `interrupt()` takes: a JSON Schema or a type, or such by node; None for any JSON but null."""
    rejected: Any = False
    """What a plain `interrupt()` returns for a rejection, if it may return that; None where nobody can reject."""
    memories: bool = False
    """Whether `runtime.store` has what the person who started a run told before, in place of the agent's own store."""
    subgraphs: bool = False
    """Whether what is said in graphs that its nodes call is streamed, too, as with `subgraphs=True` of LangGraph."""
    history: bool = True
    """Whether the checkpoints before the newest are kept once a run has ended; those of a `DeltaChannel` always are."""
    images: bool = False
    """Whether people may send images with a message; the graph gets them as LangChain's content blocks."""

    @property
    def whom(self) -> dict[str, Any]:
        """For whom, and until when, a question is whose graph does not say."""
        return {"expires_in": self.expires_in, "assignee": self.assignee, "candidate_groups": self.candidate_groups}

    def terms(self, node: str) -> Terms:
        """Return what a plain `interrupt()` in this node takes."""
        schemas = answers_of(self.answers, nodes_of(self.graph))
        return Terms(schemas.get(node, schemas.get(EVERY_NODE)), self.rejected)

    def check_input(self, input: dict[str, Any]) -> None:
        """Raise `InvalidError` with a field of `input` unless the schema allows it."""
        forms.check_instance(self.input_schema, input, field="input")


def by_name(agents: Iterable[Agent]) -> dict[str, Agent]:
    """Return the agents by name.

    Two of one name are a `SettingError`, and so is what is no compiled graph, or one that stops without a question.
    Raises `OutdatedError` if there are agents and a library is too old for them.
    """
    named: dict[str, Agent] = {}
    for agent in agents:
        if agent.name in named:
            raise SettingError("agents", agent.name, "give each agent its own name")
        forms.check_schema(agent.input_schema, field=f"agents.{agent.name}.input_schema")
        parsed(Ask, {"title": agent.name, **agent.whom})
        if not is_graph(agent.graph):
            raise SettingError("agents", agent.name, f"{type(agent.graph).__name__} is no compiled graph: {COMPILE}")
        if stops := breakpoints(agent.graph):
            raise SettingError("agents", agent.name, f"it stops at {', '.join(stops)} and asks nothing: {ASK_INSTEAD}")
        answers_of(agent.answers, nodes_of(agent.graph))
        named[agent.name] = agent
    if named:
        check_versions()
    return named


def nodes_of(graph: Any) -> frozenset[str]:
    """Return the names of a graph's nodes."""
    return frozenset(getattr(graph, "nodes", ()))


def is_graph(graph: Any) -> bool:
    """Tell whether a worker can run it; without LangGraph, which is told elsewhere, everything is one."""
    try:
        from langgraph.pregel import Pregel
    except ModuleNotFoundError:
        return True
    return isinstance(graph, Pregel)


def breakpoints(graph: Any) -> list[str]:
    """Return the nodes at which a graph, or one within it, was compiled to stop.

    Such a stop has no question and no answer. A worker cannot tell it from a step that is yet to do, and goes on.
    """
    within = [sub for _, sub in graph.get_subgraphs(recurse=True)] if hasattr(graph, "get_subgraphs") else []
    places = ("interrupt_before_nodes", "interrupt_after_nodes")
    return sorted({node for each in (graph, *within) for place in places for node in getattr(each, place, ())})


def check_versions() -> None:
    """Raise `OutdatedError` for an installed library that is too old; one that is missing is told elsewhere."""
    for name, needed in NEEDED.items():
        with suppress(metadata.PackageNotFoundError):
            found = metadata.version(name)
            if numbers(found) < numbers(needed):
                raise OutdatedError(name, found, needed)


def numbers(version: str) -> tuple[int, ...]:
    """Return the first three numbers of a version, to compare it by."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
