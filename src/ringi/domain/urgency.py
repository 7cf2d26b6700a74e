"""The order `urgent` of pending requests: the overdue, those due soon, and the rest by rank.

Everything that the order reads is fixed when a request is asked, except the present time, which a cursor carries: from
page to page a request stays in its place.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from ringi.base.clock import EPOCH
from ringi.domain.ask import Priority
from ringi.domain.record import MICROSECOND, Query, microseconds
from ringi.domain.request import Request
from ringi.domain.voting import Tier
from ringi.errors import InvalidError

DUE_SOON = timedelta(hours=1)
"""The time before its deadline from which a request is due soon."""
PRIORITIES: tuple[Priority, ...] = ("urgent", "high", "normal", "low")
TIERS: tuple[Tier, ...] = ("irreversible", "high", "medium", "low")
RANKS = range(2 * len(PRIORITIES) * len(TIERS))
CURSOR = re.compile(r"urgent:(-?[0-9]{1,18}):(due|rank):(-?[0-9]{1,18}):(-?[0-9]{1,18}):(.+)", re.DOTALL | re.ASCII)


def rank_of(request: Request) -> int:
    """Return the rank of a request without a near deadline: the least is first. The priority counts most, then the
    tier, then whether the request is the first of its kind."""
    priority, tier = PRIORITIES.index(request.priority or "normal"), TIERS.index(request.tier or "low")
    return 2 * (len(TIERS) * priority + tier) + (not request.first_of_kind)


def ranks_of(query: Query) -> list[int]:
    """Return the ranks of the requests with the priority and the tier of a query, in order."""
    return [rank for rank in RANKS if has_rank(query, rank)]


def has_rank(query: Query, rank: int) -> bool:
    """Return whether a request with this rank has the priority and the tier of a query."""
    priority, tier = divmod(rank // 2, len(TIERS))
    return query.priority in (None, PRIORITIES[priority]) and query.tier in (None, TIERS[tier])


class UrgentPlace(NamedTuple):
    """The place of a request in the order `urgent`: the least is first."""

    part: Literal["due", "rank"]
    """`due`: overdue or due soon, by deadline. `rank`: the rest."""
    key: int
    """The deadline in microseconds, or the rank."""
    created_at: int
    """The time of creation in microseconds."""
    id: str


class UrgentQuery(NamedTuple):
    """A query for requests in the order `urgent`, with the time that decides what is due soon."""

    query: Query
    now: datetime
    after: UrgentPlace | None
    """The place of the last request of the previous page."""

    @property
    def due_soon_until(self) -> datetime:
        """The latest deadline of the requests that are due soon."""
        return self.now + DUE_SOON

    def place_of(self, request: Request) -> UrgentPlace:
        """Return the place of a request."""
        deadline, made = request.deadline, (microseconds(request.created_at), request.id)
        if deadline is not None and deadline <= self.due_soon_until:
            return UrgentPlace("due", microseconds(deadline), *made)
        return UrgentPlace("rank", rank_of(request), *made)

    def cursor_of(self, request: Request) -> str:
        """Return the cursor of the page after this request."""
        return ":".join(("urgent", str(microseconds(self.now)), *map(str, self.place_of(request))))


def urgent_query(query: Query) -> UrgentQuery:
    """Return a query in the order `urgent`, checked.

    Raises:
        InvalidError: The query has no tenant or asks for ended requests, or its cursor is none of this order.
    """
    if query.statuses not in ((), ("pending",)):
        raise InvalidError.of("order", "the order urgent lists pending requests only: ask for status pending")
    if query.tenant is None:
        raise InvalidError.of("order", "the order urgent needs a tenant")
    query = query.model_copy(update={"statuses": ("pending",)})
    if query.before:
        return _continued(query, query.before)
    if query.now is None:
        raise InvalidError.of("order", "the order urgent needs the present time: give now")
    return UrgentQuery(query, query.now, None)


def _continued(query: Query, cursor: str) -> UrgentQuery:
    parts = CURSOR.fullmatch(cursor)
    if not parts:
        why = f"{cursor!r} is not a cursor of the order urgent: take it from `next` of a page in this order"
        raise InvalidError.of("cursor", why)
    now, part, key, created_at, id = parts.groups()
    place = UrgentPlace("due" if part == "due" else "rank", int(key), int(created_at), id)
    try:
        return UrgentQuery(query, EPOCH + int(now) * MICROSECOND, place)
    except OverflowError:
        raise InvalidError.of("cursor", f"{cursor!r} has a time that does not exist: take it from `next`") from None
