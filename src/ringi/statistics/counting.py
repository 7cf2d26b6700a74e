"""Counts the events of a tenant once: in the background of a server, and when somebody asks for figures.

The head of a tenant says up to which position events are counted. It also holds the newest counts with a number, until
each day has added them: a day adds only a number that is higher than its own. So a process may die between two writes,
and two processes may count at once, and no event is counted twice or never.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from time import monotonic
from typing import Any, NamedTuple

from ringi.base.clock import Clock
from ringi.base.failpoints import failpoint
from ringi.contracts.store import MAX_PAGE_BYTES, Store, find_record, skip_unreadable_records
from ringi.domain.journal import RINGI, Journal
from ringi.domain.record import START, SYSTEM, CutPage, Event, Key, Position, Query, UnreadableError, unix_microseconds
from ringi.domain.request import Request
from ringi.errors import ConflictError
from ringi.statistics import facts
from ringi.statistics.counts import DayCounts, Visible, audience_from_json, audience_within_limit

HEAD = "statistics"
"""The id of the journal with the head of a tenant; the journal of a day has the day after a `-`."""
PAGE = 250
"""Events that are read at once: decoding more would block other work too long."""
BATCH = 4_000
"""Events that are counted before the counts are saved."""
HISTORY = 500
TRIES = 50


class NewestCountedEvent(NamedTuple):
    """The newest event that is counted."""

    position: Position
    hash: str
    at: datetime


class CountingProgress(NamedTuple):
    """How far the events of a tenant are counted."""

    journal: Journal | None
    number: int = 0
    """The number of the newest counts."""
    position: Position = START
    first: datetime | None = None
    """The time of the first event of the tenant."""
    covered: NewestCountedEvent | None = None
    counts: dict[str, Any] = {}
    """The newest counts by day; a day with a lower number has not added them."""
    months: dict[str, list[list[Any]]] = {}
    """By month: each audience, and how many requests entered and left its queue."""


class CountedDays(NamedTuple):
    """The counts of some days, and how far the events are counted."""

    head: CountingProgress
    days: dict[date, DayCounts]
    is_complete: bool

    def share_at(self, now: datetime) -> float:
        """The share of the tenant's time whose events are counted, from 0 to 1.

        Args:
            now: The current time.
        """
        first, covered = self.head.first, self.head.covered
        if self.is_complete:
            return 1.0
        if not first or not covered:
            return 0.0
        return round(min(1.0, (covered.at - first) / (now - first)), 3) if now > first else 1.0

    def pending(self, visible: Visible, day: date | None = None) -> int:
        """Return how many requests were pending at the beginning of a day; without one, after the newest event.

        Args:
            visible: Whether the caller may read the figures of an audience.
            day: The day; all earlier days of its month are needed.
        """
        months = [queues for month, queues in self.head.months.items() if not day or month < day.isoformat()[:7]]
        queues = [queue for each in months for queue in each if visible(audience_from_json(queue[0]))]
        before = [counts for each, counts in self.days.items() if day and day.replace(day=1) <= each < day]
        hours = [hour for counts in before for (audience, _), hour in counts.hours.items() if visible(audience)]
        return sum(int(entered - left) for _, entered, left in queues) + sum(map(hourly_queue_change, hours))


class Statistics:
    """The counts of each tenant in a store.

    Args:
        store: The store of the requests; the counts are saved in it too.
        clock: The clock for the times of new journals.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def count(self, tenant: str, first: date, last: date, seconds: float = 1.0) -> CountedDays:
        """Count new events for a limited time, and return the counts of some days.

        Args:
            tenant: The tenant.
            first: The first day; the counts also have the earlier days of its month.
            last: The last day.
            seconds: The time after which no more events are read.

        Raises:
            UnavailableError: The store cannot answer.
        """
        is_complete = await self.catch_up(tenant, seconds)
        begin = first.replace(day=1)
        days = [begin + timedelta(days=n) for n in range((last - begin).days + 1)]
        return await self._read(tenant, days, is_complete)

    async def catch_up(self, tenant: str, seconds: float) -> bool:
        """Count new events for a limited time; return whether all are counted.

        Args:
            tenant: The tenant.
            seconds: The time after which no more events are read.

        Raises:
            UnavailableError: The store cannot answer.
        """
        until = monotonic() + seconds
        while True:
            head = await self._head(tenant)
            await self._spread(tenant, head)
            end = await self._store.tail()
            if end == head.position:
                return True
            fresh = _Batch(self._store, tenant, head)
            is_complete = await fresh.read(end, until)
            if await self._save(tenant, head, fresh):
                failpoint("statistics.before_days")
                await self._spread(tenant, await self._head(tenant))
            else:
                is_complete = False  # Another process was first.
            if is_complete or monotonic() >= until:
                return is_complete

    async def _read(self, tenant: str, days: list[date], is_complete: bool) -> CountedDays:
        names = {f"{HEAD}-{day}": day for day in days}
        for _ in range(TRIES):
            head = await self._head(tenant)
            journals = await skip_unreadable_records(self._store, Journal, [Key(tenant, name) for name in names])
            numbers = {each.id: each.totals["number"] for each in journals}
            owed = names.keys() & {f"{HEAD}-{day}" for day in head.counts}
            is_paid = all(numbers.get(name) == head.number for name in owed)
            # Another process may be writing between the two reads.
            if is_paid and all(number <= head.number for number in numbers.values()):
                counts = {names[each.id]: DayCounts.load(each.totals) for each in journals}
                return CountedDays(head, counts, is_complete)
            await self._spread(tenant, head)
        raise ConflictError.too_often(Journal.record, HEAD)

    async def _head(self, tenant: str) -> CountingProgress:
        journal = await find_record(self._store, Journal, Key(tenant, HEAD))
        if journal is None or not journal.totals:
            return CountingProgress(journal)
        data = journal.totals
        newest = data["covered"]
        covered = NewestCountedEvent(newest[0], newest[1], datetime.fromisoformat(newest[2])) if newest else None
        first = data["first"] and datetime.fromisoformat(data["first"])
        return CountingProgress(
            journal, data["number"], data["position"], first, covered, data["counts"], data["months"]
        )

    async def _save(self, tenant: str, head: CountingProgress, fresh: _Batch) -> bool:
        """Save the next head; return False if another process was first."""
        covered = fresh.covered or head.covered
        first = head.first or fresh.first
        totals = {
            "number": head.number + 1,
            "position": fresh.position,
            "first": first and first.isoformat(),
            "covered": covered and [*covered[:2], covered.at.isoformat()],
            "counts": {day: counts.dump() for day, counts in fresh.days.items()},
            "months": monthly_queue_changes(head.months, fresh.days),
        }
        try:
            journal = head.journal or self._new(Key(tenant, HEAD))
            await self._store.put(journal_with_totals(journal, totals), None)
        except ConflictError:
            return False
        return True

    def _new(self, key: Key) -> Journal:
        """Return a journal without totals, to be stored as version 1. It has no events: reading changes no trail."""
        journal, _ = Journal.begun(key.id, RINGI, {}, by=SYSTEM, now=self._clock(), tenant=key.tenant)
        return journal.model_copy(update={"version": 0, "head": ""})

    async def _spread(self, tenant: str, head: CountingProgress) -> None:
        """Add the newest counts to the days that have not added them."""
        for day, counts in head.counts.items():
            await self._add(Key(tenant, f"{HEAD}-{day}"), head.number, DayCounts.load(counts))
            failpoint("statistics.after_day")

    async def _add(self, key: Key, number: int, more: DayCounts) -> None:
        for _ in range(TRIES):
            journal = await find_record(self._store, Journal, key) or self._new(key)
            if journal.totals.get("number", 0) >= number:
                return
            counts = DayCounts.load(journal.totals)
            counts.add(more)
            with suppress(ConflictError):
                await self._store.put(journal_with_totals(journal, {"number": number, **counts.dump()}), None)
                return
        raise ConflictError.too_often(Journal.record, key.id)


