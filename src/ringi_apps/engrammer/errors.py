"""Errors of a playbook."""

from __future__ import annotations

from typing import Any

from ringi.errors import UnavailableError
from ringi.server import RefusalError

NO_AGENT_FEEDBACK = "an agent's token cannot give user feedback: send `expected` with the question instead"


class PlaybookError(RefusalError):
    """A playbook cannot apply an entry; nothing was changed. `code` gives the reason."""

    def __init__(self, code: str, detail: str, *, status: int = 409, **more: Any) -> None:
        super().__init__(status, code, detail, **more)


class OutdatedReadError(PlaybookError):
    """The playbook changed after its entries were read."""

    def __init__(self, newest: int, head: int) -> None:
        what = f"the playbook is at version {head} but was read up to {newest}"
        super().__init__("conflict", f"{what}: read it again and retry")


class BusyPlaybookError(UnavailableError):
    """Concurrent changes kept this one from being stored; it is safe to retry."""

    def __init__(self, id: str) -> None:
        super().__init__(f"{id!r} is being changed by others")


def unknown_bullet(bullet: str) -> PlaybookError:
    """Return the error for a bullet that the playbook does not have."""
    what = f"no bullet {bullet!r}: read the playbook for the bullets that it has"
    return PlaybookError("unknown", what, status=404)


def changed_bullet(bullet: str, what: str = "changed meanwhile") -> PlaybookError:
    """Return the error for a bullet that differs from what the entry was made for."""
    return PlaybookError("changed", f"bullet {bullet!r} {what}: read it again and decide again", bullet=bullet)


def duplicate_bullet(bullet: str) -> PlaybookError:
    """Return the error for the text of an active bullet."""
    what = f"bullet {bullet!r} already has this text: edit that bullet or change the text"
    return PlaybookError("duplicate", what, bullet=bullet)
