"""Live output of one run, for conversion to other protocols."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Iterable
from typing import Any

from ringi.connect import Backend
from ringi.contracts.store import Store, readable
from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.runs.stream_writer import belongs_to_run, stream_topic, superseded_by

PAGE = 500
HIDDEN_REASON = "confirmation"
"""The reason of a pause for readers who may not read the request."""


async def run_output(
    backend: Backend, key: Key, run_id: str, turns: asyncio.Semaphore
) -> AsyncIterator[list[StreamItem]]:
    """Yield a run's output from its beginning, and an empty list whenever it has caught up; end with the run.

    Already superseded messages are omitted; readers who were shown a fragment get the event that supersedes it.
    """
    cursor = RunCursor(run_id)
    superseded: set[str] | None = None
    async with backend.notifier.subscribe(stream_topic(key)) as wakeup:
        while not cursor.is_past:
            async with turns:
                is_over = cursor.is_at_end or not await _is_live(backend, key, run_id)
                # After the thread is read: all output before the run's end is then read, regardless of concurrent
                # changes.
                items = await backend.stream.read(key, cursor.after, PAGE)
                own = cursor.add(items)
                if own and superseded is None:
                    superseded = await superseded_since(backend.stream, key, items)
            if visible := [item for item in own if not is_about(item.event, superseded or ())]:
                yield visible
            if items:
                continue
            if is_over:
                return
            yield []
            await wakeup.wait(backend.notifier.recheck_after)


async def superseded_since(stream: Stream, key: Key, items: list[StreamItem]) -> set[str]:
    """Return the messages that are superseded by these items or by later ones."""
    found = set[str]()
    while True:
        found |= superseded_in(item.event for item in items)
        if len(items) < PAGE:
            return found
        items = await stream.read(key, items[-1].number, PAGE)


def superseded_in(events: Iterable[dict[str, Any]]) -> set[str]:
    """Return the messages that are superseded by some of these events."""
    return {id for event in events if (id := superseded_by(event)) is not None}


def is_about(event: dict[str, Any], messages: Container[str]) -> bool:
    """Return whether an event is a part of one of these messages, or supersedes it."""
    return event.get("messageId", superseded_by(event)) in messages


async def read_run(backend: Backend, key: Key, run_id: str) -> list[StreamItem]:
    """Return the output of a run so far."""
    cursor, found = RunCursor(run_id), list[StreamItem]()
    while True:
        items = await backend.stream.read(key, cursor.after, PAGE)
        found += cursor.add(items)
        if len(items) < PAGE:
            return found


async def requests_by_id(store: Store, tenant: str, ids: Iterable[str]) -> dict[str, Request]:
    """Return the existing and readable requests of these ids."""
    found = await readable(store, Request, [Key(tenant, id) for id in ids])
    return {request.id: request for request in found}


class RunCursor:
    """The read position in a run's output."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self.after = 0
        self.is_past = False
        """True if a later run has started."""
        self.is_at_end = False
        """True if the newest item ends the run; an operator may still resume it."""
        self._is_inside = False

    def add(self, items: list[StreamItem]) -> list[StreamItem]:
        """Return the items that belong to the run."""
        return [item for item in items if self._is_own(item)]

    def _is_own(self, item: StreamItem) -> bool:
        self.after = item.number
        if item.event["type"] == "RUN_STARTED":
            is_own = belongs_to_run(item.event["runId"], self._run_id)
            self.is_past = self.is_past or (self._is_inside and not is_own)
            self._is_inside = is_own
        self.is_at_end = self._is_inside and is_end(item.event)
        return self._is_inside


def is_end(event: dict[str, Any]) -> bool:
    """Return whether an event ends its run."""
    return event["type"] == "RUN_ERROR" or (event["type"] == "RUN_FINISHED" and not open_interrupts(event))


def open_interrupts(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the interrupts of a pause; empty for any other event."""
    outcome = event.get("outcome") if event["type"] == "RUN_FINISHED" else None
    return list(outcome["interrupts"]) if outcome and outcome["type"] == "interrupt" else []


def without_hidden(event: dict[str, Any], readable: Container[str]) -> dict[str, Any]:
    """Return a pause in which only interrupts of readable requests have content; other events unchanged.

    A hidden interrupt keeps its id, and loses its text, schema and digest: AG-UI requires an interrupt in each pause.
    """
    interrupts = open_interrupts(event)
    if all(each["id"] in readable for each in interrupts):
        return event
    visible = [each if each["id"] in readable else {"id": each["id"], "reason": HIDDEN_REASON} for each in interrupts]
    return {**event, "outcome": {**event["outcome"], "interrupts": visible}}


async def _is_live(backend: Backend, key: Key, run_id: str) -> bool:
    try:
        thread = await backend.store.get(Thread, *key)
    except NotFoundError:
        return False
    return thread.run_id == run_id and thread.is_live


def interrupt_id_of(request: Request) -> str:
    """Return the interrupt that asks a request, possibly with others."""
    return str(request.continuation.args.get("interrupt_id")) if request.continuation else request.id
