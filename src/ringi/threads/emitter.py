"""From what a run produces to AG-UI events in the thread's stream, each of them once.

A step that is run again (after a pause, or after its worker died) says again what it said.
The emitter reads back what the stream has of this run and drops exactly that.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from ringi.notifier import Notifier
from ringi.record import Key
from ringi.stream import Stream, StreamItem
from ringi.threads.ledger import Ledger, read_ledger

FLUSH_SECONDS = 0.05
"""How long tokens are gathered before they are stored as one event."""
FLUSH_CHARACTERS = 4096


def stream_topic(key: Key) -> str:
    """Return the topic that is rung when a thread's stream has grown."""
    return f"stream/{key.tenant}/{key.id}"


class Emitter:
    """Writes one stretch of a run to the stream of its thread, under the worker's fence."""

    def __init__(self, stream: Stream, notifier: Notifier, key: Key, run_id: str, fence: int) -> None:
        self._stream, self._notifier, self._key = stream, notifier, key
        self._run_id, self._fence = run_id, fence
        self._told = Ledger()
        self._now: dict[str, str] = {}
        self._shown_as: dict[str, str] = {}
        self._pending: list[StreamItem] = []
        self._gathered = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()
        self._failure: Exception | None = None

    async def take_over(self) -> None:
        """Shut out older workers and learn what they have said of this run."""
        await self._stream.append(self._key, [], fence=self._fence)
        self._told = await read_ledger(self._stream, self._key, self._run_id)

    async def open(self) -> None:
        """Open a stretch, unless one is open: a dead worker may have left it so."""
        if self._told.stretch is None:
            n = self._told.stretches
            self._told.stretch = f"{self._run_id}.{n}" if n else self._run_id
            self._told.stretches += 1
            self._add(RunStartedEvent(thread_id=self._key.id, run_id=self._told.stretch, protocol_version="1.0"))
            await self.flush()

    def text(self, message_id: str, delta: str) -> None:
        """Add to a message of the agent; what an earlier try of the step said is not said again."""
        now = self._now[message_id] = self._now.get(message_id, "") + delta
        if message_id in self._shown_as:
            return self._say(self._shown_as[message_id], delta)
        known = self._told.texts.get(message_id, "")
        if known.startswith(now):
            return None
        if not now.startswith(known) or message_id in self._told.ended:
            return self._diverge(message_id, now)
        return self._say(message_id, now[max(len(known), len(now) - len(delta)) :])

    def end_text(self, message_id: str) -> None:
        """Close a message."""
        shown = self._shown_as.get(message_id, message_id)
        if shown in self._told.open:
            self._told.open.discard(shown)
            self._add(TextMessageEndEvent(message_id=shown))

    def custom(self, origin: str, name: str, value: Any) -> None:
        """Add an event of the agent's own, once per place in the run."""
        self._once(f"custom:{origin}", CustomEvent(name=name, value=value))

    def tool_call(self, call_id: str, name: str, args: str) -> None:
        """Add a whole call of a tool."""
        self._once(f"call:{call_id}", ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name))
        self._once(f"args:{call_id}", ToolCallArgsEvent(tool_call_id=call_id, delta=args))
        self._once(f"called:{call_id}", ToolCallEndEvent(tool_call_id=call_id))

    def tool_result(self, call_id: str, content: str) -> None:
        """Add what a tool returned."""
        event = ToolCallResultEvent(message_id=f"result-{call_id}", tool_call_id=call_id, content=content)
        self._once(f"result:{call_id}", event)

    async def pause(self, values: dict[str, Any], interrupts: list[Interrupt]) -> None:
        """Close the stretch: people are asked."""
        await self._close(values, RunFinishedInterruptOutcome(interrupts=interrupts))

    async def finish(self, values: dict[str, Any]) -> None:
        """Close the stretch: the run is at its end."""
        await self._close(values, RunFinishedSuccessOutcome())

    async def cancel(self) -> None:
        """Close the stretch, if one is open: somebody stopped the run."""
        await self._close(None, RunFinishedCancelledOutcome())

    async def fail(self, message: str, code: str) -> None:
        """Close the stretch with an error."""
        if self._told.stretch:
            self._end_messages()
            self._told.stretch = None
            self._add(RunErrorEvent(message=message, code=code))
        await self.flush()

    async def flush(self) -> None:
        """Store what was gathered; raises what storing it in the background raised."""
        if self._failure:
            raise self._failure
        async with self._writing:
            items, self._pending, self._gathered = self._pending, [], 0
            if self._alarm:
                self._alarm.cancel()
                self._alarm = None
            if items:
                await self._stream.append(self._key, items, fence=self._fence)
                await self._notifier.publish(stream_topic(self._key))

    async def _close(self, values: dict[str, Any] | None, outcome: Any) -> None:
        if self._told.stretch:
            self._end_messages()
            if values is not None:
                self._add(StateSnapshotEvent(snapshot=values))
            self._add(RunFinishedEvent(thread_id=self._key.id, run_id=self._told.stretch, outcome=outcome))
            self._told.stretch = None
        await self.flush()

    def _end_messages(self) -> None:
        for message_id in sorted(self._told.open):
            self._add(TextMessageEndEvent(message_id=message_id))
        self._told.open.clear()

    def _diverge(self, message_id: str, now: str) -> None:
        # A model that is no pure function says something else the second time: that is another message.
        self.end_text(message_id)
        self._shown_as[message_id] = f"{message_id}~{self._fence}"
        self._say(self._shown_as[message_id], now)

    def _say(self, message_id: str, delta: str) -> None:
        if not delta:
            return
        if message_id not in self._told.open:
            self._told.open.add(message_id)
            self._add(TextMessageStartEvent(message_id=message_id, role="assistant"))
        last = self._pending[-1].event if self._pending else {}
        if last.get("type") == "TEXT_MESSAGE_CONTENT" and last["messageId"] == message_id:
            last["delta"] += delta
        else:
            self._add(TextMessageContentEvent(message_id=message_id, delta=delta))
        self._gathered += len(delta)
        if self._gathered > FLUSH_CHARACTERS:
            self._flush_soon()

    def _once(self, origin: str, event: BaseEvent) -> None:
        if origin not in self._told.origins:
            self._told.origins.add(origin)
            self._add(event, origin)

    def _add(self, event: BaseEvent, origin: str | None = None) -> None:
        self._pending.append(StreamItem(event.model_dump(mode="json", by_alias=True), origin))
        if not self._alarm:
            self._alarm = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_soon)

    def _flush_soon(self) -> None:
        task = asyncio.create_task(self._flush_quietly())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except Exception as error:
            self._failure = error
