"""The lists of a record, and the lists that a query reads.

All lists of a kind are one sorted set, in byte order: a member is the name of a list and a position in it. A position
begins with the creation time, so a list is read from its newest position down. A list by another time has that time
in front. The conditions that a record meets are its marks; they are stored with the names of its lists.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, get_args

from ringi.backends.audiences import (
    EVERYTHING,
    LISTED,
    audiences_of,
    conditions_of,
    list_partitions,
    required_lists,
    tool_list,
)
from ringi.backends.redis.server import Server, named
from ringi.contracts.store import R
from ringi.domain.endings import EndedQuery
from ringi.domain.journal import Journal
from ringi.domain.record import MICROSECOND, Query, Record, microseconds, parsed_cursor, query_terms
from ringi.domain.request import Request
from ringi.domain.request_data import Status
from ringi.domain.thread import Thread, ThreadStatus
from ringi.domain.urgency import UrgentPlace, UrgentQuery, rank_of, rank_spans

DIGITS = 18
OLDEST = 10**17
"""Added to the microseconds of a time, so that years before 1970 sort first."""
FIRST, LAST = "0" * DIGITS, "9" * DIGITS
NEWEST = b":"
"""Sorts after all digits."""
EXPIRING = named("expires", "")[:-2]
"""The prefix of the names of the tenants' lists by deadline."""
DEADLINE, RANK, RANK_DIGITS = "due", "ranked", 2
"""The first parts of the names of the lists by deadline and by rank, and the digits of a rank."""
AGENTS = "agent:"
"""The prefix of the lists of agents."""
COMPACT = json.JSONEncoder(separators=(",", ":"), check_circular=False)
Marks = dict[str, str]
KEY_SIZES = {DEADLINE: DIGITS, RANK: RANK_DIGITS}
"""The number of digits before the position in a member of each list."""
FEW = 200
"""The most requests that are sorted for one page."""
FIRST_CHUNK, MAX_CHUNK = 64, 500
"""Positions read from each list at first, and at once: a running script blocks all other clients."""


class TimeRange(NamedTuple):
    """A mark with a time that must lie between two others."""

    mark: str
    first: str
    last: str


class QueryPlan(NamedTuple):
    """The plan of a query."""

    lists: list[str]
    """Every matching record is on one of these."""
    is_exact: bool
    """True if every entry matches and is on only one of the lists."""
    by_time: tuple[str, TimeRange] | None
    """A list by time that also contains every match; it is shorter if it has few entries."""
    asked: dict[str, Any]
    """The conditions that a record must meet."""


def digits(at: datetime) -> str:
    """Return a time as fixed-length text that sorts chronologically."""
    return f"{microseconds(at) + OLDEST:0{DIGITS}d}"


def field_of(tenant: str, id: str) -> bytes:
    """Return the storage field of a record: unique per tenant and id, and in the order of ids."""
    return _raw(id).replace(b"\0", b"\0\xff") + b"\0" + _raw(tenant)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def place_of(record: Record) -> bytes:
    """Return a record's position in lists."""
    return digits(record.created_at).encode() + field_of(*record.key)


def place_before(query: Query) -> bytes:
    """Return the position below which a page begins."""
    if not query.before:
        return NEWEST
    at, id, tenant = parsed_cursor(query.before)
    return f"{min(max(at + OLDEST, 0), int(LAST)):0{DIGITS}d}".encode() + field_of(tenant, id)


def filed(record: Record) -> str:
    """Return the lists and marks of a record in the format of the scripts."""
    lists, marks = on_lists(record)
    return COMPACT.encode({"lists": lists, "marks": marks})


def on_lists(record: Record) -> tuple[list[str], Marks]:
    """Return the lists of a record, each with the prefix of its position, and its marks."""
    if isinstance(record, Request):
        return of_request(record)
    if isinstance(record, Thread):
        return of_thread(record)
    if isinstance(record, Journal):
        return of_journal(record)
    raise TypeError(type(record))


def of_thread(thread: Thread) -> tuple[list[str], Marks]:
    """Return a thread's lists and marks."""
    lists = [named("shown", thread.tenant, thread.status), named("all", thread.status)]
    marks = {named("tenant", thread.tenant): "", named("status", thread.status): ""}
    if thread.status == "running":
        marks[named("lease")] = digits(thread.lease_until) if thread.lease_until else FIRST
    return [f"{name}\0" for name in lists], marks


