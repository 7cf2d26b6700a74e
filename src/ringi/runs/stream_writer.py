"""Writes a run's output to the thread's stream as AG-UI events, each exactly once.

A step that runs again (after a pause, or after its worker died) repeats its output. The emitter reads this run's
events from the stream and drops the repetition. A message cut off by a dead worker continues where it stopped. If
the step now produces different text, an event marks the fragment as superseded.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ringi.base.clock import Clock
from ringi.contracts.backend import Notifier, Stream, StreamItem
from ringi.domain.record import Key
from ringi.errors import UnavailableError
from ringi.runs.agui_events import (
    CANCELLED,
    SUCCESS,
    AguiEvent,
    run_error_event,
    run_finished_event,
    run_started_event,
    state_snapshot_event,
)

FLUSH_SECONDS = 0.05
"""Seconds for which tokens are collected before they are stored as one event."""
FLUSH_CHARACTERS = 4096
SAY = "ringi_say"
"""The only key of a custom event whose text is a message to people and not part of the state."""
REPEATED = "again"
"""The mark of an interrupt that an earlier pause of the run has shown."""
PAGE, FIRST_PAGE = 500, 10
"""Items that are read at once, and at first: a short run has fewer."""
SUPERSEDED = "ringi.superseded"
"""The name of the event that supersedes a partial message: the step that began it runs again and repeats it."""
CUT = "cut:"
"""Marks the end of a message that the run ended because its step did not."""


def stream_topic(key: Key) -> str:
    """Return the topic that is notified when a thread's stream has grown."""
    return f"stream/{key.tenant}/{key.id}"


