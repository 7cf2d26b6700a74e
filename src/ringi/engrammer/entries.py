"""What a playbook is made of: bullets, and the entries whose sum it is."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias, TypedDict

from ringi.base import StrictModel, digest

InsightType: TypeAlias = Literal["new_strategy", "refine_strategy", "error_pattern"]
EntryOp: TypeAlias = Literal["add", "edit", "merge", "retire", "restore", "undo", "tag", "reject", "keep"]
EvidenceSource: TypeAlias = Literal["question", "answer", "feedback", "note", "playbook"]

SECTIONS = ("strategies", "formulas", "mistakes", "heuristics", "context", "others")
MAX_BULLET_LENGTH = 2_000
"""How many characters the text of a bullet may have."""


class Evidence(StrictModel):
    """Words of a run that stand verbatim where they are said to stand.

    `start` and `end` count the characters of the source in NFC.
    """

    where: EvidenceSource
    ref: str | None = None
    """Which note or bullet: `woodworking_db/joint-012`, `b-00001`."""
    quote: str
    start: int
    end: int
    thread_id: str
    run_id: str


class Content(StrictModel):
    """What a bullet says at one time."""

    section: str
    text: str
    is_active: bool = True
    merged_into: str | None = None


class BulletChange(StrictModel):
    """What became of one bullet: an add has no `before`; a retired bullet stays, and is not active."""

    bullet: str
    before: Content | None
    after: Content


class Tag(StrictModel):
    """How a bullet did in one run."""

    bullet: str
    tag: Literal["helpful", "harmful", "neutral", "used"]


class Entry(StrictModel):
    """One thing that happened to a playbook, whole: what it changed, why, and by which request."""

    op: EntryOp
    changes: tuple[BulletChange, ...] = ()
    tags: tuple[Tag, ...] = ()
    type: InsightType | None = None
    request_id: str | None = None
    thread_id: str | None = None
    run_id: str | None = None
    reason: str | None = None
    undoes: int | None = None
    """The version that an `undo` takes back."""
    text: str | None = None
    """Of a `reject` the text refused."""
    proposed: str | None = None
    """The text as it was proposed, where a person changed what was proposed and then approved it."""
    refused: EntryOp | None = None
    """Of a `reject` what would have been done."""
    bullets: tuple[str, ...] = ()
    """Of a `keep` the bullets that stay apart; of a `reject` those that it would have changed."""


class EntryMetadata(TypedDict, total=False):
    """What an entry says beside what it changes."""

    type: InsightType | None
    request_id: str | None
    thread_id: str | None
    run_id: str | None
    reason: str | None
    proposed: str | None


class VersionedEntry(NamedTuple):
    """An entry as it stands in a journal: its version, when it was written, and by whom."""

    version: int
    at: datetime
    by: str
    entry: Entry


class Bullet(StrictModel):
    """One line of a playbook, how often it helped, and the versions that made and last changed it."""

    id: str
    content: Content
    helpful: int = 0
    harmful: int = 0
    used: int = 0
    created: int
    changed: int
    type: InsightType | None = None
    created_at: datetime | None = None
    """None in a playbook that was stored before this was kept."""

    @property
    def hash(self) -> str:
        """The digest of what it says and whether it is active: what the `base` of an operation compares."""
        return digest(self.content.model_dump(include={"section", "text", "is_active"}))

    @property
    def order(self) -> tuple[int, str]:
        """Where it stands among the others: as their numbers do, however many digits they have."""
        return len(self.id), self.id


class Rejection(StrictModel):
    """A text that a person refused to have learned; why, their own words, stands in the entry and the request."""

    text: str
    at: datetime
    request_id: str | None = None
    op: EntryOp = "add"
    bullet: str | None = None
    """The bullet that it would have changed."""


def format_bullet_id(number: int) -> str:
    """Return the id of a playbook's bullet by its number, from 1."""
    return f"b-{number:05}"
