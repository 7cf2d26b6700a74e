"""A playbook: the sum of its entries. Each version is made from the one before, and nothing is ever lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import combinations, islice
from typing import Self, Unpack

from ringi.base import StrictModel
from ringi.engrammer.entries import (
    MAX_BULLET_LENGTH,
    SECTIONS,
    Bullet,
    BulletChange,
    Content,
    Entry,
    EntryMetadata,
    Evidence,
    InsightType,
    Rejection,
    Tag,
    VersionedEntry,
    format_bullet_id,
)
from ringi.engrammer.errors import (
    AlreadyAppliedError,
    ChangedError,
    DuplicateError,
    NotRetiredError,
    OutdatedReadError,
    PlaybookError,
    RetiredBulletError,
    UnknownBulletError,
)
from ringi.engrammer.history import ProposalStats, blame, proposal_stats, undo_changes
from ringi.engrammer.similarity import normalize
from ringi.errors import InvalidError

__all__ = [
    "MAX_BULLET_LENGTH",
    "SECTIONS",
    "Bullet",
    "BulletChange",
    "Content",
    "Entry",
    "Evidence",
    "InsightType",
    "Playbook",
    "PlaybookError",
    "ProposalStats",
    "Rejection",
    "Tag",
    "VersionDiff",
    "VersionedEntry",
    "blame",
    "diff",
    "fold",
    "proposal_stats",
]

MOST_REJECTED = 200
MOST_APPLIED = 1_000
MOST_COUNTED = 200
"""A run that a worker died of counts its tags again at once, or within days: not after so many others."""


class Playbook(StrictModel):
    """What an agent has learned, as of one version."""

    version: int = 1
    bullets: dict[str, Bullet] = {}
    rejected: tuple[Rejection, ...] = ()
    """The newest refusals, the newest last."""
    applied: dict[str, int] = {}
    """The version in which the answer to each of the newest requests is; an older one would find its bullets changed,
    or its text there already."""
    apart: tuple[tuple[str, str], ...] = ()
    """Pairs of hashes of bullets that a person keeps apart, each in order."""
    counted: tuple[str, ...] = ()
    """The newest runs whose tags are counted."""

    @property
    def active(self) -> tuple[Bullet, ...]:
        """The bullets that the agent is told, by id."""
        return tuple(sorted((each for each in self.bullets.values() if each.content.is_active), key=lambda b: b.order))

    @property
    def has_dropped_requests(self) -> bool:
        """Whether it may have the answers to requests that `applied` does not name any more."""
        return len(self.applied) >= MOST_APPLIED

    @property
    def next_id(self) -> str:
        """The id of the next bullet that is added; none is ever used again."""
        return format_bullet_id(len(self.bullets) + 1)

    def bullet(self, id: str) -> Bullet:
        """Return a bullet, active or not, or raise `UnknownBulletError`."""
        if id not in self.bullets:
            raise UnknownBulletError(id)
        return self.bullets[id]

    def active_bullet(self, id: str) -> Bullet:
        """Return an active bullet, or raise what is wrong with it."""
        bullet = self.bullet(id)
        if not bullet.content.is_active:
            raise RetiredBulletError(id)
        return bullet

    def is_kept_apart(self, one: Bullet, other: Bullet) -> bool:
        """Whether a person keeps these two apart, as they stand."""
        return _hash_pair(one, other) in self.apart

    def apply(self, entry: Entry, at: datetime) -> Self:
        """Return the next version, or raise `PlaybookError`: an entry is applied whole, or not at all."""
        if entry.request_id is not None and entry.request_id in self.applied:
            raise AlreadyAppliedError(entry.request_id, self.applied[entry.request_id])
        version = self.version + 1
        return self.model_copy(
            update={
                "version": version,
                "bullets": self.bullets_after(entry, at),
                "rejected": (*self.rejected, *_rejections(entry, at))[-MOST_REJECTED:],
                "applied": self._applied(entry, version),
                "apart": tuple(dict.fromkeys((*self.apart, *self._apart(entry)))) if entry.op == "keep" else self.apart,
                "counted": (*self.counted, *_counted_run(entry))[-MOST_COUNTED:],
            }
        )

    def bullets_after(self, entry: Entry, at: datetime | None = None) -> dict[str, Bullet]:
        """Return the bullets as an entry leaves them, or raise the `PlaybookError` that forbids it."""
        bullets = dict(self.bullets)
        for change in entry.changes:
            bullets[change.bullet] = _apply_change(change, bullets, self.version + 1, entry.type, at)
        _check_duplicates(entry, bullets)
        for tag in entry.tags:
            bullets[tag.bullet] = _apply_tag(bullets.get(tag.bullet) or self.bullet(tag.bullet), tag)
        return bullets

    def _applied(self, entry: Entry, version: int) -> dict[str, int]:
        if entry.request_id is None:
            return self.applied
        applied = {**self.applied, entry.request_id: version}
        return dict(islice(applied.items(), max(0, len(applied) - MOST_APPLIED), None))

    def _apart(self, entry: Entry) -> list[tuple[str, str]]:
        bullets = [self.bullet(id) for id in entry.bullets]
        return [_hash_pair(one, other) for one, other in combinations(bullets, 2)]

    def add_entry(self, section: str, text: str, **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that adds a bullet."""
        after = Content(section=check_section(section), text=check_text(text))
        return Entry(op="add", changes=(BulletChange(bullet=self.next_id, before=None, after=after),), **metadata)

    def edit_entry(
        self, bullet: str, text: str | None = None, section: str | None = None, **metadata: Unpack[EntryMetadata]
    ) -> Entry:
        """Return the entry that changes what a bullet says, or where it stands."""
        before = self.active_bullet(bullet).content
        after = _with_changes(before, text, section)
        if after == before:
            raise DuplicateError(bullet)
        return Entry(op="edit", changes=(BulletChange(bullet=bullet, before=before, after=after),), **metadata)

    def retire_entry(self, bullet: str, **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry after which the agent is not told a bullet any more."""
        before = self.active_bullet(bullet).content
        after = before.model_copy(update={"is_active": False})
        return Entry(op="retire", changes=(BulletChange(bullet=bullet, before=before, after=after),), **metadata)

    def restore_entry(self, bullet: str, **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that brings back a bullet that was retired, or merged into another."""
        before = self.bullet(bullet).content
        if before.is_active:
            raise NotRetiredError(bullet)
        after = before.model_copy(update={"is_active": True, "merged_into": None})
        return Entry(op="restore", changes=(BulletChange(bullet=bullet, before=before, after=after),), **metadata)

    def merge_entry(
        self,
        keep: str,
        sources: Iterable[str],
        text: str | None = None,
        section: str | None = None,
        **metadata: Unpack[EntryMetadata],
    ) -> Entry:
        """Return the entry that lets one bullet speak for several; the others are retired, and say into which."""
        others = _check_sources(keep, tuple(sources))
        before = self.active_bullet(keep).content
        changes = [BulletChange(bullet=keep, before=before, after=_with_changes(before, text, section))]
        for each in others:
            content = self.active_bullet(each).content
            after = content.model_copy(update={"is_active": False, "merged_into": keep})
            changes.append(BulletChange(bullet=each, before=content, after=after))
        return Entry(op="merge", changes=tuple(changes), **metadata)

    def undo_entry(self, version: int, entries: Sequence[VersionedEntry], **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that takes back one version, or raise what stands in the way.

        What an add brought is retired, not removed. `entries` are all of the playbook, up to its last change of a
        bullet: tags and refusals may have come since.
        """
        newest = max((each.version for each in entries), default=1)
        # A merge may have come since that left the text of the bullet it kept, and only the entries tell of it.
        if newest < max((each.changed for each in self.bullets.values()), default=1):
            raise OutdatedReadError(newest, self.version)
        return Entry(op="undo", undoes=version, changes=undo_changes(version, entries), **metadata)

    def keep_apart_entry(self, bullets: Iterable[str], **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that keeps bullets apart, as they stand, from being proposed as duplicates again."""
        ids = tuple(self.active_bullet(each).id for each in dict.fromkeys(bullets))
        if len(ids) < 2:
            raise InvalidError.of("sources", "name two bullets or more that are to stay apart")
        return Entry(op="keep", bullets=ids, **metadata)


EMPTY_PLAYBOOK = Playbook()


def fold(entries: Iterable[tuple[Entry, datetime]], playbook: Playbook = EMPTY_PLAYBOOK) -> Playbook:
    """Return the sum of entries, the oldest first, and of the playbook before them."""
    for entry, at in entries:
        playbook = playbook.apply(entry, at)
    return playbook


class BulletLine(StrictModel):
    """A bullet as the agent is told it."""

    id: str
    section: str
    text: str


class ChangedLine(StrictModel):
    """A bullet that says something else."""

    id: str
    before: BulletLine
    after: BulletLine


class VersionDiff(StrictModel):
    """What the agent is told more, no more, and otherwise."""

    added: tuple[BulletLine, ...] = ()
    removed: tuple[BulletLine, ...] = ()
    changed: tuple[ChangedLine, ...] = ()


def diff(older: Playbook, newer: Playbook) -> VersionDiff:
    """Return what differs between two versions, of active bullets."""
    before, after = _lines(older), _lines(newer)
    return VersionDiff(
        added=tuple(line for id, line in after.items() if id not in before),
        removed=tuple(line for id, line in before.items() if id not in after),
        changed=tuple(
            ChangedLine(id=id, before=before[id], after=line)
            for id, line in after.items()
            if id in before and before[id] != line
        ),
    )


def _lines(playbook: Playbook) -> dict[str, BulletLine]:
    return {
        each.id: BulletLine(id=each.id, section=each.content.section, text=each.content.text)
        for each in playbook.active
    }


def check_text(text: str) -> str:
    """Return the text of a bullet unchanged, or raise what is wrong with it."""
    if not text.strip():
        raise InvalidError.of("text", "it is empty: say what is to be learned")
    if len(text) > MAX_BULLET_LENGTH:
        raise InvalidError.of("text", f"it has {len(text)} characters: shorten it to {MAX_BULLET_LENGTH}")
    return text


def check_section(section: str) -> str:
    """Return the name of a section unchanged, or raise that there is none of this name."""
    if section not in SECTIONS:
        raise InvalidError.of("section", f"there is no {section!r}: choose one of {', '.join(SECTIONS)}")
    return section


def _with_changes(before: Content, text: str | None, section: str | None) -> Content:
    changes = {"text": None if text is None else check_text(text), "section": section}
    # A section that is not changed may be one that only older versions knew.
    if section is not None and section != before.section:
        check_section(section)
    return before.model_copy(update={name: value for name, value in changes.items() if value is not None})


def _check_sources(keep: str, sources: tuple[str, ...]) -> tuple[str, ...]:
    if not sources or keep in sources or len(set(sources)) < len(sources):
        raise InvalidError.of("sources", f"name each bullet that {keep!r} is to speak for once, and not itself")
    return sources


def _apply_change(
    change: BulletChange, bullets: dict[str, Bullet], version: int, type: InsightType | None, at: datetime | None
) -> Bullet:
    bullet, expected = bullets.get(change.bullet), format_bullet_id(len(bullets) + 1)
    if bullet is not None:
        if bullet.content != change.before:
            raise ChangedError(change.bullet)
        return bullet.model_copy(update={"content": change.after, "changed": version})
    if change.before is not None:
        raise UnknownBulletError(change.bullet)
    if change.bullet != expected:
        raise ChangedError.numbered(change.bullet, expected)
    versions = {"created": version, "changed": version, "created_at": at}
    return Bullet(id=change.bullet, content=change.after, type=type, **versions)


def _check_duplicates(entry: Entry, bullets: dict[str, Bullet]) -> None:
    for change in entry.changes:
        text = normalize(change.after.text)
        for other in bullets.values() if change.after.is_active else ():
            if other.id != change.bullet and other.content.is_active and normalize(other.content.text) == text:
                raise DuplicateError(other.id)


def _apply_tag(bullet: Bullet, tag: Tag) -> Bullet:
    return bullet if tag.tag == "neutral" else bullet.model_copy(update={tag.tag: getattr(bullet, tag.tag) + 1})


def _rejections(entry: Entry, at: datetime) -> tuple[Rejection, ...]:
    if entry.op != "reject" or entry.text is None:
        return ()
    origin = {"request_id": entry.request_id, "bullet": next(iter(entry.bullets), None)}
    return (Rejection(text=entry.text, at=at, op=entry.refused or "add", **origin),)


def _counted_run(entry: Entry) -> tuple[str, ...]:
    return (entry.run_id,) if entry.op == "tag" and entry.run_id is not None else ()


def _hash_pair(one: Bullet, other: Bullet) -> tuple[str, str]:
    first, second = sorted((one.hash, other.hash))
    return first, second
