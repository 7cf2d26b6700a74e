"""A thread's runs as AG-UI messages: user messages, agent messages, tool calls and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ringi.files.images import named_by
from ringi.forms.field_parts import AttachedFile
from ringi.runs.stream_writer import superseded_by
from ringi.server.message_parts import image_address
from ringi.server.sse.run_pages import RunHistory

Message = dict[str, Any]
Event = dict[str, Any]


class ImageLocation(NamedTuple):
    """The location of a thread's images."""

    base: str
    """The base path of Ringi."""
    thread_id: str


def messages_of(runs: Sequence[RunHistory], location: ImageLocation) -> list[Message]:
    """Return the messages of runs in order, as AG-UI's own client builds them from the events."""
    transcript = Transcript()
    for run in runs:
        transcript.messages += [user_message(message, location) for message in run.user_messages]
        for event in run.events:
            transcript.add(event)
    return transcript.messages


def user_message(message: Event, location: ImageLocation) -> Message:
    """Return a user message: text, or parts if there are images."""
    files, content = named_by(message.get("metadata")), message["content"]
    images = [image_part(file, location) for file in files]
    text = [{"type": "text", "text": content}] if content else []
    return {"id": message["id"], "role": "user", "content": [*text, *images] if files else content}


def image_part(file: AttachedFile, location: ImageLocation) -> Message:
    """Return an image as a part of AG-UI."""
    source = {"type": "url", "value": image_address(*location, file["number"]), "mimeType": file["media_type"]}
    return {"type": "image", "source": source, "metadata": {"filename": file["name"]}}


class Transcript:
    """Messages that grow with the events of a run."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._texts: dict[str, Message] = {}
        self._calls: dict[str, Message] = {}

    def add(self, event: Event) -> None:
        """Apply one event."""
        match event["type"]:
            case "TEXT_MESSAGE_START":
                message = {"id": event["messageId"], "role": "assistant", "content": ""}
                self._texts[event["messageId"]] = message
                self.messages.append(message)
            case "TEXT_MESSAGE_CONTENT":
                self._texts.get(event["messageId"], {"content": ""})["content"] += event["delta"]
            case "TOOL_CALL_START":
                function = {"name": event["toolCallName"], "arguments": ""}
                call = {"id": event["toolCallId"], "type": "function", "function": function}
                self._calls[event["toolCallId"]] = function
                self.messages.append({"id": event["toolCallId"], "role": "assistant", "toolCalls": [call]})
            case "TOOL_CALL_ARGS":
                self._calls.get(event["toolCallId"], {"arguments": ""})["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                result = {"toolCallId": event["toolCallId"], "content": event["content"]}
                self.messages.append({"id": event["messageId"], "role": "tool", **result})
            case "CUSTOM" if (message_id := superseded_by(event)) in self._texts:
                fragment = self._texts.pop(str(message_id))
                self.messages = [message for message in self.messages if message is not fragment]
