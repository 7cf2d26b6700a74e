"""The order `urgent` of pending requests: the overdue, those due soon, and the rest by rank.

Everything that the order reads is fixed when a request is asked, except the present time, which a cursor carries: from
page to page a request stays in its place.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from ringi.base.clock import EPOCH
from ringi.domain import endings
from ringi.domain.ask import Priority
from ringi.domain.record import MICROSECOND, Query, cursor_after_record, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.voting import Tier
from ringi.errors import InvalidError

DUE_SOON = timedelta(hours=1)
"""The time before its deadline from which a request is due soon."""
UrgencySection = Literal["overdue", "due_soon", "rest"]
PRIORITIES: tuple[Priority, ...] = ("urgent", "high", "normal", "low")
TIERS: tuple[Tier, ...] = ("irreversible", "high", "medium", "low")
RANKS = range(2 * len(PRIORITIES) * len(TIERS))
CURSOR = re.compile(r"urgent:(-?[0-9]{1,18}):(due|rank):(-?[0-9]{1,18}):(-?[0-9]{1,18}):(.+)", re.DOTALL | re.ASCII)


def urgency_rank(request: Request) -> int:
    """Return the rank of a request without a near deadline: the least is first. The priority counts most, then the
    tier, then whether the request is the first of its kind."""
    priority, tier = PRIORITIES.index(request.priority or "normal"), TIERS.index(request.tier or "low")
    return 2 * (len(TIERS) * priority + tier) + (not request.first_of_kind)


@lru_cache
def urgency_rank_spans(priority: str | None, tier: str | None) -> tuple[tuple[int, int], ...]:
    """Return the first and the last rank of each span that has a priority and a tier, or any, in order."""
    spans: list[tuple[int, int]] = []
    for rank in RANKS:
        of_priority, of_tier = divmod(rank // 2, len(TIERS))
        if priority in (None, PRIORITIES[of_priority]) and tier in (None, TIERS[of_tier]):
            first = spans.pop()[0] if spans and spans[-1][1] == rank - 1 else rank
            spans.append((first, rank))
    return tuple(spans)


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
    """Without a cursor, and for pending requests only."""
    now: datetime
    after: UrgentPlace | None
    """The place of the last request of the previous page."""

    @property
    def due_soon_until(self) -> datetime:
        """The latest deadline of the requests that are due soon."""
        return self.now + DUE_SOON

    def place_of(self, request: Request) -> UrgentPlace:
        """Return the place of a request."""
        created_at = unix_microseconds(request.created_at)
        if request.deadline and request.deadline <= self.due_soon_until:
            return UrgentPlace("due", unix_microseconds(request.deadline), created_at, request.id)
        return UrgentPlace("rank", urgency_rank(request), created_at, request.id)

    def section_of(self, request: Request) -> UrgencySection:
        """Return the section of a request."""
        if self.place_of(request).part == "rank":
            return "rest"
        return "overdue" if request.deadline and request.deadline <= self.now else "due_soon"

    def cursor_of(self, request: Request) -> str:
        """Return the cursor of the page after this request."""
        return ":".join(("urgent", str(unix_microseconds(self.now)), *map(str, self.place_of(request))))


def urgent_query(query: Query) -> UrgentQuery:
    """Return a query in the order `urgent`, checked.

    Raises:
        InvalidError: The query has no tenant or asks for ended requests, or its cursor is none of this order.
    """
    if query.statuses not in ((), ("pending",)):
        why = "the order urgent lists pending requests only: ask for status pending"
        raise InvalidError.of("order", why, "pending_only")
    if query.tenant is None:
        raise InvalidError.of("order", "the order urgent needs a tenant")
    pending = query.model_copy(update={"statuses": ("pending",), "before": None})
    if query.before:
        return _continued(pending, query.before)
    if query.now is None:
        raise InvalidError.of("order", "the order urgent needs the present time: give now")
    return UrgentQuery(pending, query.now, None)


def cursor_after_urgent_request(query: Query, request: Request) -> str:
    """Return the cursor of the page after this request, in the order of the query."""
    if query.order == "ended":
        return ":".join(("ended", *map(str, endings.place_of_ended_request(request))))
    if query.order != "urgent":
        return cursor_after_record(request)
    return urgent_query(query.model_copy(update={"tenant": request.tenant})).cursor_of(request)


def query_for_tenant(query: Query, tenant: str, now: datetime) -> Query:
    """Return a query for one tenant; one in the order `urgent` without a time has this one."""
    time = {"now": query.now or now} if query.order == "urgent" else {}
    return query.model_copy(update={"tenant": tenant, **time})


def query_for_count(query: Query) -> Query:
    """Return the query whose matches count: in another order, all its requests, from the first page on."""
    if query.order == "ended":
        return endings.ended_query(query).query
    if query.order != "urgent":
        return query
    return urgent_query(query).query.model_copy(update={"order": "newest", "now": None})


def _continued(query: Query, cursor: str) -> UrgentQuery:
    parts = CURSOR.fullmatch(cursor)
    if not parts or (parts[2] == "rank" and int(parts[3]) not in RANKS):
        why = f"{cursor!r} is not a cursor of the order urgent: take it from `next` of a page in this order"
        raise InvalidError.of("cursor", why)
    now, part, key, created_at, id = parts.groups()
    place = UrgentPlace("due" if part == "due" else "rank", int(key), int(created_at), id)
    try:
        return UrgentQuery(query, EPOCH + int(now) * MICROSECOND, place)
    except OverflowError:
        raise InvalidError.of("cursor", f"{cursor!r} has a time that does not exist: take it from `next`") from None
