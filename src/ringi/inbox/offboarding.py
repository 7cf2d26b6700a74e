"""What a person can hold, and its end when the person leaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal, NamedTuple

from ringi.base.model import StrictModel
from ringi.contracts.notifier import ABSENCES
from ringi.contracts.store import change_record
from ringi.domain import absence
from ringi.domain.journal import Journal
from ringi.domain.record import Key, Query
from ringi.errors import ConflictError, NotFoundError
from ringi.inbox.inbox import Inbox

MOST = 1_000
"""Pending requests that one call releases."""
HoldingKind = Literal["absences", "deputyships", "grants", "rules", "claims"]


class Ended(StrictModel):
    """Something of a person that was ended."""

    kind: HoldingKind
    """`absences`: the person was away; `deputyships`: the person stood for another one; `grants`: the person approved
    later calls; `rules`: the person switched on a suggested rule; `claims`: the person had claimed a request."""
    id: str
    """The name of the absent person, or the id of the request."""


class Holding(NamedTuple):
    """One kind of thing that a person can hold."""

    kinds: tuple[HoldingKind, ...]
    end: Callable[[Inbox, str, str], Awaitable[list[Ended]]]
    """Ends what a person holds of these kinds, on behalf of an administrator, and returns it."""


async def offboard(inbox: Inbox, person: str, by: str) -> list[Ended]:
    """End everything that a person holds, and return it; repeat it after an error.

    Revoke the person's tokens first: otherwise the person can begin again.

    Args:
        inbox: The inbox of the tenant.
        person: The name of the person.
        by: The administrator.
    """
    ended = [each for holding in HOLDINGS for each in await holding.end(inbox, person, by)]
    if await inbox.people.forget(inbox.tenant, person):
        await inbox.mark_unanswerable(Query())
    return ended


async def _end_absences(inbox: Inbox, person: str, by: str) -> list[Ended]:
    gone: list[absence.Absence] = []

    def step(journal: Journal) -> absence.Change:
        gone[:] = [each for each in absence.active(journal, inbox.clock()) if person in (each.person, each.deputy)]
        return absence.without(journal, gone, person, by, inbox.clock())

    try:
        await change_record(inbox.store, Journal, Key(inbox.tenant, absence.JOURNAL), step)
    except NotFoundError:
        return []
    await inbox.notifier.publish(ABSENCES)
    return [Ended(kind="absences" if each.person == person else "deputyships", id=each.person) for each in gone]


async def _revoke_grants(inbox: Inbox, person: str, by: str) -> list[Ended]:
    own = [each for each in await inbox.grants() if each.granted_by == person and each.status == "active"]
    for each in own:
        await inbox.revoke_grant(each.id, by=by)
    return [Ended(kind="rules" if each.grant.is_rule else "grants", id=each.id) for each in own]


async def _release_claims(inbox: Inbox, person: str, by: str) -> list[Ended]:
    query = Query(statuses=("pending",), assigned_or_claimed_by=person, limit=MOST)
    ended: list[Ended] = []
    for request in [each for each in await inbox.find(query) if each.claimed_by == person]:
        with suppress(ConflictError):  # It ended, or another person took it, meanwhile.
            await inbox.release(request.id, person)
            ended.append(Ended(kind="claims", id=request.id))
    return ended


HOLDINGS = (
    Holding(("absences", "deputyships"), _end_absences),
    Holding(("grants", "rules"), _revoke_grants),
    Holding(("claims",), _release_claims),
)
"""All that a person can hold beside tokens and sessions; what lets a person hold something more adds it here."""