class RunStreamWriter:
    """Writes one stretch of a run to the stream of its thread, under the worker's fence."""

    def __init__(
        self,
        stream: Stream,
        notifier: Notifier,
        key: Key,
        run_id: str,
        fence: int,
        *,
        clock: Clock,
        user_messages: Sequence[AguiEvent] = (),
    ) -> None:
        self._stream, self._notifier, self._key, self._clock = stream, notifier, key, clock
        self._run_id, self._fence, self._user_messages = run_id, fence, user_messages
        self._state = ReplayState(run_id)
        self._texts: dict[str, str] = {}
        self._stream_ids: dict[str, str] = {}
        self._pending: list[StreamItem] = []
        self._pending_characters = 0
        self._flush_timer: asyncio.TimerHandle | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()
        self._failure: Exception | None = None

    async def take_over(self, *, has_fence: bool = False) -> None:
        """Fence off older workers, read their output of this run, and close messages left open by the previous run.

        With `has_fence=True` the stream already has this fence.
        """
        if not has_fence:
            await self._stream.append(self._key, [], fence=self._fence)
        self._state = await read_replay_state(self._stream, self._key)
        if self._state.run_id != self._run_id:
            await self.cancel()
            self._state = ReplayState(self._run_id)

    def open(self) -> None:
        """Open a stretch unless one is open: a dead worker may have left it open.

        Steps whose messages a failure cut off run again: these messages are superseded.
        """
        self._open()
        for message_id in sorted(self._state.cut):
            self._supersede(message_id)

    def has_shown(self, request_id: str) -> bool:
        """Return whether an earlier pause of the run has shown this request."""
        return request_id in self._state.asked

    def begin(self) -> None:
        """Match each message from its first word: steps are about to run, some of them again."""
        self._texts.clear()
        self._stream_ids.clear()

    def text(self, message_id: str, delta: str) -> None:
        """Append to a message of the agent; text from an earlier attempt of the step is not repeated."""
        text_now = self._texts[message_id] = self._texts.get(message_id, "") + delta
        stream_id = self._stream_ids.get(message_id, message_id)
        if not self._state.may_be_message(stream_id, text_now):
            stream_id = self._unused_id(message_id, lambda id: self._state.may_be_message(id, text_now))
        self._write_text(stream_id, text_now[len(self._state.texts.get(stream_id, "")) :])

    def end_text(self, message_id: str) -> None:
        """Close a message."""
        text_now, stream_id = self._texts.pop(message_id, ""), self._stream_ids.get(message_id, message_id)
        state = self._state
        if text_now and state.texts.get(stream_id, "") != text_now:
            stream_id = self._unused_id(
                message_id, lambda id: id not in state.superseded and state.texts.get(id, "") in ("", text_now)
            )
            self._write_text(stream_id, text_now[len(state.texts.get(stream_id, "")) :])
        if not text_now:
            # The step writes no text here now: it may only call tools.
            self._discard_message(stream_id)
        self._end_message(stream_id)

    def supersede(self, message_id: str) -> None:
        """Supersede a message: the next message repeats its content."""
        stream_id = self._stream_ids.get(message_id, message_id)
        if stream_id in self._state.open:
            self._discard_message(stream_id)
        elif stream_id in self._state.ended - self._state.superseded:
            self._supersede(stream_id)

    def whole_text(self, origin: str, text: str) -> None:
        """Add a complete message, once per place in the run."""
        id = f"msg-{hashlib.sha256(origin.encode()).hexdigest()[:24]}"
        self.text(id, text)
        self.end_text(id)

    def custom(self, origin: str, name: str, value: Any) -> None:
        """Add a custom event of the agent, once per place in the run."""
        # A custom event of the agent must not hide messages.
        name = "custom" if name == SUPERSEDED else name
        self._once(f"custom:{origin}", {"type": "CUSTOM", "name": name, "value": value})

    def tool_call(self, call_id: str, name: str, args: str) -> None:
        """Add a complete tool call."""
        self._once(f"call:{call_id}", {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name})
        self._once(f"args:{call_id}", {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": args})
        self._once(f"called:{call_id}", {"type": "TOOL_CALL_END", "toolCallId": call_id})

    def tool_result(self, call_id: str, content: str) -> None:
        """Add the result of a tool."""
        place = {"messageId": f"result-{call_id}", "toolCallId": call_id}
        self._once(f"result:{call_id}", {"type": "TOOL_CALL_RESULT", **place, "content": content})

    def pause(self, values: dict[str, Any], interrupts: list[AguiEvent]) -> None:
        """Close the stretch at a pause for people; interrupts shown by an earlier pause are marked."""
        for interrupt in interrupts:
            if self.has_shown(interrupt["id"]):
                interrupt["metadata"] = {**interrupt["metadata"], REPEATED: True}
        self._close(values, {"type": "interrupt", "interrupts": interrupts})

    def finish(self, values: dict[str, Any]) -> None:
        """Close the stretch: the run has ended."""
        self._close(values, SUCCESS)

    async def cancel(self) -> None:
        """Close the stretch, if one is open: the run was canceled."""
        self._close(None, CANCELLED)
        await self.flush()

    def fail(self, message: str, code: str) -> None:
        """Close the stretch with an error; open one first if needed, so that clients receive the error."""
        self._open()
        self._cut_messages()
        self._add(run_error_event(message, code))

    def stop(self) -> None:
        """Discard output that is not stored yet: the next worker repeats it."""
        if self._flush_timer:
            self._flush_timer.cancel()

    async def flush(self) -> None:
        """Store the collected events; raises any error of background storage."""
        await self.store(self.append)

    async def store(self, save: Callable[[Sequence[StreamItem]], Awaitable[None]]) -> None:
        """Let `save` store the collected events; raises any error of background storage."""
        async with self._writing:
            if self._failure:
                raise self._failure
            items, self._pending, self._pending_characters = self._pending, [], 0
            if self._flush_timer:
                self._flush_timer.cancel()
                self._flush_timer = None
            try:
                await save(items)
            except UnavailableError as error:  # Output must not follow output that was lost.
                self._failure = error
                raise

    async def append(self, items: Sequence[StreamItem]) -> None:
        """Store events that `store` has passed on."""
        if items:
            last = await self._stream.append(self._key, items, fence=self._fence)
            numbered = [item._replace(number=n) for n, item in enumerate(items, last - len(items) + 1)]
            await self._notifier.publish(stream_topic(self._key), numbered)

    def _open(self) -> None:
        if self._state.stretch is not None:
            return
        n = self._state.stretches
        stretch = f"{self._run_id}.{n}" if n else self._run_id
        self._add(run_started_event(self._key.id, stretch, () if n else self._user_messages))

    def _close(self, values: dict[str, Any] | None, outcome: AguiEvent) -> None:
        if self._state.stretch:
            if values is None:
                self._cut_messages()
            else:
                # An ended step has ended its messages: open ones belong to a worker that died.
                for message_id in sorted(self._state.open):
                    self._discard_message(message_id)
                self._add(state_snapshot_event(values))
            self._add(run_finished_event(self._key.id, self._state.stretch, outcome))

    def _cut_messages(self) -> None:
        for message_id in sorted(self._state.open):
            self._add({"type": "TEXT_MESSAGE_END", "messageId": message_id}, f"{CUT}{message_id}")

    def _discard_message(self, message_id: str) -> None:
        if message_id in self._state.open:
            # Before its end, so that a reader can mark it in the part that ends it.
            self._supersede(message_id)
            self._end_message(message_id)

    def _supersede(self, message_id: str) -> None:
        self._add({"type": "CUSTOM", "name": SUPERSEDED, "value": {"messageId": message_id}})

    def _end_message(self, message_id: str) -> None:
        if message_id in self._state.open:
            self._add({"type": "TEXT_MESSAGE_END", "messageId": message_id})

    def _unused_id(self, message_id: str, is_this: Callable[[str], bool]) -> str:
        # A nondeterministic model produces different text the second time: that is another message.
        candidate, n = message_id, count(1)
        while not is_this(candidate):
            self._discard_message(candidate)
            candidate = f"{message_id}~{next(n)}"
        self._stream_ids[message_id] = candidate
        return candidate

    def _write_text(self, message_id: str, delta: str) -> None:
        if not delta:
            return
        if message_id not in self._state.open:
            self._add({"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"})
        last = self._pending[-1].event if self._pending else {}
        if last.get("type") == "TEXT_MESSAGE_CONTENT" and last["messageId"] == message_id:
            last["delta"] += delta
            self._state.texts[message_id] += delta
        else:
            self._add({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta})
        self._pending_characters += len(delta)
        if self._pending_characters > FLUSH_CHARACTERS:
            self._flush_soon()

    def _once(self, origin: str, event: dict[str, Any]) -> None:
        if origin not in self._state.origins:
            self._add(event, origin)

    def _add(self, event: dict[str, Any], origin: str | None = None) -> None:
        # A dict from the start: a model of each event would take most of the time of a token.
        timestamp = int(self._clock().timestamp() * 1000)
        item = StreamItem({"type": event["type"], "timestamp": timestamp, **event}, origin)
        self._state.add(item)
        self._pending.append(item)
        if not self._flush_timer:
            # All threads of a process flush at the same moments, so their events need few transactions.
            loop = asyncio.get_running_loop()
            at = loop.time() // FLUSH_SECONDS * FLUSH_SECONDS + FLUSH_SECONDS
            self._flush_timer = loop.call_at(at, self._flush_soon)

    def _flush_soon(self) -> None:
        task = asyncio.create_task(self._flush_quietly())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except Exception as error:
            self._failure = error


@dataclass
class ReplayState:
    """The messages, single events and stretches of one run in the stream so far."""

    run_id: str
    texts: dict[str, str] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    """The messages that a failure or a cancel cut off."""
    superseded: set[str] = field(default_factory=set)
    origins: set[str] = field(default_factory=set)
    stretch: str | None = None
    """The AG-UI run that has begun and has not ended."""
    stretches: int = 0
    asked: set[str] = field(default_factory=set)
    """The requests of the pauses."""

    def add(self, item: StreamItem) -> None:
        """Apply one item."""
        if item.origin:
            self.origins.add(item.origin)
            if item.origin.startswith(CUT):
                self.cut.add(item.origin.removeprefix(CUT))
        match item.event:
            case {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}:
                self.texts[id] = self.texts.get(id, "") + delta
            case {"type": "TEXT_MESSAGE_START", "messageId": id}:
                self.open.add(id)
            case {"type": "TEXT_MESSAGE_END", "messageId": id}:
                self.open.discard(id)
                self.ended.add(id)
            case {"type": "CUSTOM"} if (id := superseded_message_id(item.event)) is not None:
                self.cut.discard(id)
                self.superseded.add(id)
            case {"type": "RUN_STARTED", "runId": stretch}:
                self.stretch, self.stretches = stretch, self.stretches + 1
            case {"type": "RUN_FINISHED" | "RUN_ERROR"} as event:
                self.stretch = None
                self.asked.update(each["id"] for each in (event.get("outcome") or {}).get("interrupts") or ())

    def may_be_message(self, message_id: str, text: str) -> bool:
        """Return True if a message with this beginning may be the one with this id."""
        if message_id in self.superseded:
            return False
        known = self.texts.get(message_id, "")
        return known.startswith(text) or (text.startswith(known) and message_id not in self.ended)


def superseded_message_id(event: dict[str, Any]) -> str | None:
    """Return the id of the message that an event supersedes; None for any other event."""
    is_this = event["type"] == "CUSTOM" and event["name"] == SUPERSEDED
    return str(event["value"]["messageId"]) if is_this else None


async def read_replay_state(stream: Stream, key: Key) -> ReplayState:
    """Return the replay state of the newest run in the stream; empty for an empty stream."""
    state = ReplayState("")
    for item in await read_newest_run(stream, key):
        if item.event["type"] == "RUN_STARTED" and original_run_id(item.event["runId"]) != state.run_id:
            state = ReplayState(item.event["runId"])
        state.add(item)
    return state


async def read_newest_run(stream: Stream, key: Key) -> list[StreamItem]:
    """Return the items of the newest run in the stream, and perhaps some before them, however long the thread is."""
    items, size = list[StreamItem](), FIRST_PAGE
    while page := await stream.read_last(key, size, items[0].number if items else None):
        items = [*page, *items]
        started = [item.event["runId"] for item in items if item.event["type"] == "RUN_STARTED"]
        if (started and original_run_id(started[-1]) in started) or len(page) < size:
            break
        size = min(size * 4, PAGE)
    return items


def original_run_id(stretch: str) -> str:
    """Return the id of the run of which an AG-UI run is the beginning, or a continuation after one of its pauses."""
    return stretch.partition(".")[0]
