"""What the entries of a playbook tell: who changed a bullet, what can be undone, and how good the proposals were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringi.base import StrictModel
from ringi.engrammer.entries import BulletChange, VersionedEntry
from ringi.engrammer.errors import ConsumedError, NotUndoableError


class ProposalStats(StrictModel):
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


def blame(bullet_id: str, entries: Iterable[VersionedEntry]) -> list[VersionedEntry]:
    """Return every entry that changed a bullet, counted it, refused a change of it, or kept it apart; oldest first."""
    return [each for each in entries if bullet_id in bullets_in_entry(each)]


def bullets_in_entry(versioned: VersionedEntry) -> set[str]:
    """Return the bullets that an entry speaks of."""
    entry = versioned.entry
    return {*(each.bullet for each in entry.changes), *(each.bullet for each in entry.tags), *entry.bullets}


def undo_changes(version: int, entries: Sequence[VersionedEntry]) -> tuple[BulletChange, ...]:
    """Return the changes that take back a version, or raise `ConsumedError` or `FinalOpError`."""
    target = next((each for each in entries if each.version == version), None)
    if target is None:
        raise NotUndoableError.missing(version, max((each.version for each in entries), default=1))
    if not target.entry.changes:
        raise NotUndoableError.of_op(version, target.entry.op)
    _check_unconsumed(target, entries)
    return tuple(map(_reverse, target.entry.changes))


def undone_versions(entries: Iterable[VersionedEntry]) -> dict[int, int]:
    """Return which versions are undone now, and by which: what undid them is not undone itself."""
    undone: dict[int, int] = {}
    for each in sorted(entries, reverse=True, key=lambda each: each.version):
        if each.version not in undone and each.entry.undoes is not None:
            undone[each.entry.undoes] = each.version
    return undone


def proposal_stats(entries: Sequence[VersionedEntry], pending: int = 0) -> ProposalStats:
    """Return how proposals fared, from all entries and the number of proposals that wait."""
    decided = [each for each in entries if each.entry.request_id is not None]
    rejected = [each for each in decided if each.entry.op in ("reject", "keep")]
    approved = [each for each in decided if each.entry.op not in ("reject", "keep")]
    undone = undone_versions(entries)
    return ProposalStats(
        proposed=len(decided) + pending,
        approved=len(approved),
        edited=sum(each.entry.proposed is not None for each in approved),
        rejected=len(rejected),
        reverted=sum(each.version in undone for each in approved),
        precision=round(len(approved) / len(decided), 4) if decided else None,
    )


def _check_unconsumed(target: VersionedEntry, entries: Sequence[VersionedEntry]) -> None:
    """Raise what came later and still stands on what this version left."""
    undone, bullets = undone_versions(entries), {each.bullet for each in target.entry.changes}
    if target.version in undone:
        raise ConsumedError.already(target.version, undone[target.version], target.entry.changes[0].bullet)
    for later in sorted(entries, reverse=True, key=lambda each: each.version):
        shared = sorted(bullets & {each.bullet for each in later.entry.changes})
        # An undo of what came later still brought these bullets back to what this version left.
        is_cancelled = later.version in undone or (later.entry.undoes or 0) > target.version
        if shared and later.version > target.version and not is_cancelled:
            raise ConsumedError(target.version, later.version, later.entry.op, shared[0])


def _reverse(change: BulletChange) -> BulletChange:
    before = change.before or change.after.model_copy(update={"is_active": False})
    return BulletChange(bullet=change.bullet, before=change.after, after=before)
