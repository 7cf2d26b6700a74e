"""The arguments of workflows, and the call of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from ringi.base import fields_text, reason_text
from ringi.errors import InvalidError
from ringi.runs import clean_text
from ringi_apps.assistant.declarations import in_language

MAX_ERROR_TEXT = 2_000


@dataclass(frozen=True)
class PlanJob:
    """The argument of a `plan` workflow: a plan to make, or to make again."""

    inputs: Mapping[str, Any]
    """The values of the infos that the plan is made from or applied with, by key."""
    feedback: tuple[str, ...]
    """All remarks of people about this plan, verbatim, oldest first, until the plan is completed."""
    previous: Mapping[str, Any] | None
    """The newest version with content: its `plan` and `steps`, and the ids of the steps that are `done`. Or None."""
    version: int
    language: str
    new_feedback: tuple[str, ...] = ()
    """The last part of `feedback`, which `previous` does not take into account."""


@dataclass(frozen=True)
class StepJob:
    """The argument of an `apply` workflow: one step of an approved plan."""

    step: Mapping[str, Any]
    """Its `id`, `title`, `action` and `args`, as a person approved them."""
    key: str
    """The idempotency key of this step of this approved version; the same for each attempt."""
    plan: Any
    """The content of the plan without its steps."""
    inputs: Mapping[str, Any]
    """The values of the infos that the plan was made from, by key."""
    language: str


@dataclass(frozen=True)
class CallJob:
    """The argument of an `immediate` workflow. Its result is shown in the conversation and stored in `produces`."""

    args: Mapping[str, Any]
    """The arguments of the command, or `parameters` from the front model. They fit `Action.schema`."""
    inputs: Mapping[str, Any]
    """The known values of the infos that the action requires, by key."""
    language: str
    """The language of the conversation: `en`, `ja` or `zh`."""


def error_text(error: Exception, language: str = "en") -> str:
    """Return the text of an error for people, cleaned and limited in length.

    If the error has an attribute `text` with texts by language, the text in this language is used.
    """
    text = getattr(error, "text", None)
    if isinstance(text, Mapping):
        words = in_language(text, language)
    elif isinstance(error, InvalidError):
        words = fields_text(error.errors, language)
    else:
        words = reason_text(str(error), language)
    return clean_text(words or type(error).__name__)[:MAX_ERROR_TEXT]


async def run_workflow(workflow: Any, job: PlanJob | StepJob | CallJob) -> Any:
    """Run a workflow with a job and return its result; for a model's message, its text."""
    result = await (workflow.ainvoke(vars(job)) if isinstance(workflow, Runnable) else workflow(job))
    return result.text if isinstance(result, BaseMessage) else result
