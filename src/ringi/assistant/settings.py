"""What an assistant is made of: definitions, a front model and workflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from ringi.assistant.catalog import Action, Text
from ringi.assistant.definitions import Definitions
from ringi.assistant.handlers import Handlers
from ringi.base import utc_now
from ringi.errors import DefinitionError, FieldError

Workflow: TypeAlias = Callable[..., Any] | Runnable[Any, Any]
"""An async function of one argument, or a runnable such as a compiled graph.

Of a plan it takes a `PlanJob` and returns `{"plan": …, "steps": […]}`; of an `apply` it takes one `StepJob` after
another; of an immediate action a `CallJob`, and returns what is told, or becomes known.
"""


@dataclass(frozen=True)
class AssistantSettings:
    """The definitions, the front model and the workflows of an assistant."""

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
        unserved = [action for action in self.definitions.actions if needs_workflow(action, self)]
        if unserved:
            raise DefinitionError([missing_workflow_error(action) for action in unserved])

    @cached_property
    def handlers(self) -> Handlers:
        """What fetches infos, with the caches of this process."""
        return Handlers(self.definitions, utc_now)


def needs_workflow(action: Action, assistant: AssistantSettings) -> bool:
    """Whether an action has nothing that would do it."""
    if action.kind in ("selector", "cancel"):
        return action.kind == "selector" and action.info is None
    is_handled = action.kind == "immediate" and action.handler in assistant.definitions.handlers_by_name
    return not is_handled and action.workflow not in assistant.workflows


def missing_workflow_error(action: Action) -> FieldError:
    """Return what is wrong with an action that nothing does."""
    if action.kind == "selector":
        return FieldError(f"action {action.id!r}", f"has handler {action.handler!r} only: name the `info` that it sets")
    if action.kind == "immediate" and action.handler is not None:
        why = f"has handler {action.handler!r}, which is not defined: define it, or give its workflow in `workflows`"
        return FieldError(f"action {action.id!r}", why)
    return FieldError(
        f"workflows.{action.workflow}", f"action {action.id!r} has nothing that does it: give it in `workflows`"
    )
