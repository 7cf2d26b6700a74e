"""What a person can hold, and its end when the person leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Literal, NamedTuple

from ringi.base.model import StrictModel
from ringi.contracts.backend import ABSENCES
from ringi.contracts.store import change_record
from ringi.domain.record import Event, Query, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.voting import Decider
from ringi.errors import ConflictError
from ringi.inbox.inbox import StoreInbox

PAGE = 500
"""The number of requests that are read at a time."""
HoldingKind = Literal["absences", "deputyships", "grants", "rules", "votes", "answers", "claims"]


class Ended(StrictModel):
    """Something of a person that was ended."""

    kind: HoldingKind
    """`absences`: the person was away; `deputyships`: the person stood for another one; `grants`: the person approved
    later calls; `rules`: the person switched on a suggested rule; `votes`: the person, or a deputy for the person, had
    voted on a pending request; `answers`: the same for an answer that was held; `claims`: the person had claimed a
    request."""
    id: str
    """The name of the absent person, or the id of the request."""


class Holding(NamedTuple):
    """One kind of thing that a person can hold."""

    kinds: tuple[HoldingKind, ...]
    end: Callable[[StoreInbox, str, str], Awaitable[list[Ended]]]
    """Ends what a person holds of these kinds, on behalf of an administrator, and returns it."""


async def offboard(inbox: StoreInbox, person: str, by: str) -> list[Ended]:
    """End everything that a person holds, and return it; repeat it after an error.

    Revoke the person's tokens first: otherwise the person can begin again.

    Args:
        inbox: The inbox of the tenant.
        person: The name of the person.
        by: The administrator.
    """
    ended = [each for holding in HOLDINGS for each in await holding.end(inbox, person, by)]
    await inbox.forget_person(person)
    return ended


async def _end_absences(inbox: StoreInbox, person: str, by: str) -> list[Ended]:
    gone = await inbox.people.end_where(lambda each: person in (each.person, each.deputy), person, by)
    if gone:
        await inbox.notifier.publish(ABSENCES)
    return [Ended(kind="absences" if each.person == person else "deputyships", id=each.person) for each in gone]


async def _revoke_grants(inbox: StoreInbox, person: str, by: str) -> list[Ended]:
    own = [each for each in await inbox.grants.list() if each.granted_by == person and each.status == "active"]
    for each in own:
        await inbox.grants.revoke(each.id, by=by)
    return [Ended(kind="rules" if each.grant.is_rule else "grants", id=each.id) for each in own]


async def _release_claims(inbox: StoreInbox, person: str, by: str) -> list[Ended]:
    ended: list[Ended] = []
    async for request in _pending(inbox, Query(assigned_or_claimed_by=person)):
        if request.claimed_by == person:
            with suppress(ConflictError):  # It ended, or another person took it, meanwhile.
                # The person's groups are unknown here.
                await inbox.release(request, by=Decider(person, is_admin=True))
                ended.append(Ended(kind="claims", id=request.id))
    return ended


async def _withdraw_answers(inbox: StoreInbox, person: str, by: str) -> list[Ended]:
    def step(request: Request) -> tuple[Request, Event | None]:
        return request.withdrawn(person, by, inbox.clock())

    ended: list[Ended] = []
    async for request in _pending(inbox, Query()):
        if step(request)[0] is request:
            continue
        before, after = await change_record(inbox.store, Request, request.key, step)
        if before is not after:
            await inbox.announce_change(before, after)
            kinds: dict[HoldingKind, bool] = {
                "votes": any(each.is_of(person) for each in before.votes),
                "answers": before.held is not None and before.held.is_of(person),
            }
            ended += [Ended(kind=kind, id=request.id) for kind, has_ended in kinds.items() if has_ended]
    return ended


async def _pending(inbox: StoreInbox, query: Query) -> AsyncIterator[Request]:
    query = query.model_copy(update={"statuses": ("pending",), "limit": PAGE})
    while found := await inbox.search(query):
        for request in found:
            yield request
        query = query.model_copy(update={"before": cursor_after_record(found[-1])})


HOLDINGS = (
    Holding(("absences", "deputyships"), _end_absences),
    Holding(("grants", "rules"), _revoke_grants),
    Holding(("votes", "answers"), _withdraw_answers),
    # An answer that is held holds its claim too.
    Holding(("claims",), _release_claims),
)
"""All that a person can hold beside tokens and sessions; what lets a person hold something more adds it here."""
