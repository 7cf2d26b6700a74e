"""The events of a run of Pydantic AI as output for people, and the time of its model calls."""

from __future__ import annotations

import time
from typing import Any

from pydantic_ai.messages import (
    FinalResultEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallEvent,
    ToolResultEvent,
)

from ringi.contracts.runtime import Output
from ringi.runs.run import storable_json_text
from ringi.runtimes.tool_calls import parse_call_arguments

MODEL_EVENTS = (PartStartEvent, PartDeltaEvent, PartEndEvent, FinalResultEvent)


class PydanticAIOutputWriter:
    """Writes the events of one stretch of a run.

    The ids of messages count from the state with which the stretch begins, so a repetition gives them again.
    """

    def __init__(self, out: Output, run_id: str, responses: int) -> None:
        self._out, self._run_id, self._responses = out, run_id, responses
        self._open: dict[int, str] = {}
        self.words = ""
        """The text of the newest response of the model, which explains its calls."""
        self.seconds = 0.0
        """The time in which the model answered."""
        self._mark = time.perf_counter()

    def write(self, event: Any) -> None:
        """Write an event of the stream."""
        now = time.perf_counter()
        self.seconds += now - self._mark if isinstance(event, MODEL_EVENTS) else 0.0
        self._mark = now
        match event:
            case PartStartEvent():
                self._start(event)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=delta)):
                self._append(event.index, delta)
            case PartEndEvent(part=TextPart()):
                self._end(event.index)
            case ToolCallEvent(part=part):
                self.tool_call(part)
            case ToolResultEvent(part=part):
                self._out.tool_result(part.tool_call_id, part.model_response_str())

    def tool_call(self, part: Any) -> None:
        """Write a call of a tool."""
        args = parse_call_arguments(part.args)
        args = {"arguments": part.args} if args is None else args
        self._out.tool_call(part.tool_call_id, part.tool_name, storable_json_text(args))

    def close(self) -> None:
        """End the messages that a model has not ended."""
        for index in sorted(self._open):
            self._end(index)

    def _start(self, event: PartStartEvent) -> None:
        if event.index == 0:
            self.close()
            self._responses, self.words = self._responses + 1, ""
        if isinstance(event.part, TextPart) and event.part.content:
            self._append(event.index, event.part.content)

    def _append(self, index: int, delta: str) -> None:
        self.words += delta
        id = self._open.setdefault(index, f"{self._run_id}-{self._responses}-{index}")
        self._out.text(id, delta)

    def _end(self, index: int) -> None:
        if index in self._open:
            self._out.end_text(self._open.pop(index))
