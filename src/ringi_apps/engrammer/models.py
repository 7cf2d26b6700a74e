"""HTTP models of an Engrammer, for request bodies and responses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ringi.base import StrictModel
from ringi.domain import Id, Name, Status, ThreadStatus
from ringi.server import RunStarted
from ringi_apps.engrammer.entries import Evidence, InsightType
from ringi_apps.engrammer.insights import AnswerFeedback, OperationKind

InsightStatus = Literal["pending", "learned", "edited", "rejected", "expired", "cancelled", "obsolete"]
SeedStatus = Literal["running", "interrupted", "done", "error"]
QuestionText = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
LongText = Annotated[str, Field(max_length=20_000)]
AnswerText = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
Digest = Annotated[str, Field(min_length=1, max_length=200)]


class EngrammerQuestion(StrictModel):
    """A question in a conversation."""

    query: QuestionText
    expected: AnswerText | None = None
    """The right answer, if known; the answer is then graded against it."""
    agent: Name | None = None
    """The Engrammer that starts the conversation; required if there are several."""


class EngrammerStart(EngrammerQuestion):
    """A question; without a thread it starts a conversation."""

    thread_id: Id | None = Field(default=None, alias="threadId")


class EngrammerStateQuery(StrictModel):
    """Names the conversation to read."""

    thread_id: Id = Field(alias="threadId")


class InsightReference(StrictModel):
    """An insight, with the digest that the caller saw."""

    id: Id
    digest: Digest


class EngrammerContinue(StrictModel):
    """A decision on pending insights."""

    thread_id: Id = Field(alias="threadId")
    user_input: Literal["approve_learning", "reject_learning"] = Field(alias="userInput")
    insights: Annotated[tuple[InsightReference, ...], Field(min_length=1, max_length=500)] | None = None
    """The insights to decide. By default, a rejection covers all. An approval covers those that the caller last saw,
    except those that may contradict one another."""
    reason: LongText | None = None


class NoteQuery(StrictModel):
    """Names the note to read."""

    source: Name
    note_id: Annotated[str, Field(min_length=1, max_length=500)] = Field(alias="noteId")
    agent: Name | None = None
    """The Engrammer, if several have a source of this name."""


class TurnFeedback(StrictModel):
    """A person's feedback on an answer."""

    verdict: Literal["right", "wrong"]
    text: LongText = ""
    turn: Name | None = None
    """The run of the answer; by default the newest."""


class CamelModel(BaseModel):
    """Base of response models with camelCase JSON names."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )


class EngrammerStarted(CamelModel):
    """The id of the started conversation."""

    thread_id: str


class PendingInsight(CamelModel):
    """An insight that awaits a decision."""

    type: InsightType
    description: str
    source_bullet_id: str | None = Field(alias="source_bullet_id")
    id: str
    """Id of the request."""
    digest: str


class Reference(CamelModel):
    """A note that the answer is based on."""

    source: str
    note_id: str


class EngrammerState(CamelModel):
    """State of a conversation."""

    status: SeedStatus
    latest_response: str | None
    """Markdown; available before the reflection ends."""
    pending_insights: list[PendingInsight] | None
    references: list[Reference] | None
    error: str | None
    """Why the newest run failed, or why the agent could not reflect on its answer."""


class EngrammerContinued(CamelModel):
    """State of a conversation after its runs resumed."""

    status: Literal["done", "error", "interrupted"]
    """`interrupted`: an insight is still pending, or proposed again; `error` says why."""
    error: str | None


class EngrammerNote(CamelModel):
    """A note; further columns of its source are added as they are."""

    # Client generators take a type with more properties for an untyped object.
    model_config = ConfigDict(extra="allow", json_schema_extra=lambda schema: schema.pop("additionalProperties", None))

    id: str
    type: str
    title: str
    content: str
    """Markdown."""
    created_at: datetime
    source: str


class EngrammerRun(RunStarted):
    """A run that continues in the background."""

    id: str
    """Id of the conversation, which may have several threads."""


class InsightEvidence(Evidence):
    """A quote that was found in its source."""

    model_config = ConfigDict(alias_generator=to_camel)


class InsightRequest(CamelModel):
    """The request for approval, if the caller may read it."""

    id: str
    digest: str
    status: Status


class InsightView(CamelModel):
    """A proposed insight of a turn and its status."""

    id: str
    type: InsightType
    text: str
    section: str
    applies_when: str | None = Field(default=None, alias="applies_when")
    """When it applies; '' if always, null for the scope of the bullet that it changes."""
    why: str = ""
    """In the agent's own words."""
    source_bullet_id: str | None = None
    op: OperationKind = "add"
    sources: list[str] = []
    evidence: list[InsightEvidence] = []
    feedback: AnswerFeedback | None = None
    status: InsightStatus = "pending"
    request: InsightRequest | None = None
    version: int | None = None
    """Playbook version that contains the insight."""
    reason: str | None = None
    contradicts: list[str] = []
    """Ids of the pending requests that it may contradict while it is pending; it is not approved with others."""
    contradicts_playbook: bool = False
    """Whether it may contradict the playbook while it is pending; the page does not approve it with others."""
    is_own_opinion: bool = False
    """Whether only the agent judged it while it is pending; the page does not approve it with others."""


class ReflectionSummary(CamelModel):
    """The agent's reflection on its answer."""

    verdict: str | None
    error: str | None
    root_cause: str | None
    correct_approach: str | None
    key_insight: str | None
    failed: str | None
    """Error that prevented the reflection."""


class SuppressedInsight(CamelModel):
    """An insight that was not proposed because a person rejected nearly the same text."""

    text: str
    reason: str | None = None
    at: datetime | None = None


class ModelUsage(CamelModel):
    """Model usage, in tokens as counted by the provider."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0


class TurnUsage(CamelModel):
    """Model usage of a turn."""

    answer: ModelUsage | None = None
    reflect: ModelUsage | None = None


class EngrammerTurn(CamelModel):
    """A question or feedback on an answer, and its results."""

    run_id: str
    thread_id: str
    query: str = ""
    response: str | None = None
    references: list[Reference] = []
    bullets: list[str] = []
    """Bullets that the answer cites."""
    at: datetime
    phase: Literal["answering", "reflecting", "reviewing", "done"] = "answering"
    feedback: AnswerFeedback | None = None
    reflected: ReflectionSummary | None = None
    insights: list[InsightView] = []
    suppressed: list[SuppressedInsight] = []
    dropped_quotes: int = 0
    """Number of quotes that were not found in any source."""
    unsupported_insights: int = 0
    """Number of insights that were not proposed: no quote supports them, and only the agent judged the answer."""
    usage: TurnUsage = Field(default_factory=TurnUsage)
    parent: str | None = None
    """For feedback, the run of the answer."""
    error: str | None = None
    """Error message of a failed run."""


class EngrammerConversation(CamelModel):
    """A conversation with the turns of all its threads."""

    id: str
    agent: str
    status: ThreadStatus
    turns: list[EngrammerTurn]
    """Oldest first."""
    pending: list[str]
    """Ids of the pending requests that the caller may see."""
    error: str | None


INPUTS: tuple[type[BaseModel], ...] = (
    EngrammerStart, EngrammerStateQuery, EngrammerContinue, NoteQuery, EngrammerQuestion, TurnFeedback,
)  # fmt: skip
OUTPUTS: tuple[type[BaseModel], ...] = (
    EngrammerStarted, EngrammerState, EngrammerContinued, EngrammerNote, EngrammerRun, EngrammerConversation,
)  # fmt: skip
