"""Legal holds: while one is set, no erasure removes the content of a request.

What a hold stops is in `ringi.privacy.erasure`.
"""

from __future__ import annotations

from typing import Any, Literal

from ringi.base.canonical_json import jsonable
from ringi.domain.journal import LEGAL_HOLDS
from ringi.domain.record import Event, Key
from ringi.domain.request import Request
from ringi.errors import ConflictError
from ringi.inbox.inbox import StoreInbox
from ringi.inbox.journals import EntryAndState, write_entry


async def set_hold(inbox: StoreInbox, id: str, by: str, reason: str) -> Request:
    """Set a legal hold on a request, ended or not; a repeated call changes nothing.

    Args:
        inbox: The inbox of the request.
        id: The id of the request.
        by: The administrator.
        reason: The reason, for the audit trail.

    Raises:
        ConflictError: The content of the request was erased, or an erasure is in progress.
    """

    def step(request: Request) -> tuple[Request, Event | None]:
        if request.erased and request.erased.rule != "person":
            raise ConflictError(f"the content of request {id!r} was erased: there is nothing to hold")
        if until := max((each for each in request.erasing if each > inbox.clock()), default=None):
            what = f"request {id!r} is being erased: if the erasure fails, set the hold after {jsonable(until)}"
            raise ConflictError(what)
        return request.with_legal_hold(True)

    # The mark comes first: from here on, an erasure of this version fails. A repeated call writes a missing entry.
    request = await inbox.change(id, step)
    await _write(inbox, "held", id, by, reason)
    return request


async def lift_hold(inbox: StoreInbox, id: str, by: str) -> Request:
    """Lift the legal hold of a request; without one, nothing changes.

    Args:
        inbox: The inbox of the request.
        id: The id of the request.
        by: The administrator.
    """
    await inbox.get(id)
    await _write(inbox, "lifted", id, by, None)
    return await inbox.change(id, lambda request: request.with_legal_hold(False))


async def _write(inbox: StoreInbox, change: Literal["held", "lifted"], id: str, by: str, reason: str | None) -> None:
    def make(state: dict[str, Any]) -> EntryAndState | None:
        held = set(state["held"])
        if (id in held) == (change == "held"):
            return None
        entry = {"change": change, "request": id, "reason": reason}
        return entry, {"held": sorted(held ^ {id})}

    key = Key(inbox.tenant, LEGAL_HOLDS)
    await write_entry(inbox.store, key, {"held": []}, make, by=by, now=inbox.clock())
