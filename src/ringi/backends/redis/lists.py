"""The lists of a record, and the lists that a query reads.

All lists of a kind are one sorted set, in byte order: a member is the name of a list and a position in it. A position
begins with the creation time, so a list is read from its newest position down. A list by another time has that time
in front. The conditions that a record meets are its marks; they are stored with the names of its lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import product
from typing import Any, get_args

from ringi.backends.orders import Index, IndexSpan, OrderPlace
from ringi.backends.redis.server import join_redis_name
from ringi.backends.rows import (
    EVERYTHING,
    LISTED,
    index_partitions,
    query_conditions,
    request_audiences,
    required_index_lists,
    tool_list_name,
)
from ringi.domain.endings import FINAL
from ringi.domain.journal import Journal
from ringi.domain.record import Query, Record, query_terms, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.thread import Thread, ThreadStatus
from ringi.domain.urgency import urgency_rank

DIGITS = 18
OLDEST = 10**17
"""Added to the microseconds of a time, so that years before 1970 sort first."""
FIRST, LAST = "0" * DIGITS, "9" * DIGITS
NEWEST = b":"
"""Sorts after all digits."""
EXPIRING = join_redis_name("expires", "")[:-2]
"""The prefix of the names of the tenants' lists by deadline."""
DEADLINE, RANK, RANK_DIGITS = "due", "ranked", 2
"""The first parts of the names of the lists by deadline and by rank, and the digits of a rank."""
AGENTS = "agent:"
"""The prefix of the lists of agents."""
COMPACT = json.JSONEncoder(separators=(",", ":"), check_circular=False)
Marks = dict[str, str]
Asked = dict[str, Sequence[Any]]
"""What a record must have, for the script that picks records."""


def sortable_time_digits(at: datetime) -> str:
    """Return a time as fixed-length text that sorts chronologically."""
    return f"{unix_microseconds(at) + OLDEST:0{DIGITS}d}"


def redis_record_field(tenant: str, id: str) -> bytes:
    """Return the storage field of a record: unique per tenant and id, and in the order of ids."""
    raw_id, raw_tenant = (text.encode("utf-8", "surrogatepass") for text in (id, tenant))
    return raw_id.replace(b"\0", b"\0\xff") + b"\0" + raw_tenant


def redis_list_position(record: Record) -> bytes:
    """Return a record's position in lists."""
    return sortable_time_digits(record.created_at).encode() + redis_record_field(*record.key)


def redis_lists_and_marks(record: Record) -> str:
    """Return the lists and marks of a record in the format of the scripts."""
    lists, marks = redis_lists_with_positions(record)
    return COMPACT.encode({"lists": lists, "marks": marks})


def redis_lists_with_positions(record: Record) -> tuple[list[str], Marks]:
    """Return the lists of a record, each with the prefix of its position, and its marks."""
    if isinstance(record, Request):
        return request_lists_and_marks(record)
    if not isinstance(record, Thread | Journal):
        raise TypeError(type(record))
    partition, marks = list[str](), {join_redis_name("tenant", record.tenant): ""}
    if isinstance(record, Thread):
        partition.append(record.status)
        marks[join_redis_name("status", record.status)] = ""
        if record.status == "running":
            marks[join_redis_name("lease")] = sortable_time_digits(record.lease_until) if record.lease_until else FIRST
    lists = [join_redis_name("shown", record.tenant, *partition), join_redis_name("all", *partition)]
    return [f"{name}\0" for name in lists], marks


def request_lists_and_marks(request: Request) -> tuple[list[str], Marks]:
    """Return a request's lists and marks."""
    tenant, priority, agent = request.tenant, request.priority or "normal", request.agent
    partition = f"{request.status} {request.kind} {priority}"
    names = request_audiences(request) + ([tool_list_name(request.action.name)] if request.action else [])
    # By their parts: the lists with the beginnings of the positions in them, and the marks with their times.
    lists: dict[tuple[str, ...], str] = {("shown", tenant, name, partition): "" for name in names}
    lists["all", partition] = ""
    equal = [("status", request.status), ("kind", request.kind), ("priority", priority), ("tenant", tenant)]
    equal += [*(("audience", name) for name in names), ("tier", request.tier or "low")]
    marks: dict[tuple[str, ...], str] = dict.fromkeys([*equal, *([("agent", agent)] if agent else [])], "")
    if request.thread_id is not None:
        lists["thread", tenant, request.thread_id] = marks["thread", request.thread_id] = ""
    rare = {"unacknowledged": request.is_unacknowledged, "attention": request.needs_attention}
    for name in filter(rare.get, rare):
        lists[(name,)] = marks[(name,)] = ""
    if request.is_unexecuted:
        lists["unexecuted", tenant] = marks[("unexecuted",)] = ""
    if request.ended_at:
        lists["ended", tenant] = marks[("ended",)] = sortable_time_digits(request.ended_at)
    if at := request.next_time:
        lists[("expires",)] = lists["expires", tenant] = marks[("expires",)] = sortable_time_digits(at)
    deadline = sortable_time_digits(request.deadline) if request.deadline else None
    marks[("deadline",)] = deadline or LAST
    if not request.is_final:
        ranked = [*names, agent_list_name(agent)]
        lists |= {(RANK, tenant, name): f"{urgency_rank(request):0{RANK_DIGITS}d}" for name in ranked}
        lists |= {(DEADLINE, tenant, name): deadline for name in ranked if deadline}
    return (
        [f"{join_redis_name(*parts)}\0{start}" for parts, start in lists.items()],
        {join_redis_name(*parts): value for parts, value in marks.items()},
    )


