"""The ordered indexes of requests, the same in all stores: each list is in the order of its spans.

A store has each list in an index by creation, by end, by rank and by deadline. A page is what follows a place in the
spans of some lists, merged and filtered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from ringi.domain.endings import ended_query, place_of_ended_request
from ringi.domain.record import Query, Record, parse_record_cursor, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.urgency import urgency_rank_spans, urgent_query

T = TypeVar("T")
OrderPlace: TypeAlias = tuple[Any, ...]
"""What an order compares."""
Index: TypeAlias = Literal["created_at", "ended_at", "deadline", "rank"]
LEAST, MOST = -(2**63), 2**63 - 1


class IndexSpan(NamedTuple):
    """A part of an index, in which requests with equal keys are in the order of their creation and their ids."""

    key: Index
    first: int
    last: int
    """The least and the greatest key."""
    after: OrderPlace | None
    """The key, creation time and id of the last request of the previous page, if it is in this span. The index by
    creation has no other key, and its place ends with the tenant."""

    @property
    def is_descending(self) -> bool:
        """Return whether the greatest key is first."""
        return self.key in ("created_at", "ended_at")


class OrderedListing(NamedTuple):
    """A query with its order."""

    query: Query
    """Its cursor has no effect: `after` has the place."""
    spans: list[IndexSpan]
    after: OrderPlace | None
    """The place of the last record of the previous page."""
    place_of: Callable[[Any], OrderPlace]
    """Returns the place of a record. In the order `urgent` it begins with whether the record is not due soon."""
    soon: int | None = None
    """In the order `urgent`, the latest deadline of what is due soon. The least place is first then, else the
    greatest."""

    @property
    def is_ascending(self) -> bool:
        """Return whether the least place is first."""
        return self.soon is not None

    def later(self, found: Iterable[tuple[OrderPlace, T]]) -> list[T]:
        """Return all behind the previous page in order, each given with its place."""
        after, is_up = self.after, self.is_ascending
        later = [each for each in found if after is None or (each[0] > after if is_up else each[0] < after)]
        return [each for _, each in sorted(later, key=itemgetter(0), reverse=not is_up)]


def ordered_listing(kind: type[Record], query: Query) -> OrderedListing:
    """Return a query with its order, checked; only requests have another than by creation.

    Raises:
        InvalidError: The cursor is none of the order, or the order does not allow the query.
    """
    if issubclass(kind, Request) and query.order == "urgent":
        return _urgent(query)
    if issubclass(kind, Request) and query.order == "ended":
        ended = ended_query(query)
        since = unix_microseconds(query.ended_since) if query.ended_since else LEAST
        span = IndexSpan("ended_at", since, MOST, ended.after)
        return OrderedListing(ended.query, [span], ended.after, place_of_ended_request)
    after = parse_record_cursor(query.before) if query.before else None
    span = IndexSpan("created_at", LEAST, MOST, after)
    return OrderedListing(query, [span], after, creation_place)


def _urgent(query: Query) -> OrderedListing:
    urgent = urgent_query(query)
    soon = unix_microseconds(urgent.due_soon_until)
    after = urgent.after[1:] if urgent.after else None
    rank = urgent.after.key if urgent.after and urgent.after.part == "rank" else -1
    spans = [IndexSpan("deadline", LEAST, soon, after)] if rank < 0 else []
    ranks = urgency_rank_spans(query.priority, query.tier)
    spans += [IndexSpan("rank", first, last, after if first <= rank else None) for first, last in ranks if rank <= last]

    def place(request: Request) -> OrderPlace:
        part, *rest = urgent.place_of(request)
        return (part == "rank", *rest)

    return OrderedListing(urgent.query, spans, (rank >= 0, *after) if after else None, place, soon)


def creation_place(record: Record) -> OrderPlace:
    """Return the place of a record by creation."""
    return unix_microseconds(record.created_at), record.id, record.tenant
