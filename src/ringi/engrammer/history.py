"""What the entries of a playbook tell: who changed a bullet, what can be undone, and how good the proposals were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringi.base import StrictModel
from ringi.engrammer.entries import Change, Written
from ringi.engrammer.errors import ConsumedError, FinalOpError


class Measures(StrictModel):
    """How the proposals of an agent fared."""

    proposed: int
    """All that were decided or wait."""
    approved: int
    """Applied, as proposed or as a person changed them."""
    edited: int
    """Of the approved, those that a person changed first."""
    rejected: int
    reverted: int
    """Of the approved, those that were undone since."""
    precision: float | None
    """Approved of decided; None where nothing was decided."""


def blame(bullet_id: str, entries: Iterable[Written]) -> list[Written]:
    """Return every entry that changed a bullet, counted it, refused a change of it, or kept it apart; oldest first."""
    return [each for each in entries if bullet_id in touched(each)]


def touched(written: Written) -> set[str]:
    """Return the bullets that an entry speaks of."""
    entry = written.entry
    return {*(each.bullet for each in entry.changes), *(each.bullet for each in entry.tags), *entry.bullets}


def undoing(version: int, entries: Sequence[Written]) -> tuple[Change, ...]:
    """Return the changes that take back a version, or raise `ConsumedError` or `FinalOpError`."""
    found = next((each for each in entries if each.version == version), None)
    if found is None:
        raise FinalOpError.missing(version, max((each.version for each in entries), default=1))
    if not found.entry.changes:
        raise FinalOpError.of_op(version, found.entry.op)
    _check_unconsumed(found, entries)
    return tuple(map(_reversed, found.entry.changes))


def undone_versions(entries: Iterable[Written]) -> dict[int, int]:
    """Return which versions are undone now, and by which: what undid them is not undone itself."""
    undone: dict[int, int] = {}
    for each in sorted(entries, reverse=True, key=lambda each: each.version):
        if each.version not in undone and each.entry.undoes is not None:
            undone[each.entry.undoes] = each.version
    return undone


def measures(entries: Sequence[Written], waiting: int = 0) -> Measures:
    """Return how proposals fared, from all entries and the number of proposals that wait."""
    decided = [each for each in entries if each.entry.request_id is not None]
    rejected = [each for each in decided if each.entry.op in ("reject", "keep")]
    approved = [each for each in decided if each.entry.op not in ("reject", "keep")]
    undone = undone_versions(entries)
    return Measures(
        proposed=len(decided) + waiting,
        approved=len(approved),
        edited=sum(each.entry.proposed is not None for each in approved),
        rejected=len(rejected),
        reverted=sum(each.version in undone for each in approved),
        precision=round(len(approved) / len(decided), 4) if decided else None,
    )


def _check_unconsumed(found: Written, entries: Sequence[Written]) -> None:
    """Raise what came later and still stands on what this version left."""
    undone, bullets = undone_versions(entries), {each.bullet for each in found.entry.changes}
    if found.version in undone:
        raise ConsumedError.already(found.version, undone[found.version], found.entry.changes[0].bullet)
    for later in sorted(entries, reverse=True, key=lambda each: each.version):
        both = sorted(bullets & {each.bullet for each in later.entry.changes})
        # An undo of what came later still brought these bullets back to what this version left.
        is_cancelled = later.version in undone or (later.entry.undoes or 0) > found.version
        if both and later.version > found.version and not is_cancelled:
            raise ConsumedError(found.version, later.version, later.entry.op, both[0])


def _reversed(change: Change) -> Change:
    before = change.before or change.after.model_copy(update={"is_active": False})
    return Change(bullet=change.bullet, before=change.after, after=before)
