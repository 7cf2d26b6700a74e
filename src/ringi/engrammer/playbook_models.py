"""The JSON of playbooks over HTTP, and of the requests that ask to change one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ringi.base import StrictModel
from ringi.engrammer.models import (
    CamelModel,
    Digest,
    InsightEvidence,
    InsightFeedback,
    InsightType,
    LongText,
    OperationKind,
)

EntryKind = Literal["add", "edit", "merge", "retire", "restore", "undo", "tag", "reject", "keep"]
BulletId = Annotated[str, Field(min_length=1, max_length=50)]
BulletText = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
Section = Literal["strategies", "formulas", "mistakes", "heuristics", "context", "others"]


class PlaybookChange(StrictModel):
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
    reason: LongText | None = None


class SimilarBulletView(BaseModel):
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

    op: OperationKind
    section: str
    text: str
    bullet: str | None
    sources: list[str]
    base: dict[str, str]


class LearningTrial(BaseModel):
    """How questions whose right answers are known were answered without the proposal, and with it."""

    cases: int
    right_before: int
    right_after: int
    wins: list[str]
    """The questions that only with it are answered rightly."""
    losses: list[str]
    """The questions that with it are not answered rightly any more."""
    failed: str | None
    """Why there is no result."""


class LearningContext(BaseModel):
    """What a request of kind `learning` shows: its `context.learning`."""

    insight: str
    type: InsightType
    why: str
    source_bullet_id: str | None
    evidence: list[LearningEvidence]
    similar: list[SimilarBulletView]
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
    trial: LearningTrial | None
    """None where nothing was tried."""
    question: str
    answer: str
    thread_id: str
    run_id: str


class PlaybookSummary(CamelModel):
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


class PlaybookBullet(CamelModel):
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


class RejectedText(CamelModel):
    """What a person refused."""

    text: str
    at: datetime
    op: EntryKind
    request_id: str | None
    reason: str | None
    bullet: str | None


class PlaybookMeasures(CamelModel):
    """What became of what was proposed."""

    proposed: int
    """All that was decided, or waits."""
    approved: int
    edited: int
    """Of the approved, those that a person changed first."""
    rejected: int
    reverted: int
    """Of the approved, those that were taken back since."""
    precision: float | None
    """Approved of decided; none where nothing was decided."""


class PlaybookView(CamelModel):
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


class BulletContent(CamelModel):
    """What a bullet says."""

    section: str
    text: str
    is_active: bool
    merged_into: str | None


class BulletChangeView(CamelModel):
    """What a bullet said, and says."""

    bullet: str
    before: BulletContent | None
    after: BulletContent


class BulletTagView(CamelModel):
    """What a bullet did to an answer."""

    bullet: str
    tag: Literal["helpful", "harmful", "neutral", "used"]


class PlaybookEntry(CamelModel):
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
    changes: list[BulletChangeView]
    tags: list[BulletTagView]
    evidence: list[InsightEvidence]
    text: str | None
    """Of a `reject` the text refused; else the text as it was proposed, where a person changed it."""
    refused: EntryKind | None
    """Of a `reject` what would have been done."""
    bullets: list[str]
    """Of a `keep` those that stay apart; of a `reject` those that it would have changed."""


class PlaybookHistory(BaseModel):
    """What happened to a playbook, the newest first."""

    items: list[PlaybookEntry]
    next: str | None


class DiffBullet(CamelModel):
    """A bullet that is there in only one of two versions."""

    id: str
    section: str
    text: str


class DiffChange(CamelModel):
    """A bullet that says other things in two versions."""

    id: str
    before: DiffBullet
    after: DiffBullet


class PlaybookDiffView(CamelModel):
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


INPUTS: tuple[type[BaseModel], ...] = (PlaybookChange,)
OUTPUTS: tuple[type[BaseModel], ...] = (
    LearningContext, LearningOperation, PlaybookPage, PlaybookView, PlaybookHistory, PlaybookDiffView, BulletHistory,
    PlaybookEntry,
)  # fmt: skip
