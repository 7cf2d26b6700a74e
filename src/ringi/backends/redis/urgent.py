"""Pages of pending requests in the order `urgent`, from the lists by deadline and by rank.

A member of such a list is the name of the list, a deadline or a rank, and a position: each list is in the order of its
part of a page.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import islice
from typing import NamedTuple

from ringi.backends.audiences import EVERYTHING, required_lists
from ringi.backends.redis.lists import (
    DEADLINE,
    DIGITS,
    LAST,
    OLDEST,
    RANK,
    RANK_DIGITS,
    QueryPlan,
    TimeRange,
    agent_list,
    digits,
    field_of,
    plan_of,
)
from ringi.backends.redis.server import Server, named
from ringi.domain.record import MICROSECOND, Query
from ringi.domain.request import Request
from ringi.domain.urgency import UrgentPlace, UrgentQuery, rank_spans

Pick = Callable[[QueryPlan, int, Sequence[bytes]], Awaitable[list[bytes]]]
KEY_SIZES = {DEADLINE: DIGITS, RANK: RANK_DIGITS}
"""The number of digits before the position in a member of each list."""
FEW = 200
"""The most requests that are sorted for one page."""
FIRST_CHUNK, MAX_CHUNK = 64, 500
"""Positions read from each list at first, and at once: a running script blocks all other clients."""


class Span(NamedTuple):
    """A part of the lists by deadline or by rank."""

    kind: str
    first: str
    last: str
    """The least and the greatest beginning of what follows the name of the list."""
    after: bytes | None
    """What follows the name of the list in the last member of the previous page."""

    def bounds(self, name: str, after: bytes | None) -> tuple[bytes, bytes]:
        """Return the first and the last member of a list in this span."""
        head = name.encode() + b"\0"
        start = b"(" + head + after if after else b"[" + head + self.first.encode()
        return start, b"(" + head + self.last.encode() + b":"


def spans_of(urgent: UrgentQuery) -> list[Span]:
    """Return the spans that a page reads, in order."""
    tenant, after = str(urgent.query.tenant), urgent.after
    spans = []
    if after is None or after.part == "due":
        start = suffix_of(tenant, after) if after else None
        spans.append(Span(DEADLINE, "0", digits(urgent.due_soon_until), start))
    for first, last in rank_spans(urgent.query):
        is_behind = after is None or after.part == "due" or after.key <= last
        is_within = after is not None and after.part == "rank" and first <= after.key
        if is_behind:
            start = suffix_of(tenant, after) if after and is_within else None
            spans.append(Span(RANK, f"{first:02d}", f"{last:02d}", start))
    return spans


def suffix_of(tenant: str, place: UrgentPlace) -> bytes:
    """Return what follows the name of the list in a member at this place."""
    key = time_digits(place.key) if place.part == "due" else f"{place.key:02d}"
    return f"{key}{time_digits(place.created_at)}".encode() + field_of(tenant, place.id)


def time_digits(at: int) -> str:
    """Return a time in microseconds as the text of a list; a time that no text has counts as the nearest."""
    return f"{min(max(at + OLDEST, 0), int(LAST)):0{DIGITS}d}"


class UrgentPages:
    """Reads pages in the order `urgent`.

    Args:
        server: The server.
        keys: The keys of the bodies, of what is filed, of the texts and of the lists of requests.
        pick: Reads those of some records that fit a plan, at most so many.
    """

    def __init__(self, server: Server, keys: Sequence[str], pick: Pick) -> None:
        self._server, self._keys, self._pick = server, keys, pick
        self._count, self._ascend = map(server.script, ("counts", "ascend"))

    async def read(self, urgent: UrgentQuery) -> list[bytes]:
        """Return the rows of at most `query.limit` matching requests, the most urgent first."""
        query, found = urgent.query, list[bytes]()
        plan, names = plan_of(Request, query), await self._shortest(query)
        if (few := await self._sorted_few(urgent, names)) is not None:
            return await self._pick(plan, query.limit, few)
        for span in spans_of(urgent):
            part = span_plan(plan, urgent, span)
            async for places in self._ascending([named(span.kind, str(query.tenant), name) for name in names], span):
                found += await self._pick(part, query.limit - len(found), places)
                if len(found) >= query.limit:
                    return found
        return found

    async def _sorted_few(self, urgent: UrgentQuery, names: Sequence[str]) -> list[bytes] | None:
        """Return the positions of all later requests with the priority and the tier of a query in order, unless many.

        The lists by deadline do not have them together, and would be read to their ends.
        """
        query, tenant = urgent.query, str(urgent.query.tenant)
        if query.priority is None and query.tier is None:
            return None
        spans = [Span(RANK, f"{first:02d}", f"{last:02d}", None) for first, last in rank_spans(query)]
        lists = [(named(RANK, tenant, name), span) for name in names for span in spans]
        bounds = [bound for name, span in lists for bound in span.bounds(name, None)]
        if sum(await self._count(self._keys[3:], bounds)) > FEW:
            return None
        found = await self._ascend(self._keys[3:], [FEW + 1, *bounds])
        parts = zip(lists, found, strict=True)
        members = list({member[len(name.encode()) + 1 :] for (name, _), some in parts for member in some})
        if len(members) > FEW:
            return None
        after = urgent.after and (urgent.after.part == "rank", suffix_of(tenant, urgent.after))
        places = sorted(zip(await self._keys_of(urgent, members), members, strict=True))
        return [member[RANK_DIGITS:] for place, member in places if after is None or place > after]

    async def _keys_of(self, urgent: UrgentQuery, members: Sequence[bytes]) -> list[tuple[bool, bytes]]:
        """Return for members of lists by rank whether they are of the rest, and what orders them in their part."""
        if not members:
            return []
        async with self._server.answering():
            filed_now = await self._server.redis.hmget(
                self._keys[1], [each[RANK_DIGITS + DIGITS :] for each in members]
            )
        deadlines = [deadline_in(each) for each in filed_now]
        soon = digits(urgent.due_soon_until)
        return [
            (False, deadline.encode() + member[RANK_DIGITS:]) if deadline <= soon else (True, member)
            for deadline, member in zip(deadlines, members, strict=True)
        ]

    async def _ascending(self, lists: Sequence[str], span: Span) -> AsyncIterator[list[bytes]]:
        """Yield the positions in a span of some lists in order, each once, in chunks."""
        cut, after, size, is_open = KEY_SIZES[span.kind], span.after, FIRST_CHUNK, True
        while is_open:
            bounds = [bound for name in lists for bound in span.bounds(name, after)]
            found = await self._ascend(self._keys[3:], [size, *bounds])
            read = [
                [member[len(name.encode()) + 1 :] for member in some] for name, some in zip(lists, found, strict=True)
            ]
            after = min((members[-1] for members in read if len(members) == size), default=None)
            is_open = after is not None
            some = sorted({each for members in read for each in members if after is None or each <= after})
            for n in range(0, len(some), MAX_CHUNK):
                yield [each[cut:] for each in some[n : n + MAX_CHUNK]]
            size = min(2 * size, MAX_CHUNK)

    async def _shortest(self, query: Query) -> list[str]:
        """Return the lists that have all matches and the fewest others."""
        by_agent = [[agent_list(query.agent)]] if query.agent is not None else []
        ways = [*required_lists(query), *by_agent] or [[EVERYTHING]]
        if len(ways) == 1:
            return ways[0]
        ranked = [named(RANK, str(query.tenant), name) for names in ways for name in names]
        bounds = [bound for name in ranked for bound in (f"({name}\0", f"({name}\0:")]
        counts = iter(await self._count(self._keys[3:], bounds))
        sizes = [sum(islice(counts, len(names))) for names in ways]
        return min(zip(sizes, ways, strict=True))[1]


def deadline_in(filed: bytes | None) -> str:
    """Return the deadline of a record as it is filed; the last one for a damaged record."""
    try:
        return str(json.loads(filed or b"")["marks"][named("deadline")])
    except (ValueError, LookupError, TypeError):
        return LAST


def span_plan(plan: QueryPlan, urgent: UrgentQuery, span: Span) -> QueryPlan:
    """Return the plan for the records of a span: those that are due soon are no part of the rest."""
    if span.kind == DEADLINE:
        return plan
    rest = TimeRange(named("deadline"), digits(urgent.due_soon_until + MICROSECOND), LAST)
    return plan._replace(asked={**plan.asked, "spans": [*plan.asked["spans"], rest]})
