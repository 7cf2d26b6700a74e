"""The JSON of an assistant over HTTP: what goes in is parsed with these models, what comes out is described by them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ringi.base import StrictModel
from ringi.domain import Name
from ringi.server import Problem

InfoStatus = Literal["pending", "collected", "not_needed", "error"]
PlanStatus = Literal[
    "none", "planning", "planned", "executing", "completed", "obsolete", "failed", "cancelled"
]  # fmt: skip
ActionKind = Literal["plan", "apply", "selector", "immediate", "cancel"]


class ActionPress(StrictModel):
    """How an action is set going."""

    agent: Name | None = None
    """The assistant, for a conversation that nobody has begun."""
    args: dict[str, Any] = {}
    digest: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """That of the request which asks to approve the plan, as the caller saw it; only an `apply` needs it."""


class ResponseModel(BaseModel):
    """Something that goes out."""

    model_config = ConfigDict(alias_generator=to_camel, json_schema_serialization_defaults_required=True)


class RequiredInfo(ResponseModel):
    """One thing that the actions need."""

    type: str
    description: str
    status: InfoStatus
    source: str | None


class CurrentInfo(ResponseModel):
    """One thing that is known."""

    type: str
    value: Any
    timestamp: datetime
    source: str


class PlanData(ResponseModel):
    """The newest plan, in short."""

    status: PlanStatus
    plan: Any
    feedback: list[str]
    last_updated: datetime | None


class AvailableAction(ResponseModel):
    """One action, in short."""

    id: str
    type: ActionKind
    label: str
    description: str
    enabled: bool
    required_info: list[str]
    workflow_name: str | None
    handler: str | None


class HitlState(ResponseModel):
    """Whether a person is waited for, and for what."""

    status: Literal["waiting", "completed", "none"]
    waiting_for: str | None


class InfoSource(ResponseModel):
    """Where a value comes from."""

    kind: Literal["user", "handler", "model", "edited", "derived", "static", "remembered"]
    actor: str | None
    ref: str | None
    """The message, run or request that it was taken from."""
    quote: str | None


class InfoItem(ResponseModel):
    """One thing that the assistant can know, with all that is known of it."""

    key: str
    title: str
    description: str
    status: InfoStatus
    value: Any
    version: int
    observed_at: datetime | None
    fresh_until: datetime | None
    is_fresh: bool
    how: Literal["ask", "handler", "derived", "static"]
    scope: Literal["thread", "user"]
    source: InfoSource | None
    error: str | None


class WorkflowRun(ResponseModel):
    """How a workflow has gone last."""

    workflow: str
    status: str
    at: datetime
    error: str | None


class PlanStep(ResponseModel):
    """One thing that a plan does."""

    id: str
    title: str
    action: str
    args: dict[str, Any]
    is_done: bool


class ChangedInfo(ResponseModel):
    """An info whose value is not the one that the plan was made from."""

    key: str
    title: str


class PlanFeedback(ResponseModel):
    """What a person said of a plan."""

    id: str
    text: str
    by: str
    at: datetime
    addressed_in: int | None
    """The version that took it up."""


class PlanVersion(ResponseModel):
    """A version that a newer one has followed."""

    version: int
    status: PlanStatus
    plan: Any
    steps: list[PlanStep]


class PlanDiff(ResponseModel):
    """What differs from the version before: steps by their ids, other content as `plan.<key>`."""

    added: list[str]
    removed: list[str]
    changed: list[str]


class PlanApproval(ResponseModel):
    """Who let it be applied."""

    by: str
    at: datetime


class PlanRequest(ResponseModel):
    """The request that asks, where it is open and the caller may see it."""

    id: str
    digest: str
    status: str


class AssistantPlan(ResponseModel):
    """The newest version of a plan."""

    id: str
    workflow: str
    action_id: str
    version: int
    status: PlanStatus
    plan: Any
    steps: list[PlanStep]
    hash: str
    changed: list[ChangedInfo]
    """Of an obsolete plan."""
    pinned: list[ChangedInfo]
    """What had changed when somebody let its content stand all the same."""
    feedback: list[PlanFeedback]
    versions: list[PlanVersion]
    diff: PlanDiff
    approval: PlanApproval | None
    thread_id: str | None
    request: PlanRequest | None
    error: str | None
    updated_at: datetime | None


class OpenAsk(ResponseModel):
    """An info that a person is being asked for."""

    key: str
    title: str
    thread_id: str
    """Which asks it."""
    request: PlanRequest | None


class AssistantMemory(ResponseModel):
    """What a conversation knows, plans and can do, and how it came to know it."""

    id: str
    """The thread."""
    agent: str
    version: int
    """Rises with every change."""
    required_info_list: list[RequiredInfo]
    current_info_list: list[CurrentInfo]
    plan_data: PlanData
    available_actions: list[AvailableAction]
    hitl_state: HitlState
    items: list[InfoItem]
    runs: list[WorkflowRun]
    asks: list[OpenAsk]
    plans: list[AssistantPlan]


class ActionFix(ResponseModel):
    """What would take a reason away."""

    kind: Literal["ask", "run_handler", "run_action", "wait", "approve", "reapprove"]
    ref: str
    """The info, action or workflow that it is about."""
    label: str


class ActionReason(ResponseModel):
    """Why an action is not possible now."""

    code: Literal[
        "MISSING_INFO", "STALE_INFO", "ERROR_INFO", "DEPENDENCY", "WORKFLOW", "NO_PLAN", "PLAN_OBSOLETE",
        "AWAITING_APPROVAL", "ALREADY_RUNNING",
    ]  # fmt: skip
    key: str
    text: str
    """In the language of `Accept-Language`."""
    fix: ActionFix


class AssistantAction(AvailableAction):
    """One action: whether it is possible now, and why not."""

    reasons: list[ActionReason]
    have: int
    """How many of the infos that it requires are there."""
    need: int
    immediate: bool


class AssistantActionPage(BaseModel):
    """All actions of an assistant, as it defines them."""

    items: list[AssistantAction]
    next: None


class NotPossible(Problem):
    """The action is not possible now."""

    reasons: list[ActionReason]


class MemoryChange(ResponseModel):
    """One change of the memory."""

    number: int
    at: datetime
    op: str
    key: str
    title: str
    source: InfoSource
    before: Any
    """Long values are shortened."""
    after: Any


class MemoryChangePage(BaseModel):
    """What changed, the newest first; of very many only the newest are kept, and the newest of each info."""

    items: list[MemoryChange]
    next: str | None


INPUTS: tuple[type[BaseModel], ...] = (ActionPress,)
OUTPUTS: tuple[type[BaseModel], ...] = (AssistantMemory, AssistantActionPage, MemoryChangePage, NotPossible)