def agent_list_name(agent: str | None) -> str:
    """Return the name under which pending requests of an agent are listed, or those of none."""
    return f"{AGENTS}{agent or ''}"


def redis_creation_lists(kind: type[Record], query: Query) -> list[str]:
    """Return the lists by creation time; every matching record is on one of them."""
    parts: Iterable[tuple[str, ...]] = [()]
    if kind is Thread:
        parts = [(status,) for status in query.statuses or get_args(ThreadStatus)]
    elif kind is Request:
        for mark in ("unacknowledged", "attention"):
            if getattr(query, mark):
                return [join_redis_name(mark)]
        if query.unexecuted and query.tenant is not None:
            return [join_redis_name("unexecuted", query.tenant)]
        if query.thread_id is not None and query.tenant is not None:
            return [join_redis_name("thread", query.tenant, query.thread_id)]
        names = (required_index_lists(query) or [[EVERYTHING]])[0]
        # A sweep skips all ended requests.
        statuses = ("pending",) if query.expired_at else query.statuses or (FINAL if query.ended_since else ())
        shelves = index_partitions(statuses, query.kind, query.priority)
        parts = product(names, shelves) if query.tenant is not None else [(each,) for each in shelves]
    head = ("all",) if query.tenant is None else ("shown", query.tenant)
    return [join_redis_name(*head, *part) for part in parts]


def redis_lists_are_exact(kind: type[Record], query: Query) -> bool:
    """Return whether every entry of the lists by creation time matches, and is on only one of them."""
    if kind is not Request:
        return not (query.unleased_at or query.before)
    names, *more = required_index_lists(query) or [[EVERYTHING]]
    is_one_list = names == [EVERYTHING] or (len(names) == 1 and query.tenant is not None)
    return query_conditions(query) <= LISTED and not more and is_one_list


def redis_query_conditions(kind: type[Record], query: Query) -> Asked:
    """Return what a record must have: one of the marks of each set, times in ranges, and pieces of text."""
    equal = [("tenant", query.tenant)]
    if kind is Request:
        equal += [("kind", query.kind), ("priority", query.priority), ("thread", query.thread_id)]
        equal += [("agent", query.agent), ("tier", query.tier)]
    marks: list[list[tuple[str, ...]]] = [[(name, value)] for name, value in equal if value is not None]
    if query.statuses:
        marks.append([("status", status) for status in query.statuses])
    ranges, pieces = list[tuple[str, str, str]](), tuple[str, ...]()
    if query.unleased_at and kind is Thread:
        ranges.append((join_redis_name("lease"), FIRST, sortable_time_digits(query.unleased_at)))
    if kind is Request:
        marks += [[(name,)] for name in ("unacknowledged", "attention", "unexecuted") if getattr(query, name)]
        if query.unsettled:
            marks.append([("status", "pending"), ("unacknowledged",), ("attention",)])
        marks += [[("audience", name) for name in names] for names in required_index_lists(query)]
        if query.ended_since:
            ranges.append((join_redis_name("ended"), sortable_time_digits(query.ended_since), LAST))
        if query.expired_at:
            ranges.append((join_redis_name("expires"), FIRST, sortable_time_digits(query.expired_at)))
        pieces = query_terms(query.text or "")
    sets = [[join_redis_name(*parts) for parts in each] for each in marks]
    return {"marks": sets, "spans": ranges, "pieces": pieces}


def redis_span_bounds(tenant: str | None, span: IndexSpan) -> tuple[bytes, bytes]:
    """Return what follows the name of a list before the first and behind the last member of a span."""
    first, last = redis_member_key_digits(span.key, span.first), redis_member_key_digits(span.key, span.last)
    if not span.after:
        return first, last + NEWEST
    after = redis_member_suffix(tenant, span.key, span.after)
    return (first, after) if span.is_descending else (after, last + NEWEST)


def redis_member_suffix(tenant: str | None, key: Index, place: OrderPlace) -> bytes:
    """Return what follows the name of a list in a member at a place."""
    if key == "created_at":
        at, id, tenant = place
        return redis_time_text(at) + redis_record_field(str(tenant), id)
    number, at, id = place
    return redis_member_key_digits(key, number) + redis_time_text(at) + redis_record_field(str(tenant), id)


def redis_member_key_digits(key: Index, number: int) -> bytes:
    """Return the part of a member that is before its position."""
    if key == "created_at":
        return b""
    return f"{number:0{RANK_DIGITS}d}".encode() if key == "rank" else redis_time_text(number)


def redis_time_text(at: int) -> bytes:
    """Return a time in microseconds as the text of a list; a time that no text has counts as the nearest."""
    return f"{min(max(at + OLDEST, 0), int(LAST)):0{DIGITS}d}".encode()


def redis_list_deadline(filed: bytes | None) -> str:
    """Return the deadline of a record as it is filed; the last one for a damaged record."""
    try:
        return str(json.loads(filed or b"")["marks"][join_redis_name("deadline")])
    except (ValueError, LookupError, TypeError):
        return LAST
