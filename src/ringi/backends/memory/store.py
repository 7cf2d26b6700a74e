"""Records and events in this process: the reference implementation for all stores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeVar, Unpack

from pydantic_core import to_json

from ringi.backends.orders import ordered_listing
from ringi.backends.rows import request_audiences
from ringi.base.clock import EPOCH
from ringi.contracts.store import Change, EventBounds, R, Store, event_bounds
from ringi.domain.memories import person_of_memory
from ringi.domain.record import START, CutPage, Event, Key, Position, Query, Record, parse_position_number, query_terms
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.domain.urgency import query_for_count
from ringi.errors import ConflictError, NotFoundError

T = TypeVar("T")


def cut_page(found: list[T], max_bytes: int, size_of: Callable[[T], int]) -> list[T]:
    """Return what is found up to the item with which it has so many bytes."""
    sizes = accumulate(map(size_of, found))
    number = next((n for n, size in enumerate(sizes, 1) if size >= max_bytes), None)
    return found if number is None else CutPage(found[:number])


class MemoryStore(Store):
    """Lost with the process, and otherwise equivalent to the other stores."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, Key], Record] = {}
        self._events: list[Event] = []
        self._cursors: dict[str, Position] = {}
        self._writing = threading.Lock()

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        changes = ((record, event), *others)
        with self._writing:
            for changed, _ in changes:
                stored = self._records.get((changed.record, changed.key))
                if changed.version != (stored.version + 1 if stored else 1):
                    raise ConflictError()
            for changed, noted in changes:
                self._records[changed.record, changed.key] = changed.model_copy(deep=True)
                if noted:
                    self._events.append(noted.model_copy(update={"position": str(len(self._events) + 1)}))

    async def erase(self, record: Record, event: Event, left: Mapping[int, dict[str, Any]]) -> None:
        await self.put(record, event)
        for n, each in enumerate(self._events):
            if (each.record, each.tenant, each.record_id) == (record.record, *record.key) and each.version in left:
                self._events[n] = each.model_copy(update={"payload": left[each.version]})

    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        found = self._records.get((kind.record, Key(tenant, id)))
        if not isinstance(found, kind):
            raise NotFoundError(kind.record, id)
        return found.model_copy(deep=True)

    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        found = (self._records.get((kind.record, Key(*key))) for key in keys)
        return [record for record in found if isinstance(record, kind)]

    async def find(self, kind: type[R], query: Query) -> list[R]:
        found = self._listed(kind, query)
        if query.max_bytes is None:
            return share_overdue_by_tenant(found, query) if query.expired_at else found[: query.limit]
        return cut_page(found[: query.limit], query.max_bytes, lambda record: len(to_json(record)))

    async def count(self, kind: type[R], query: Query) -> int:
        return len(self._listed(kind, query_for_count(query))[: query.limit])

    def _listed(self, kind: type[R], query: Query) -> list[R]:
        listing, sought = ordered_listing(kind, query), query_terms(query.text or "")
        records = (record for record in self._records.values() if isinstance(record, kind))
        matching = (record for record in records if record_matches_query(record, listing.query, sought))
        return listing.later((listing.place_of(record), record) for record in matching)

    async def events(self, after: Position = START, limit: int = 100, **bounds: Unpack[EventBounds]) -> list[Event]:
        tenant, record_ids, max_bytes = event_bounds(**bounds)
        later = (e for e in self._events[parse_position_number(after) :] if tenant in (None, e.tenant))
        found = [e for e in later if record_ids is None or e.record_id in record_ids][:limit]
        return found if max_bytes is None else cut_page(found, max_bytes, lambda event: len(to_json(event.payload)))

    async def tail(self) -> Position:
        return str(len(self._events)) if self._events else START

    async def cursor(self, name: str) -> Position:
        return self._cursors.get(name, START)

    async def move_cursor(self, name: str, old: Position, new: Position) -> None:
        if self._cursors.get(name, START) != old:
            raise ConflictError.cursor_moved(name, old)
        self._cursors[name] = new


def share_overdue_by_tenant(overdue: Sequence[R], query: Query) -> list[R]:
    """Return the longest overdue records; if they exceed a page, a share for each tenant."""
    longest = sorted(overdue, key=lambda record: getattr(record, "next_time", None) or EPOCH)
    if query.tenant is not None or len(longest) < query.limit:
        return longest[: query.limit]
    of_each: dict[str, list[R]] = {}
    for record in longest:
        of_each.setdefault(record.tenant, []).append(record)
    share = max(1, query.limit // len(of_each))
    return [record for mine in list(of_each.values())[: query.limit] for record in mine[:share]]


def record_matches_query(record: Record, query: Query, sought: Sequence[str]) -> bool:
    """Return whether a record matches the query and has each piece of text, regardless of cursor and limit."""
    if query.tenant not in (None, record.tenant):
        return False
    if isinstance(record, Request):
        text = record.search_text if sought else ""
        return request_meets_conditions(record, query) and all(piece in text for piece in sought)
    if isinstance(record, Thread):
        lease, at = record.lease_until, query.unleased_at
        is_free = at is None or (record.status == "running" and (lease is None or lease <= at))
        return is_free and (not query.statuses or record.status in query.statuses)
    return True


def request_meets_conditions(request: Request, query: Query) -> bool:
    """Return whether the request meets every condition that the query sets."""
    person = query.assigned_or_claimed_by
    equal: list[tuple[Any, Any]] = [
        (query.kind, request.kind),
        (query.priority, request.priority or "normal"),
        (query.assignee, request.assignee),
        (query.thread_id, request.thread_id),
        (query.tool, request.action.name if request.action else None),
        (query.agent, request.agent),
        (query.tier, request.tier or "low"),
        (query.remembered_by, person_of_memory(request)),
    ]
    return (
        all(wanted in (None, has) for wanted, has in equal)
        and (not query.statuses or request.status in query.statuses)
        and (query.group is None or f"group:{query.group}" in request_audiences(request))
        and (query.asked_by is None or request.is_from(query.asked_by))
        and (query.viewer is None or request.is_seen_by(query.viewer))
        and (person is None or person in (request.assignee, request.claimed_by))
        and (query.ended_since is None or (request.ended_at is not None and request.ended_at >= query.ended_since))
        and (query.expired_at is None or request.is_due(query.expired_at))
        and (not query.unacknowledged or request.is_unacknowledged)
        and (not query.attention or request.needs_attention)
        and (not query.unexecuted or request.is_unexecuted)
        and (not query.unanswerable or request.unanswerable)
        and (not query.unsettled or request.is_unsettled)
    )
