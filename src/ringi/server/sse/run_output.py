"""The output of a thread's runs, for other protocols: live, by pages from the newest backwards, and as messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ringi.base.canonical_json import JsonObject
from ringi.connect import Backend
from ringi.contracts.backend import Stream, StreamItem
from ringi.contracts.store import Store, find_record, skip_unreadable_records
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import InvalidError
from ringi.files.images import images_named_by_message
from ringi.forms.field_parts import AttachedFile
from ringi.runs.agui_events import AguiEvent
from ringi.runs.stream_writer import PAGE, original_run_id, stream_topic, superseded_message_id
from ringi.server.message_parts import image_url_for_page

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
                thread = None if cursor.is_at_end else await find_record(backend.store, Thread, key)
                is_over = thread is None or thread.run_id != run_id or not thread.is_live
                # After the thread is read: all output before the run's end is then read, regardless of concurrent
                # changes.
                items = await backend.stream.read(key, cursor.after, PAGE)
                own = cursor.add(items)
                if own and superseded is None:
                    superseded = await superseded_messages_since(backend.stream, key, items)
            if visible := [item for item in own if not is_event_about_messages(item.event, superseded or ())]:
                yield visible
            if items:
                continue
            if is_over:
                return
            yield []
            await wakeup.wait(backend.notifier.recheck_after)


async def superseded_messages_since(stream: Stream, key: Key, items: list[StreamItem]) -> set[str]:
    """Return the messages that are superseded by these items or by later ones."""
    found = superseded_messages_in(item.event for item in items)
    while len(items) == PAGE:
        items = await stream.read(key, items[-1].number, PAGE)
        found |= superseded_messages_in(item.event for item in items)
    return found


def superseded_messages_in(events: Iterable[dict[str, Any]]) -> set[str]:
    """Return the messages that are superseded by some of these events."""
    return {id for event in events if (id := superseded_message_id(event)) is not None}


def is_event_about_messages(event: dict[str, Any], messages: Container[str]) -> bool:
    """Return whether an event is a part of one of these messages, or supersedes it."""
    return event.get("messageId", superseded_message_id(event)) in messages


async def newest_pause_that_asks(backend: Backend, thread: Thread, ids: set[str]) -> tuple[int, list[str]]:
    """Return the newest pause of a run that asks any of these requests, and all requests of that pause."""
    cursor, newest = RunCursor(str(thread.run_id)), (0, list[str]())
    while items := await backend.stream.read(thread.key, cursor.after, PAGE):
        for item in cursor.add(items):
            asked = [each["id"] for each in interrupts_of_pause(item.event)]
            newest = (item.number, asked) if ids.intersection(asked) else newest
    return newest


async def readable_requests_by_id(store: Store, tenant: str, ids: Iterable[str]) -> dict[str, Request]:
    """Return the existing and readable requests of these ids."""
    found = await skip_unreadable_records(store, Request, [Key(tenant, id) for id in ids])
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
            is_own = original_run_id(item.event["runId"]) == self._run_id
            self.is_past = self.is_past or (self._is_inside and not is_own)
            self._is_inside = is_own
        is_end = item.event["type"] in ("RUN_ERROR", "RUN_FINISHED") and not interrupts_of_pause(item.event)
        self.is_at_end = self._is_inside and is_end
        return self._is_inside


def interrupts_of_pause(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the interrupts of a pause; empty for any other event."""
    outcome = event.get("outcome") if event["type"] == "RUN_FINISHED" else None
    return list(outcome["interrupts"]) if outcome and outcome["type"] == "interrupt" else []


def pause_without_hidden(event: dict[str, Any], readable: Container[str]) -> dict[str, Any]:
    """Return a pause in which only interrupts of readable requests have content; other events unchanged.

    A hidden interrupt keeps its id, and loses its text, schema and digest: AG-UI requires an interrupt in each pause.
    """
    interrupts = interrupts_of_pause(event)
    if all(each["id"] in readable for each in interrupts):
        return event
    visible = [each if each["id"] in readable else {"id": each["id"], "reason": HIDDEN_REASON} for each in interrupts]
    return {**event, "outcome": {**event["outcome"], "interrupts": visible}}


def interrupt_that_asks(request: Request) -> str:
    """Return the interrupt that asks a request, possibly with others."""
    return str(request.continuation.args.get("interrupt_id")) if request.continuation else request.id


