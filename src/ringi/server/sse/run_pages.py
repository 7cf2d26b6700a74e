"""A thread's runs from the newest backwards: only one page of a long conversation is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Key
from ringi.errors import InvalidError
from ringi.runs.stream_writer import run_of
from ringi.server.sse.run_output import is_about, open_interrupts, superseded_in

PAGE = 500
MAX_DIGITS = 18
Event = dict[str, Any]


@dataclass
class RunHistory:
    """The output of one run."""

    id: str
    user_messages: list[Event]
    """The user messages that began it."""
    first: int = 0
    """The number of its first item."""
    events: list[Event] = field(default_factory=list)

    @property
    def request_ids(self) -> list[str]:
        """The requests that it asked."""
        return [interrupt["id"] for event in self.events for interrupt in open_interrupts(event)]


async def newest_runs(stream: Stream, key: Key, size: int, before: int | None) -> tuple[list[RunHistory], int | None]:
    """Return the newest runs before an item, oldest first, and the end of the page before them."""
    block = await newest_items(stream, key) if before is None else await items_before(stream, key, before)
    blocks, seen = list[list[StreamItem]](), set[str]()
    while block:
        blocks.append(block)
        seen.update(run.id for run in runs_in(block))
        block = await items_before(stream, key, block[0].number) if len(seen) <= size else []
    runs = runs_in([item for block in reversed(blocks) for item in block])
    if len(runs) <= size:
        return runs, None
    # The first may begin before the items that were read.
    return runs[-size:], runs[-size].first


async def items_before(stream: Stream, key: Key, end: int) -> list[StreamItem]:
    """Return the items before a number, at most a page; empty for an erased stream."""
    begin = max(1, end - PAGE)
    items = await stream.read(key, begin - 1, end - begin) if begin < end else []
    return [item for item in items if item.number < end]


async def newest_items(stream: Stream, key: Key) -> list[StreamItem]:
    """Return a stream's newest items, at most a page, found in as few steps as its length has digits."""
    low, high = 0, PAGE
    while await stream.read(key, high, 1):
        low, high = high, high * 2
    while high - low > PAGE:
        middle = (low + high) // 2
        low, high = (middle, high) if await stream.read(key, middle, 1) else (low, middle)
    return await stream.read(key, low, PAGE)


def runs_in(items: Sequence[StreamItem]) -> list[RunHistory]:
    """Return the runs that begin or resume within these items, without superseded messages."""
    runs: list[RunHistory] = []
    for item in items:
        event = item.event
        if event["type"] == "RUN_STARTED" and (not runs or runs[-1].id != run_of(event["runId"])):
            messages = (event.get("input") or {}).get("messages", [])
            runs.append(RunHistory(run_of(event["runId"]), messages, item.number))
        if runs:
            runs[-1].events.append(event)
    for run in runs:
        if superseded := superseded_in(run.events):
            run.events = [event for event in run.events if not is_about(event, superseded)]
    return runs


def parse_cursor(cursor: str | None) -> int | None:
    """Return the item number that a cursor names.

    Args:
        cursor: The `next` of the previous page; empty or None on the first page.

    Returns:
        The number; None for the first page.

    Raises:
        InvalidError: The cursor is not one of this list.
    """
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= MAX_DIGITS):
        raise InvalidError.of("cursor", f"{cursor!r} is not a cursor of this list: take it from `next`")
    return int(cursor)
