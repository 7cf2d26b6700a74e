"""The order `ended` of ended requests: the latest end first."""

from __future__ import annotations

import re
from typing import NamedTuple

from ringi.domain.record import Query, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.request_data import Status
from ringi.errors import InvalidError

FINAL: tuple[Status, ...] = ("completed", "cancelled", "expired")
CURSOR = re.compile(r"ended:(-?[0-9]{1,18}):(-?[0-9]{1,18}):(.+)", re.DOTALL | re.ASCII)


class EndedPlace(NamedTuple):
    """The place of a request in the order `ended`: the greatest is first. The times are microseconds."""

    ended_at: int
    created_at: int
    id: str


class EndedQuery(NamedTuple):
    """A query for requests in the order `ended`."""

    query: Query
    """Without a cursor and an order, and for ended requests only."""
    after: EndedPlace | None
    """The place of the last request of the previous page."""


def ended_query(query: Query) -> EndedQuery:
    """Return a query in the order `ended`, checked.

    Raises:
        InvalidError: The query has no tenant or asks for pending requests, or its cursor is none of this order.
    """
    if "pending" in query.statuses:
        why = "the order ended lists ended requests only: omit the status pending"
        raise InvalidError.of("order", why, "ended_only")
    if query.tenant is None:
        raise InvalidError.of("order", "the order ended needs a tenant")
    plain = {"order": "newest", "statuses": query.statuses or FINAL, "before": None}
    return EndedQuery(query.model_copy(update=plain), _place_in(query.before) if query.before else None)


def place_of_ended_request(request: Request) -> EndedPlace:
    """Return the place of an ended request."""
    ended_at = unix_microseconds(request.ended_at) if request.ended_at else 0
    return EndedPlace(ended_at, unix_microseconds(request.created_at), request.id)


def _place_in(cursor: str) -> EndedPlace:
    parts = CURSOR.fullmatch(cursor)
    if not parts:
        why = f"{cursor!r} is not a cursor of the order ended: take it from `next` of a page in this order"
        raise InvalidError.of("cursor", why)
    ended_at, created_at, id = parts.groups()
    return EndedPlace(int(ended_at), int(created_at), id)