def of_journal(journal: Journal) -> tuple[list[str], Marks]:
    """Return a journal's lists and marks."""
    lists = [named("shown", journal.tenant), named("all")]
    return [f"{name}\0" for name in lists], {named("tenant", journal.tenant): ""}


def of_request(request: Request) -> tuple[list[str], Marks]:
    """Return a request's lists and marks."""
    audiences, priority = audiences_of(request), request.priority or "normal"
    partition = f"{request.status} {request.kind} {priority}"
    tools = [tool_list(request.action.name)] if request.action else []
    ranked = [*audiences, *tools, agent_list(request.agent)]
    lists = [named("shown", request.tenant, name, partition) for name in audiences + tools] + [named("all", partition)]
    marks = [named(*pair) for pair in (("status", request.status), ("kind", request.kind), ("priority", priority))]
    marks += [named("tenant", request.tenant), *(named("audience", name) for name in audiences + tools)]
    marks += [named("tier", request.tier or "low")] + ([named("agent", request.agent)] if request.agent else [])
    if request.thread_id is not None:
        lists.append(named("thread", request.tenant, request.thread_id))
        marks.append(named("thread", request.thread_id))
    rare = {"unacknowledged": request.is_unacknowledged, "attention": request.needs_attention}
    lists += [named(name) for name, has in rare.items() if has]
    marks += [named(name) for name, has in rare.items() if has]
    if request.is_unexecuted:
        lists.append(named("unexecuted", request.tenant))
        marks.append(named("unexecuted"))
    times = _times(request)
    heads = [f"{name}\0" for name in lists] + [f"{name}\0{at}" for name, _, at in times]
    deadline = digits(request.deadline) if request.deadline else None
    if not request.is_final:
        heads += [f"{named(RANK, request.tenant, name)}\0{rank_of(request):0{RANK_DIGITS}d}" for name in ranked]
        heads += [f"{named(DEADLINE, request.tenant, name)}\0{deadline}" for name in ranked if deadline]
    timed = {mark: at for _, mark, at in times} | {named("deadline"): deadline or LAST}
    return heads, dict.fromkeys(marks, "") | timed


def agent_list(agent: str | None) -> str:
    """Return the name under which pending requests of an agent are listed, or those of none."""
    return f"{AGENTS}{agent or ''}"


def _times(request: Request) -> list[tuple[str, str, str]]:
    found = []
    if request.ended_at:
        found.append((named("ended", request.tenant), named("ended"), digits(request.ended_at)))
    if at := request.next_time:
        found += [(name, named("expires"), digits(at)) for name in expiring(request.tenant)]
    return found


def expiring(tenant: str) -> tuple[str, str]:
    """Return the lists by deadline, of all tenants and of one."""
    return named("expires"), named("expires", tenant)


def plan_of(kind: type[R], query: Query) -> QueryPlan:
    """Return the plan of a query; raises `InvalidError` for an invalid cursor or too long a text."""
    if issubclass(kind, Request):
        return _plan_of_requests(query)
    if issubclass(kind, Journal):
        return QueryPlan(_lists_of(query.tenant, [()]), not query.before, None, _asked(query, [], []))
    statuses = query.statuses or get_args(ThreadStatus)
    spans = [TimeRange(named("lease"), FIRST, digits(query.unleased_at))] if query.unleased_at else []
    is_exact = not (query.unleased_at or query.before)
    return QueryPlan(
        _lists_of(query.tenant, [(status,) for status in statuses]), is_exact, None, _asked(query, [], spans)
    )


