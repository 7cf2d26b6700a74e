"""The settings of an assistant: definitions, a front model and workflows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from ringi.base import utc_now
from ringi.errors import FieldError
from ringi_apps.assistant.declarations import ActionDefinition, LocalizedText
from ringi_apps.assistant.definitions import DefinitionError, Definitions
from ringi_apps.assistant.handlers import Handlers

Workflow: TypeAlias = Callable[..., Any] | Runnable[Any, Any]
"""An async function of one argument, or a runnable such as a compiled graph.

For a `plan` it takes a `PlanJob` and returns `{"plan": …, "steps": […]}`; for an `apply` it takes a `StepJob` for
each step; for an immediate action it takes a `CallJob` and returns the answer, which may become an info's value.
"""

RESULT_LIMIT = 100
"""With 300, a small model took rows of earlier results for requests."""


@dataclass(frozen=True)
class AssistantSettings:
    """The definitions, the front model and the workflows of an assistant."""

    name: str
    definitions: Definitions
    model: BaseChatModel
    workflows: Mapping[str, Workflow] = field(default_factory=dict)
    """The workflows, by the names that the actions use."""
    title: LocalizedText = ""
    description: LocalizedText = ""
    prompt: str = ""
    """Instructions for the front model, added to those of Ringi."""
    confirms_in_words: bool = False
    """Whether a person may approve a plan by a sentence that names its hash, for text-only channels."""
    light: bool = False
    """Whether the model only chooses the next agent, by one field (`agent`), and replies."""
    call_timeout: float = 60.0
    """Seconds until the workflow of an immediate action is cancelled. Until it ends, the conversation waits."""
    result_limit: int = RESULT_LIMIT
    """The maximum number of characters of each fetched value and earlier answer that the model receives."""

    def __post_init__(self) -> None:
        if not 0 < self.call_timeout < math.inf:
            raise DefinitionError([FieldError("call_timeout", "give the seconds as a number above 0, such as 60")])
        if self.result_limit < 0:
            raise DefinitionError([FieldError("result_limit", f"is {self.result_limit}: give 0 or more characters")])
        if errors := [missing_workflow_error(each) for each in self.definitions.actions if needs_workflow(each, self)]:
            raise DefinitionError(errors)

    @cached_property
    def handlers(self) -> Handlers:
        """The handlers that fetch infos, with a cache in this process."""
        return Handlers(self.definitions, utc_now)


def needs_workflow(action: ActionDefinition, assistant: AssistantSettings) -> bool:
    """Tell whether an action lacks a workflow or handler that does its work."""
    if action.kind in ("selector", "cancel"):
        return action.kind == "selector" and action.info is None
    is_handled = action.kind == "immediate" and action.handler in assistant.definitions.handlers_by_name
    return not is_handled and action.workflow not in assistant.workflows


def missing_workflow_error(action: ActionDefinition) -> FieldError:
    """Return the error of an action that has no workflow or handler."""
    if action.kind == "selector":
        return FieldError(f"action {action.id!r}", f"has handler {action.handler!r} only: name the `info` that it sets")
    if action.kind == "immediate" and action.handler is not None:
        why = f"has handler {action.handler!r}, which is not defined: define it, or add its workflow to `workflows`"
        return FieldError(f"action {action.id!r}", why)
    return FieldError(f"workflows.{action.workflow}", f"action {action.id!r} has no workflow: add it to `workflows`")
