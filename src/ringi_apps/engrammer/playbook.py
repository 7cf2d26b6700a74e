"""A playbook, computed from its entries; each entry makes one version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import combinations, islice
from typing import Literal, Self, Unpack

from ringi.base import StrictModel
from ringi.errors import InvalidError
from ringi_apps.engrammer.entries import (
    MAX_BULLET_LENGTH,
    MAX_SCOPE_LENGTH,
    SECTIONS,
    Bullet,
    BulletChange,
    Content,
    Entry,
    EntryMetadata,
    InsightType,
    Rejection,
    Tag,
    VersionedEntry,
    format_bullet_id,
)
from ringi_apps.engrammer.errors import (
    OutdatedReadError,
    PlaybookError,
    changed_bullet,
    duplicate_bullet,
    unknown_bullet,
)
from ringi_apps.engrammer.history import undo_changes
from ringi_apps.engrammer.similarity import normalize

MOST_REJECTED = 200
MOST_APPLIED = 1_000
MOST_COUNTED = 200
"""Number of runs remembered, so that a retried run is not counted twice."""


class Playbook(StrictModel):
    """The bullets of an agent at one version."""

    version: int = 1
    bullets: dict[str, Bullet] = {}
    rejected: tuple[Rejection, ...] = ()
    """The most recent rejections, newest last."""
    applied: dict[str, int] = {}
    """Version that applied each of the newest requests. An older request would fail because its bullets have changed or
    its text already exists."""
    apart: tuple[tuple[str, str], ...] = ()
    """Sorted pairs of hashes of bullets that a person keeps separate."""
    counted: tuple[str, ...] = ()
    """The newest runs whose tags were counted."""

    @property
    def active(self) -> tuple[Bullet, ...]:
        """The active bullets in order of their ids; they are in the agent's prompt."""
        return tuple(sorted((each for each in self.bullets.values() if each.content.is_active), key=lambda b: b.order))

    @property
    def has_dropped_requests(self) -> bool:
        """Whether `applied` may have dropped older requests."""
        return len(self.applied) >= MOST_APPLIED

    @property
    def next_id(self) -> str:
        """The id of the next bullet to add; ids are never reused."""
        return format_bullet_id(len(self.bullets) + 1)

    def bullet(self, id: str) -> Bullet:
        """Return a bullet, active or not, or raise `PlaybookError`."""
        if id not in self.bullets:
            raise unknown_bullet(id)
        return self.bullets[id]

    def active_bullet(self, id: str) -> Bullet:
        """Return an active bullet, or raise `PlaybookError`."""
        bullet = self.bullet(id)
        if not bullet.content.is_active:
            raise PlaybookError("gone", f"bullet {id!r} is retired: restore it first", bullet=id)
        return bullet

    def is_kept_apart(self, one: Bullet, other: Bullet) -> bool:
        """Return whether a person keeps two bullets separate in their current form."""
        return _hash_pair(one, other) in self.apart

    def apply(self, entry: Entry, at: datetime) -> Self:
        """Return the next version, or raise `PlaybookError`; an entry is applied completely or not at all."""
        if entry.request_id is not None and entry.request_id in self.applied:
            applied = self.applied[entry.request_id]
            what = f"request {entry.request_id!r} was applied as version {applied}: there is nothing left to do"
            raise PlaybookError("applied", what, version=applied)
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

    def bullets_after(self, entry: Entry, at: datetime) -> dict[str, Bullet]:
        """Return the bullets after an entry, or raise `PlaybookError` if it cannot be applied."""
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

    def change_entry(
        self,
        op: Literal["add", "edit", "merge", "retire", "restore"],
        bullet: str | None,
        sources: Iterable[str],
        text: str | None,
        section: str | None,
        applies_when: str | None,
        **metadata: Unpack[EntryMetadata],
    ) -> Entry:
        """Return the entry of an operation on the text of bullets, or raise an error if it cannot be applied."""
        if op == "add":
            return self.add_entry(section or "", text or "", applies_when or "", **metadata)
        if not bullet:
            raise InvalidError.of("bullet", f"name the bullet that this {op!r} changes")
        if op == "edit":
            return self.edit_entry(bullet, text, section, applies_when, **metadata)
        if op == "merge":
            return self.merge_entry(bullet, sources, text, section, applies_when, **metadata)
        return self.retire_entry(bullet, **metadata) if op == "retire" else self.restore_entry(bullet, **metadata)

    def add_entry(self, section: str, text: str, applies_when: str = "", **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that adds a bullet."""
        after = Content(section=check_section(section), text=check_text(text), applies_when=check_scope(applies_when))
        return Entry(op="add", changes=(BulletChange(bullet=self.next_id, before=None, after=after),), **metadata)

    def edit_entry(
        self,
        bullet: str,
        text: str | None = None,
        section: str | None = None,
        applies_when: str | None = None,
        **metadata: Unpack[EntryMetadata],
    ) -> Entry:
        """Return the entry that changes the text, section or scope of a bullet."""
        before = self.active_bullet(bullet).content
        after = _with_changes(before, text, section, applies_when)
        if after == before:
            raise duplicate_bullet(bullet)
        return Entry(op="edit", changes=(BulletChange(bullet=bullet, before=before, after=after),), **metadata)

    def retire_entry(self, bullet: str, **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that retires a bullet, so that it is no longer in the agent's prompt."""
        before = self.active_bullet(bullet).content
        after = before.model_copy(update={"is_active": False})
        return Entry(op="retire", changes=(BulletChange(bullet=bullet, before=before, after=after),), **metadata)

    def restore_entry(self, bullet: str, **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that restores a retired or merged bullet."""
        before = self.bullet(bullet).content
        if before.is_active:
            what = f"bullet {bullet!r} is not retired: there is nothing to restore"
            raise PlaybookError("standing", what, bullet=bullet)
        after = before.model_copy(update={"is_active": True, "merged_into": None})
        return Entry(op="restore", changes=(BulletChange(bullet=bullet, before=before, after=after),), **metadata)

    def merge_entry(
        self,
        keep: str,
        sources: Iterable[str],
        text: str | None = None,
        section: str | None = None,
        applies_when: str | None = None,
        **metadata: Unpack[EntryMetadata],
    ) -> Entry:
        """Return the entry that merges bullets into one; the others are retired and refer to it."""
        others = tuple(sources)
        if not others or keep in others or len(set(others)) < len(others):
            raise InvalidError.of("sources", f"name each bullet to merge into {keep!r} once, without {keep!r} itself")
        before = self.active_bullet(keep).content
        changes = [BulletChange(bullet=keep, before=before, after=_with_changes(before, text, section, applies_when))]
        for each in others:
            content = self.active_bullet(each).content
            after = content.model_copy(update={"is_active": False, "merged_into": keep})
            changes.append(BulletChange(bullet=each, before=content, after=after))
        return Entry(op="merge", changes=tuple(changes), **metadata)

    def undo_entry(self, version: int, entries: Sequence[VersionedEntry], **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that undoes one version, or raise a `PlaybookError` if it cannot be undone.

        An added bullet is retired, not removed. `entries` must include the last change of a bullet; later tags and
        rejections may be missing.
        """
        newest = max((each.version for each in entries), default=1)
        # A merge may have come since that left the text of the bullet it kept, and only the entries tell of it.
        if newest < max((each.changed for each in self.bullets.values()), default=1):
            raise OutdatedReadError(newest, self.version)
        return Entry(op="undo", undoes=version, changes=undo_changes(version, entries), **metadata)

    def keep_apart_entry(self, bullets: Iterable[str], **metadata: Unpack[EntryMetadata]) -> Entry:
        """Return the entry that keeps bullets separate, so they are not proposed as duplicates again."""
        ids = tuple(self.active_bullet(each).id for each in dict.fromkeys(bullets))
        if len(ids) < 2:
            raise InvalidError.of("sources", "name at least two bullets to keep separate", "too_few_items", min=2)
        return Entry(op="keep", bullets=ids, **metadata)


EMPTY_PLAYBOOK = Playbook()


def fold(entries: Iterable[tuple[Entry, datetime]], playbook: Playbook = EMPTY_PLAYBOOK) -> Playbook:
    """Apply entries, oldest first, to a playbook."""
    for entry, at in entries:
        playbook = playbook.apply(entry, at)
    return playbook


def check_text(text: str) -> str:
    """Return the text of a bullet unchanged, or raise `InvalidError` if it is empty or too long."""
    if not text.strip():
        raise InvalidError.of("text", "it is empty: enter the text of the bullet", "required")
    if len(text) > MAX_BULLET_LENGTH:
        why = f"it has {len(text)} characters: shorten it to {MAX_BULLET_LENGTH}"
        raise InvalidError.of("text", why, "too_long", length=len(text), max=MAX_BULLET_LENGTH)
    return text


def check_scope(applies_when: str) -> str:
    """Return when a bullet applies, without blanks around it, or raise `InvalidError` if it is too long."""
    scope = applies_when.strip()
    if len(scope) > MAX_SCOPE_LENGTH:
        why = f"it has {len(scope)} characters: shorten it to {MAX_SCOPE_LENGTH}"
        raise InvalidError.of("applies_when", why, "too_long", length=len(scope), max=MAX_SCOPE_LENGTH)
    return scope


def check_section(section: str) -> str:
    """Return the name of a section unchanged, or raise `InvalidError` if it is unknown."""
    if section not in SECTIONS:
        why = f"there is no {section!r}: choose one of {', '.join(SECTIONS)}"
        raise InvalidError.of("section", why, "not_an_option")
    return section


def _with_changes(before: Content, text: str | None, section: str | None, applies_when: str | None) -> Content:
    changes = {
        "text": None if text is None else check_text(text),
        "section": section,
        "applies_when": None if applies_when is None else check_scope(applies_when),
    }
    if section is not None and section != before.section:
        check_section(section)
    return before.model_copy(update={name: value for name, value in changes.items() if value is not None})


def _apply_change(
    change: BulletChange, bullets: dict[str, Bullet], version: int, type: InsightType | None, at: datetime
) -> Bullet:
    bullet, expected = bullets.get(change.bullet), format_bullet_id(len(bullets) + 1)
    if bullet is not None:
        if bullet.content != change.before:
            raise changed_bullet(change.bullet)
        return bullet.model_copy(update={"content": change.after, "changed": version})
    if change.before is not None:
        raise unknown_bullet(change.bullet)
    if change.bullet != expected:
        raise changed_bullet(change.bullet, f"cannot be added, the next is {expected!r}")
    versions = {"created": version, "changed": version, "created_at": at}
    return Bullet(id=change.bullet, content=change.after, type=type, **versions)


def _check_duplicates(entry: Entry, bullets: dict[str, Bullet]) -> None:
    for change in entry.changes:
        text = normalize(change.after.text)
        for other in bullets.values() if change.after.is_active else ():
            if other.id != change.bullet and other.content.is_active and normalize(other.content.text) == text:
                raise duplicate_bullet(other.id)


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