class _Batch:
    """The events after a head, counted by day."""

    def __init__(self, store: Store, tenant: str, head: CountingProgress) -> None:
        self._store, self._tenant = store, tenant
        self.position = head.position
        self.days: dict[str, DayCounts] = {}
        self.first: datetime | None = None
        self.covered: NewestCountedEvent | None = None

    async def read(self, end: Position, until: float) -> bool:
        """Count events until the end, the size of a batch or a time is reached; return whether the end is."""
        size, limit = 0, PAGE
        while size < BATCH and (not size or monotonic() < until):
            try:
                events = await self._store.events(self.position, limit, tenant=self._tenant, max_bytes=MAX_PAGE_BYTES)
            except UnreadableError as error:
                if limit == 1 and error.position is not None:
                    self.position, limit = error.position, PAGE
                elif error.position is None:
                    raise
                else:
                    limit = 1
                continue
            await self._count(events)
            size += len(events)
            if len(events) < limit and not isinstance(events, CutPage):
                # The events of other tenants up to here need not be read again.
                self.position = events[-1].position if events else end
                return True
            self.position, limit = events[-1].position, PAGE
        return False

    async def _count(self, events: list[Event]) -> None:
        if not events:
            return
        last = events[-1]
        self.first = self.first or events[0].at
        self.covered = NewestCountedEvent(last.position, last.hash, last.at)
        counted = [each for each in events if each.record == Request.record and each.type in facts.COUNTED]
        # The first event says all of the request, except what was erased.
        unclear = {Key(each.tenant, each.record_id) for each in counted if each.version > 1 or each.is_redacted}
        found = await skip_unreadable_records(self._store, Request, list(unclear))
        requests = {request.id: request for request in found}
        seen = {(each.record_id, each.actor): each.at for each in reversed(events) if each.type == facts.SEEN}
        for each in await asyncio.gather(*(self._facts(each, requests.get(each.record_id), seen) for each in counted)):
            if each:
                facts.count_event_in_day(self.days, each)

    async def _facts(
        self, event: Event, request: Request | None, seen: dict[tuple[str, str], datetime]
    ) -> facts.EventFacts | None:
        # An event that was redacted, or is not the first one, does not say all: the rest is what the record has.
        is_whole = event.version == 1 and not event.is_redacted
        fields = event.changed if is_whole else request.model_dump(mode="json") if request else None
        if not fields:
            return None
        if event.type == facts.REASSIGNED:
            if event.is_redacted:
                return None
            earlier = [each for each in await self._history(event.record_id) if each.version < event.version]
            named = [each.changed for each in earlier if "groups" in each.changed]
            return facts.EventFacts(event, fields, before=facts.groups_of_request(named[-1])) if named else None
        responder = request.response.responder if request and request.response else None
        if event.version == 1 or not request or not responder or responder not in request.seen_by:
            return facts.EventFacts(event, fields)
        at = seen.get((event.record_id, responder))
        if at is None:
            history = await self._history(event.record_id)
            at = next((each.at for each in history if each.type == facts.SEEN and each.actor == responder), None)
        return facts.EventFacts(event, fields, seen_at=at)

    async def _history(self, id: str) -> list[Event]:
        events = await self._store.events(START, HISTORY, tenant=self._tenant, record_id=id)
        return [each for each in events if each.record == Request.record]


