"""What the workflows of an assistant are given, and how they are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from ringi.assistant.catalog import in_language
from ringi.runs import clean_text

MAX_ERROR_TEXT = 2_000


@dataclass(frozen=True)
class PlanJob:
    """A plan to make, or to make anew."""

    inputs: Mapping[str, Any]
    """The values of the infos that it stands on."""
    feedback: tuple[str, ...]
    """All that people said of this plan so far, word for word, oldest first; it counts until the plan is done."""
    previous: Mapping[str, Any] | None
    """The newest version with content: its `plan` and `steps`, and the ids of the steps that are `done`."""
    version: int
    language: str
    new_feedback: tuple[str, ...] = ()
    """The feedback, at the end of `feedback`, that `previous` has not taken up."""


@dataclass(frozen=True)
class StepJob:
    """One step of an approved plan to carry out."""

    step: Mapping[str, Any]
    """Its `id`, `title`, `action` and `args`, as a person approved them."""
    key: str
    """The idempotency key: one step of one approved version, however often it is tried."""
    plan: Any
    """The content of the plan beside its steps."""
    inputs: Mapping[str, Any]
    """The values of the infos that the plan was made from."""
    language: str


@dataclass(frozen=True)
class CallJob:
    """An immediate action. What its workflow returns is told in the conversation, and is the info it `produces`."""

    args: Mapping[str, Any]
    """With which the action was pressed, or `parameters` that the front model named; they fit `Action.schema`."""
    inputs: Mapping[str, Any]
    """The values of the infos that the action requires, as far as they are known."""
    language: str
    """Of the conversation, such as `en`, `ja` or `zh`."""


def error_text(error: Exception, language: str = "en") -> str:
    """Return what people are told of an error: one that no store keeps, or that never ends, would be told to nobody.

    An error whose `text` is words by language is told in theirs.
    """
    text = getattr(error, "text", None)
    words = in_language(text, language) if isinstance(text, Mapping) else str(error)
    return clean_text(words or type(error).__name__)[:MAX_ERROR_TEXT]


async def run_workflow(workflow: Any, job: PlanJob | StepJob | CallJob) -> Any:
    """Run a workflow on a job, and return what it returns; of a model's message, the words."""
    result = await (workflow.ainvoke(vars(job)) if isinstance(workflow, Runnable) else workflow(job))
    return result.text if isinstance(result, BaseMessage) else result
