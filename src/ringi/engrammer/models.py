"""The JSON of an Engrammer over HTTP: what goes in is parsed with these models, what comes out is made with them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ringi.base import StrictModel
from ringi.domain import Id, Name, Status, ThreadStatus

InsightType = Literal["new_strategy", "refine_strategy", "error_pattern"]
InsightStatus = Literal["pending", "learned", "edited", "rejected", "expired", "cancelled", "obsolete"]
OperationKind = Literal["add", "edit", "merge", "retire"]
SeedStatus = Literal["running", "interrupted", "done", "error"]
QuestionText = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
LongText = Annotated[str, Field(max_length=20_000)]
AnswerText = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
Digest = Annotated[str, Field(min_length=1, max_length=200)]


class EngrammerStart(StrictModel):
    """A question; without a thread it begins a conversation."""

    query: QuestionText
    thread_id: Id | None = Field(default=None, alias="threadId")
    agent: Name | None = None
    """The Engrammer, where there are several and the conversation is new."""
    expected: AnswerText | None = None
    """The right answer, where it is known: then the feedback is no opinion."""


class EngrammerStateQuery(StrictModel):
    """Which conversation."""

    thread_id: Id = Field(alias="threadId")


class InsightReference(StrictModel):
    """An insight as the caller was shown it."""

    id: Id
    digest: Digest


class EngrammerContinue(StrictModel):
    """What a person says to what waits to be learned."""

    thread_id: Id = Field(alias="threadId")
    user_input: Literal["approve_learning", "reject_learning"] = Field(alias="userInput")
    insights: Annotated[tuple[InsightReference, ...], Field(min_length=1, max_length=500)] | None = None
    """Only these, as they were shown; without it, what the caller was shown last; to be rejected, all that wait."""
    reason: LongText | None = None


class NoteQuery(StrictModel):
    """Which note."""

    source: Name
    note_id: Annotated[str, Field(min_length=1, max_length=500)] = Field(alias="noteId")
    agent: Name | None = None
    """Whose, where several Engrammers have such a source."""


class EngrammerQuestion(StrictModel):
    """A question in a conversation."""

    query: QuestionText
    expected: AnswerText | None = None
    """The right answer, where it is known: then the feedback is no opinion."""
    agent: Name | None = None
    """The Engrammer, where there are several and the conversation is new."""


class TurnFeedback(StrictModel):
    """What a person thinks of an answer."""

    verdict: Literal["right", "wrong"]
    text: LongText = ""
    turn: Name | None = None
    """The run that answered; without it the newest."""


class CamelModel(BaseModel):
    """Something that goes out."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )


class EngrammerStarted(CamelModel):
    """The conversation, by the id that the client goes on with."""

    thread_id: str


class PendingInsight(CamelModel):
    """What waits to be learned."""

    type: InsightType
    description: str
    source_bullet_id: str | None = Field(alias="source_bullet_id")
    id: str
    """The request."""
    digest: str


class Reference(CamelModel):
    """A note that was looked up."""

    source: str
    note_id: str


class EngrammerState(CamelModel):
    """Where a conversation stands."""

    status: SeedStatus
    latest_response: str | None
    """Markdown; it is there before the looking back has ended."""
    pending_insights: list[PendingInsight] | None
    references: list[Reference] | None
    error: str | None


class EngrammerContinued(CamelModel):
    """Where the conversation stands once its runs have gone on."""

    status: Literal["done", "error", "interrupted"]
    """`interrupted`: something waits still, or again; `error` says why."""
    error: str | None


class EngrammerNote(CamelModel):
    """A note; whatever else its source knows of it stands beside."""

    id: str
    type: str
    title: str
    content: str
    """Markdown."""
    created_at: datetime
    source: str


class EngrammerRun(BaseModel):
    """A run that goes on in the background."""

    thread_id: str
    run_id: str
    id: str
    """The conversation, which may have several threads."""


class InsightEvidence(CamelModel):
    """Words that were found where they are said to stand."""

    where: Literal["question", "answer", "feedback", "note", "playbook"]
    ref: str | None = None
    """Of a note, its source and id."""
    quote: str
    start: int
    end: int
    thread_id: str
    run_id: str


class InsightFeedback(CamelModel):
    """What tells whether the answer was right; `self` is only the agent's own opinion."""

    source: Literal["ground_truth", "environment", "user", "self"]
    verdict: Literal["right", "wrong", "unknown"]
    text: str = ""
    by: str | None = None


class InsightRequest(CamelModel):
    """The request that asks, where the caller may see it."""

    id: str
    digest: str
    status: Status


class InsightView(CamelModel):
    """One thing that a turn may teach, and what became of it."""

    id: str
    type: InsightType
    text: str
    section: str
    why: str = ""
    """In the agent's own words."""
    source_bullet_id: str | None = None
    op: OperationKind = "add"
    sources: list[str] = []
    evidence: list[InsightEvidence] = []
    feedback: InsightFeedback | None = None
    status: InsightStatus = "pending"
    request: InsightRequest | None = None
    version: int | None = None
    """Of the playbook, once this is in it."""
    reason: str | None = None


class ReflectionSummary(CamelModel):
    """What the agent found looking back."""

    verdict: str | None
    error: str | None
    root_cause: str | None
    correct_approach: str | None
    key_insight: str | None
    failed: str | None
    """Why it could not look back."""


class SuppressedInsight(CamelModel):
    """What was not asked, since a person had refused nearly the same."""

    text: str
    reason: str | None = None
    at: datetime | None = None


class ModelUsage(CamelModel):
    """What calls of a model cost, in tokens as the provider counted them."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0


class TurnUsage(CamelModel):
    """What a turn cost."""

    answer: ModelUsage | None = None
    reflect: ModelUsage | None = None


class EngrammerTurn(CamelModel):
    """A question or a word on an answer, and what came of it."""

    run_id: str
    thread_id: str
    query: str = ""
    response: str | None = None
    references: list[Reference] = []
    bullets: list[str] = []
    """Those of the playbook that the answer names."""
    at: datetime
    phase: Literal["answering", "reflecting", "reviewing", "done"] = "answering"
    feedback: InsightFeedback | None = None
    reflected: ReflectionSummary | None = None
    insights: list[InsightView] = []
    suppressed: list[SuppressedInsight] = []
    dropped_quotes: int = 0
    """Quotes that stand nowhere."""
    usage: TurnUsage = Field(default_factory=TurnUsage)
    parent: str | None = None
    """Of a word on an answer: the run that answered."""
    error: str | None = None
    """Why its run failed."""


class EngrammerConversation(CamelModel):
    """A conversation, all its threads as one."""

    id: str
    agent: str
    status: ThreadStatus
    turns: list[EngrammerTurn]
    """The oldest first."""
    pending: list[str]
    """The requests that wait for the caller."""
    error: str | None


INPUTS: tuple[type[BaseModel], ...] = (
    EngrammerStart, EngrammerStateQuery, EngrammerContinue, NoteQuery, EngrammerQuestion, TurnFeedback,
)  # fmt: skip
OUTPUTS: tuple[type[BaseModel], ...] = (
    EngrammerStarted, EngrammerState, EngrammerContinued, EngrammerNote, EngrammerRun, EngrammerConversation,
)  # fmt: skip
