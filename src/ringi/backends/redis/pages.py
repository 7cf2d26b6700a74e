"""Pages of lists: each is read from the spans of some lists, and each record is checked by its marks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import Any

from ringi.backends.orders import LEAST, IndexSpan, OrderedListing, ordered_listing
from ringi.backends.redis import lists
from ringi.backends.redis.lists import DEADLINE, DIGITS, EXPIRING, LAST, NEWEST, RANK, RANK_DIGITS, Asked
from ringi.backends.redis.server import RedisServer, join_redis_name
from ringi.backends.rows import (
    EVERYTHING,
    LARGE,
    Body,
    page_of_readable_records,
    query_has_own_index,
    required_index_lists,
)
from ringi.domain.record import Query, Record, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.urgency import query_for_count, urgency_rank_spans

LITTLE = 1_000
"""Maximum positions read from a list by time; with more, matches are close together in the other lists."""
FEW = 200
"""The most requests that are sorted for one page."""
EVERY = 10**9
"""More than any list by an index of its own has, such as the requests of a thread."""
Bounds = tuple[bytes, bytes]
"""What follows the name of a list before the first and behind the last member of a part; no member equals one."""
EVERY_MEMBER: list[Bounds] = [(b"", NEWEST)]
FIRST_CHUNK, MAX_CHUNK = 64, 500
"""Positions read from each list at first, and at once: a running script blocks all other clients."""


class RedisPages:
    """Reads the lists of one kind of records.

    Args:
        server: The server.
        kind: The class of the records.
    """

    def __init__(self, server: RedisServer, kind: type[Record]) -> None:
        self._server, self._keys, self._kind = server, server.record_keys(kind.record), kind
        self._scan, self._counts, self._turns = map(server.script, ("scan", "counts", "turns"))
        self._picked = server.script("pick")

    async def find(self, query: Query) -> list[bytes]:
        """Return the bodies of at most `query.limit` matching records, in order."""
        listing, found = ordered_listing(self._kind, query), list[bytes]()
        if listing.spans[0].key != "created_at" and query_has_own_index(query):
            unbounded = query_for_count(query).model_copy(update={"limit": EVERY, "max_bytes": None})
            every = await page_of_readable_records(Request, unbounded, self.find, self.body_at)
            later = listing.later((listing.place_of(each), each) for each in every)
            return [each.model_dump_json().encode() for each in later[: query.limit]]
        async for asked, places in self._candidates(listing):
            found += await self._pick(asked, query, query.limit - len(found), places)
            if len(found) >= query.limit:
                break
        if query.expired_at and query.tenant is None and len(found) >= query.limit:
            due, asked = lists.sortable_time_digits(query.expired_at), lists.redis_query_conditions(self._kind, query)
            turns = await self._turns(self._keys[3:], [EXPIRING, due, query.limit])
            found = await self._pick(asked, query, query.limit, turns) or found
        # A listed record that is missing counts as damaged: the list continues.
        return [(row if row[:1] == b"@" else redis_record_body(row)) if row else b"" for row in found]

    async def body_at(self, reference: Body) -> bytes | None:
        """Return the body of a field; None if it is gone."""
        async with self._server.answering():
            row = await self._server.redis.hget(self._keys[0], reference)
        return redis_record_body(row) if row else None

    async def count(self, query: Query) -> int:
        """Return the number of matching records, up to `query.limit`."""
        number: int = 0
        if lists.redis_lists_are_exact(self._kind, query):
            return min(query.limit, sum(await self._sizes(lists.redis_creation_lists(self._kind, query), EVERY_MEMBER)))
        async for asked, places in self._candidates(ordered_listing(self._kind, query)):
            number += await self._pick(asked, query, query.limit - number, places, only_count=True)
            if number >= query.limit:
                break
        return number

    async def _pick(
        self, asked: Asked, query: Query, limit: int, places: Sequence[bytes], *, only_count: bool = False
    ) -> Any:
        """Return the rows of those records that have what is asked, at most so many, or their number."""
        wanted = json.dumps(asked, ensure_ascii=False, separators=(",", ":"))
        fields = [place[DIGITS:] for place in places]
        largest = EVERY if query.max_bytes is None else LARGE
        return await self._picked(self._keys[:3], [wanted, limit, int(only_count), largest, *fields])

    async def _candidates(self, listing: OrderedListing) -> AsyncIterator[tuple[Asked, Sequence[bytes]]]:
        """Yield the positions of possible matches in order, in chunks, with what their records must have."""
        query, tenant = listing.query, str(listing.query.tenant)
        asked = lists.redis_query_conditions(self._kind, query)
        if query.expired_at:
            due = IndexSpan("deadline", LEAST, unix_microseconds(query.expired_at), None)
            below = lists.redis_span_bounds(tenant, listing.spans[0])[1]
            async for places in self._scanned([join_redis_name("expires")], listing, due):
                yield asked, [place for place in places if place < below]
            return
        shortest = await self._shortest(query) if listing.is_ascending else []
        few = await (self._few_urgent(listing, shortest) if listing.is_ascending else self._few_ended(listing))
        if few is not None:
            for n in range(0, len(few), MAX_CHUNK):
                yield asked, few[n : n + MAX_CHUNK]
            return
        for span in listing.spans:
            part = asked
            if span.key == "created_at":
                names = lists.redis_creation_lists(self._kind, query)
            elif span.key == "ended_at":
                names = [join_redis_name("ended", tenant)]
            else:
                names = [join_redis_name(RANK if span.key == "rank" else DEADLINE, tenant, name) for name in shortest]
            if span.key == "rank":
                # What is due soon is no part of the rest.
                later = join_redis_name("deadline"), lists.redis_time_text((listing.soon or 0) + 1).decode(), LAST
                part = {**asked, "spans": [*asked["spans"], later]}
            async for places in self._scanned(names, listing, span):
                yield part, places

    async def _scanned(
        self, names: Sequence[str], listing: OrderedListing, span: IndexSpan
    ) -> AsyncIterator[list[bytes]]:
        """Yield the positions in a span of some lists in order, each once, in chunks."""
        first, last = lists.redis_span_bounds(str(listing.query.tenant), span)
        is_down, cut = span.is_descending, len(lists.redis_member_key_digits(span.key, 0))
        size, is_open = min(max(listing.query.limit, FIRST_CHUNK), MAX_CHUNK), True
        while is_open:
            read = await self._read(names, [(first, last)], size, is_down)
            ends = [members[-1] for members in read if len(members) == size]
            # The point that every list has reached.
            end, is_open = (max if is_down else min)(ends, default=b""), bool(ends)
            merged = sorted({each for members in read for each in members}, reverse=is_down)
            reached = [each for each in merged if not is_open or (each >= end if is_down else each <= end)]
            for n in range(0, len(reached), MAX_CHUNK):
                yield [each[cut:] for each in reached[n : n + MAX_CHUNK]]
            first, last = (first, end) if is_down else (end, last)
            size = min(2 * size, MAX_CHUNK) if len(reached) < MAX_CHUNK else size

    async def _read(
        self, names: Sequence[str], parts: Sequence[Bounds], size: int, is_down: bool = False
    ) -> list[list[bytes]]:
        """Return the first members in parts of each list, without the names of the lists, as of one moment."""
        bounds = [bound for part in parts for bound in (reversed(part) if is_down else part)]
        command = "ZREVRANGEBYLEX" if is_down else "ZRANGEBYLEX"
        found = await self._scan(self._keys[3:], [command, size, len(names), *names, *bounds])
        # The names are ASCII.
        heads = [len(name) + 1 for name in names for _ in parts]
        return [[each[head:] for each in some] if some else some for head, some in zip(heads, found, strict=True)]

    async def _sizes(self, names: Sequence[str], parts: Sequence[Bounds]) -> list[int]:
        """Return the numbers of members in parts of each list, as of one moment."""
        bounds = [bound for part in parts for bound in part]
        sizes: list[int] = await self._counts(self._keys[3:], [len(names), *names, *bounds])
        return sizes

    async def _few_ended(self, listing: OrderedListing) -> list[bytes] | None:
        """Return the positions of all that ended since a time, in the order of creation, unless many."""
        query, span = listing.query, listing.spans[0]
        if span.key != "created_at" or not query.ended_since or query.tenant is None:
            return None
        since = lists.sortable_time_digits(query.ended_since).encode()
        _, below = lists.redis_span_bounds(query.tenant, span)
        (found,) = await self._read([join_redis_name("ended", query.tenant)], [(since, NEWEST)], LITTLE + 1)
        places = sorted((each[DIGITS:] for each in found), reverse=True)
        return None if len(places) > LITTLE else [place for place in places if place < below]

    async def _few_urgent(self, listing: OrderedListing, shortest: Sequence[str]) -> list[bytes] | None:
        """Return the positions of all later requests with the priority and the tier of a query in order, unless many.

        The lists by deadline do not have them together, and would be read to their ends.
        """
        query, tenant = listing.query, str(listing.query.tenant)
        if query.priority is None and query.tier is None:
            return None
        spans = [IndexSpan("rank", *ranks, None) for ranks in urgency_rank_spans(query.priority, query.tier)]
        parts = [lists.redis_span_bounds(tenant, span) for span in spans]
        names = [join_redis_name(RANK, tenant, name) for name in shortest]
        if sum(await self._sizes(names, parts)) > FEW:
            return None
        found = await self._read(names, parts, FEW + 1)
        members = list({member for some in found for member in some})
        if len(members) > FEW:
            return None
        after = listing.after
        if after:
            after = after[0], lists.redis_member_suffix(tenant, "rank" if after[0] else "deadline", after[1:])
        soon = lists.redis_time_text(listing.soon or 0).decode()
        places = zip(await self._places_of(members, soon), members, strict=True)
        return [member[RANK_DIGITS:] for member in listing._replace(after=after).later(places)]

    async def _places_of(self, members: Sequence[bytes], soon: str) -> list[tuple[bool, bytes]]:
        """Return for members of lists by rank whether they are of the rest, and what orders them in their part."""
        if not members:
            return []
        async with self._server.answering():
            filed = await self._server.redis.hmget(self._keys[1], [each[RANK_DIGITS + DIGITS :] for each in members])
        deadlines = [lists.redis_list_deadline(each) for each in filed]
        return [
            (False, deadline.encode() + member[RANK_DIGITS:]) if deadline <= soon else (True, member)
            for deadline, member in zip(deadlines, members, strict=True)
        ]

    async def _shortest(self, query: Query) -> list[str]:
        """Return the lists that have all matches and the fewest others."""
        by_agent = [[lists.agent_list_name(query.agent)]] if query.agent is not None else []
        ways = [*required_index_lists(query), *by_agent] or [[EVERYTHING]]
        if len(ways) == 1:
            return ways[0]
        ranked = [join_redis_name(RANK, str(query.tenant), name) for names in ways for name in names]
        counts = iter(await self._sizes(ranked, EVERY_MEMBER))
        sizes = [sum(islice(counts, len(names))) for names in ways]
        return min(zip(sizes, ways, strict=True))[1]


def redis_record_body(row: bytes) -> bytes:
    """Return the body stored behind its version and write token; empty if it is damaged."""
    return b" ".join(row.split(b" ", 2)[2:])
