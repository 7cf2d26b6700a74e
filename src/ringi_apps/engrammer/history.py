"""Analysis of a playbook's entries: history of a bullet, undo, and proposal statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringi.base import StrictModel
from ringi_apps.engrammer.entries import BulletChange, VersionedEntry
from ringi_apps.engrammer.errors import PlaybookError


class ProposalStats(StrictModel):
    """Statistics about the proposals of an agent."""

    proposed: int
    """Decided and pending proposals."""
    approved: int
    """Applied as proposed or as edited by a person."""
    edited: int
    """Approved proposals that a person edited."""
    rejected: int
    reverted: int
    """Approved proposals that were undone later."""
    precision: float | None
    """Approved divided by decided; None if none was decided."""


def blame(bullet_id: str, entries: Iterable[VersionedEntry]) -> list[VersionedEntry]:
    """Return all entries that concern a bullet, oldest first."""
    return [each for each in entries if bullet_id in bullets_in_entry(each)]


def bullets_in_entry(versioned: VersionedEntry) -> set[str]:
    """Return the ids of the bullets that an entry concerns."""
    entry = versioned.entry
    return {*(each.bullet for each in entry.changes), *(each.bullet for each in entry.tags), *entry.bullets}


def undo_changes(version: int, entries: Sequence[VersionedEntry]) -> tuple[BulletChange, ...]:
    """Return the changes that undo a version; raise `PlaybookError` if it cannot be undone."""
    target = next((each for each in entries if each.version == version), None)
    if target is None:
        head = max((each.version for each in entries), default=1)
        known = f"entries have the versions 2 to {head}" if head > 1 else "the playbook is empty"
        raise _not_undoable(version, f"there is no such entry; {known}")
    if not target.entry.changes:
        what = f"it is a {target.entry.op!r} and changed no text"
        raise _not_undoable(version, f"{what}; undo an add, edit, merge, retire, restore or undo")
    _check_unconsumed(target, entries)
    return tuple(map(_reverse, target.entry.changes))


def _not_undoable(version: int, why: str) -> PlaybookError:
    return PlaybookError("not_undoable", f"version {version} cannot be undone: {why}")


def undone_versions(entries: Iterable[VersionedEntry]) -> dict[int, int]:
    """Return the versions that are undone now, each with the version that undid it."""
    undone: dict[int, int] = {}
    for each in sorted(entries, reverse=True, key=lambda each: each.version):
        if each.version not in undone and each.entry.undoes is not None:
            undone[each.entry.undoes] = each.version
    return undone


def proposal_stats(entries: Sequence[VersionedEntry], pending: int = 0) -> ProposalStats:
    """Return proposal statistics from all entries and the number of pending proposals."""
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
    """Raise `PlaybookError` if a later version still depends on this one."""
    undone, bullets = undone_versions(entries), {each.bullet for each in target.entry.changes}
    if by := undone.get(target.version):
        what = f"version {target.version} was already undone by version {by}; to restore it, undo version {by}"
        raise PlaybookError("consumed", what, version=by, op="undo", bullet=target.entry.changes[0].bullet)
    for later in sorted(entries, reverse=True, key=lambda each: each.version):
        shared = sorted(bullets & {each.bullet for each in later.entry.changes})
        # An undo of what came later still brought these bullets back to what this version left.
        is_cancelled = later.version in undone or (later.entry.undoes or 0) > target.version
        if shared and later.version > target.version and not is_cancelled:
            by, op, bullet = later.version, later.entry.op, shared[0]
            what = f"version {target.version} cannot be undone: version {by} ({op}) came later"
            what = f"{what} and changed bullet {bullet!r} too; undo version {by} first"
            raise PlaybookError("consumed", what, version=by, op=op, bullet=bullet)


def _reverse(change: BulletChange) -> BulletChange:
    before = change.before or change.after.model_copy(update={"is_active": False})
    return BulletChange(bullet=change.bullet, before=change.after, after=before)
