"""A thread's runs as the messages of AG-UI: what people said, what the agent said, its calls and their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringi.server.run_pages import Run
from ringi.threads.ledger import superseded_by

Message = dict[str, Any]
Event = dict[str, Any]


def messages_of(runs: Sequence[Run]) -> list[Message]:
    """Return the messages of runs in their order, as AG-UI's own client builds them from the events."""
    transcript = Transcript()
    for run in runs:
        transcript.messages += [{"id": said["id"], "role": "user", "content": said["content"]} for said in run.said]
        for event in run.events:
            transcript.add(event)
    return transcript.messages


class Transcript:
    """Messages that grow with the events of a run."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._texts: dict[str, Message] = {}
        self._calls: dict[str, Message] = {}

    def add(self, event: Event) -> None:
        """Take one event into account."""
        match event["type"]:
            case "TEXT_MESSAGE_START":
                message = {"id": event["messageId"], "role": "assistant", "content": ""}
                self._texts[event["messageId"]] = message
                self.messages.append(message)
            case "TEXT_MESSAGE_CONTENT":
                self._texts.get(event["messageId"], {"content": ""})["content"] += event["delta"]
            case "TOOL_CALL_START":
                called = {"name": event["toolCallName"], "arguments": ""}
                call = {"id": event["toolCallId"], "type": "function", "function": called}
                self._calls[event["toolCallId"]] = called
                self.messages.append({"id": event["toolCallId"], "role": "assistant", "toolCalls": [call]})
            case "TOOL_CALL_ARGS":
                self._calls.get(event["toolCallId"], {"arguments": ""})["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                result = {"toolCallId": event["toolCallId"], "content": event["content"]}
                self.messages.append({"id": event["messageId"], "role": "tool", **result})
            case "CUSTOM" if (message_id := superseded_by(event)) in self._texts:
                fragment = self._texts.pop(str(message_id))
                self.messages = [message for message in self.messages if message is not fragment]
