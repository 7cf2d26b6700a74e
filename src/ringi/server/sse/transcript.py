"""A thread's runs as AG-UI messages: user messages, agent messages, tool calls and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ringi.files.images import named_by
from ringi.forms.field_parts import AttachedFile
from ringi.runs.replay_state import superseded_by
from ringi.server.message_parts import address
from ringi.server.sse.run_pages import Run

Message = dict[str, Any]
Event = dict[str, Any]


class Place(NamedTuple):
    """The location of a thread's images."""

    base: str
    """The base path of Ringi."""
    thread_id: str


def messages_of(runs: Sequence[Run], place: Place) -> list[Message]:
    """Return the messages of runs in order, as AG-UI's own client builds them from the events."""
    transcript = Transcript()
    for run in runs:
        transcript.messages += [user_message(said, place) for said in run.said]
        for event in run.events:
            transcript.add(event)
    return transcript.messages


def user_message(said: Event, place: Place) -> Message:
    """Return a user message: text, or parts if there are images."""
    files, words = named_by(said.get("metadata")), said["content"]
    images = [image_part(file, place) for file in files]
    text = [{"type": "text", "text": words}] if words else []
    return {"id": said["id"], "role": "user", "content": [*text, *images] if files else words}


def image_part(file: AttachedFile, place: Place) -> Message:
    """Return an image as a part of AG-UI."""
    source = {"type": "url", "value": address(*place, file["number"]), "mimeType": file["media_type"]}
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
