"""A playbook: the sum of its entries. Each version is made from the one before, and nothing is ever lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import combinations, islice
from typing import Self, Unpack

from ringi.base import StrictModel
from ringi.engrammer.entries import (
    LONGEST,
    SECTIONS,
    About,
    Bullet,
    Change,
    Content,
    Entry,
    Evidence,
    InsightType,
    Rejected,
    Tag,
    Written,
    numbered,
)
from ringi.engrammer.errors import (
    AppliedError,
    BehindError,
    ChangedError,
    DuplicateError,
    GoneError,
    PlaybookError,
    StandingError,
    UnknownBulletError,
)
from ringi.engrammer.history import Measures, blame, measures, undoing
from ringi.engrammer.similarity import normalised
from ringi.errors import InvalidError

__all__ = [
    "LONGEST",
    "SECTIONS",
    "Bullet",
    "Change",
    "Content",
    "Diff",
    "Entry",
    "Evidence",
    "InsightType",
    "Measures",
    "Playbook",
    "PlaybookError",
    "Rejected",
    "Tag",
    "Written",
    "blame",
    "diff",
    "folded",
    "measures",
]

MOST_REJECTED = 200
MOST_APPLIED = 1_000
MOST_COUNTED = 200
"""A run that a worker died of counts its tags again at once, or within days: not after so many others."""


class Playbook(StrictModel):
    """What an agent has learned, as of one version."""

    version: int = 1
    bullets: dict[str, Bullet] = {}
    rejected: tuple[Rejected, ...] = ()
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
    def has_forgotten(self) -> bool:
        """Whether it may have the answers to requests that `applied` does not name any more."""
        return len(self.applied) >= MOST_APPLIED

    @property
    def next_id(self) -> str:
        """The id of the next bullet that is added; none is ever used again."""
        return numbered(len(self.bullets) + 1)

    def bullet(self, id: str) -> Bullet:
        """Return a bullet, active or not, or raise `UnknownBulletError`."""
        if id not in self.bullets:
            raise UnknownBulletError(id)
        return self.bullets[id]

    def standing(self, id: str) -> Bullet:
        """Return an active bullet, or raise what is wrong with it."""
        found = self.bullet(id)
        if not found.content.is_active:
            raise GoneError(id)
        return found

    def are_apart(self, one: Bullet, other: Bullet) -> bool:
        """Whether a person keeps these two apart, as they stand."""
        return _pair(one, other) in self.apart

    def entered(self, entry: Entry, at: datetime) -> Self:
        """Return the next version, or raise `PlaybookError`: an entry is applied whole, or not at all."""
        if entry.request_id is not None and entry.request_id in self.applied:
            raise AppliedError(entry.request_id, self.applied[entry.request_id])
        version = self.version + 1
        return self.model_copy(
            update={
                "version": version,
                "bullets": self.left_by(entry, at),
                "rejected": (*self.rejected, *_rejected(entry, at))[-MOST_REJECTED:],
                "applied": self._applied(entry, version),
                "apart": tuple(dict.fromkeys((*self.apart, *self._apart(entry)))) if entry.op == "keep" else self.apart,
                "counted": (*self.counted, *_counted(entry))[-MOST_COUNTED:],
            }
        )

    def left_by(self, entry: Entry, at: datetime | None = None) -> dict[str, Bullet]:
        """Return the bullets as an entry leaves them, or raise the `PlaybookError` that forbids it."""
        bullets = dict(self.bullets)
        for change in entry.changes:
            bullets[change.bullet] = _after(change, bullets, self.version + 1, entry.type, at)
        _check_duplicates(entry, bullets)
        for tag in entry.tags:
            bullets[tag.bullet] = _tagged(bullets.get(tag.bullet) or self.bullet(tag.bullet), tag)
        return bullets

    def _applied(self, entry: Entry, version: int) -> dict[str, int]:
        if entry.request_id is None:
            return self.applied
        applied = {**self.applied, entry.request_id: version}
        return dict(islice(applied.items(), max(0, len(applied) - MOST_APPLIED), None))

    def _apart(self, entry: Entry) -> list[tuple[str, str]]:
        kept = [self.bullet(id) for id in entry.bullets]
        return [_pair(one, other) for one, other in combinations(kept, 2)]

    def added(self, section: str, text: str, **about: Unpack[About]) -> Entry:
        """Return the entry that adds a bullet."""
        after = Content(section=fit_section(section), text=fit_text(text))
        return Entry(op="add", changes=(Change(bullet=self.next_id, before=None, after=after),), **about)

    def edited(self, bullet: str, text: str | None = None, section: str | None = None, **about: Unpack[About]) -> Entry:
        """Return the entry that changes what a bullet says, or where it stands."""
        before = self.standing(bullet).content
        after = _said(before, text, section)
        if after == before:
            raise DuplicateError(bullet)
        return Entry(op="edit", changes=(Change(bullet=bullet, before=before, after=after),), **about)

    def retired(self, bullet: str, **about: Unpack[About]) -> Entry:
        """Return the entry after which the agent is not told a bullet any more."""
        before = self.standing(bullet).content
        after = before.model_copy(update={"is_active": False})
        return Entry(op="retire", changes=(Change(bullet=bullet, before=before, after=after),), **about)

    def restored(self, bullet: str, **about: Unpack[About]) -> Entry:
        """Return the entry that brings back a bullet that was retired, or merged into another."""
        before = self.bullet(bullet).content
        if before.is_active:
            raise StandingError(bullet)
        after = before.model_copy(update={"is_active": True, "merged_into": None})
        return Entry(op="restore", changes=(Change(bullet=bullet, before=before, after=after),), **about)

    def merged(
        self,
        keep: str,
        sources: Iterable[str],
        text: str | None = None,
        section: str | None = None,
        **about: Unpack[About],
    ) -> Entry:
        """Return the entry that lets one bullet speak for several; the others are retired, and say into which."""
        others = _others(keep, tuple(sources))
        before = self.standing(keep).content
        changes = [Change(bullet=keep, before=before, after=_said(before, text, section))]
        for each in others:
            said = self.standing(each).content
            gone = said.model_copy(update={"is_active": False, "merged_into": keep})
            changes.append(Change(bullet=each, before=said, after=gone))
        return Entry(op="merge", changes=tuple(changes), **about)

    def undone(self, version: int, entries: Sequence[Written], **about: Unpack[About]) -> Entry:
        """Return the entry that takes back one version, or raise what stands in the way.

        What an add brought is retired, not removed. `entries` are all of the playbook, up to its last change of a
        bullet: tags and refusals may have come since.
        """
        newest = max((each.version for each in entries), default=1)
        # A merge may have come since that left the text of the bullet it kept, and only the entries tell of it.
        if newest < max((each.changed for each in self.bullets.values()), default=1):
            raise BehindError(newest, self.version)
        return Entry(op="undo", undoes=version, changes=undoing(version, entries), **about)

    def kept_apart(self, bullets: Iterable[str], **about: Unpack[About]) -> Entry:
        """Return the entry that keeps bullets apart, as they stand, from being proposed as duplicates again."""
        kept = tuple(self.standing(each).id for each in dict.fromkeys(bullets))
        if len(kept) < 2:
            raise InvalidError.of("sources", "name two bullets or more that are to stay apart")
        return Entry(op="keep", bullets=kept, **about)


EMPTY = Playbook()


def folded(entries: Iterable[tuple[Entry, datetime]], playbook: Playbook = EMPTY) -> Playbook:
    """Return the sum of entries, the oldest first, and of the playbook before them."""
    for entry, at in entries:
        playbook = playbook.entered(entry, at)
    return playbook


class Line(StrictModel):
    """A bullet as the agent is told it."""

    id: str
    section: str
    text: str


class Altered(StrictModel):
    """A bullet that says something else."""

    id: str
    before: Line
    after: Line


class Diff(StrictModel):
    """What the agent is told more, no more, and otherwise."""

    added: tuple[Line, ...] = ()
    removed: tuple[Line, ...] = ()
    changed: tuple[Altered, ...] = ()


def diff(older: Playbook, newer: Playbook) -> Diff:
    """Return what differs between two versions, of active bullets."""
    before, after = _lines(older), _lines(newer)
    return Diff(
        added=tuple(line for id, line in after.items() if id not in before),
        removed=tuple(line for id, line in before.items() if id not in after),
        changed=tuple(
            Altered(id=id, before=before[id], after=line)
            for id, line in after.items()
            if id in before and before[id] != line
        ),
    )


def _lines(playbook: Playbook) -> dict[str, Line]:
    return {each.id: Line(id=each.id, section=each.content.section, text=each.content.text) for each in playbook.active}


def fit_text(text: str) -> str:
    """Return the text of a bullet unchanged, or raise what is wrong with it."""
    if not text.strip():
        raise InvalidError.of("text", "it is empty: say what is to be learned")
    if len(text) > LONGEST:
        raise InvalidError.of("text", f"it has {len(text)} characters: shorten it to {LONGEST}")
    return text


def fit_section(section: str) -> str:
    """Return the name of a section unchanged, or raise that there is none of this name."""
    if section not in SECTIONS:
        raise InvalidError.of("section", f"there is no {section!r}: choose one of {', '.join(SECTIONS)}")
    return section


def _said(before: Content, text: str | None, section: str | None) -> Content:
    told = {"text": None if text is None else fit_text(text), "section": section}
    # A section that is not changed may be one that only older versions knew.
    if section is not None and section != before.section:
        fit_section(section)
    return before.model_copy(update={name: value for name, value in told.items() if value is not None})


def _others(keep: str, sources: tuple[str, ...]) -> tuple[str, ...]:
    if not sources or keep in sources or len(set(sources)) < len(sources):
        raise InvalidError.of("sources", f"name each bullet that {keep!r} is to speak for once, and not itself")
    return sources


def _after(
    change: Change, bullets: dict[str, Bullet], version: int, type: InsightType | None, at: datetime | None
) -> Bullet:
    known, expected = bullets.get(change.bullet), numbered(len(bullets) + 1)
    if known is not None:
        if known.content != change.before:
            raise ChangedError(change.bullet)
        return known.model_copy(update={"content": change.after, "changed": version})
    if change.before is not None:
        raise UnknownBulletError(change.bullet)
    if change.bullet != expected:
        raise ChangedError.numbered(change.bullet, expected)
    made = {"created": version, "changed": version, "created_at": at}
    return Bullet(id=change.bullet, content=change.after, type=type, **made)


def _check_duplicates(entry: Entry, bullets: dict[str, Bullet]) -> None:
    for change in entry.changes:
        text = normalised(change.after.text)
        for other in bullets.values() if change.after.is_active else ():
            if other.id != change.bullet and other.content.is_active and normalised(other.content.text) == text:
                raise DuplicateError(other.id)


def _tagged(bullet: Bullet, tag: Tag) -> Bullet:
    return bullet if tag.tag == "neutral" else bullet.model_copy(update={tag.tag: getattr(bullet, tag.tag) + 1})


def _rejected(entry: Entry, at: datetime) -> tuple[Rejected, ...]:
    if entry.op != "reject" or entry.text is None:
        return ()
    about = {"request_id": entry.request_id, "bullet": next(iter(entry.bullets), None)}
    return (Rejected(text=entry.text, at=at, op=entry.refused or "add", **about),)


def _counted(entry: Entry) -> tuple[str, ...]:
    return (entry.run_id,) if entry.op == "tag" and entry.run_id is not None else ()


def _pair(one: Bullet, other: Bullet) -> tuple[str, str]:
    first, second = sorted((one.hash, other.hash))
    return first, second
