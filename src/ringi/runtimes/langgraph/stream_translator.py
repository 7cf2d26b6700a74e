"""LangGraph's stream as the output of a run."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from ringi.contracts.runtime import Output
from ringi.runs.model_form import VisibleText, clean_text
from ringi.runs.run_states import clean_json, json_text
from ringi.runs.stream_writer import SAY
from ringi.runtimes.langgraph.repeats import StreamedMessage, unsent_part

MODEL_FORMS = "ringi_model_forms"
"""The tag of a model that may put a form into its answer."""
TOOL_NAMES = "ringi_tools"
"""The key in the metadata of a model with the names of its tools, whose calls may come as text."""
QUIET_CALLS = "ringi_quiet_calls"
"""The tag of a model whose tool calls run no tool and are not shown: they carry structured output."""
MODEL = "ls_model_type"
"""The metadata key present on model messages and absent on step results."""
LOOP_TURNS = 50
"""The number of event-loop turns for which a step's results wait for its last messages; LangGraph needs a few."""


@dataclass
class StreamTranslator:
    """Translates LangGraph's stream to emitter calls, with ids that are stable across attempts."""

    emitter: Output
    step: int = 0
    messages: dict[str, StreamedMessage] = field(default_factory=dict)
    ordinals: Counter[str] = field(default_factory=Counter)
    running: set[str] = field(default_factory=set)

    def translate(self, mode: str, part: Any, *, is_inner: bool = False) -> None:
        """Pass one part to the emitter; `is_inner` means that a nested graph produced it."""
        if mode == "debug":
            self._debug(part, is_inner)
        elif mode == "custom":
            self._custom(part)
        else:
            self._message(*part)

    async def flush_step(self, task_id: str | None) -> None:
        """Return once all output of a step is stored in the stream.

        Its results are saved next, and the step never runs again to repeat missing output.
        """
        for _ in range(LOOP_TURNS):
            if task_id not in self.running:
                break
            await asyncio.sleep(0)
        await self.emitter.flush()

    def end(self) -> None:
        """Close all open messages."""
        for message in list(self.messages.values()):
            self._close(message)

    def _debug(self, part: dict[str, Any], is_inner: bool) -> None:
        if not is_inner:
            self.step = part["step"]
        if part["type"] == "task":
            self.running.add(part["payload"]["id"])
        if part["type"] == "task_result":
            self.running.discard(part["payload"]["id"])
            for message in [m for m in self.messages.values() if m.task == part["payload"]["id"]]:
                self._close(message)

    def _custom(self, value: Any) -> None:
        text = json_text(value)
        plain = clean_json(json.loads(text))
        name = plain.get("name", "custom") if isinstance(plain, dict) else "custom"
        place = f"{self.step}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        self.ordinals[place] += 1
        place = f"{place}:{self.ordinals[place]}"
        if isinstance(plain, dict) and plain.keys() == {SAY}:
            return self.emitter.whole_text(place, str(plain[SAY]))
        self.emitter.custom(place, str(name), plain)

    def _message(self, message: BaseMessage, metadata: dict[str, Any]) -> None:
        if isinstance(message, ToolMessage):
            return self.emitter.tool_result(clean_text(message.tool_call_id), clean_text(str(message.content)))
        if not isinstance(message, AIMessage):
            return None
        place = str(metadata.get("langgraph_checkpoint_ns", ""))
        chunk = message if isinstance(message, AIMessageChunk) else None
        text, is_models = clean_text(message.text), chunk is not None or MODEL in metadata
        if not is_models and message.id not in self.messages:
            text = self._unsent_part(message, text, place)
        known = self._streamed_message(message, place, is_models)
        known.has_ended |= chunk is None or chunk.chunk_position == "last"
        if MODEL_FORMS in metadata.get("tags", ()):
            known.visible_text = known.visible_text or VisibleText(metadata.get(TOOL_NAMES, ()))
        known.text += text
        self.emitter.text(known.id, known.visible_text.add(text) if known.visible_text else text)
        if QUIET_CALLS in metadata.get("tags", ()):
            return None
        if chunk is None:
            self._tool_calls(message)
        elif chunk.tool_call_chunks:
            known.whole = chunk if known.whole is None else known.whole + chunk

    def _unsent_part(self, message: AIMessage, text: str, place: str) -> str:
        """Return the part of a step's result that is not yet in the stream."""
        unsent, known, repeated = unsent_part(text, place, self.messages.values())
        if known and message.id:
            self.messages[message.id] = known
        for each in repeated:
            self.emitter.supersede(each.id)
            each.text = ""
        return unsent

    def _streamed_message(self, message: AIMessage, place: str, is_models: bool) -> StreamedMessage:
        key = message.id or place
        if key not in self.messages:
            self.ordinals[place] += 1
            id = hashlib.sha256(f"{place}:{self.ordinals[place]}".encode()).hexdigest()[:24]
            self.messages[key] = StreamedMessage(f"msg-{id}", place.rpartition(":")[2], place, is_models)
        return self.messages[key]

    def _close(self, message: StreamedMessage) -> None:
        if message.visible_text is not None:
            self.emitter.text(message.id, message.visible_text.finish())
            message.visible_text = None
        self.emitter.end_text(message.id)
        if message.whole is not None:
            self._tool_calls(message.whole)
            message.whole = None
        message.task = ""

    def _tool_calls(self, message: AIMessage) -> None:
        for call in message.tool_calls:
            self.emitter.tool_call(clean_text(str(call["id"])), clean_text(call["name"]), json_text(call["args"]))
