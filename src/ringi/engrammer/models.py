"""The JSON of an Engrammer over HTTP: what goes in is parsed with these models, what comes out is made with them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ringi.ask import Id, Name
from ringi.record import Frozen
from ringi.request import Status
from ringi.thread import ThreadStatus

InsightType = Literal["new_strategy", "refine_strategy", "error_pattern"]
InsightStatus = Literal["pending", "learned", "edited", "rejected", "expired", "cancelled"]
Section = Literal["strategies", "formulas", "mistakes", "heuristics", "context", "others"]
Operation = Literal["add", "edit", "merge", "retire"]
EntryKind = Literal["add", "edit", "merge", "retire", "restore", "undo", "tag", "reject", "keep"]
SeedStatus = Literal["running", "interrupted", "done", "error"]
Query = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
Words = Annotated[str, Field(max_length=20_000)]
BulletId = Annotated[str, Field(min_length=1, max_length=50)]
BulletText = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
Digest = Annotated[str, Field(min_length=1, max_length=200)]


class EngrammerStart(Frozen):
    """A question; without a thread it begins a conversation."""

    query: Query
    thread_id: Id | None = Field(default=None, alias="threadId")
    agent: Name | None = None
    """The Engrammer, where there are several and the conversation is new."""
    expected: Words | None = None
    """The right answer, where it is known: then the feedback is no opinion."""


class EngrammerAsked(Frozen):
    """Which conversation."""

    thread_id: Id = Field(alias="threadId")


class ShownInsight(Frozen):
    """An insight as the caller was shown it."""

    id: Id
    digest: Digest


class EngrammerContinue(Frozen):
    """What a person says to what waits to be learned."""

    thread_id: Id = Field(alias="threadId")
    user_input: Literal["approve_learning", "reject_learning"] = Field(alias="userInput")
    insights: Annotated[tuple[ShownInsight, ...], Field(min_length=1, max_length=500)] | None = None
    """Only these, and only as they were shown; without it all that wait, as they are now."""
    reason: Words | None = None


class NoteAsked(Frozen):
    """Which note."""

    source: Name
    note_id: Annotated[str, Field(min_length=1, max_length=500)] = Field(alias="noteId")
    agent: Name | None = None
    """Whose, where several Engrammers have such a source."""


class EngrammerQuestion(Frozen):
    """A question in a conversation."""

    query: Query
    expected: Words | None = None
    """The right answer, where it is known: then the feedback is no opinion."""
    agent: Name | None = None
    """The Engrammer, where there are several and the conversation is new."""


class TurnFeedback(Frozen):
    """What a person thinks of an answer."""

    verdict: Literal["right", "wrong"]
    text: Words = ""
    turn: Name | None = None
    """The run that answered; without it the newest."""


class PlaybookChange(Frozen):
    """What a person changes in a playbook without an agent that asks."""

    op: Literal["add", "edit", "retire", "restore", "merge", "undo"]
    bullet: BulletId | None = None
    """Which one; of a merge the one that stays."""
    sources: Annotated[tuple[BulletId, ...], Field(max_length=100)] = ()
    """Of a merge: which others go into it."""
    section: Section | None = None
    text: BulletText | None = None
    base: Digest | None = None
    """The bullet's hash as the caller saw it: refused when it is another one now."""
    version: Annotated[int, Field(ge=1)] | None = None
    """Of an undo: the entry to take back."""
    reason: Words | None = None


