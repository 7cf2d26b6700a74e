"""An assistant: definitions, a front model and workflows, made into the agents that Ringi runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from ringi.assistant.conversation import conversation
from ringi.assistant.definitions import Action, Definitions, Text, in_language
from ringi.assistant.handlers import Handlers
from ringi.assistant.sides import asking, executing, planning
from ringi.clock import utc_now
from ringi.errors import DefinitionError, FieldError
from ringi.threads.agent import Agent, State, nothing

Workflow: TypeAlias = Callable[..., Any] | Runnable[Any, Any]
"""An async function of one argument, or a runnable such as a compiled graph.

Of a plan it takes a `PlanJob` and returns `{"plan": …, "steps": […]}`; of an `apply` it takes one `StepJob` after
another; of an immediate action a `CallJob`, and returns what is told, or becomes known.
"""
MESSAGE = {
    "type": "object",
    "properties": {"role": {"enum": ["user"]}, "content": {"type": "string"}, "id": {"type": "string"}},
    "required": ["role", "content"],
    "additionalProperties": False,
}
INPUT = {
    "type": "object",
    "properties": {
        "messages": {"type": "array", "title": "Messages", "minItems": 1, "items": MESSAGE},
        "event": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "args": {"type": "object"}},
            "required": ["type"],
        },
    },
    "oneOf": [{"required": ["messages"]}, {"required": ["event"]}],
    "additionalProperties": False,
}
JOB = {"type": "object", "properties": {"job": {"type": "object"}}, "required": ["job"], "additionalProperties": False}


@dataclass(frozen=True)
class AssistantAgent(Agent):
    """The agent that holds the conversation of an assistant."""

    assistant: Assistant | None = None


@dataclass(frozen=True)
class Assistant:
    """Talks, gathers what its actions need, plans beside the talk, and carries out what a person approved.

    Raises `DefinitionError` for an action that needs a workflow and has none.
    """

    name: str
    definitions: Definitions
    model: BaseChatModel
    workflows: Mapping[str, Workflow] = field(default_factory=dict)
    """By the names that the actions give."""
    title: Text = ""
    description: Text = ""
    prompt: str = ""
    """What the front model is told beside what it must know of its work."""
    confirms_in_words: bool = False
    """Whether a person may approve a plan by the one sentence that names it: for channels without buttons."""
    light: bool = False
    """Whether the front model only chooses who goes on, by one field (`agent`), and its words are the answer."""

    def __post_init__(self) -> None:
        lacking = [action for action in self.definitions.actions if needs_workflow(action, self)]
        if lacking:
            raise DefinitionError([unserved(action) for action in lacking])

    def agents(self) -> list[Agent]:
        """Return the agents to serve: the conversation, and those that work in threads beside it."""
        front = AssistantAgent(
            self.name,
            conversation(self),
            title=in_language(self.title, "en"),
            description=in_language(self.description, "en"),
            input_schema=INPUT,
            prepare=prepared,
            values=shown,
            assistant=self,
            subgraphs=True,
            history=False,
        )
        sides = {"plan": planning, "ask": asking, "execute": executing}
        return [front, *(self._side(kind, made(self)) for kind, made in sides.items())]

    def _side(self, kind: str, graph: Any) -> Agent:
        return Agent(
            f"{self.name}.{kind}",
            graph,
            input_schema=JOB,
            values=nothing,
            is_internal=True,
            subgraphs=True,
            history=False,
        )

    @cached_property
    def handlers(self) -> Handlers:
        """What fetches infos, with the caches of this process."""
        return Handlers(self.definitions, utc_now)


def prepared(input: dict[str, Any]) -> dict[str, Any]:
    """Return a run's input as what the conversation's graph takes."""
    events, messages = [input["event"]] if "event" in input else [], input.get("messages", [])
    return {
        "messages": messages,
        "words": messages[-1]["content"] if messages else None,
        "events": events,
        "reply": "",
        "tried": [],
        "todo": {},
    }


def shown(state: State) -> dict[str, Any]:
    """Return what the thread itself shows; the memory is not among it: each event of the thread would keep it anew."""
    return {"version": (state.get("memory") or {}).get("version", 0), "language": state.get("language") or "en"}


def needs_workflow(action: Action, assistant: Assistant) -> bool:
    """Whether an action has nothing that would do it."""
    if action.kind in ("selector", "cancel"):
        return action.kind == "selector" and action.info is None
    is_handled = action.kind == "immediate" and action.handler in assistant.definitions.handlers_by_name
    return not is_handled and action.workflow not in assistant.workflows


def unserved(action: Action) -> FieldError:
    """Return what is wrong with an action that nothing does."""
    if action.kind == "selector":
        return FieldError(f"action {action.id!r}", f"has handler {action.handler!r} only: name the `info` that it sets")
    if action.kind == "immediate" and action.handler is not None:
        why = f"has handler {action.handler!r}, which is not defined: define it, or give its workflow in `workflows`"
        return FieldError(f"action {action.id!r}", why)
    return FieldError(
        f"workflows.{action.workflow}", f"action {action.id!r} has nothing that does it: give it in `workflows`"
    )
