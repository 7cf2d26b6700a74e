"""Errors of a playbook."""

from __future__ import annotations

from typing import Any, ClassVar

from ringi.errors import UnavailableError
from ringi.server import RefusalError


class PlaybookError(RefusalError):
    """A playbook cannot apply an entry; nothing was changed. `code` gives the reason."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "conflict"


class UnknownBulletError(PlaybookError):
    """The playbook has no such bullet."""

    status: ClassVar[int] = 404
    code: ClassVar[str] = "unknown"

    def __init__(self, bullet: str) -> None:
        super().__init__(f"no bullet {bullet!r}: read the playbook for the bullets that it has")


class ChangedError(PlaybookError):
    """A bullet was changed since the entry was made."""

    code: ClassVar[str] = "changed"

    def __init__(self, bullet: str, what: str = "changed meanwhile") -> None:
        self.more: dict[str, Any] = {"bullet": bullet}
        super().__init__(f"bullet {bullet!r} {what}: read it again and decide again")

    @classmethod
    def numbered(cls, bullet: str, expected: str) -> ChangedError:
        """Return the error for a new bullet that does not have the next id."""
        return cls(bullet, f"cannot be added, the next is {expected!r}")


class RetiredBulletError(PlaybookError):
    """A retired bullet cannot be edited, merged or retired."""

    code: ClassVar[str] = "gone"

    def __init__(self, bullet: str) -> None:
        self.more: dict[str, Any] = {"bullet": bullet}
        super().__init__(f"bullet {bullet!r} is retired: restore it first")


class NotRetiredError(PlaybookError):
    """An active bullet cannot be restored."""

    code: ClassVar[str] = "standing"

    def __init__(self, bullet: str) -> None:
        self.more: dict[str, Any] = {"bullet": bullet}
        super().__init__(f"bullet {bullet!r} is not retired: there is nothing to restore")


class DuplicateError(PlaybookError):
    """An active bullet has the same text."""

    code: ClassVar[str] = "duplicate"

    def __init__(self, bullet: str) -> None:
        self.more: dict[str, Any] = {"bullet": bullet}
        super().__init__(f"bullet {bullet!r} already has this text: edit that bullet or change the text")


class BudgetError(PlaybookError):
    """The playbook would exceed its token budget."""

    code: ClassVar[str] = "budget"

    def __init__(self, tokens: int, budget: int) -> None:
        self.more: dict[str, Any] = {"tokens": tokens, "budget": budget}
        what = f"the playbook would have {tokens} tokens, but its budget is {budget}"
        super().__init__(f"{what}: shorten the text, or retire or merge bullets first")


class ConsumedError(PlaybookError):
    """A later version changed the same bullets, so this one cannot be undone."""

    code: ClassVar[str] = "consumed"

    def __init__(self, version: int, by: int, op: str, bullet: str) -> None:
        self.more: dict[str, Any] = {"version": by, "op": op, "bullet": bullet}
        what = f"version {version} cannot be undone: version {by} ({op}) came later and changed bullet {bullet!r} too"
        super().__init__(f"{what}; undo version {by} first")

    @classmethod
    def already(cls, version: int, by: int, bullet: str) -> ConsumedError:
        """Return the error for a version that is already undone."""
        error = cls(version, by, "undo", bullet)
        error.args = (f"version {version} was already undone by version {by}; to restore it, undo version {by}",)
        return error


class NotUndoableError(PlaybookError):
    """A version has no change to undo."""

    code: ClassVar[str] = "not_undoable"

    def __init__(self, version: int, why: str) -> None:
        super().__init__(f"version {version} cannot be undone: {why}")

    @classmethod
    def of_op(cls, version: int, op: str) -> NotUndoableError:
        """Return the error for a version that changed no text."""
        return cls(version, f"it is a {op!r} and changed no text; undo an add, edit, merge, retire, restore or undo")

    @classmethod
    def missing(cls, version: int, head: int) -> NotUndoableError:
        """Return the error for an unknown version."""
        known = f"entries have the versions 2 to {head}" if head > 1 else "the playbook is empty"
        return cls(version, f"there is no such entry; {known}")


class OutdatedReadError(PlaybookError):
    """The playbook changed after its entries were read."""

    def __init__(self, newest: int, head: int) -> None:
        super().__init__(f"the playbook is at version {head} but was read up to {newest}: read it again and retry")


class AlreadyAppliedError(PlaybookError):
    """The answer to this request is already applied."""

    code: ClassVar[str] = "applied"

    def __init__(self, request_id: str, version: int) -> None:
        self.more: dict[str, Any] = {"version": version}
        super().__init__(f"request {request_id!r} was applied as version {version}: there is nothing left to do")


class BusyPlaybookError(UnavailableError):
    """Concurrent changes kept this one from being stored; it is safe to retry."""

    def __init__(self, id: str) -> None:
        super().__init__(f"{id!r} is being changed by others")
