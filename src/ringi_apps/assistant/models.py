"""The request and response bodies of the assistant's HTTP routes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ringi.base import StrictModel
from ringi.domain import Name
from ringi.server import Problem
from ringi_apps.assistant.availability import FixKind, ReasonCode
from ringi_apps.assistant.declarations import ActionKind, InfoKind
from ringi_apps.assistant.memory import Provenance
from ringi_apps.assistant.plans import ContentDiff, PlanStatus

InfoStatus = Literal["pending", "collected", "not_needed", "error"]


class ActionPress(StrictModel):
    """The body of an action command."""

    agent: Name | None = None
    """The assistant, for a conversation that has not started."""
    args: dict[str, Any] = {}
    digest: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The digest of the plan's approval request, as the caller saw it; only an `apply` needs it."""


class ResponseModel(BaseModel):
    """A part of a response body."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        from_attributes=True,
        json_schema_serialization_defaults_required=True,
        serialize_by_alias=True,
        validate_by_name=True,
    )


class RequiredInfo(ResponseModel):
    """One info that actions require."""

    type: str
    description: str = ""
    status: InfoStatus = "pending"
    source: str | None = None


class CurrentInfo(ResponseModel):
    """One known value."""

    type: str
    value: Any
    timestamp: datetime
    source: str


class PlanData(ResponseModel):
    """A summary of the newest plan."""

    status: PlanStatus = "none"
    plan: Any = None
    feedback: list[str] = []
    last_updated: datetime | None = None


class AvailableAction(ResponseModel):
    """A summary of an action."""

    id: str
    type: ActionKind
    label: str
    description: str = ""
    enabled: bool = False
    required_info: list[str] = []
    workflow_name: str | None = None
    handler: str | None = None


class HitlState(ResponseModel):
    """Whether the conversation waits for a person, and for which answer."""

    status: Literal["waiting", "completed", "none"]
    waiting_for: str | None


class InfoItem(ResponseModel):
    """One info that the assistant can know, with its value and state."""

    key: str
    title: str
    description: str
    status: InfoStatus
    value: Any
    version: int
    observed_at: datetime | None
    fresh_until: datetime | None
    is_fresh: bool
    how: InfoKind
    scope: Literal["thread", "user"]
    may_be_any: bool
    """Whether a person may say that any value is fine. The value is then `any`."""
    source: Provenance | None
    error: str | None


class WorkflowRun(ResponseModel):
    """The last run of a workflow."""

    workflow: str
    status: str
    at: datetime
    error: str | None


class PlanStep(ResponseModel):
    """One step of a plan."""

    id: str
    title: str
    action: str
    args: dict[str, Any]
    is_done: bool


class ChangedInfo(ResponseModel):
    """An info whose value differs from the one that the plan was made from."""

    key: str
    title: str


class PlanFeedback(ResponseModel):
    """A remark of a person about a plan."""

    id: str
    text: str
    by: str
    at: datetime
    addressed_in: int | None
    """The version that takes it into account."""


class PlanVersion(ResponseModel):
    """A version before the newest."""

    version: int
    status: PlanStatus
    plan: Any
    steps: list[PlanStep]


class PlanApproval(ResponseModel):
    """The person who approved the plan, and the time."""

    by: str
    at: datetime


class PlanRequest(ResponseModel):
    """The open approval request, if the caller may see it."""

    id: str
    digest: str
    status: str


class DefaultInfo(ChangedInfo):
    """An info that nobody told, with the default that the plan is made from."""

    value: Any


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
    """The infos that made the plan obsolete."""
    pinned: list[ChangedInfo]
    """The infos that had changed when a person kept the content unchanged."""
    defaults: list[DefaultInfo]
    """The infos that nobody has told, before the plan is approved. A person may tell another value."""
    feedback: list[PlanFeedback]
    versions: list[PlanVersion]
    diff: ContentDiff
    approval: PlanApproval | None
    thread_id: str | None
    request: PlanRequest | None = None
    error: str | None
    updated_at: datetime | None


class OpenAsk(ResponseModel):
    """An info that a person is being asked for."""

    key: str
    title: str
    thread_id: str
    """The thread that asks."""
    request: PlanRequest | None = None


class MemoryContent(ResponseModel):
    """The values, plans and actions of a memory, with their origins."""

    version: int
    """Increases with each change."""
    required_info_list: list[RequiredInfo]
    current_info_list: list[CurrentInfo]
    plan_data: PlanData
    available_actions: list[AvailableAction]
    hitl_state: HitlState
    items: list[InfoItem]
    runs: list[WorkflowRun]
    asks: list[OpenAsk]
    plans: list[AssistantPlan]


class AssistantMemory(MemoryContent):
    """The state of a conversation: its values, plans and actions, with their origins."""

    id: str
    """The id of the thread."""
    agent: str


class ActionFix(ResponseModel):
    """A step that removes a reason."""

    kind: FixKind
    ref: str
    """The name of the info, action or workflow that the step is about."""
    label: str


class ActionReason(ResponseModel):
    """A reason why an action is not possible now."""

    code: ReasonCode
    key: str
    text: str
    """The text in the language of `Accept-Language`."""
    fix: ActionFix


class AssistantAction(AvailableAction):
    """An action, with the reasons if it is not possible now."""

    reasons: list[ActionReason]
    have: int
    """The number of required infos that are available."""
    need: int
    immediate: bool


class AssistantActionPage(BaseModel):
    """All actions of an assistant, in the order of its definitions."""

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
    source: Provenance
    before: Any
    """Long values are shortened."""
    after: Any


class MemoryChangePage(BaseModel):
    """The changes, newest first. Only the newest changes are stored, and always the newest of each info."""

    items: list[MemoryChange]
    next: str | None


INPUTS: tuple[type[BaseModel], ...] = (ActionPress,)
OUTPUTS: tuple[type[BaseModel], ...] = (AssistantMemory, AssistantActionPage, MemoryChangePage, NotPossible)