@dataclass
class RunHistory:
    """The output of one run."""

    id: str
    user_messages: list[AguiEvent]
    """The user messages that began it."""
    first: int = 0
    """The number of its first item."""
    events: list[AguiEvent] = field(default_factory=list)


async def newest_runs_before_item(
    stream: Stream, key: Key, size: int, before: int | None
) -> tuple[list[RunHistory], int | None]:
    """Return the newest runs before an item, oldest first, and the end of the page before them."""
    block = await stream.read_last(key, PAGE, before)
    blocks, seen = list[list[StreamItem]](), set[str]()
    while block:
        blocks.append(block)
        seen.update(run.id for run in runs_within_items(block))
        block = await stream.read_last(key, PAGE, block[0].number) if len(seen) <= size else []
    runs = runs_within_items([item for block in reversed(blocks) for item in block])
    if len(runs) <= size:
        return runs, None
    # The first may begin before the items that were read.
    return runs[-size:], runs[-size].first


def runs_within_items(items: Sequence[StreamItem]) -> list[RunHistory]:
    """Return the runs that begin or resume within these items, without superseded messages."""
    runs: list[RunHistory] = []
    for item in items:
        event = item.event
        if event["type"] == "RUN_STARTED" and (not runs or runs[-1].id != original_run_id(event["runId"])):
            messages = (event.get("input") or {}).get("messages", [])
            runs.append(RunHistory(original_run_id(event["runId"]), messages, item.number))
        if runs:
            runs[-1].events.append(event)
    for run in runs:
        if superseded := superseded_messages_in(run.events):
            run.events = [event for event in run.events if not is_event_about_messages(event, superseded)]
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
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidError.of("cursor", f"{cursor!r} is not a cursor of this list: take it from `next`")
    return int(cursor)


class ImageLocation(NamedTuple):
    """The location of a thread's images."""

    base: str
    """The base path of Ringi."""
    thread_id: str


def messages_of_runs(runs: Sequence[RunHistory], location: ImageLocation) -> list[JsonObject]:
    """Return the messages of runs in order, as AG-UI's own client builds them from the events."""
    transcript = MessageTranscript()
    for run in runs:
        transcript.messages += [agui_user_message(message, location) for message in run.user_messages]
        for event in run.events:
            transcript.add(event)
    return transcript.messages


def agui_user_message(message: AguiEvent, location: ImageLocation) -> JsonObject:
    """Return a user message: text, or parts if there are images."""
    files, content = images_named_by_message(message.get("metadata")), message["content"]
    images = [agui_image_part(file, location) for file in files]
    text = [{"type": "text", "text": content}] if content else []
    return {"id": message["id"], "role": "user", "content": [*text, *images] if files else content}


def agui_image_part(file: AttachedFile, location: ImageLocation) -> JsonObject:
    """Return an image as a part of AG-UI."""
    source = {"type": "url", "value": image_url_for_page(*location, file["number"]), "mimeType": file["media_type"]}
    return {"type": "image", "source": source, "metadata": {"filename": file["name"]}}


class MessageTranscript:
    """Messages that grow with the events of a run."""

    def __init__(self) -> None:
        self.messages: list[JsonObject] = []
        self._texts: dict[str, JsonObject] = {}
        self._calls: dict[str, JsonObject] = {}

    def add(self, event: AguiEvent) -> None:
        """Apply one event."""
        match event["type"]:
            case "TEXT_MESSAGE_START":
                self.messages.append({"id": event["messageId"], "role": "assistant", "content": ""})
                self._texts[event["messageId"]] = self.messages[-1]
            case "TEXT_MESSAGE_CONTENT":
                self._texts.get(event["messageId"], {"content": ""})["content"] += event["delta"]
            case "TOOL_CALL_START":
                function = self._calls[event["toolCallId"]] = {"name": event["toolCallName"], "arguments": ""}
                call = {"id": event["toolCallId"], "type": "function", "function": function}
                self.messages.append({"id": event["toolCallId"], "role": "assistant", "toolCalls": [call]})
            case "TOOL_CALL_ARGS":
                self._calls.get(event["toolCallId"], {"arguments": ""})["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                result = {"toolCallId": event["toolCallId"], "content": event["content"]}
                self.messages.append({"id": event["messageId"], "role": "tool", **result})
            case "CUSTOM" if (message_id := superseded_message_id(event)) in self._texts:
                self.messages.remove(self._texts.pop(message_id))
