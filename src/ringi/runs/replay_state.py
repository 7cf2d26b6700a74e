"""The state of a thread's newest run, as read from its stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Key

PAGE = 500
SUPERSEDED = "ringi.superseded"
"""The name of the event that supersedes a partial message: the step that began it runs again and repeats it."""
CUT = "cut:"
"""Marks the end of a message that the run ended because its step did not."""


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
        handler = HANDLERS.get(item.event["type"])
        if handler:
            handler(self, item.event)

    def may_be_message(self, message_id: str, text: str) -> bool:
        """Return True if a message with this beginning may be the one with this id."""
        if message_id in self.superseded:
            return False
        known = self.texts.get(message_id, "")
        return known.startswith(text) or (text.startswith(known) and message_id not in self.ended)

    def _start_run(self, event: dict[str, Any]) -> None:
        self.stretch = event["runId"]
        self.stretches += 1

    def _end_run(self, event: dict[str, Any]) -> None:
        self.stretch = None
        self.asked.update(interrupt["id"] for interrupt in (event.get("outcome") or {}).get("interrupts") or ())

    def _start_text(self, event: dict[str, Any]) -> None:
        self.open.add(event["messageId"])

    def _add_text(self, event: dict[str, Any]) -> None:
        self.texts[event["messageId"]] = self.texts.get(event["messageId"], "") + event["delta"]

    def _end_text(self, event: dict[str, Any]) -> None:
        self.open.discard(event["messageId"])
        self.ended.add(event["messageId"])

    def _supersede(self, event: dict[str, Any]) -> None:
        message_id = superseded_by(event)
        if message_id is not None:
            self.cut.discard(message_id)
            self.superseded.add(message_id)


HANDLERS = {
    "RUN_STARTED": ReplayState._start_run,
    "RUN_FINISHED": ReplayState._end_run,
    "RUN_ERROR": ReplayState._end_run,
    "TEXT_MESSAGE_START": ReplayState._start_text,
    "TEXT_MESSAGE_CONTENT": ReplayState._add_text,
    "TEXT_MESSAGE_END": ReplayState._end_text,
    "CUSTOM": ReplayState._supersede,
}


def superseded_by(event: dict[str, Any]) -> str | None:
    """Return the id of the message that an event supersedes; None for any other event."""
    is_this = event["type"] == "CUSTOM" and event["name"] == SUPERSEDED
    return str(event["value"]["messageId"]) if is_this else None


async def read_replay_state(stream: Stream, key: Key) -> ReplayState:
    """Return the replay state of the newest run in the stream; empty for an empty stream."""
    state, after = ReplayState(""), 0
    while True:
        items = await stream.read(key, after, PAGE)
        for item in items:
            if item.event["type"] == "RUN_STARTED" and not belongs_to_run(item.event["runId"], state.run_id):
                state = ReplayState(item.event["runId"])
            state.add(item)
        if len(items) < PAGE:
            return state
        after = items[-1].number


def belongs_to_run(stretch: str, run_id: str) -> bool:
    """Return True if an AG-UI run is the run itself or a continuation after one of its pauses."""
    return run_of(stretch) == run_id


def run_of(stretch: str) -> str:
    """Return the run id of an AG-UI run."""
    return stretch.partition(".")[0]
