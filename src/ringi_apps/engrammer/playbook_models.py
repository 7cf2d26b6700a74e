"""The JSON of playbooks over HTTP, and of the requests that ask to change one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ringi.base import StrictModel
from ringi_apps.engrammer.entries import EntryOp, Evidence, InsightType, Section
from ringi_apps.engrammer.history import ProposalStats
from ringi_apps.engrammer.insights import AnswerFeedback, PlaybookOperation, Trial
from ringi_apps.engrammer.models import CamelModel, Digest, InsightEvidence, LongText
from ringi_apps.engrammer.similarity import SimilarBullet

BulletId = Annotated[str, Field(min_length=1, max_length=50)]
BulletText = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
ScopeText = Annotated[str, Field(max_length=200)]


class PlaybookChange(StrictModel):
    """A change that a person makes to a playbook directly."""

    op: Literal["add", "edit", "retire", "restore", "merge", "undo"]
    bullet: BulletId | None = None
    """The bullet to change; in a merge, the one that stays."""
    sources: Annotated[tuple[BulletId, ...], Field(max_length=100)] = ()
    """The other bullets of a merge."""
    section: Section | None = None
    text: BulletText | None = None
    applies_when: ScopeText | None = None
    """When the bullet applies; '' if always."""
    base: Digest | None = None
    """The bullet's hash that the caller saw; the change is refused if it differs now."""
    version: Annotated[int, Field(ge=1)] | None = None
    """The version to undo."""
    reason: LongText | None = None


class LearningContext(BaseModel):
    """The `context.learning` of a request of kind `learning`."""

    insight: str
    type: InsightType
    why: str
    source_bullet_id: str | None
    evidence: list[Evidence]
    similar: list[SimilarBullet]
    feedback: AnswerFeedback
    tokens: int
    """Tokens that the playbook gains."""
    room: int
    """Tokens of the budget left afterwards."""
    before: str | None
    playbook: str
    version: int
    renewed: str | None
    """Why the insight is proposed again."""
    trial: Trial | None
    """None if there was no evaluation."""
    question: str
    answer: str
    thread_id: str
    run_id: str


class PlaybookSummary(CamelModel):
    """Summary of a playbook."""

    id: str
    agent: str
    version: int
    bullets: int
    tokens: int
    budget: int
    waiting: int
    """Number of insights that await a decision."""


class PlaybookPage(BaseModel):
    """The playbooks of the Engrammers on this server."""

    items: list[PlaybookSummary]
    next: None


class ScopedText(CamelModel):
    """The text of a bullet, with its section and scope."""

    section: str
    text: str
    applies_when: str = Field(default="", alias="applies_when")
    """When it applies; '' if always."""


class BulletContent(ScopedText):
    """Content of a bullet."""

    is_active: bool
    merged_into: str | None


class PlaybookBullet(BulletContent):
    """One bullet of a playbook."""

    id: str
    helpful: int
    harmful: int
    used: int
    created: int
    """The version that added it."""
    changed: int
    """The version that last changed it."""
    type: InsightType | None
    hash: str
    """Value to send as `base` of a change."""


class RejectedText(CamelModel):
    """A text that a person rejected."""

    text: str
    at: datetime
    op: EntryOp
    request_id: str | None
    reason: str | None
    bullet: str | None


class PlaybookView(CamelModel):
    """A playbook at one version."""

    id: str
    agent: str
    version: int
    head: int
    """The newest version."""
    tokens: int
    budget: int
    text: str
    """The text in the agent's prompt."""
    bullets: list[PlaybookBullet]
    rejected: list[RejectedText]
    measures: ProposalStats


class BulletChangeView(CamelModel):
    """Content of a bullet before and after a change."""

    bullet: str
    before: BulletContent | None
    after: BulletContent


class BulletTagView(CamelModel):
    """Effect of a bullet on an answer."""

    bullet: str
    tag: Literal["helpful", "harmful", "neutral", "used"]


class PlaybookEntry(CamelModel):
    """One entry of a playbook's history."""

    version: int
    at: datetime
    op: EntryOp
    by: str
    """The person who made the change, or the agent's thread that applied an approval."""
    approved_by: str | None
    """Person who approved the proposal."""
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
    """For `reject`, the rejected text; otherwise the proposed text if a person edited it."""
    refused: EntryOp | None
    """For `reject`, the proposed operation."""
    bullets: list[str]
    """For `keep`, the bullets kept separate; for `reject`, the bullets it would have changed."""


class PlaybookHistory(BaseModel):
    """History of a playbook, newest first."""

    items: list[PlaybookEntry]
    next: str | None


class DiffBullet(ScopedText):
    """A bullet that is in only one of two versions."""

    id: str


class DiffChange(CamelModel):
    """A bullet whose content differs between two versions."""

    id: str
    before: DiffBullet
    after: DiffBullet


class PlaybookDiffView(CamelModel):
    """Differences between two versions of the active bullets."""

    from_: int = Field(alias="from")
    to: int
    added: list[DiffBullet]
    removed: list[DiffBullet]
    changed: list[DiffChange]


class BulletHistory(PlaybookBullet):
    """A bullet and its history."""

    history: list[PlaybookEntry]
    """Oldest first."""


INPUTS: tuple[type[BaseModel], ...] = (PlaybookChange,)
OUTPUTS: tuple[type[BaseModel], ...] = (
    LearningContext, PlaybookOperation, PlaybookPage, PlaybookView, PlaybookHistory, PlaybookDiffView, BulletHistory,
    PlaybookEntry,
)  # fmt: skip
