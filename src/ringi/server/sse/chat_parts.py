"""One run of a thread as one AI SDK message: a pure mapping of AG-UI events and requests to parts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from ringi.base.texts import reason_of
from ringi.domain.ask import AGREEING
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.runs.agui_events import AguiEvent
from ringi.runs.stream_writer import superseded_message_id
from ringi.server.message_parts import MessagePart
from ringi.server.serialize import plain_json_bytes, request_json

NO_RESULT = reason_of("no_result")
STOPPED = "the run was cancelled"


AnswerChannel = Literal["protocol", "api", "others"]
"""The channel of an answer: a part of the protocol alone, a call of the API, or none for other readers."""


Sdk = Literal[5, 6, 7]
"""The major version of the reader's AI SDK: each refuses parts introduced later."""
NEWEST: Sdk = 7


@dataclass
class StreamedToolCall:
    """A tool call."""

    name: str
    args_text: str = ""
    gate: str | None = None
    """The request that gates the call."""
    is_decided: bool = False
    is_over: bool = False

    @property
    def args(self) -> Any:
        """The arguments of the call."""
        try:
            return json.loads(self.args_text or "{}")
        except ValueError:
            return self.args_text


@dataclass
class ChatMessageBuilder:
    """A message during its run."""

    id: str
    thread_id: str
    agent: str
    sdk: Sdk = NEWEST
    calls: dict[str, StreamedToolCall] = field(default_factory=dict)
    sent_versions: dict[str, int] = field(default_factory=dict)
    """The requests already shown, with their versions."""
    waiting: dict[str, AnswerChannel] = field(default_factory=dict)
    """The open requests, with the channel through which the reader can answer them."""
    open_texts: set[str] = field(default_factory=set)
    """The texts that have begun and not ended."""
    superseded: set[str] = field(default_factory=set)
    """The superseded texts."""
    last: AguiEvent | None = None

    def start(self) -> MessagePart:
        """Return the first part."""
        metadata = {"threadId": self.thread_id, "runId": self.id, "agent": self.agent}
        return {"type": "start", "messageId": self.id, "messageMetadata": metadata}

    def add(self, event: AguiEvent) -> list[MessagePart]:
        """Return the parts that an event adds."""
        self.last = event
        match event:
            case {"type": "TEXT_MESSAGE_START", "messageId": id}:
                self.open_texts.add(id)
                # The AI SDK does not keep the id of a text, which a later event may supersede.
                return [{"type": "text-start", "id": id, "providerMetadata": {"ringi": {"messageId": id}}}]
            case {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}:
                return [{"type": "text-delta", "id": id, "delta": delta}]
            case {"type": "TEXT_MESSAGE_END", "messageId": id}:
                self.open_texts.discard(id)
                return [{"type": "text-end", "id": id}]
            case {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name}:
                self.calls[id] = StreamedToolCall(name)
                return [{"type": "tool-input-start", "toolCallId": id, "toolName": name, **OWN_TOOL}]
            case {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta}:
                self.calls[id].args_text += delta
                return [{"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": delta}]
            case {"type": "TOOL_CALL_END", "toolCallId": id}:
                content = {"toolCallId": id, "toolName": self.calls[id].name, "input": self.calls[id].args}
                return [{"type": "tool-input-available", **content, **OWN_TOOL}]
            case {"type": "TOOL_CALL_RESULT", "toolCallId": id, "content": output}:
                return self._result(id, output)
            case {"type": "STATE_SNAPSHOT", "snapshot": values} if values and values.keys() != {"messages"}:
                # Messages alone are the content of this message.
                return [{"type": "data-ringi-values", "id": f"{self.id}-values", "data": values}]
            case {"type": "CUSTOM"}:
                return self._custom(event)
        return []

    def _result(self, id: str, output: str) -> list[MessagePart]:
        call = self.calls.get(id)
        if call is None or call.is_over:
            return []
        call.is_over = True
        return [{"type": "tool-output-available", "toolCallId": id, "output": output, **DYNAMIC}]

    def _custom(self, event: AguiEvent) -> list[MessagePart]:
        message_id = superseded_message_id(event)
        if message_id is None:
            return [{"type": "data-ringi-custom", "data": {"name": event["name"], "value": event["value"]}}]
        self.superseded.add(message_id)
        return [{"type": "data-ringi-superseded", "id": message_id, "data": {"messageId": message_id}}]

    @property
    def open_calls(self) -> list[str]:
        """The calls without a result."""
        return [id for id, call in self.calls.items() if not call.is_over]

    def show_request(self, request: Request, *, can_answer: bool) -> list[MessagePart]:
        """Return the parts that show a request's current version; empty if it was already shown.

        `can_answer` states whether the reader may answer it, so that a part of the protocol may ask them.
        """
        if self.sent_versions.get(request.id) == request.version:
            return []
        self.sent_versions[request.id] = request.version
        # AI SDK 5 has no approvals: its reader answers a gated call through the API, as a form.
        call_id = self.gated_call(request) if can_answer and self.sdk > 5 else None
        self.waiting.pop(request.id, None)
        if not request.is_final:
            self.waiting[request.id] = "protocol" if call_id else "api" if can_answer else "others"
        part = {"type": "data-ringi-request", "id": request.id, "data": json.loads(request_json(request))}
        return [part, *(self._approval(request, call_id) if call_id else [])]

    def hide_request(self, id: str) -> list[MessagePart]:
        """Return the parts stating that other people are asked."""
        if id in self.sent_versions:
            return []
        self.sent_versions[id], self.waiting[id] = 0, "others"
        data = {"id": id, "thread_id": self.thread_id, "hidden": True}
        return [{"type": "data-ringi-request", "id": id, "data": data}]

    @property
    def is_for_the_client(self) -> bool:
        """Return whether the reader's open requests are all approvals, which the client sends after the stream ends."""
        ways = set(self.waiting.values())
        return "protocol" in ways and "api" not in ways

    def waits_for_others(self, text: str, after: int) -> list[MessagePart]:
        """Return the parts stating that the stream ends while others are asked; empty if nobody else is asked."""
        if "others" not in self.waiting.values():
            return []
        id = f"others-{after}"
        return [
            {"type": "text-start", "id": id},
            {"type": "text-delta", "id": id, "delta": text},
            {"type": "text-end", "id": id},
        ]

    def end(self, thread: Thread) -> list[MessagePart]:
        """Return the last parts of an ended run."""
        parts: list[MessagePart] = [
            {"type": "tool-output-error", "toolCallId": id, "errorText": NO_RESULT, **DYNAMIC} for id in self.open_calls
        ]
        if self.last and self.last["type"] == "RUN_ERROR":
            return [*parts, {"type": "error", "errorText": self.last["message"]}]
        is_stopped = thread.run_id != self.id or thread.status == "idle"
        return [*parts, {"type": "abort", "reason": thread.reason or STOPPED}] if is_stopped else parts

    def finish(self, reason: str, after: int) -> MessagePart:
        """Return the part that ends the stream."""
        return {"type": "finish", "finishReason": reason, "messageMetadata": {"after": after}}

    def gated_call(self, request: Request) -> str | None:
        """Return the call that a request gates, by name and arguments; identical calls are matched one to one."""
        for id, call in self.calls.items():
            if call.gate == request.id:
                return id
        action = request.action
        for id, call in self.calls.items():
            is_free = call.gate is None and not call.is_over
            if action and is_free and (call.name, call.args) == (action.name, action.args):
                call.gate = request.id
                return id
        return None

    def _approval(self, request: Request, call_id: str) -> list[MessagePart]:
        call = self.calls[call_id]
        parts: list[MessagePart] = [{"type": "tool-approval-request", "approvalId": request.id, "toolCallId": call_id}]
        if not request.is_final or call.is_decided:
            return [] if call.is_decided else parts
        call.is_decided = True
        response = request.response
        is_approved = response is not None and response.decision in AGREEING
        reason = response.message if response else request.reason or request.status
        answer = {"type": "tool-approval-response", "approvalId": request.id, "approved": is_approved}
        # AI SDK 6 refuses a stream that repeats the answer; the result of the call implies it.
        if self.sdk > 6:
            parts.append({**answer, "reason": reason} if reason else answer)
        if not is_approved:
            call.is_over = True
            parts.append({"type": "tool-output-denied", "toolCallId": call_id})
        return parts


DYNAMIC = {"dynamic": True}
"""Without it, AI SDK 5 looks up the call of a result among the tools that it knows."""
OWN_TOOL = {**DYNAMIC, "providerExecuted": True}
"""Without it `useChat` would run the tool in the browser, too."""


def encode_parts(parts: list[MessagePart]) -> bytes:
    """Return parts as server-sent events."""
    return b"".join(b"data: " + plain_json_bytes(part) + b"\n\n" for part in parts)
