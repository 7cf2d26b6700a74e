"""Precedent: how people decided the calls of a tool, and where one call lies among them. Pure, without I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from ringi.base.canonical_json import jsonable
from ringi.base.model import StrictModel
from ringi.base.plain_conditions import argument_at_path
from ringi.domain.ask import Decision
from ringi.domain.record import CutPage
from ringi.domain.request import Request

PrecedentOutcome = Literal["approved", "edited", "rejected", "expired"]
OUTCOMES: dict[Decision, PrecedentOutcome] = {"approve": "approved", "edit": "edited", "reject": "rejected"}
PERIOD = timedelta(days=30)
"""The time before now that counts."""
MOST_READ = 500
"""The number of a tool's newest ended requests that are read."""
MOST_AMOUNTS = 200


class PrecedentAmount(StrictModel):
    """The amount of one earlier call."""

    amount: float
    outcome: PrecedentOutcome
    at: datetime


class PrecedentCounts(StrictModel):
    """The number of decisions of each kind."""

    approved: int = 0
    edited: int = 0
    rejected: int = 0
    expired: int = 0


class PrecedentCall(StrictModel):
    """The last decided call of the same agent and tool with the same tier."""

    id: str
    outcome: PrecedentOutcome
    at: datetime
    responder: str | None
    """The person who decided; None for an expired request."""
    args: dict[str, Any]
    """The arguments as they were authorized; those of the question if they were not."""


class Precedent(StrictModel):
    """How people decided the calls of a tool in the last 30 days, among the requests that the reader may see."""

    since: datetime
    counts: PrecedentCounts
    amounts: list[PrecedentAmount] = Field(max_length=MOST_AMOUNTS)
    """The newest amounts, in the argument that the card of the tool names; empty if the tool declares no amount."""
    last: PrecedentCall | None
    is_partial: bool
    """True if there are older requests in this time that were not read."""


def precedent_of_request(request: Request, ended: list[Request], now: datetime) -> Precedent:
    """Return the precedent of a request.

    Args:
        request: The request.
        ended: The ended requests about its tool that the reader may see, newest first; if there are more, one more than
            `MOST_READ` or a `CutPage`.
        now: The present time.
    """
    since = now - PERIOD
    recent = [each for each in ended[:MOST_READ] if each.id != request.id and (each.ended_at or now) >= since]
    decided = [(each, outcome) for each in recent if (outcome := precedent_decision(each))]
    counts = PrecedentCounts.model_validate(Counter(outcome for _, outcome in decided))
    alike = (found for found in decided if precedent_kind(found[0]) == precedent_kind(request) and not found[0].erased)
    is_cut = len(ended) > MOST_READ or isinstance(ended, CutPage)
    is_partial = is_cut and ended[:MOST_READ][-1].created_at >= since
    amounts = list(_amounts(request, decided))[:MOST_AMOUNTS]
    return Precedent(since=since, counts=counts, amounts=amounts, last=_last(alike), is_partial=is_partial)


def precedent_decision(request: Request) -> PrecedentOutcome | None:
    """Return what became of a request by people; None if a rule or a grant decided, or if it was a check."""
    if request.is_check or not request.action:
        return None
    if request.status == "expired":
        return "expired"
    return OUTCOMES.get(request.response.decision) if request.response and not request.is_by_rule else None


def precedent_kind(request: Request) -> tuple[str | None, str | None, str]:
    """Return the kind of a request: its agent, its tool and its tier."""
    return request.agent, request.action.name if request.action else None, request.tier or "low"


def _args(request: Request) -> dict[str, Any]:
    action = request.granted or request.action
    return action.args if action else {}


def _amounts(request: Request, decided: Iterable[tuple[Request, PrecedentOutcome]]) -> Iterable[PrecedentAmount]:
    path = (request.card.get("arguments") or {}).get("amount")
    for each, outcome in decided:
        amount = argument_at_path(_args(each), path) if path else None
        if isinstance(amount, int | float) and not isinstance(amount, bool) and not each.erased:
            yield PrecedentAmount(amount=amount, outcome=outcome, at=each.ended_at or each.created_at)


def _last(alike: Iterable[tuple[Request, PrecedentOutcome]]) -> PrecedentCall | None:
    ended = max(alike, key=lambda found: found[0].ended_at or found[0].created_at, default=None)
    if ended is None:
        return None
    request, outcome = ended
    responder = request.response.responder if request.response else None
    at = request.ended_at or request.created_at
    return PrecedentCall(id=request.id, outcome=outcome, at=at, responder=responder, args=jsonable(_args(request)))