def _plan_of_requests(query: Query) -> QueryPlan:
    audience, *more = required_lists(query) or [[EVERYTHING]]
    spans = []
    by_time = None
    if query.ended_since:
        spans.append(TimeRange(named("ended"), digits(query.ended_since), LAST))
        by_time = (named("ended", query.tenant), spans[-1]) if query.tenant is not None else None
    if query.expired_at:
        spans.append(TimeRange(named("expires"), FIRST, digits(query.expired_at)))
        by_time = (named("expires"), spans[-1])
    is_one_list = audience == [EVERYTHING] or (len(audience) == 1 and query.tenant is not None)
    is_exact = conditions_of(query) <= LISTED and not more and is_one_list
    extra = [("kind", query.kind), ("priority", query.priority), ("thread", query.thread_id)]
    extra += [("agent", query.agent), ("tier", query.tier)]
    marks = [[named(name, value)] for name, value in extra if value is not None]
    marks += [[named(name)] for name in ("unacknowledged", "attention", "unexecuted") if getattr(query, name)]
    if query.unsettled:
        marks.append([named("status", "pending"), named("unacknowledged"), named("attention")])
    marks += [[named("audience", name) for name in names] for names in required_lists(query)]
    asked = _asked(query, marks, spans, query_terms(query.text or ""))
    return QueryPlan(_request_lists(query, audience), is_exact, by_time, asked)


def _request_lists(query: Query, audience: Sequence[str]) -> list[str]:
    if query.unacknowledged:
        return [named("unacknowledged")]
    if query.attention:
        return [named("attention")]
    if query.unexecuted and query.tenant is not None:
        return [named("unexecuted", query.tenant)]
    if query.tenant is None:
        return _lists_of(None, [(partition,) for partition in list_partitions(_narrowed(query))])
    if query.thread_id is not None:
        return [named("thread", query.tenant, query.thread_id)]
    return _lists_of(
        query.tenant, [(name, partition) for name in audience for partition in list_partitions(_narrowed(query))]
    )


def _narrowed(query: Query) -> Query:
    """Return the query narrowed to the statuses that its times allow: a sweep skips all ended requests."""
    statuses = set(query.statuses or get_args(Status))
    if query.expired_at:
        statuses &= {"pending"}
    if query.ended_since:
        statuses -= {"pending"}
    return query.model_copy(update={"statuses": tuple(statuses)})


def _lists_of(tenant: str | None, parts: Sequence[tuple[str, ...]]) -> list[str]:
    head = ("all",) if tenant is None else ("shown", tenant)
    return list(dict.fromkeys(named(*head, *part) for part in parts))


def _asked(
    query: Query, marks: Sequence[Sequence[str]], spans: Sequence[TimeRange], sought: Sequence[str] = ()
) -> dict[str, Any]:
    tenant = [[named("tenant", query.tenant)]] if query.tenant is not None else []
    statuses = [[named("status", status) for status in query.statuses]] if query.statuses else []
    return {"marks": [*tenant, *statuses, *marks], "spans": spans, "pieces": sought}


Pick = Callable[[QueryPlan, int, Sequence[bytes]], Awaitable[list[bytes]]]


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


class EndedPages:
    """Reads pages in the order `ended`.

    Args:
        server: The server.
        lists: The key of the lists of requests.
        pick: Reads those of some records that fit a plan, at most so many.
    """

    def __init__(self, server: Server, lists: str, pick: Pick) -> None:
        self._lists, self._pick, self._peek = lists, pick, server.script("peek")

    async def read(self, ended: EndedQuery) -> list[bytes]:
        """Return the rows of at most `query.limit` matching requests, the latest end first."""
        plan, limit, found = plan_of(Request, ended.query), ended.query.limit, list[bytes]()
        async for places in self._descending(ended):
            found += await self._pick(plan, limit - len(found), places)
            if len(found) >= limit:
                break
        return found

    async def _descending(self, ended: EndedQuery) -> AsyncIterator[list[bytes]]:
        """Yield the positions on the list behind the previous page, the latest end first, in chunks."""
        name, below, size = named("ended", str(ended.query.tenant)), start_of(ended), FIRST_CHUNK
        while below:
            (members,) = await self._peek([self._lists], [size, below, name])
            places = [member[len(name.encode()) + 1 :] for member in members]
            yield [place[DIGITS:] for place in places]
            below = places[-1] if len(places) == size else b""
            size = min(2 * size, MAX_CHUNK)


def start_of(ended: EndedQuery) -> bytes:
    """Return what follows the name of the list in the member below which a page begins."""
    if ended.after is None:
        return NEWEST
    ended_at, created_at, id = ended.after
    return f"{time_digits(ended_at)}{time_digits(created_at)}".encode() + field_of(str(ended.query.tenant), id)