class Shape(BaseModel):
    """Something that goes out."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )


class EngrammerStarted(Shape):
    """The conversation, by the id that the client goes on with."""

    thread_id: str


class PendingInsight(Shape):
    """What waits to be learned."""

    type: InsightType
    description: str
    source_bullet_id: str | None = Field(alias="source_bullet_id")
    id: str
    """The request."""
    digest: str


class Reference(Shape):
    """A note that was looked up."""

    source: str
    note_id: str


class EngrammerState(Shape):
    """Where a conversation stands."""

    status: SeedStatus
    latest_response: str | None
    """Markdown; it is there before the looking back has ended."""
    pending_insights: list[PendingInsight] | None
    references: list[Reference] | None
    error: str | None


class EngrammerContinued(Shape):
    """Where the conversation stands once its runs have gone on."""

    status: Literal["done", "error", "interrupted"]
    """`interrupted`: something waits still, or again; `error` says why."""
    error: str | None


class EngrammerNote(BaseModel):
    """A note, with whatever else its source knows of it."""

    model_config = ConfigDict(extra="allow", serialize_by_alias=True, validate_by_name=True)

    id: str
    type: str
    title: str
    content: str
    """Markdown."""
    created_at: datetime = Field(alias="createdAt")
    source: str


class EngrammerRun(BaseModel):
    """A run that goes on in the background."""

    thread_id: str
    run_id: str
    id: str
    """The conversation, which may have several threads."""


class InsightEvidence(Shape):
    """Words that were found where they are said to stand."""

    where: Literal["question", "answer", "feedback", "note", "playbook"]
    ref: str | None = None
    """Of a note, its source and id."""
    quote: str
    start: int
    end: int
    thread_id: str
    run_id: str


class InsightFeedback(Shape):
    """What tells whether the answer was right; `self` is only the agent's own opinion."""

    source: Literal["ground_truth", "environment", "user", "self"]
    verdict: Literal["right", "wrong", "unknown"]
    text: str = ""
    by: str | None = None


class InsightRequest(Shape):
    """The request that asks, where the caller may see it."""

    id: str
    digest: str
    status: Status


class Insight(Shape):
    """One thing that a turn may teach, and what became of it."""

    id: str
    type: InsightType
    text: str
    section: str
    why: str = ""
    """In the agent's own words."""
    source_bullet_id: str | None = None
    op: Operation = "add"
    sources: list[str] = []
    evidence: list[InsightEvidence] = []
    feedback: InsightFeedback | None = None
    status: InsightStatus = "pending"
    request: InsightRequest | None = None
    version: int | None = None
    """Of the playbook, once this is in it."""
    reason: str | None = None


class Reflected(Shape):
    """What the agent found looking back."""

    verdict: str | None = None
    error: str = ""
    root_cause: str = ""
    correct_approach: str = ""
    key_insight: str = ""
    failed: str | None = None
    """Why it could not look back."""


class Suppressed(Shape):
    """What was not asked, since a person had refused nearly the same."""

    text: str
    reason: str | None = None
    at: datetime | None = None