def journal_with_totals(journal: Journal, totals: dict[str, Any]) -> Journal:
    """Return the next version of a journal, with other totals; it needs no event."""
    return journal.model_copy(update={"totals": totals, "version": journal.version + 1})


def hourly_queue_change(hour: Counter[str]) -> int:
    """Return by how much the queue grew in an hour."""
    return hour[facts.IN] + hour[facts.MOVED_IN] - hour[facts.OUT] - hour[facts.MOVED_OUT]


def monthly_queue_changes(months: dict[str, list[list[Any]]], days: dict[str, DayCounts]) -> dict[str, list[list[Any]]]:
    """Return by month how many requests entered and left the queue of each audience."""
    found = {
        month: {audience_from_json(a): [entered, left] for a, entered, left in each} for month, each in months.items()
    }
    for day, counts in days.items():
        month = found.setdefault(day[:7], {})
        known = set(month)
        for (audience, _), hour in counts.hours.items():
            sums = month.setdefault(audience_within_limit(known, audience), [0, 0])
            sums[0] += hour[facts.IN] + hour[facts.MOVED_IN]
            sums[1] += hour[facts.OUT] + hour[facts.MOVED_OUT]
    return {month: [[audience, *sums] for audience, sums in each.items()] for month, each in sorted(found.items())}


def period_bounds_in_utc(since: date, until: date) -> tuple[datetime, datetime]:
    """Return the begin of the first day and the end of the last one, in UTC."""
    begin, end = (datetime(day.year, day.month, day.day, tzinfo=UTC) for day in (since, until + timedelta(days=1)))
    return begin, end


def utc_day_of_time(at: datetime) -> date:
    """Return the day of a time, in UTC."""
    return at.astimezone(UTC).date()


async def oldest_pending(store: Store, query: Query, first: datetime) -> datetime | None:
    """Return the time at which the oldest pending request was asked, to the second; None if none is pending.

    The number of reads is the logarithm of the time since the first event.

    Args:
        store: The store of the requests.
        query: The requests that the caller may read.
        first: A time before which nothing was asked.
    """
    pending = query.model_copy(update={"statuses": ("pending",), "limit": 1})
    found = await store.find(Request, pending)
    low = first
    while found and (oldest := found[0].created_at) - low > timedelta(seconds=1):
        middle = low + (oldest - low) / 2
        before = pending.model_copy(update={"before": f"{unix_microseconds(middle)}::"})
        older = await store.find(Request, before)
        if older:
            found = older
        else:
            low = middle
    return found[0].created_at if found else None
