"""Bullets and entries of a playbook."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias, TypedDict, get_args

from pydantic import ConfigDict, Field

from ringi.base import StrictModel, digest

InsightType: TypeAlias = Literal["new_strategy", "refine_strategy", "error_pattern"]
EntryOp: TypeAlias = Literal["add", "edit", "merge", "retire", "restore", "undo", "tag", "reject", "keep"]
EvidenceSource: TypeAlias = Literal["question", "answer", "feedback", "note", "playbook"]
Section: TypeAlias = Literal["strategies", "formulas", "mistakes", "heuristics", "context", "others"]

SECTIONS: tuple[Section, ...] = get_args(Section)
MAX_BULLET_LENGTH = 2_000
"""Maximum number of characters in a bullet."""
MAX_SCOPE_LENGTH = 200
"""Maximum number of characters that say when a bullet applies."""


class Evidence(StrictModel):
    """A quote that was found verbatim in its source.

    `start` and `end` are character positions in the source, normalized to NFC.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    where: EvidenceSource
    ref: str | None = None
    """Note or bullet, such as `woodworking_db/joint-012` or `b-00001`."""
    quote: str
    start: int
    end: int
    thread_id: str
    run_id: str


class Content(StrictModel):
    """Content of a bullet at one version."""

    section: str
    text: str
    is_active: bool = True
    merged_into: str | None = None
    applies_when: str = Field(default="", exclude_if=lambda scope: not scope)
    """When the bullet applies; '' if always."""


class BulletChange(StrictModel):
    """Change of one bullet; an added bullet has no `before`, and a retired one stays as inactive."""

    bullet: str
    before: Content | None
    after: Content


class Tag(StrictModel):
    """Effect of a bullet in one run."""

    bullet: str
    tag: Literal["helpful", "harmful", "neutral", "used"]


class Entry(StrictModel):
    """One change to a playbook, with its reason and request."""

    op: EntryOp
    changes: tuple[BulletChange, ...] = ()
    tags: tuple[Tag, ...] = ()
    type: InsightType | None = None
    request_id: str | None = None
    thread_id: str | None = None
    run_id: str | None = None
    reason: str | None = None
    undoes: int | None = None
    """The version that an `undo` reverts."""
    text: str | None = None
    """For `reject`, the rejected text."""
    proposed: str | None = None
    """The proposed text, if a person edited it before approval."""
    refused: EntryOp | None = None
    """For `reject`, the proposed operation."""
    bullets: tuple[str, ...] = ()
    """For `keep`, the bullets kept separate; for `reject`, the bullets it would have changed."""


class EntryMetadata(TypedDict, total=False):
    """Metadata of an entry."""

    type: InsightType | None
    request_id: str | None
    thread_id: str | None
    run_id: str | None
    reason: str | None
    proposed: str | None


class VersionedEntry(NamedTuple):
    """An entry of a journal with its version, time and author."""

    version: int
    at: datetime
    by: str
    entry: Entry


class Bullet(StrictModel):
    """One bullet of a playbook, with its counts and versions."""

    id: str
    content: Content
    helpful: int = 0
    harmful: int = 0
    used: int = 0
    created: int
    changed: int
    type: InsightType | None = None
    created_at: datetime

    @property
    def hash(self) -> str:
        """Digest of section, text, scope and state, for comparison with the `base` of an operation."""
        return digest(self.content.model_dump(include={"section", "text", "is_active", "applies_when"}))

    @property
    def order(self) -> tuple[int, str]:
        """Sort key in order of the numeric ids."""
        return len(self.id), self.id


class Rejection(StrictModel):
    """A text that a person rejected; the person's reason is in the request."""

    text: str
    at: datetime
    request_id: str | None = None
    op: EntryOp = "add"
    bullet: str | None = None
    """The bullet that it would have changed."""


def format_bullet_id(number: int) -> str:
    """Return the bullet id for a number, starting at 1."""
    return f"b-{number:05}"