class ModelUsage(Shape):
    """What calls of a model cost, in tokens as the provider counted them."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0


class TurnUsage(Shape):
    """What a turn cost."""

    answer: ModelUsage | None = None
    reflect: ModelUsage | None = None


class EngrammerTurn(Shape):
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
    reflected: Reflected | None = None
    insights: list[Insight] = []
    suppressed: list[Suppressed] = []
    dropped_quotes: int = 0
    """Quotes that stand nowhere."""
    usage: TurnUsage = TurnUsage()
    parent: str | None = None
    """Of a word on an answer: the run that answered."""
    error: str | None = None
    """Why its run failed."""


class EngrammerConversation(Shape):
    """A conversation, all its threads as one."""

    id: str
    agent: str
    status: ThreadStatus
    turns: list[EngrammerTurn]
    """The oldest first."""
    pending: list[str]
    """The requests that wait for the caller."""
    error: str | None


class LikeBullet(BaseModel):
    """A bullet that says nearly the same, or nearly the opposite."""

    bullet: str
    text: str
    score: float
    flags: list[Literal["same", "number", "negation", "swap"]]


class LearningEvidence(BaseModel):
    """Words that were found where they are said to stand."""

    where: Literal["question", "answer", "feedback", "note", "playbook"]
    ref: str | None
    quote: str
    start: int
    end: int
    thread_id: str
    run_id: str


class LearningOperation(BaseModel):
    """What would be done to the playbook: the arguments of the action of a `learning` request."""

    op: Operation
    section: str
    text: str
    bullet: str | None
    sources: list[str]
    base: dict[str, str]


class Learning(BaseModel):
    """What a request of kind `learning` shows: its `context.learning`."""

    insight: str
    type: InsightType
    why: str
    source_bullet_id: str | None
    evidence: list[LearningEvidence]
    similar: list[LikeBullet]
    feedback: InsightFeedback
    tokens: int
    """By how much the playbook grows."""
    room: int
    """What is left of its budget then."""
    before: str | None
    playbook: str
    version: int
    renewed: str | None
    """Why it is asked again."""
    question: str
    answer: str
    thread_id: str
    run_id: str


class PlaybookSummary(Shape):
    """A playbook, in short."""

    id: str
    agent: str
    version: int
    bullets: int
    tokens: int
    budget: int
    waiting: int
    """How many insights wait for a person."""


class PlaybookPage(BaseModel):
    """The playbooks of the Engrammers that run here."""

    items: list[PlaybookSummary]
    next: None


class PlaybookBullet(Shape):
    """One line of a playbook."""

    id: str
    section: str
    text: str
    is_active: bool
    merged_into: str | None
    helpful: int
    harmful: int
    used: int
    created: int
    """The version that added it."""
    changed: int
    """The version that changed it last."""
    type: InsightType | None
    hash: str
    """What `base` of a change is compared with."""


class RejectedText(Shape):
    """What a person refused."""

    text: str
    at: datetime
    request_id: str | None
    reason: str | None
    bullet: str | None


class PlaybookMeasures(Shape):
    """What became of what was proposed."""

    proposed: int
    approved: int
    """As it was proposed."""
    edited: int
    rejected: int
    reverted: int
    """Learned, and taken back later."""
    precision: float | None
    """The share of what was decided that was learned and still stands; nothing where nothing was decided."""


class Playbook(Shape):
    """A playbook as it stands, or stood."""

    id: str
    agent: str
    version: int
    head: int
    """The newest version."""
    tokens: int
    budget: int
    text: str
    """As the agent is told it."""
    bullets: list[PlaybookBullet]
    rejected: list[RejectedText]
    measures: PlaybookMeasures


class BulletContent(Shape):
    """What a bullet says."""

    section: str
    text: str
    is_active: bool
    merged_into: str | None


class BulletChange(Shape):
    """What a bullet said, and says."""

    bullet: str
    before: BulletContent | None
    after: BulletContent


class BulletTag(Shape):
    """What a bullet did to an answer."""

    bullet: str
    tag: Literal["helpful", "harmful", "neutral", "used"]


class PlaybookEntry(Shape):
    """One step of a playbook's history."""

    version: int
    at: datetime
    op: EntryKind
    by: str
    """Who entered it: a person, or the thread of the agent that a person let do so."""
    approved_by: str | None
    """Who let it be learned."""
    rejected_by: str | None
    request_id: str | None
    thread_id: str | None
    run_id: str | None
    reason: str | None
    undoes: int | None
    changes: list[BulletChange]
    tags: list[BulletTag]
    evidence: list[InsightEvidence]
    text: str | None
    """Of a `reject`: what was refused."""
    bullets: list[str]
    """Of a `keep`: the pair that stays two."""


class PlaybookHistory(BaseModel):
    """What happened to a playbook, the newest first."""

    items: list[PlaybookEntry]
    next: str | None


class DiffBullet(Shape):
    """A bullet that is there in only one of two versions."""

    id: str
    section: str
    text: str


class DiffChange(Shape):
    """A bullet that says other things in two versions."""

    id: str
    before: BulletContent
    after: BulletContent


class PlaybookDiff(Shape):
    """What differs between two versions, of what the agent is told."""

    from_: int = Field(alias="from")
    to: int
    added: list[DiffBullet]
    removed: list[DiffBullet]
    changed: list[DiffChange]


class BulletHistory(PlaybookBullet):
    """A bullet, and all that was ever done to it."""

    history: list[PlaybookEntry]
    """The oldest first."""


INPUTS: tuple[type[BaseModel], ...] = (
    EngrammerStart, EngrammerAsked, EngrammerContinue, NoteAsked, EngrammerQuestion, TurnFeedback, PlaybookChange,
)  # fmt: skip
OUTPUTS: tuple[type[BaseModel], ...] = (
    EngrammerStarted, EngrammerState, EngrammerContinued, EngrammerNote, EngrammerRun, EngrammerConversation, Learning,
    LearningOperation, PlaybookPage, Playbook, PlaybookHistory, PlaybookDiff, BulletHistory, PlaybookEntry,
)  # fmt: skip
